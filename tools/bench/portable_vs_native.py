#!/usr/bin/env python3
"""Compares a portable build (HLO_RUN_NATIVE=OFF) with a native one. Prints the ratio of their times for each module
and each level of the portable build's kernels, measured alternately in one run, with the same random inputs.

    portable_vs_native.py --native build/src/cli/hlo-run --portable build-portable/src/cli/hlo-run FILE...

The results of the two programs are compared by the contract: by default within 1e-3 of the largest magnitude.
"""

import argparse
import json
import math
import os
import subprocess
import tempfile

import numpy as np


def environment(level):
    """Returns the environment that selects `level`; the native one if it is empty."""
    others = {name: value for name, value in os.environ.items() if name != "HLO_RUN_ISA"}
    return {**others, "HLO_RUN_ISA": level} if level else others


def run(program, level, path, *flags):
    command = [program, "run", path, "--random", "1", "--elided=counter", *flags]
    return subprocess.run(command, capture_output=True, text=True, env=environment(level), check=True).stdout


def best_time(program, level, path, repeat):
    return json.loads(run(program, level, path, f"--repeat={repeat}", "--timing=json").splitlines()[-1])["run_s"]


def result(program, level, path, folder):
    out = os.path.join(folder, f"{level or 'native'}.npz")
    run(program, level, path, "-o", out)
    with np.load(out) as arrays:
        return {key: arrays[key] for key in arrays}


def agree(have, want):
    for key, value in want.items():
        if value.dtype.kind in "fc":
            scale = np.max(np.abs(value[np.isfinite(value)]), initial=0)
            if not np.allclose(have[key], value, rtol=1e-3, atol=1e-3 * scale, equal_nan=True):
                return False
        elif value.dtype.kind != "V" and not np.array_equal(have[key], value):
            return False
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--native", default="build/src/cli/hlo-run")
    parser.add_argument("--portable", default="build-portable/src/cli/hlo-run")
    parser.add_argument("--levels", help="comma-separated; by default only the best level of the processor")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    devices = json.loads(subprocess.run([arguments.portable, "devices", "--format=json"], capture_output=True, text=True,
                                        check=True).stdout)
    levels = arguments.levels.split(",") if arguments.levels else [devices["cpu"]["instruction_set"]]
    print(f"| module | native ms | {' | '.join(levels)} | results |\n| --- | ---: |{' ---: |' * len(levels)} --- |")
    ratios = {level: [] for level in levels}
    for path in arguments.files:
        native, portable = math.inf, dict.fromkeys(levels, math.inf)
        for _ in range(arguments.turns):
            native = min(native, best_time(arguments.native, "", path, arguments.repeat))
            for level in levels:
                portable[level] = min(portable[level], best_time(arguments.portable, level, path, arguments.repeat))
        with tempfile.TemporaryDirectory() as folder:
            want = result(arguments.native, "", path, folder)
            wrong = [level for level in levels if not agree(result(arguments.portable, level, path, folder), want)]
        for level in levels:
            ratios[level].append(portable[level] / native)
        print(f"| {os.path.basename(path).removesuffix('.hlo')} | {native * 1e3:.4g} | "
              f"{' | '.join(f'{portable[level] / native:.2f}' for level in levels)} | "
              f"{'differ: ' + ', '.join(wrong) if wrong else 'agree'} |", flush=True)
    means = [math.exp(sum(map(math.log, ratios[level])) / len(arguments.files)) for level in levels]
    print(f"| geometric mean | | {' | '.join(f'{mean:.3f}' for mean in means)} | |")


if __name__ == "__main__":
    main()
