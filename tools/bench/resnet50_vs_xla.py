#!/usr/bin/env python3
"""Compares hlo-run with XLA on ResNet-50 inference, end to end on the same device, with the module that JAX generates.

    resnet50_vs_xla.py [--hlo-run PATH] [--device gpu|cpu] [--batch N] [--size N] [--json]

Compares the results first, then the fastest run of each, with arguments on the device and including the copy of the
result to the host. f32 means f32: convolutions request the highest precision from XLA. The exit status is 77 without
JAX or such a device, and 1 if results differ.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # hlo-run needs memory too

STAGES = [(3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2)]  # blocks, features, stride
TOLERANCE = {"float32": 1e-4, "bfloat16": 3e-2}  # relative to the largest value


class Network:
    """The network. It is called twice: to generate the parameters, and to be traced with them."""

    def __init__(self, jax, parameters, random):
        self.jax, self.parameters, self.random, self.next = jax, parameters, random, 0

    def parameter(self, shape, scale, dtype):
        if self.random is not None:
            self.parameters.append((self.random.standard_normal(shape) * scale).astype("float32"))
            return self.jax.numpy.asarray(self.parameters[-1], dtype)
        self.next += 1
        return self.parameters[self.next - 1]

    def convolution(self, x, features, size, stride):
        inputs = x.shape[-1]
        weights = self.parameter((size, size, inputs, features), (2 / (size * size * inputs)) ** 0.5, x.dtype)
        x = self.jax.lax.conv_general_dilated(
            x, weights, (stride, stride), [(size // 2, (size - 1) // 2)] * 2,
            dimension_numbers=("NHWC", "HWIO", "NHWC"), precision=self.jax.lax.Precision.HIGHEST)
        scale, offset = self.parameter((features,), 0.5, x.dtype), self.parameter((features,), 0.1, x.dtype)
        return x * scale + offset

    def block(self, x, features, stride):
        relu = self.jax.nn.relu
        y = relu(self.convolution(x, features, 1, 1))
        y = relu(self.convolution(y, features, 3, stride))
        y = self.convolution(y, 4 * features, 1, 1)
        if x.shape != y.shape:
            x = self.convolution(x, 4 * features, 1, stride)
        return relu(x + y)

    def __call__(self, x):
        jax = self.jax
        x = jax.nn.relu(self.convolution(x, 64, 7, 2))
        infinity = jax.numpy.array(-jax.numpy.inf, x.dtype)
        x = jax.lax.reduce_window(x, infinity, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1),
                                  [(0, 0), (1, 1), (1, 1), (0, 0)])
        for blocks, features, stride in STAGES:
            for block in range(blocks):
                x = self.block(x, features, stride if block == 0 else 1)
        x = x.mean((1, 2))
        return jax.numpy.dot(x, self.parameter((x.shape[-1], 1000), x.shape[-1] ** -0.5, x.dtype),
                             precision=jax.lax.Precision.HIGHEST)


def fastest(run, seconds):
    best, spent = float("inf"), 0.0
    while spent < seconds or best == float("inf"):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
        spent += time.perf_counter() - start
    return best


def hlo_text(lowered):
    try:
        return lowered.as_text(dialect="hlo")
    except Exception:  # older versions have it in another place
        return lowered.compiler_ir(dialect="hlo").as_hlo_text()


def measure(arguments, jax, np, dtype):
    shape = (arguments.batch, arguments.size, arguments.size, 3)
    images = np.random.default_rng(1).standard_normal(shape).astype("float32")
    drawn = []
    jax.eval_shape(lambda: Network(jax, drawn, np.random.default_rng(2))(jax.numpy.zeros((1, 64, 64, 3), dtype)))
    values = [jax.device_put(jax.numpy.asarray(v, dtype)) for v in [images, *drawn]]
    forward = jax.jit(lambda x, *parameters: Network(jax, parameters, None)(x), keep_unused=True)
    text = hlo_text(forward.lower(*values))
    wanted = np.asarray(forward(*values)).astype("float32")
    theirs = fastest(lambda: np.asarray(forward(*values)), arguments.seconds)
    with tempfile.TemporaryDirectory() as folder:
        module, inputs, output = (os.path.join(folder, name) for name in ("resnet50.hlo", "in.npz", "out.npy"))
        with open(module, "w", encoding="utf8") as file:
            file.write(text)
        stored = [np.asarray(v) for v in values]
        np.savez(inputs, **{str(i): v.view("uint16") if v.dtype.itemsize == 2 else v for i, v in enumerate(stored)})
        del values
        command = [arguments.hlo_run, "run", module, "--input", inputs, f"--device={arguments.device}"]
        subprocess.run([*command, "--output", output], check=True, stdout=subprocess.DEVNULL)
        got = np.load(output)
        got = (got.astype("uint32") << 16).view("float32") if got.dtype.itemsize == 2 else got
        runs = max(5, int(arguments.seconds / theirs / 2))
        timing = subprocess.run([*command, "--repeat", str(runs), "--timing=json"], check=True, capture_output=True,
                                text=True)
        ours = json.loads(timing.stdout.strip().splitlines()[-1])["run_s"]
    error = float(np.abs(got.reshape(wanted.shape) - wanted).max() / np.abs(wanted).max()) / TOLERANCE[dtype]
    short = {"float32": "f32", "bfloat16": "bf16"}[dtype]
    return {"case": f"resnet50 {short} {arguments.batch}x{arguments.size}", "library": "xla", "ms": ours * 1e3,
            "their_ms": theirs * 1e3, "ratio": theirs / ours, "error": error}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hlo-run", default="build/src/cli/hlo-run")
    parser.add_argument("--device", default="gpu", choices=["gpu", "cpu"])
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--seconds", type=float, default=5, help="for each contender and type")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    try:
        import jax
        import numpy as np
        jax.devices(arguments.device)
    except (ImportError, RuntimeError) as error:
        print(f"nothing was measured: no JAX for this {arguments.device}: {error}", file=sys.stderr)
        sys.exit(77)
    right = True
    with jax.default_device(jax.devices(arguments.device)[0]):
        for dtype in TOLERANCE:
            row = measure(arguments, jax, np, dtype)
            right &= row["error"] <= 1
            print(json.dumps(row) if arguments.json else
                  f"{row['case']:<24} {row['ms']:>9.3f} ms, XLA {row['their_ms']:>9.3f} ms, ratio {row['ratio']:.2f}, "
                  f"difference {row['error']:.2g} of what is allowed", flush=True)
    sys.exit(0 if right else 1)


if __name__ == "__main__":
    main()
