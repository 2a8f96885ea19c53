#!/usr/bin/env python3
"""Runs modules with hlo-run and with XLA:CPU on the same random inputs and prints a table of the differences.

    compare_with_xla.py --oracle XLA.py [--hlo-run PATH] [--seed N] FILE...

ORACLE is a Python file with open_engine, evaluate, from_npz (an XLA driver built on jaxlib); run this script in an
environment that has jaxlib and numpy. A crash of XLA affects only one row, since every file gets a separate process.

The columns: the number of compared elements; the number of different ones; the largest absolute difference, also
relative to the largest magnitude of that output ("scaled"); the largest difference in ULPs among elements that are not
small relative to that magnitude. NaN equals NaN. Constants that the producer elided ({...}) get the same small numbers
in both.
"""

import argparse
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import time


def load_oracle(path):
    spec = importlib.util.spec_from_file_location("oracle", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ELIDED = re.compile(r"= (\w+)\[([\d,]*)\](\{[^}]*\})? constant\(\{\.\.\.\}\)")


def fill_elided(text):
    """Replaces `{...}` in the text by 0 1 2 3 4 0 1 ..."""

    def literal(dims, first):
        if not dims:
            return str(first % 5)
        size = 1
        for d in dims[1:]:
            size *= d
        return "{" + ", ".join(literal(dims[1:], first + i * size) for i in range(dims[0])) + "}"

    def fill(match):
        hlo_type, dims, layout = match.groups()
        sizes = [int(d) for d in dims.split(",")]
        return f"= {hlo_type}[{dims}]{layout or ''} constant({literal(sizes, 0)})"

    return ELIDED.sub(fill, text)


def as_network(path):
    """Rewrites a file of random arguments to resemble a network's: scales matrices and kernels by the square root of
    their fan-in and makes vectors (scales, variances) positive, so that deep networks neither overflow nor take roots
    of negatives."""
    import numpy as np

    with np.load(path) as data:
        arrays = {key: data[key] for key in data.files}
    for key, array in arrays.items():
        if array.dtype.kind == "f" and array.ndim >= 2:
            arrays[key] = array * array.dtype.type(np.sqrt(0.5 / np.prod(array.shape[:-1])))
        elif array.dtype.kind == "f" and array.ndim == 1:
            arrays[key] = np.abs(array) + array.dtype.type(0.5)
    np.savez(path, **arrays)


def ulp_distance(a, b, mantissa_bits):
    import numpy as np

    largest = np.maximum(np.abs(a), np.abs(b))
    with np.errstate(divide="ignore", invalid="ignore"):
        exponent = np.floor(np.log2(np.where(largest > 0, largest, 1)))
    return np.abs(a - b) / np.exp2(exponent - mantissa_bits)


MANTISSA = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52, "c64": 23, "c128": 52, "f8e4m3fn": 3, "f8e5m2": 2}


def compare(got, want, hlo_type):
    """Returns the differences between two arrays of one type."""
    import numpy as np

    if hlo_type not in MANTISSA:
        differ = got != want
        return {"elements": int(got.size), "differ": int(differ.sum()), "abs": 0.0, "scaled": 0.0, "ulp": 0.0}
    kind = np.complex128 if hlo_type in ("c64", "c128") else np.float64
    a, b = got.astype(kind).ravel(), want.astype(kind).ravel()
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    finite = np.isfinite(a) & np.isfinite(b)
    special = int((~same & ~finite).sum())
    a, b = a[finite], b[finite]
    error = np.abs(a - b)
    scale = float(np.abs(b).max()) if b.size else 0.0
    normal = np.maximum(np.abs(a), np.abs(b)) > scale * 1e-3
    ulps = ulp_distance(np.real(a[normal]), np.real(b[normal]), MANTISSA[hlo_type]) if kind is np.float64 else error[:0]
    return {"elements": int(got.size), "differ": int((~same).sum()), "special": special,
            "abs": float(error.max()) if error.size else 0.0,
            "scaled": float(error.max() / scale) if error.size and scale else 0.0,
            "ulp": float(ulps.max()) if ulps.size else 0.0}


def one(arguments, path):
    """Returns the row of one file as a dictionary."""
    import numpy as np

    with tempfile.TemporaryDirectory() as folder:
        oracle = load_oracle(arguments.oracle)
        filled = os.path.join(folder, os.path.basename(path))
        with open(filled, "w", encoding="utf8", errors="surrogateescape") as file:
            file.write(fill_elided(oracle.read_text(path)))
        path = filled
        inputs, outputs = os.path.join(folder, "in.npz"), os.path.join(folder, "out.npz")
        extra = arguments.extra.split()
        subprocess.run([arguments.hlo_run, "inputs", path, "--random", str(arguments.seed), "--output", inputs], check=True)
        if arguments.network:
            as_network(inputs)
        start = time.time()
        run = subprocess.run([arguments.hlo_run, "run", path, "--input", inputs, "--output", outputs, *extra],
                             capture_output=True, text=True)
        ours = time.time() - start
        if run.returncode:
            return {"error": f"hlo-run: exit {run.returncode}: {run.stderr.strip()[-300:]}"}
        engine = oracle.open_engine("cpu")
        with np.load(inputs) as data:
            arrays = lambda params: [oracle.from_npz(data[k], t).reshape(d) for k, t, d in params]
            start = time.time()
            _, _, _, want, types = oracle.evaluate(engine, "cpu", None, oracle.read_text(path), arrays)
            theirs = time.time() - start
        total = {"elements": 0, "differ": 0, "special": 0, "abs": 0.0, "scaled": 0.0, "ulp": 0.0}
        with np.load(outputs) as got:
            for key, value in want.items():
                row = compare(oracle.from_npz(got[key], types[key]).reshape(value.shape), value, types[key])
                for name in ("elements", "differ", "special"):
                    total[name] += row.get(name, 0)
                for name in ("abs", "scaled", "ulp"):
                    total[name] = max(total[name], row[name])
        return {**total, "types": sorted(set(types.values())), "ours_s": ours, "xla_s": theirs}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--oracle", required=True)
    parser.add_argument("--hlo-run", default="build/src/cli/hlo-run")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--extra", default="", help="further flags for hlo-run run")
    parser.add_argument("--network", action="store_true", help="arguments scaled like those of a trained network")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    if arguments.one:
        print("ROW " + json.dumps(one(arguments, arguments.files[0])))
        return
    print("| program | types | elements | differ | largest abs | scaled | ulp | hlo-run s | XLA s |\n|---|---|---|---|---|---|---|---|---|")
    for path in arguments.files:
        command = [sys.executable, __file__, "--one", "--oracle", arguments.oracle, "--hlo-run", arguments.hlo_run,
                   "--seed", str(arguments.seed), "--extra=" + arguments.extra, *(["--network"] if arguments.network else []), path]
        run = subprocess.run(command, capture_output=True, text=True)
        rows = [line[4:] for line in run.stdout.splitlines() if line.startswith("ROW ")]
        name = os.path.basename(path).removesuffix(".hlo")
        row = json.loads(rows[-1]) if rows else {"error": run.stderr.strip()[-300:].replace("\n", " ")}
        if "error" in row:
            print(f"| {name} | {row['error']} |", flush=True)
            continue
        special = f" ({row['special']} not finite)" if row["special"] else ""
        print(f"| {name} | {' '.join(row['types'])} | {row['elements']} | {row['differ']}{special} | {row['abs']:.3g} | "
              f"{row['scaled']:.3g} | {row['ulp']:.3g} | {row['ours_s']:.2f} | {row['xla_s']:.2f} |", flush=True)


if __name__ == "__main__":
    main()
