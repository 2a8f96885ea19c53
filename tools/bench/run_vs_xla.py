#!/usr/bin/env python3
"""Compares hlo-run with XLA:CPU: prints a table of times and memory for whole modules, after comparing the results.

    run_vs_xla.py --oracle XLA.PY [--hlo-run PATH] [--seconds S] [--network] FILE...

ORACLE is a Python file with open_engine, flat_parameters, from_npz (an XLA driver built on jaxlib); run this script in
an environment that has jaxlib and numpy. Every file gets a separate process, in which the two alternate: the best run
of each counts, and the ratio is ours / XLA's (below 1: we are faster). XLA compiles as JAX does, with its default
options.

first: from the start of our process to its first result, excluding the time for reading the arguments, compared with
XLA's parse + compile + first run in a process that has already imported it. run: the fastest of the later runs. memory:
peak bytes of arguments, results, temporaries and constants, compared with XLA's arguments and its allocations during a
run of the executable. liballocation_peak.so counts these in a separate process, without constants. If that library was
not built, the executable's own numbers are used, which exclude allocations in kernels. If the module donates arguments,
the run gives them up. scaled: the largest difference from XLA's values relative to the largest magnitude of that
output. Constants that the producer elided ({...}) get the same values in both.
"""

import argparse
import ctypes
import gc
import json
import math
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import compare_with_xla as comparison  # noqa: E402


def compile_for_cpu(oracle, engine, text):
    """Returns (executable, seconds): parses and compiles in the first of the oracle's ways that XLA accepts."""
    errors = []
    for way in ("stablehlo", "direct"):
        start = time.perf_counter()
        try:
            module = engine.parse(text)
            source = module if way == "direct" else oracle.without_fusions(engine, module)
            executable = engine.compile(source, way, exact=False)
            return module, executable, time.perf_counter() - start
        except Exception as error:  # try the next way
            errors.append(f"{way}: {str(error)[:200]}")
    raise RuntimeError(" | ".join(errors))


def xla_memory(executable):
    try:
        stats = executable.get_compiled_memory_stats()
        return stats.argument_size_in_bytes + stats.output_size_in_bytes + stats.temp_size_in_bytes - stats.alias_size_in_bytes
    except Exception:  # some backends do not report it
        return 0


