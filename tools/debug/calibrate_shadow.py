#!/usr/bin/env python3
"""Calibrates the verdicts of `hlo-run shadow --against` on the programs of shadow_cases.py and
shadow_cases_training.py.

Each program's result is judged by the shadow run of the program itself. The result of a program with an injected bug must be
judged a bug, or beyond an estimated bound. The program itself on both engines, and a program that differs only by associativity, by the order of sums or by
fusion, must not. Prints a table and the wrong verdicts; the exit status is 1 if there are any.

    tools/debug/calibrate_shadow.py build/src/cli/hlo-run [--seeds 1] [--markdown]
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import shadow_cases
import shadow_cases_training

CASES = shadow_cases.CASES + shadow_cases_training.CASES

# From the weaker to the stronger verdict: the bound is an estimate or proven.
UNEXPLAINED = ["beyond the estimated bound", "not explained: a bug"]

RULES = ["correct", "bug", "rewrite"]


def run(binary, *words):
    done = subprocess.run([binary, *map(str, words)], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(map(str, words))}: {done.stderr}")
    return done.stdout


def verdict(binary, module, arguments, result):
    """Returns the worst verdict of all outputs, with its error and bound in ULP."""
    answer = json.loads(run(binary, "shadow", module, "--input", arguments, "--against", result, "--format=json"))
    if "verdicts" not in answer:
        sys.exit(f"{module}: {answer}")
    rank = ["explained by rounding", "ill-conditioned", "not judged", *UNEXPLAINED]
    worst = max(answer["verdicts"], key=lambda v: rank.index(v["verdict"]))
    finite = [float("inf") if worst[key] is None else worst[key] for key in ("error_ulp", "bound_ulp")]
    return worst["verdict"], *finite


def judge(binary, case, seed, folder):
    """Returns the verdicts of one case: a row for each judged result."""
    modules = [folder / f"{name}.hlo" for name in RULES]
    for which, module in enumerate(modules):
        module.write_text(case.module(which))
    arguments = folder / "arguments.npz"
    run(binary, "inputs", modules[0], "--random", seed, *case.fill.split(), "--output", arguments)
    rows = []
    for which, engine in ((0, "fast"), (0, "reference"), (2, "fast"), (2, "reference"), (1, "fast")):
        result = folder / "result.npz"
        run(binary, "run", modules[which], "--input", arguments, "--engine", engine, "--output", result)
        said, error, bound = verdict(binary, modules[0], arguments, result)
        is_bug = said in UNEXPLAINED
        rows.append((case, RULES[which], engine, said, error, bound, is_bug == (which == 1)))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("binary")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--filter", default="", help="only programs whose name contains this text")
    parser.add_argument("--markdown", action="store_true", help="print the table of src/debug/README.md")
    options = parser.parse_args()
    wrong = total = proven = 0
    if options.markdown:
        print("| program | injected bug | error of the bug, ULP | error of rewrites, ULP | bound, ULP |\n|---|---|---|---|---|")
    cases = [case for case in CASES if options.filter in case.name]
    for case in cases:
        rows = []
        for seed in range(1, options.seeds + 1):
            with tempfile.TemporaryDirectory() as folder:
                rows += judge(options.binary, case, seed, pathlib.Path(folder))
        total += len(rows)
        for row in rows:
            if not row[-1]:
                wrong += 1
                print(f"WRONG: {case.name}: {row[1]} on {row[2]}: {row[3]}, error {row[4]:.3g} ULP, bound {row[5]:.3g} ULP")
        bugs = [row for row in rows if row[1] == "bug"]
        proven += sum(row[3] == UNEXPLAINED[-1] for row in bugs)
        rewrites = [row for row in rows if row[1] != "bug"]
        if options.markdown:
            worst = max(rewrites, key=lambda row: row[4])
            print(f"| {case.name} | {case.bug} | {min(row[4] for row in bugs):.3g} | {worst[4]:.2g} | {worst[5]:.3g} |")
    print(f"{len(cases)} programs, {total} verdicts, {wrong} wrong; {proven} results are beyond a proven bound")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
