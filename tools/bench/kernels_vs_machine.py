#!/usr/bin/env python3
"""Compares the slowest kernel of each module with the machine's peak: prints a table of GFLOP/s and GB/s and of their
share of the peak FMA rate and of the copy bandwidth, which are measured just before and just after it.

    kernels_vs_machine.py [--build DIR] FILE...
"""

import argparse
import json
import os
import subprocess


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    hlo_run = os.path.join(arguments.build, "src/cli/hlo-run")

    def measure_machine():
        return json.loads(run(os.path.join(arguments.build, "tools/bench/machine_bench")))

    before = measure_machine()
    print(f"{before['threads']} threads\n\n| module | kernel | ms | GFLOP/s | of peak | GB/s | a copy | of that |\n"
          "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for path in arguments.files:
        best = {}
        for _ in range(3):
            profile = json.loads(run(hlo_run, "profile", path, "--random", "1", "--elided=counter", "--repeat", "10",
                                     "--format=json"))
            for step in profile["steps"]:
                key = step["instruction"], step["kernel"]
                if key not in best or step["seconds"] < best[key]["seconds"]:
                    best[key] = step
        after = measure_machine()
        step = max(best.values(), key=lambda each: each["seconds"])
        seconds = step["seconds"]
        flops, bytes_moved = step["flops"] / seconds / 1e9, step["bytes"] / seconds / 1e9
        peak, copy = (max(before[key], after[key]) for key in ("fma_gflops", "copy_gb_s"))
        print(f"| {os.path.basename(path).removesuffix('.hlo')} | {step['kernel']} | {seconds * 1e3:.3g} | {flops:.3g} | "
              f"{flops / peak:.2f} | {bytes_moved:.3g} | {copy:.3g} | {bytes_moved / copy:.2f} |", flush=True)
        before = after


if __name__ == "__main__":
    main()