def hlo_run(binary, *command):
    run = subprocess.run([binary, *command], capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError(f"hlo-run: exit {run.returncode}: {run.stderr.strip()[-300:]}")
    return run.stdout


def timing(binary, path, inputs, runs):
    output = hlo_run(binary, "run", path, "--input", inputs, "--repeat", str(runs), "--timing=json")
    return json.loads(output.strip().splitlines()[-1])


def ours(arguments, path, inputs, runs):
    """Returns the timing line of one process, with the seconds until its first result."""
    start = time.perf_counter()
    hlo_run(arguments.hlo_run, "--version")
    process_s = time.perf_counter() - start
    row = timing(arguments.hlo_run, path, inputs, runs)
    row["first_s"] = process_s + row["parse_s"] + row["check_s"] + row["plan_s"] + row["first_run_s"]
    return row


class Prepared:
    """A module compiled by XLA, and its arguments in a folder for hlo-run."""

    def __init__(self, arguments, path, folder):
        import numpy as np

        self.oracle = comparison.load_oracle(arguments.oracle)
        self.filled, self.inputs = os.path.join(folder, os.path.basename(path)), os.path.join(folder, "in.npz")
        text = comparison.fill_elided(self.oracle.read_text(path))
        with open(self.filled, "w", encoding="utf8", errors="surrogateescape") as file:
            file.write(text)
        hlo_run(arguments.hlo_run, "inputs", self.filled, "--random", "1", "--output", self.inputs)
        if arguments.network:
            comparison.as_network(self.inputs)
        self.engine = self.oracle.open_engine("cpu")
        module, self.executable, self.compile_s = compile_for_cpu(self.oracle, self.engine, text)
        self.shape = self.engine.program_shape(module)
        with np.load(self.inputs) as data:
            self.arrays = [self.oracle.from_npz(data[k], t).reshape(d)
                           for k, t, d in self.oracle.flat_parameters(self.shape)]
        self.donates = "input_output_alias" in text or "buffer_donor" in text

    def put(self):
        buffers = self.engine.put(self.arrays)
        self.engine.wait(buffers)
        return buffers


def count(arguments, path):
    """Returns the bytes of XLA's arguments and of its peak allocation during a run, the minimum of several runs."""
    library = ctypes.CDLL(arguments.allocations)
    library.allocation_mark.restype = library.allocation_peak.restype = ctypes.c_long
    with tempfile.TemporaryDirectory() as folder:
        it = Prepared(arguments, path, folder)
        best = math.inf
        for _ in range(12):
            buffers = it.put()
            gc.collect()
            before = library.allocation_mark()
            out = it.engine.execute(it.executable, buffers)
            it.engine.wait(out)
            best = min(best, library.allocation_peak() - before)
            del out, buffers
        return sum(array.nbytes for array in it.arrays) + best


def one(arguments, path):
    import numpy as np

    with tempfile.TemporaryDirectory() as folder:
        it = Prepared(arguments, path, folder)
        oracle, engine, executable, filled, inputs = it.oracle, it.engine, it.executable, it.filled, it.inputs
        outputs = os.path.join(folder, "out.npz")
        buffers = it.put()

        def run_xla():
            nonlocal buffers
            if it.donates:  # the previous run consumed the buffers
                buffers = it.put()
            start = time.perf_counter()
            out = engine.execute(executable, buffers)
            engine.wait(out)
            return time.perf_counter() - start, out

        first, out = run_xla()
        leaves = oracle.leaf_shapes(it.shape.result_shape())
        scaled = 0.0
        hlo_run(arguments.hlo_run, "run", filled, "--input", inputs, "--output", outputs)
        with np.load(outputs) as got:
            for i, (key_path, hlo_type, _) in enumerate(leaves):
                key = ".".join(map(str, key_path)) if key_path else "0"
                want = np.asarray(out[i])
                row = comparison.compare(oracle.from_npz(got[key], hlo_type).reshape(want.shape), want, hlo_type)
                scaled = max(scaled, row["scaled"], float(row["differ"] > 0 and hlo_type not in comparison.MANTISSA))
        best_xla, best_ours, first_ours, peak = first, math.inf, math.inf, 0
        for _ in range(arguments.turns):
            spent = 0.0
            count = 0
            while count < 2 or (spent < arguments.seconds / arguments.turns and count < 2000):
                seconds, out = run_xla()
                best_xla = min(best_xla, seconds)
                spent += seconds
                count += 1
            runs = max(3, min(2000, int(arguments.seconds / arguments.turns / max(best_xla, 1e-6))))
            if best_ours < math.inf:
                runs = max(3, min(2000, int(arguments.seconds / arguments.turns / best_ours)))
            row = ours(arguments, filled, inputs, runs)
            best_ours, peak = min(best_ours, row["run_s"]), max(peak, row["peak_bytes"])
            first_ours = min(first_ours, row["first_s"])
        if it.donates:
            peak = timing(arguments.hlo_run, filled, inputs, 1)["peak_bytes"]
        return {"first_ours": first_ours, "first_xla": it.compile_s + first, "run_ours": best_ours, "run_xla": best_xla,
                "memory_ours": peak, "memory_xla": xla_memory(executable), "scaled": scaled}


def milliseconds(seconds):
    return f"{seconds * 1e3:.3g}" if seconds < 10 else f"{seconds * 1e3:.0f}"


def geometric_mean(values):
    values = [v for v in values if v > 0]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--oracle", required=True)
    parser.add_argument("--hlo-run", default="build/src/cli/hlo-run")
    parser.add_argument("--seconds", type=float, default=2.0, help="for each contender and file")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--network", action="store_true", help="arguments scaled like those of a trained network")
    parser.add_argument("--allocations", default="build/tools/bench/liballocation_peak.so", help="the shared library that counts allocations")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--count", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    if arguments.one or arguments.count:
        print("ROW " + json.dumps((one if arguments.one else count)(arguments, arguments.files[0])))
        return

    def child(mode, path, **environment):
        """Measures in a separate process and returns its result or error."""
        options = sys.argv[1 : len(sys.argv) - len(arguments.files)]
        run = subprocess.run([sys.executable, __file__, mode, *options, path], capture_output=True, text=True,
                             env={**os.environ, **environment})
        found = [line[4:] for line in run.stdout.splitlines() if line.startswith("ROW ")]
        return json.loads(found[-1]) if found else None, run.stderr

    print("| module | first, ms | XLA | ratio | run, ms | XLA | ratio | memory, MB | XLA | scaled |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    rows = []
    for path in arguments.files:
        row, errors = child("--one", path)
        name = os.path.basename(path).removesuffix(".hlo")
        if row is None:
            why = errors.strip().splitlines()
            print(f"| {name} | {why[-1][:200] if why else 'no result'} |", flush=True)
            continue
        if os.path.exists(arguments.allocations):
            counted, _ = child("--count", path, LD_PRELOAD=os.path.abspath(arguments.allocations))
            row["memory_xla"] = counted or row["memory_xla"]
        rows.append(row)
        print(f"| {name} | {milliseconds(row['first_ours'])} | {milliseconds(row['first_xla'])} | "
              f"{row['first_ours'] / row['first_xla']:.3f} | {milliseconds(row['run_ours'])} | "
              f"{milliseconds(row['run_xla'])} | {row['run_ours'] / row['run_xla']:.2f} | "
              f"{row['memory_ours'] / 1e6:.3g} | {row['memory_xla'] / 1e6:.3g} | {row['scaled']:.2g} |", flush=True)
    if len(rows) > 1:
        print(f"| geometric mean of {len(rows)} | | | {geometric_mean([r['first_ours'] / r['first_xla'] for r in rows]):.3f} | | | "
              f"{geometric_mean([r['run_ours'] / r['run_xla'] for r in rows]):.2f} | | | |")


if __name__ == "__main__":
    main()
