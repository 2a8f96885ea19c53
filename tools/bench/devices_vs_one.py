#!/usr/bin/env python3
"""Compares runs on several devices with a run on one device that does the same work, and measures what a device costs.

Prints two tables. The first runs tensor-parallel blocks, cut over 1 to 8 partitions: the block of one device computes
all products, those of N devices compute 1/N each and add the partial sums up by an all-reduce. The second runs a small
program on up to 512 replicas: seconds and memory of the process for each device.

    devices_vs_one.py [--build DIR] [--repeat N]
"""

import argparse
import json
import os
import subprocess
import tempfile


def block(partitions, rows, width, hidden):
    """y = relu(x a) b; the columns of a and the rows of b are cut."""
    part = hidden // partitions
    total = (f"  ROOT y = f32[{rows},{width}] all-reduce(p), channel_id=1, replica_groups=[1,{partitions}]<=[{partitions}], "
             "use_global_device_ids=true, to_apply=sum\n" if partitions > 1 else f"  ROOT y = f32[{rows},{width}] copy(p)\n")
    return (f"HloModule block, num_partitions={partitions}\n"
            "sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n"
            "ENTRY main_spmd {\n"
            f"  x = f32[{rows},{width}] parameter(0), sharding={{replicated}}\n"
            f"  a = f32[{width},{part}] parameter(1), sharding={{devices=[1,{partitions}]<=[{partitions}]}}\n"
            f"  b = f32[{part},{width}] parameter(2), sharding={{devices=[{partitions},1]<=[{partitions}]}}\n"
            f"  h = f32[{rows},{part}] dot(x, a), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n"
            "  zero = f32[] constant(0)\n"
            f"  zeros = f32[{rows},{part}] broadcast(zero), dimensions={{}}\n"
            f"  r = f32[{rows},{part}] maximum(h, zeros)\n"
            f"  p = f32[{rows},{width}] dot(r, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n"
            f"{total}}}\n")


def small(replicas):
    """A loop of 100 steps, each with an all-reduce of 64 numbers, and a constant of 4 MiB."""
    return (f"HloModule small, replica_count={replicas}\n"
            "sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n"
            "condition {\n  s = (s32[], f32[64]) parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
            "  n = s32[] constant(100)\n  ROOT l = pred[] compare(i, n), direction=LT\n}\n"
            "body {\n  s = (s32[], f32[64]) parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
            "  one = s32[] constant(1)\n  j = s32[] add(i, one)\n  x = f32[64] get-tuple-element(s), index=1\n"
            "  y = f32[64] all-reduce(x), replica_groups={}, to_apply=sum\n"
            f"  scale = f32[] constant({1 / replicas!r})\n  b = f32[64] broadcast(scale), dimensions={{}}\n"
            "  z = f32[64] multiply(y, b)\n  ROOT t = (s32[], f32[64]) tuple(j, z)\n}\n"
            "ENTRY e {\n  x = f32[64] parameter(0)\n  table = f32[1048576] constant({...})\n  zero = s32[] constant(0)\n"
            "  init = (s32[], f32[64]) tuple(zero, x)\n  w = (s32[], f32[64]) while(init), condition=condition, body=body\n"
            "  v = f32[64] get-tuple-element(w), index=1\n  first = f32[64] slice(table), slice={[0:64]}\n"
            "  ROOT r = f32[64] add(v, first)\n}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    hlo_run = os.path.join(arguments.build, "src/cli/hlo-run")

    def measure(text, repeat):
        """Seconds of planning and of a run, and the peak memory of the process in MiB."""
        with tempfile.NamedTemporaryFile("w", suffix=".hlo") as file:
            file.write(text)
            file.flush()
            process = subprocess.Popen([hlo_run, file.name, "--random", "1", "--elided=counter", "--repeat", str(repeat),
                                        "--timing=json"], stdout=subprocess.PIPE, text=True)
            result = json.loads(process.stdout.read())
            _, status, usage = os.wait4(process.pid, 0)
            assert status == 0, result
            return result["plan_s"], result["run_s"], usage.ru_maxrss / 1024

    print("| rows, width, hidden | devices | ms | of one device's time |\n| --- | ---: | ---: | ---: |")
    for size in [(64, 256, 1024), (256, 1024, 4096), (1024, 2048, 8192)]:
        one = None
        for partitions in [1, 2, 4, 8]:
            _, seconds, _ = measure(block(partitions, *size), arguments.repeat)
            one = one or seconds
            print(f"| {', '.join(map(str, size))} | {partitions} | {seconds * 1e3:.3g} | {seconds / one:.2f} |", flush=True)
    print("\n| replicas | plan ms | run ms | us for a device and step | MiB | KiB for a device |\n"
          "| ---: | ---: | ---: | ---: | ---: | ---: |")
    base = None
    for replicas in [2, 8, 64, 512]:
        plan, seconds, memory = measure(small(replicas), 1)
        base = base or memory
        print(f"| {replicas} | {plan * 1e3:.3g} | {seconds * 1e3:.4g} | {seconds / replicas / 100 * 1e6:.3g} | {memory:.4g} | "
              f"{(memory - base) * 1024 / max(replicas - 2, 1):.3g} |", flush=True)


if __name__ == "__main__":
    main()
