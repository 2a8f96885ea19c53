#!/usr/bin/env python3
"""Checks the benchmarks' JSON lines against the performance targets: prints one line per target with its worst case.

    targets.py FILE...      output of cuda_*_bench --json and resnet50_vs_xla.py --json

Ratios are the other library's time divided by ours: 1 is equally fast, more is faster. Wrong results and lines without
a target do not count. The exit status is 1 if a result is wrong.
"""

import json
import math
import re
import sys

# name, name of its cases, compared member, target
TARGETS = [
    ("dot f32 by cuBLAS", r"dot f32 [^_]*$", "ratio", 0.93),
    ("dot f64 by cuBLAS", r"dot f64 ", "ratio", 0.90),
    ("dot bf16 by cuBLAS", r"dot bf16 ", "ratio", 0.90),
    ("dot f16 by cuBLAS", r"dot f16 ", "ratio", 0.90),
    ("dot f8 by cuBLAS", r"dot f8.* dot_any_f8_any_f8_f32_fast_accum$", "ratio", 0.85),
    ("dot f8, sums in f32", r"dot f8[^_]*$", "ratio", None),
    ("convolution by cuDNN", r"convolution ", "ratio", 0.85),
    ("reduce by CUB", r"sum (?!.*columns|bf16)", "ratio", 0.95),
    ("reduce by copy", r"sum ", "of_copy", 0.90),
    ("sort by CUB", r"sort ", "ratio", 0.90),
    ("FFT by cuFFT", r"I?R?FFT ", "ratio", 0.85),
    ("ResNet-50 by XLA", r"resnet50 ", "ratio", 1 / 1.5),
]


def rows_of(files):
    rows = []
    for name in files:
        with open(name, encoding="utf8") as file:
            for line in file:
                if line.startswith("{"):
                    rows.append(json.loads(re.sub(r": (-?)(inf|nan)\b", r": \1Infinity", line)))
    return rows


def is_right(row):
    return row.get("same_bits", True) and row.get("error", row.get("error_of_bound", 0)) <= 1


def line_of(name, pattern, key, target, rows):
    values = {row["case"]: row[key] for row in rows if re.match(pattern, row["case"]) and row.get(key, 0) > 0}
    wanted = f">= {target:.2f}" if target else ""
    if not values:
        return f"{name:<22} {wanted:<8} not measured"
    worst = min(values, key=values.get)
    mean = math.exp(sum(map(math.log, values.values())) / len(values))
    met = sum(value >= target for value in values.values()) if target else 0
    verdict = "" if not target else "met  " if met == len(values) else "BELOW"
    count = f"{met} of {len(values)}" if target else str(len(values))
    return f"{name:<22} {wanted:<8} {verdict:<5} {count:<9} mean {mean:.2f}, worst {values[worst]:.2f}: {worst}"


def main():
    rows = rows_of(sys.argv[1:])
    wrong = [row["case"] for row in rows if not is_right(row)]
    right = [row for row in rows if is_right(row)]
    for target in TARGETS:
        print(line_of(*target, right))
    for case in wrong:
        print(f"WRONG RESULT: {case}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
