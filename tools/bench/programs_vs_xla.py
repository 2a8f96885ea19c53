#!/usr/bin/env python3
"""Compares hlo-run with XLA:CPU on the programs of `jax_programs.py` or the operations of `jax_operations.py`: prints a
table of the fastest runs, in milliseconds.

    programs_vs_xla.py [--suite programs|operations] [--hlo-run PATH] [--base PATH] [--seconds S] [--turns N]
                       [--names NAME,...] [--match REGEX] [--above RATIO] [--keep FOLDER]

Run it in an environment that has jax and numpy. Every program is run from its module before XLA's optimisation and from
the module after it; results are compared with XLA's first, and `scaled` is the largest difference relative to the
largest magnitude of that output (1 for an integer that differs). XLA and the runs of hlo-run take turns; the fastest run
counts, and a ratio is ours / XLA's (below 1: we are faster). XLA's time includes JAX's dispatch, a few microseconds.
--base is another hlo-run, whose ratios are printed beside ours. --match selects names, and --above prints only rows with
a larger ratio. --keep stores the modules and arguments in FOLDER.
"""

import argparse
import importlib
import math
import os
import re
import sys
import tempfile
import time

import jax
import numpy as np

from run_vs_xla import geometric_mean, hlo_run, timing


def module_text(module):
    from jaxlib import _hlo

    options = _hlo.HloPrintOptions()
    options.print_large_constants = True
    return module.to_string(options)


def prepare(program, name, folder):
    """Compiles the program, stores both of its modules and its arguments, and returns (executable, arguments)."""
    function, arguments = program()
    lowered = jax.jit(function, keep_unused=True).lower(*arguments)
    compiled = lowered.compile()
    texts = {"before": lowered.compiler_ir("hlo").as_hlo_module(), "after": compiled.runtime_executable().hlo_modules()[0]}
    for form, module in texts.items():
        with open(os.path.join(folder, f"{name}.{form}.hlo"), "w") as file:
            file.write(module_text(module))
    leaves = [np.asarray(a) for a in jax.tree.leaves(arguments)]
    words = lambda a: a.view(np.uint16) if a.dtype.name == "bfloat16" else a
    np.savez(os.path.join(folder, f"{name}.npz"), **{str(i): words(a) for i, a in enumerate(leaves)})
    return compiled, jax.device_put(arguments)


def difference(path, results):
    """Returns the largest scaled difference between the results in the file and XLA's."""
    worst = 0.0
    with np.load(path) as data:
        ours = [data[key] for key in sorted(data.files, key=lambda k: tuple(map(int, k.split("."))))]
    for got, want in zip(ours, map(np.asarray, jax.tree.leaves(results)), strict=True):
        if want.dtype.name == "bfloat16" and got.dtype != want.dtype:
            got = got.view(want.dtype)
        if want.dtype.kind in "iub":
            worst = max(worst, float((got.reshape(want.shape) != want).any()))
            continue
        kind = np.complex128 if want.dtype.kind == "c" else np.float64
        got, want = got.astype(kind).reshape(want.shape), want.astype(kind)
        if not (np.isnan(got) == np.isnan(want)).all():
            return math.nan
        scale = np.nanmax(np.abs(want), initial=0) or 1.0
        worst = max(worst, float(np.nanmax(np.abs(got - want), initial=0) / scale))
    return worst


def time_xla(compiled, arguments, seconds):
    best, spent, count = math.inf, 0.0, 0
    while count < 3 or (spent < seconds and count < 5000):
        start = time.perf_counter()
        jax.block_until_ready(compiled(*arguments))
        taken = time.perf_counter() - start
        best, spent, count = min(best, taken), spent + taken, count + 1
    return best


def time_ours(binary, module, inputs, seconds, expected):
    runs = max(3, min(5000, int(seconds / max(expected, 1e-6))))
    return timing(binary, module, inputs, runs)["run_s"]


def measure(arguments, program, name, folder):
    """Returns {"xla": s, "scaled": {form: d}, (binary, form): s}."""
    compiled, values = prepare(program, name, folder)
    results = jax.block_until_ready(compiled(*values))
    inputs, outputs = os.path.join(folder, f"{name}.npz"), os.path.join(folder, f"{name}.out.npz")
    binaries = [arguments.hlo_run] + ([arguments.base] if arguments.base else [])
    modules = {form: os.path.join(folder, f"{name}.{form}.hlo") for form in ("before", "after")}
    row = {"xla": math.inf, "scaled": {}}
    for form, module in modules.items():
        hlo_run(arguments.hlo_run, "run", module, "--input", inputs, "--output", outputs)
        row["scaled"][form] = difference(outputs, results)
    for _ in range(arguments.turns):
        row["xla"] = min(row["xla"], time_xla(compiled, values, arguments.seconds))
        for form, module in modules.items():
            for binary in binaries:
                expected = row.get((binary, form), row["xla"])
                taken = time_ours(binary, module, inputs, arguments.seconds, expected)
                row[binary, form] = min(row.get((binary, form), math.inf), taken)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", choices=("programs", "operations"), default="programs")
    parser.add_argument("--hlo-run", default="build/src/cli/hlo-run")
    parser.add_argument("--base", help="another hlo-run to compare with")
    parser.add_argument("--seconds", type=float, default=0.2, help="for each contender, module and turn")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--names", default="", help="programs, separated by commas; all by default")
    parser.add_argument("--match", default="", help="a regular expression that names contain")
    parser.add_argument("--above", type=float, default=0.0, help="print only rows with a larger ratio")
    parser.add_argument("--keep", help="folder for modules and arguments")
    arguments = parser.parse_args()
    programs = importlib.import_module(f"jax_{arguments.suite}").PROGRAMS
    names = arguments.names.split(",") if arguments.names else [n for n in programs if re.search(arguments.match, n)]
    binaries = [arguments.hlo_run] + ([arguments.base] if arguments.base else [])
    columns = [(binary, form) for form in ("before", "after") for binary in binaries]
    titles = [form + (", base" if binary == arguments.base else "") for binary, form in columns]
    print(f"| program | XLA, ms | {' | '.join(titles)} | scaled |\n| --- |{' ---: |' * (len(columns) + 2)}")
    ratios = {column: [] for column in columns}
    failed = False
    for name in names:
        with tempfile.TemporaryDirectory() as temporary:
            folder = arguments.keep or temporary
            os.makedirs(folder, exist_ok=True)
            try:
                row = measure(arguments, programs[name], name, folder)
            except Exception as error:  # one program that fails is reported, and the others are measured
                print(f"| {name} | {str(error).splitlines()[0][:200]} |", flush=True)
                failed = True
                continue
        for column in columns:
            ratios[column].append(row[column] / row["xla"])
        if max(ratios[column][-1] for column in columns) <= arguments.above:
            continue
        cells = " | ".join(f"{ratios[column][-1]:.2f}" for column in columns)
        scaled = ", ".join(f"{value:.2g}" for value in row["scaled"].values())
        print(f"| {name} | {row['xla'] * 1e3:.3g} | {cells} | {scaled} |", flush=True)
    means = " | ".join(f"{geometric_mean(ratios[column]):.3f}" for column in columns)
    print(f"| geometric mean of {len(ratios[columns[0]])} | | {means} | |")
    sys.exit(failed)


if __name__ == "__main__":
    main()
