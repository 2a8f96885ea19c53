#!/usr/bin/env python3
"""Prints the compile times of a build: job-seconds by folder, and the slowest translation units.

  tools/lint/build_time.py build             wall time of each job, from the .ninja_log of a finished build
  tools/lint/build_time.py --measure build   processor time of each compilation of a configured build, which is little
                                             affected by other load: compiles serially, without ccache, into a
                                             temporary file
"""

import argparse
import collections
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
OBJECT = re.compile(r"\.(o|gch)$")


def folder_of(output):
    """Returns the source folder of an object file, which is FOLDER/CMakeFiles/TARGET.dir/NAME.cc.o. Objects of a target in subfolders count as
    parts of the subfolders."""
    before, found, after = output.partition("CMakeFiles/")
    if not found:
        return "other"
    target, _, name = after.partition("/")
    if name.endswith(".gch"):
        return "precompiled headers"
    inner = str(pathlib.PurePosixPath(name).parent)
    if "generated" in inner or inner in (".", "Unity"):
        inner = ""
    return (before + inner).rstrip("/") or target


def logged(build):
    """Yields (seconds, output) of each compilation in Ninja's log, from the last entry of each output."""
    jobs = {}
    for line in (build / ".ninja_log").read_text().splitlines():
        fields = line.split("\t")
        if len(fields) == 5 and OBJECT.search(fields[3]):
            jobs[fields[3]] = (int(fields[1]) - int(fields[0])) / 1000
    for output, seconds in jobs.items():
        yield seconds, output


def launch(command, directory, environment):
    """Runs a compiler and returns the processor time that it and its children took."""
    process = subprocess.Popen(command, cwd=directory, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"failed: {shlex.join(command)}")
    return usage.ru_utime + usage.ru_stime


def measured(build, targets, every):
    """Yields (seconds, output) of one in `every` compilations of the build's database; precompiled headers are compiled
    first and kept, since others include them."""
    environment = {**os.environ, "CCACHE_DISABLE": "1"}
    entries = json.loads((build / "compile_commands.json").read_text())
    wanted = set(subprocess.run(["ninja", "-C", build, "-t", "inputs", *targets], check=True, capture_output=True,
                                text=True).stdout.split()) if targets else None
    compilations = []
    for entry in entries:
        command = shlex.split(entry["command"])
        place = command.index("-o") + 1
        if wanted is None or command[place] in wanted:
            compilations.append((command, place, entry["directory"]))
    compilations.sort(key=lambda job: not job[0][job[1]].endswith(".gch"))
    with tempfile.TemporaryDirectory() as scratch:
        for index, (command, place, directory) in enumerate(compilations):
            output = command[place]
            if output.endswith(".gch"):
                yield launch(command, directory, environment), output
            elif index % every == 0:
                command[place] = f"{scratch}/object.o"
                yield launch(command, directory, environment), output


def table(jobs, every, slowest):
    folders = collections.defaultdict(list)
    for seconds, output in jobs:
        folders[folder_of(output)].append(seconds)
    print(f"{'seconds':>9} {'files':>6} {'longest':>8}  folder")
    for folder, times in sorted(folders.items(), key=lambda item: -sum(item[1])):
        factor = 1 if folder == "precompiled headers" else every
        print(f"{sum(times) * factor:9.1f} {len(times) * factor:6d} {max(times):8.1f}  {folder}")
    scaled = (sum(times) * (1 if folder == "precompiled headers" else every) for folder, times in folders.items())
    print(f"{sum(scaled):9.1f} {'':6} {'':8}  all" + (f", from one file in {every}" if every > 1 else ""))
    print("\nslowest:")
    for seconds, output in sorted(jobs, reverse=True)[:slowest]:
        print(f"{seconds:9.1f}  {output}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, help="a build folder made with Ninja")
    parser.add_argument("targets", nargs="*", help="with --measure: only the compilations that these targets need, such as hlo-run")
    parser.add_argument("--measure", action="store_true", help="compile, and measure processor time")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="measure one file in N and scale the sums")
    parser.add_argument("--slowest", type=int, default=20, metavar="N", help="the number of translation units to print")
    arguments = parser.parse_args()
    jobs = list(measured(arguments.build, arguments.targets, arguments.every) if arguments.measure else logged(arguments.build))
    table(jobs, arguments.every if arguments.measure else 1, arguments.slowest)


if __name__ == "__main__":
    main()
