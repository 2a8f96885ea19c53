#!/usr/bin/env python3
"""Compares the speed of hlo-run's parser with XLA's in one run on one machine.

    parse_vs_xla.py --bench BUILD/tools/bench/parse_bench --xla XLA.PY [--rounds N] FILE...

XLA.PY is a script that, called as `XLA.PY parse FILE...`, prints `FILE: accepted  N MB/s` for each file. Both parsers
read every file in each round; the best round counts. MB are 10^6 bytes.
"""

import argparse
import json
import re
import subprocess
import sys

LINE = re.compile(r"^(?P<file>.*): (?P<verdict>accepted|refused)\S*\s+(?:(?P<speed>[0-9.]+) MB/s)?")


def ours(bench, files):
    result = {}
    output = subprocess.run([bench, "--json", "--repeat=3", *files], stdout=subprocess.PIPE, text=True).stdout
    for line in output.splitlines():
        row = json.loads(line)
        result[row["file"]] = row
    return result


def theirs(xla, files):
    result = {}
    output = subprocess.run([xla, "parse", *files], stdout=subprocess.PIPE, text=True).stdout
    for line in output.splitlines():
        match = LINE.match(line)
        if match and match["speed"]:
            result[match["file"]] = max(result.get(match["file"], 0.0), float(match["speed"]))
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", required=True)
    parser.add_argument("--xla", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("files", nargs="+")
    args = parser.parse_args()

    best_ours, best_theirs = {}, {}
    for _ in range(args.rounds):
        for file, row in ours(args.bench, args.files).items():
            if file not in best_ours or row["parse_mb_s"] > best_ours[file]["parse_mb_s"]:
                best_ours[file] = row
        for file, speed in theirs(args.xla, args.files).items():
            best_theirs[file] = max(best_theirs.get(file, 0.0), speed)

    print(f"{'file':<48} {'MB':>7} {'ours':>7} {'+check':>7} {'XLA':>7} {'ratio':>6} {'peak':>5}")
    for file in args.files:
        name = file.rsplit("/", 1)[-1]
        if file not in best_ours or file not in best_theirs:
            who = "ours" if file not in best_ours else "XLA"
            print(f"{name:<48} not read by {who}")
            continue
        row, xla = best_ours[file], best_theirs[file]
        print(f"{name:<48} {row['bytes'] / 1e6:>7.3f} {row['parse_mb_s']:>7.1f} {row['parse_check_mb_s']:>7.1f} "
              f"{xla:>7.1f} {row['parse_mb_s'] / max(xla, 0.05):>6.1f} {row['peak_per_byte']:>5.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
