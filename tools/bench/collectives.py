#!/usr/bin/env python3
"""Compares the time of collectives between processes on this machine with what `hlo-run stats --collectives` predicts.

    tools/bench/collectives.py build/src/cli/hlo-run [--processes 2 4] [--launcher 'mpirun --oversubscribe'] [--mpi]

Latency and bandwidth come from two collective-permutes between two processes, a small and a large one. The predictions
use them with --algorithm=central, which is what hlo-run does. A time is the slope between loops of few and of many
executions, best of some rounds; the ratio is measured by predicted time.

With --mpi, the collectives are those of the MPI library, which mpi_collectives.c times. Open MPI is told to use the
algorithms that --algorithm=ring describes: rings, and pairwise exchange for all-to-all. A time is then that of the
fastest execution."""

import argparse
import json
import os
import pathlib
import shlex
import subprocess
import tempfile

CASE = """// a loop of a collective
// run  replicas {n}
HloModule m, replica_count={n}
f {{ a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] maximum(a, b) }}
go {{
  s = (s32[], f32[{size}]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  k = s32[] constant({count})
  ROOT l = pred[] compare(i, k), direction=LT
}}
body {{
  s = (s32[], f32[{size}]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  j = s32[] add(i, one)
  x = f32[{size}] get-tuple-element(s), index=1
  {collective}
  ROOT t = (s32[], f32[{size}]) tuple(j, y)
}}
ENTRY e {{
  z = s32[] constant(0)
  v = f32[] constant(1)
  x = f32[{size}] broadcast(v), dimensions={{}}
  s = (s32[], f32[{size}]) tuple(z, x)
  w = (s32[], f32[{size}]) while(s), condition=go, body=body{trips}
  ROOT r = s32[] get-tuple-element(w), index=0
}}
// out {count}
"""

KINDS = {
    "all-reduce": "y = f32[{size}] all-reduce(x), replica_groups={{}}, to_apply=f",
    "all-gather": "g = f32[{gathered}] all-gather(x), replica_groups={{}}, dimensions={{0}}\n"
                  "  y = f32[{size}] slice(g), slice={{[0:{size}]}}",
    "reduce-scatter": "q = f32[{part}] reduce-scatter(x), replica_groups={{}}, dimensions={{0}}, to_apply=f\n"
                      "  o = f32[] constant(0)\n  y = f32[{size}] pad(q, o), padding=0_{rest}",
    "all-to-all": "y = f32[{size}] all-to-all(x), replica_groups={{}}, dimensions={{0}}",
    "collective-permute": "y = f32[{size}] collective-permute(x), source_target_pairs={{{{0,1}},{{1,0}}}}",
}


def case(kind, elements, n, count, trips=False):
    collective = KINDS[kind].format(size=elements, gathered=n * elements, part=elements // n, rest=elements - elements // n)
    known = f', backend_config={{"known_trip_count":{{"n":"{count}"}}}}' if trips else ""
    return CASE.format(n=n, size=elements, count=count, collective=collective, trips=known)


class Library:
    """The collectives of Open MPI. Some algorithms only accept large arrays, so the small ones may use others."""

    RINGS = {"coll_tuned_use_dynamic_rules": 1, "coll_tuned_allreduce_algorithm": 4, "coll_tuned_allgather_algorithm": 4,
             "coll_tuned_reduce_scatter_algorithm": 3, "coll_tuned_alltoall_algorithm": 2}
    algorithm = "ring"
    rounds_of_permute = 1

    def __init__(self, options):
        self.options = options
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.program = self.folder / "mpi_collectives"
        source = pathlib.Path(__file__).with_name("mpi_collectives.c")
        subprocess.run(["mpicc", "-O2", "-o", self.program, source], check=True)

    def measured(self, kind, elements, n):
        count = max(4, min(2000, int(2e8 / (4 * elements * n))))
        words = shlex.split(self.options.launcher) + ["-n", str(n), str(self.program),
                                                      "exchange" if kind == "collective-permute" else kind, str(elements), str(count)]
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                           **{f"OMPI_MCA_{key}": str(value) for key, value in self.RINGS.items()})
        return min(float(subprocess.run(words, capture_output=True, text=True, env=environment, check=True).stdout)
                   for _ in range(self.options.rounds))


class Machine:
    algorithm = "central"
    rounds_of_permute = 2

    def __init__(self, options):
        self.options = options
        self.folder = pathlib.Path(tempfile.mkdtemp())

    def seconds(self, text, n):
        path = self.folder / "case.hlo"
        path.write_text(text)
        words = shlex.split(self.options.launcher) + ["-n", str(n), self.options.binary, "check", "--format=json", str(path)]
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        done = subprocess.run(words, capture_output=True, text=True, env=environment, check=False)
        answer = json.loads(done.stdout)
        if answer["cases"][0]["verdict"] != "passed":
            raise SystemExit(f"a case failed:\n{text}\n{done.stdout}")
        return answer["cases"][0]["seconds"]

    def measured(self, kind, elements, n):
        """Seconds of an execution."""
        few, many = 1, max(4, min(2000, int(2e8 / (4 * elements * n))))
        best = [min(self.seconds(case(kind, elements, n, count), n) for _ in range(self.options.rounds)) for count in (few, many)]
        return (best[1] - best[0]) / (many - few)


def predicted(machine, kind, elements, n, latency, bandwidth):
    path = machine.folder / "predicted.hlo"
    path.write_text(case(kind, elements, n, 1, trips=True))
    words = [machine.options.binary, "stats", "--collectives", "--format=json", f"--algorithm={machine.algorithm}", "--latency",
             str(latency), "--bandwidth", str(bandwidth), str(path)]
    answer = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    return answer["collectives"]["total"]["seconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("binary")
    parser.add_argument("--launcher", default="mpirun --oversubscribe --bind-to none")
    parser.add_argument("--processes", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--mpi", action="store_true", help="measure the MPI library's collectives")
    options = parser.parse_args()
    machine = Library(options) if options.mpi else Machine(options)
    small, large = 256, 1 << 20
    short, long = machine.measured("collective-permute", small, 2), machine.measured("collective-permute", large, 2)
    bandwidth = 4 * (large - small) / (long - short)
    latency = max(0.0, (short - 4 * small / bandwidth) / machine.rounds_of_permute)
    print(f"latency {latency * 1e6:.1f} us, bandwidth {bandwidth * 1e-9:.2f} GB/s\n")
    print("| collective | processes | bytes of an operand | measured, us | predicted, us | ratio |\n|---|---|---|---|---|---|")
    for n in options.processes:
        for kind in ("all-reduce", "all-gather", "reduce-scatter", "all-to-all"):
            for elements in (256, 1 << 14, 1 << 18, 1 << 20):
                time = machine.measured(kind, elements, n)
                model = predicted(machine, kind, elements, n, latency, bandwidth)
                print(f"| {kind} | {n} | {4 * elements} | {time * 1e6:.1f} | {model * 1e6:.1f} | {time / model:.2f} |", flush=True)


if __name__ == "__main__":
    main()
