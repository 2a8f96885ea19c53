#!/usr/bin/env python3
"""Runs the commands of examples/debugging/README.md and compares their output with the page.

  tools/docs/walks.py HLO_RUN            exit status 1 and a diff if they differ
  tools/docs/walks.py --update HLO_RUN   writes their output to the page

Numbers with a fraction may differ by a thousandth, because processors differ in the last bits of functions and sums.
A block ```console holds commands after "$ ", each with its output, standard error included. All commands of the page
run in one copy of the folder.
"""

import argparse
import difflib
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples" / "debugging"
BLOCK = re.compile(r"```console\n(.*?)```\n", re.S)
NUMBER = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?")


def agree(page, now):
    """True if the texts are equal except for the last digits of their numbers."""
    if NUMBER.sub("#", page) != NUMBER.sub("#", now):
        return False
    return all(math.isclose(float(a), float(b), rel_tol=1e-3)
               for a, b in zip(NUMBER.findall(page), NUMBER.findall(now)))


def printed(command, folder, environment):
    run = subprocess.run(["sh", "-c", command], cwd=folder, env=environment, text=True, timeout=120,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines = [line.rstrip() for line in run.stdout.splitlines()]
    return "".join(f"{line}\n" for line in lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("hlo_run", type=pathlib.Path)
    arguments = parser.parse_args()
    page = (FOLDER / "README.md").read_text()
    environment = dict(os.environ, PATH=f"{arguments.hlo_run.resolve().parent}:{os.environ['PATH']}")
    count = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary) / "debugging"
        shutil.copytree(FOLDER, folder)

        def replayed(block):
            nonlocal count
            commands = re.findall(r"^\$ (.*)$", block.group(1), re.M)
            count += len(commands)
            return "```console\n" + "".join(f"$ {c}\n{printed(c, folder, environment)}" for c in commands) + "```\n"

        now = BLOCK.sub(replayed, page)
    if count == 0:
        sys.exit("the page has no commands")
    if arguments.update:
        (FOLDER / "README.md").write_text(now)
    elif not agree(page, now):
        sys.stdout.writelines(difflib.unified_diff(page.splitlines(True), now.splitlines(True), "README.md", "now"))
        sys.exit(1)
    print(f"{count} commands print what the page shows")


if __name__ == "__main__":
    main()
