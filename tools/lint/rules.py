#!/usr/bin/env python3
"""Checks the rules that code, tests and tools cite against the documents in grammar/. Each rule that is cited needs an
anchor `<a id="shape-rules.3.1"></a>` in the document of its name, and each anchor is unique. Prints one line per violation,
with exit status 1; with --list, prints every cited rule and its number of citations."""

import collections
import json
import pathlib
import re
import sys

DOCUMENTS = ("text-format", "shape-rules", "semantics", "spmd")
SUFFIXES = {".h", ".cc", ".cu", ".cuh", ".def", ".py", ".md", ".hlo", ".json", ".jsonl", ".txt", ".cmake", ".in", ".h.in"}
FOLDERS = ("src", "include", "tests", "tools")

# A section number, an appendix (A, B, C) or a trap, which is a row of appendix C.
NUMBER = r"(?:[1-9][0-9]*|0)(?:\.[0-9]+)*(?![0-9]*\.?[0-9A-Za-z_])"
REFERENCE = rf"(?:sections? )?{NUMBER}|(?:[Aa]ppendix )?[A-C]\b|traps? {NUMBER}"
# `shape-rules 3.1`, `text-format 2.2, 2.3 and 2.5`, `text-format 5.1 to 5.3`, `shape-rules.3.1`.
JOIN = r",? (?:and|or|to) |, "
CITATION = re.compile(rf"\b({'|'.join(DOCUMENTS)})(?:,? |\.(?=[0-9A-C]))((?:{REFERENCE})(?:(?:{JOIN})(?:{REFERENCE}))*)")
# The start of a comment line, on which a citation may continue.
CONTINUED = re.compile(r"[ \t]*\r?\n[ \t]*(?://[/!]?<?|#|\*)?[ \t]*")
# Diagnostics of the checker contain only the number of a shape rule.
RULE_NUMBER = re.compile(r'"([1-9]\.[0-9]{1,2})"')
ANCHOR = re.compile(r'<a id="([^"]*)"></a>')
HEADING = re.compile(r"^#+ (?:Appendix )?([0-9A-C]+(?:\.[0-9]+)*)\b")


def number_of(reference):
    """Returns the section that a reference such as `section 3`, `appendix B` or `trap 8` names."""
    if reference.startswith("trap"):
        return "C"
    return reference.split()[-1]


def between(first, last):
    """Returns the sections strictly between the ends of `5.1 to 5.3`; none if the ends do not differ only in their last number."""
    a, b = first.split("."), last.split(".")
    if a[:-1] != b[:-1] or not (a[-1].isdigit() and b[-1].isdigit()):
        return []
    return [".".join([*a[:-1], str(n)]) for n in range(int(a[-1]) + 1, int(b[-1]))]


def citations(text):
    """Yields (offset, rule) for every rule that a text cites; lists and ranges are expanded."""
    joined, offsets = [], []
    at = 0
    for match in CONTINUED.finditer(text):
        joined.append(text[at:match.start()])
        offsets.extend(range(at, match.start()))
        joined.append(" ")
        offsets.append(match.start())
        at = match.end()
    joined.append(text[at:])
    offsets.extend(range(at, len(text)))
    for match in CITATION.finditer("".join(joined)):
        document = match.group(1)
        parts = re.split(f"({JOIN})", match.group(2))
        numbers = [number_of(part) for part in parts[::2]]
        for join, first, last in zip(parts[1::2], numbers, numbers[1:]):
            if join.strip(" ,") == "to":
                numbers.extend(between(first, last))
        for number in numbers:
            yield offsets[match.start()], f"{document}.{number}"


def cited_rules(root):
    """Yields (rule, location) for every citation in the folders."""
    paths = sorted(p for folder in FOLDERS for p in (root / folder).rglob("*") if p.is_file())
    for path in paths:
        where = path.relative_to(root)
        if path.suffix not in SUFFIXES or path == pathlib.Path(__file__).resolve():
            continue
        text = path.read_text(errors="replace")
        if where.parts[:2] == ("tests", "vectors") and path.suffix == ".jsonl" and path.stem in DOCUMENTS:
            for line, row in enumerate(text.splitlines(), 1):
                if section := json.loads(row).get("section"):
                    yield f"{path.stem}.{section}", f"{where}:{line}"
        found = list(citations(text)) if any(name in text for name in DOCUMENTS) else []
        if where.parts[:2] == ("src", "check"):
            found += [(m.start(), f"shape-rules.{m.group(1)}") for m in RULE_NUMBER.finditer(text)]
        for offset, rule in found:
            yield rule, f"{where}:{text.count(chr(10), 0, offset) + 1}"


def violations(root):
    anchors = {}
    for name in DOCUMENTS:
        path = root / "grammar" / f"{name}.md"
        where = path.relative_to(root)
        if not path.is_file():
            yield f"{where}: missing"
            continue
        lines = path.read_text().splitlines()
        for line, text in enumerate(lines, 1):
            for anchor in ANCHOR.findall(text):
                at = f"{where}:{line}"
                if anchor in anchors:
                    yield f"{at}: '{anchor}' is an anchor already at {anchors[anchor]}"
                elif not anchor.startswith(name + "."):
                    yield f"{at}: '{anchor}' is not an anchor of {name}"
                anchors.setdefault(anchor, at)
                heading = HEADING.match(lines[line]) if line < len(lines) else None
                if heading and anchor != f"{name}.{heading.group(1)}":
                    yield f"{at}: '{anchor}' stands before the heading '{lines[line]}'"
    for rule, where in cited_rules(root):
        if rule not in anchors and (root / "grammar" / f"{rule.split('.')[0]}.md").is_file():
            yield f"{where}: there is no rule {rule}"


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    if "--list" in sys.argv[1:]:
        count = collections.Counter(rule for rule, _ in cited_rules(root))
        for rule, number in sorted(count.items(), key=lambda item: [int(p) if p.isdigit() else -1 for p in item[0].split(".")]):
            print(f"{number:5} {rule}")
        return 0
    found = list(violations(root))
    print("\n".join(found) if found else "all cited rules are documented")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
