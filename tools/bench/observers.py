#!/usr/bin/env python3
"""Measures the overhead of observers: the check for NaNs on both engines, and shadow runs relative to the reference.

    tools/bench/observers.py build/src/cli/hlo-run PROGRAM.hlo... [--before OTHER_HLO_RUN]

Each row has the time of a plain run, and the ratio of the watched one to it; the best of several alternating runs. With
--before, the plain run of another build shows what the observers cost when there are none. Programs whose run on the
reference takes too long have no ratios for it."""

import argparse
import json
import pathlib
import subprocess
import time


def answer(words, timeout):
    """Returns the JSON line of a run, or None if it fails or takes too long."""
    try:
        done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return None
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        return None


def plain(binary, program, engine, repeat, timeout):
    found = answer([binary, "run", program, "--random", 1, "--elided=random", "--engine", engine, "--repeat", repeat, "--timing=json"], timeout)
    return found and found.get("run_s")


def watched(binary, program, engine, repeat, timeout):
    found = answer([binary, "trace", program, "--random", 1, "--elided=random", "--engine", engine, "--nans", "--repeat", repeat, "--format=json"], timeout)
    return found and found.get("origins", {}).get("watched_s") or None


def shadow(binary, program, timeout):
    found = answer([binary, "shadow", program, "--random", 1, "--elided=random", "--format=json"], timeout)
    return found and found.get("shadow_s")


def least(first, second):
    return min(filter(None, [first, second]), default=None)


def reference_times(options, program):
    """Returns the times on the reference, with the check for NaNs, and of the shadow run; None for what takes too long."""
    slow = watch = double = None
    start = time.monotonic()
    for number in range(options.rounds):
        if number > 0 and time.monotonic() - start > options.timeout:
            break
        slow = least(slow, plain(options.binary, program, "reference", 1, options.timeout))
        if slow is None:
            break
        watch = least(watch, watched(options.binary, program, "reference", 1, options.timeout))
        double = least(double, shadow(options.binary, program, 12 * options.timeout))
    return slow, watch, double


def ratio(part, whole):
    return f"{part / whole:.2f}x" if part and whole else "-"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("binary")
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--before")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--timeout", type=float, default=60)
    options = parser.parse_args()
    print("| program | fast, ms | without observers | NaN watch | reference, ms | NaN watch | shadow |\n|---|---|---|---|---|---|---|")
    for program in options.programs:
        fast = watch = before = None
        # Alternates, so that all programs run under the same load of the machine.
        for _ in range(options.rounds):
            fast = least(fast, plain(options.binary, program, "fast", 5, options.timeout))
            watch = least(watch, watched(options.binary, program, "fast", 5, options.timeout))
            if options.before:
                before = least(before, plain(options.before, program, "fast", 5, options.timeout))
        slow, watched_slow, double = reference_times(options, program)
        row = [pathlib.Path(program).stem, f"{fast * 1e3:.3g}" if fast else "-", ratio(fast, before), ratio(watch, fast),
               f"{slow * 1e3:.4g}" if slow else "-", ratio(watched_slow, slow), ratio(double, slow)]
        print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
