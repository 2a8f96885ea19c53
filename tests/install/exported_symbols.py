#!/usr/bin/env python3
"""Checks what the installed libhlo_run exports: names that the installed headers declare, and nothing else.
    tests/install/exported_symbols.py PREFIX"""

import pathlib
import re
import subprocess
import sys

KINDS = re.compile(r"^(?:typeinfo name for|typeinfo for|vtable for|guard variable for|construction vtable for) ")


def without_brackets(name):
    """The name without template arguments and parameters."""
    kept, depth = "", 0
    for character in name.replace("(anonymous namespace)", "anonymous"):
        if character in "<(":
            depth += 1
        elif character in ">)":
            depth -= 1
        elif depth == 0:
            kept += character
    return kept


def words(symbol):
    """The parts of a qualified name that have to be declared."""
    name = KINDS.sub("", symbol.replace("[abi:cxx11]", ""))
    if "operator" in name:
        name = name.split("operator")[0]
    name = without_brackets(name).split(" ")
    qualified = next((part for part in name if part.startswith("hlo::")), None)
    return None if qualified is None else [w.lstrip("~") for w in qualified.split("::") if w]


def are_declared(names, declared):
    """True for words of the headers. Macros of the builder join two for one name."""
    joined = lambda name: any(name[:i] in declared and name[i:] in declared for i in range(1, len(name)))
    return all(name in declared or ("build" in names and joined(name)) for name in names)


def main():
    prefix = pathlib.Path(sys.argv[1])
    library = next(prefix.rglob("libhlo_run.so"))
    listing = subprocess.run(["nm", "-DC", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    symbols = [line.split(" ", 2)[2] for line in listing.splitlines()]
    declared = set(re.findall(r"\w+", "".join(p.read_text() for p in (prefix / "include/hlo_run").iterdir())))
    private = []
    for symbol in symbols:
        names = words(symbol)
        if names is None or not are_declared(names, declared):
            private.append(symbol)
    for symbol in private:
        print("exported, but not public:", symbol)
    wanted = ("hlo::Parse(", "hlo::Check(", "hlo::Evaluate(", "hlo::Executable::Run(", "hlo::ReadInputs(", "hlo::build::")
    missing = [name for name in wanted if not any(name in symbol for symbol in symbols)]
    for name in missing:
        print("not exported:", name)
    print(f"{len(symbols)} exported symbols, {len(private)} of them private")
    return 1 if private or missing else 0


if __name__ == "__main__":
    sys.exit(main())
