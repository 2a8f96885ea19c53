#!/usr/bin/env python3
"""hlo-run and XLA:CPU side by side: one table of times and memory for whole modules, results compared first.

    run_vs_xla.py --oracle XLA.PY [--hlo-run PATH] [--seconds S] [--network] FILE...

ORACLE is a Python file with open_engine, flat_parameters, from_npz (an XLA driver built on jaxlib); run this script in
an environment that has jaxlib and numpy. Every file gets a process of its own, in which the two take turns: the best
run of each counts, and the ratio is ours / XLA's (below 1: we are faster). XLA compiles as JAX does, with its default
options.

first: from the start of our process to its first result, without the time for reading the arguments, beside XLA's
parse + compile + first run within a process that has imported it already. run: the fastest of the later runs. memory:
bytes of arguments, results, temporaries and constants at their peak, beside what XLA's executable states, which leaves out
constants and what kernels allocate; where the module donates arguments, of a run that gives them up. scaled: the largest difference from XLA's values relative to the
largest magnitude of that output. Constants that the producer elided ({...}) are filled alike for both.
"""

import argparse
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
    """(executable, seconds): parsed and compiled in the first of the oracle's ways that XLA takes."""
    errors = []
    for way in ("stablehlo", "direct"):
        start = time.perf_counter()
        try:
            module = engine.parse(text)
            source = module if way == "direct" else oracle.without_fusions(engine, module)
            executable = engine.compile(source, way, exact=False)
            return module, executable, time.perf_counter() - start
        except Exception as error:  # the next way may do
            errors.append(f"{way}: {str(error)[:200]}")
    raise RuntimeError(" | ".join(errors))


def xla_memory(executable):
    try:
        stats = executable.get_compiled_memory_stats()
        return stats.argument_size_in_bytes + stats.output_size_in_bytes + stats.temp_size_in_bytes - stats.alias_size_in_bytes
    except Exception:  # not every backend says
        return 0


def hlo_run(arguments, *command):
    run = subprocess.run([arguments.hlo_run, *command], capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError(f"hlo-run: exit {run.returncode}: {run.stderr.strip()[-300:]}")
    return run.stdout


def timing(arguments, path, inputs, runs):
    output = hlo_run(arguments, "run", path, "--input", inputs, "--repeat", str(runs), "--timing=json")
    return json.loads(output.strip().splitlines()[-1])


def ours(arguments, path, inputs, runs):
    """The timing line of one process, with the seconds until its first result."""
    start = time.perf_counter()
    hlo_run(arguments, "--version")
    process_s = time.perf_counter() - start
    row = timing(arguments, path, inputs, runs)
    row["first_s"] = process_s + row["parse_s"] + row["check_s"] + row["plan_s"] + row["first_run_s"]
    return row


def one(arguments, path):
    import numpy as np

    oracle = comparison.load_oracle(arguments.oracle)
    with tempfile.TemporaryDirectory() as folder:
        filled = os.path.join(folder, os.path.basename(path))
        text = comparison.fill_elided(oracle.read_text(path))
        with open(filled, "w", encoding="utf8", errors="surrogateescape") as file:
            file.write(text)
        inputs, outputs = os.path.join(folder, "in.npz"), os.path.join(folder, "out.npz")
        subprocess.run([arguments.hlo_run, "inputs", filled, "--random", "1", "--output", inputs], check=True)
        if arguments.network:
            comparison.as_network(inputs)
        engine = oracle.open_engine("cpu")
        module, executable, compile_s = compile_for_cpu(oracle, engine, text)
        shape = engine.program_shape(module)
        with np.load(inputs) as data:
            arrays = [oracle.from_npz(data[k], t).reshape(d) for k, t, d in oracle.flat_parameters(shape)]
        donates = "input_output_alias" in text or "buffer_donor" in text
        buffers = engine.put(arrays)
        engine.wait(buffers)

        def run_xla():
            nonlocal buffers
            if donates:  # the run before took the buffers
                buffers = engine.put(arrays)
                engine.wait(buffers)
            start = time.perf_counter()
            out = engine.execute(executable, buffers)
            engine.wait(out)
            return time.perf_counter() - start, out

        first, out = run_xla()
        leaves = oracle.leaf_shapes(shape.result_shape())
        scaled = 0.0
        hlo_run(arguments, "run", filled, "--input", inputs, "--output", outputs)
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
        if donates:
            peak = timing(arguments, filled, inputs, 1)["peak_bytes"]
        return {"first_ours": first_ours, "first_xla": compile_s + first, "run_ours": best_ours, "run_xla": best_xla,
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
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    if arguments.one:
        print("ROW " + json.dumps(one(arguments, arguments.files[0])))
        return
    print("| module | first, ms | XLA | ratio | run, ms | XLA | ratio | memory, MB | XLA | scaled |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    rows = []
    for path in arguments.files:
        command = [sys.executable, __file__, "--one", *sys.argv[1:]]
        command = command[: len(command) - len(arguments.files)] + [path]
        run = subprocess.run(command, capture_output=True, text=True)
        found = [line[4:] for line in run.stdout.splitlines() if line.startswith("ROW ")]
        name = os.path.basename(path).removesuffix(".hlo")
        if not found:
            why = run.stderr.strip().splitlines()
            print(f"| {name} | {why[-1][:200] if why else 'no result'} |", flush=True)
            continue
        row = json.loads(found[-1])
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
