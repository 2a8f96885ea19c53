#!/usr/bin/env python3
"""Adds a scalar opcode, sinpi, to a copy of the tree, in exactly the places that CONTRIBUTING.md names: a row of
opcodes.def, a function in scalar_ops.h and a case file. Then builds the copy without optimisation, and uses the opcode
with each engine, the builder, the cost model, the tests of functions and the generator of programs.

  add_opcode.py SOURCE WORK

WORK is kept, so that later runs compile only what has changed."""

import argparse
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROW = ('HLO_FUNCTION_OP(Sinpi, "sinpi", 1, HLO_ATTRS(Opt(result_accuracy)), UnaryFloat, Sinpi, Double, -4, 4, kFunction)\n')
FUNCTION = """// Returns sin(pi x). The reduction of x to [-1/2, 1/2] is exact.
struct Sinpi {
  template <Float T>
  HLO_HOST_DEVICE T operator()(T a) const {
    T r = a - 2 * std::nearbyint(a / 2);
    if (std::fabs(r) > T{0.5}) r = std::copysign(T{1}, r) - r;
    return std::sin(static_cast<T>(3.14159265358979323846) * r);
  }
};

"""
INPUTS = [-2.25, -1.5, -0.125, 0.0, 0.25, 0.5, 1.75, 1000.5]


def case_text():
    count = len(INPUTS)
    expected = ", ".join(f"{math.sin(math.pi * math.remainder(x, 2)):.17g}" for x in INPUTS)
    return f"""// sinpi: sin(pi x).
// within 4ulp
// foreach T in f32 f64
// run
ENTRY e {{
  a = T[{count}] parameter(0)
  ROOT r = T[{count}] sinpi(a)
}}
// in   {{{", ".join(str(x) for x in INPUTS)}}}
// out  {{{expected}}}
// -----
// It takes the narrow types too.
// foreach T in f16 bf16 f8e3m4 f8e4m3 f8e4m3fn f8e4m3fnuz f8e4m3b11fnuz f8e5m2 f8e5m2fnuz f6e2m3fn f6e3m2fn f4e2m1fn
// run
ENTRY e {{
  a = T[2] parameter(0)
  ROOT r = T[2] sinpi(a)
}}
// in   {{0.5, 1.5}}
// out  {{1, -1}}
// -----
// A scale is a power of two.
// run
ENTRY e {{
  a = f8e8m0fnu[2] parameter(0)
  ROOT r = f8e8m0fnu[2] sinpi(a)
}}
// in   {{0.5, 0.5}}
// out  {{1, 1}}
// -----
// It takes floating numbers.
// check
ENTRY e {{
  a = s32[2] parameter(0)
  ROOT r = s32[2] sinpi(a)
//                      ^ error: sinpi takes floating elements, but operand 0 is s32[2]  [shape-rules 3.2]
}}
"""


def before(text, place, added):
    at = text.index(place)
    return text[:at] + added + text[at:]


# The changed files and their new contents.
CHANGES = {
    "include/hlo_run/opcodes.def": lambda text: before(text, "HLO_OP(Slice,", ROW),
    "src/types/scalar_ops.h": lambda text: before(text, "// Comparison and selection.\n", FUNCTION),
    "tests/cases/ops/sinpi.hlo": lambda text: case_text(),
}
# A use of the builder's function, in an example that the copy builds and runs.
USES = {"examples/build_module.cc": lambda text: text.replace("powers = Exp(", "powers = Sinpi(")}


def copy_tree(source, copy):
    """Copies what has changed; untouched files keep their times, so that the build skips them."""
    listed = subprocess.run(["git", "-C", source, "ls-files", "--cached", "--others", "--exclude-standard"],
                            check=True, capture_output=True, text=True).stdout.splitlines()
    wanted = {name for name in listed if not name.startswith("golden/") and (source / name).is_file()} | set(CHANGES)
    for old in [p for p in copy.rglob("*") if p.is_file()]:
        if old.relative_to(copy).as_posix() not in wanted:
            old.unlink()
    for name in sorted(wanted):
        data = (source / name).read_bytes() if (source / name).is_file() else b""
        if name in CHANGES | USES:
            data = (CHANGES | USES)[name](data.decode()).encode()
        target = copy / name
        if target.is_file() and target.read_bytes() == data:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        if (source / name).is_file():
            shutil.copymode(source / name, target)


def run(*command, **options):
    print("$", *command, flush=True)
    return subprocess.run([str(word) for word in command], check=True, **options)


def build(copy, out):
    if not (out / "build.ninja").exists():
        run("cmake", "-G", "Ninja", "-S", copy, "-B", out, "-DHLO_RUN_CUDA=OFF", "-DHLO_RUN_BENCHMARKS=OFF",
            "-DHLO_RUN_LIBRARIES=OFF", "-DCMAKE_BUILD_TYPE=None", "-DCMAKE_CXX_FLAGS=-O0 -DNDEBUG")
    run("cmake", "--build", out, "--target", "hlo-run", "build_module", "run_cases", "diff_tests", "hlo-fuzz")


def find(out, name):
    return next(p for p in out.rglob(name) if p.is_file() and os.access(p, os.X_OK))


def check_command(program, work):
    """The program knows the opcode as a transcendental function."""
    module = work / "sinpi.hlo"
    module.write_text("ENTRY e {\n  a = f32[8] parameter(0)\n  ROOT r = f32[8] sinpi(a)\n}\n")
    stats = run(program, "stats", module, capture_output=True, text=True).stdout
    if not re.search(r"transcendentals +8\n", stats):
        sys.exit(f"stats does not count sinpi as transcendental: {stats}")


def check_tests(copy, out, work):
    """The cases pass on each engine, on the GPU without help of the CPU; so do the tests that expand the rows."""
    cases, case = find(out, "run_cases"), "tests/cases/ops/sinpi.hlo"
    no_fallbacks = work / "no_fallbacks.txt"
    no_fallbacks.write_text("")
    for engine in (["--engine=reference"], ["--engine=fast"],
                   ["--engine=fast", "--device=emulated", f"--fallbacks={no_fallbacks}"]):
        run(cases, *engine, "--gtest_brief=1", case, cwd=copy)
    run(find(out, "diff_tests"), "--gtest_filter=All/Functions.*:EdgesTest.ElementwiseOperations", "--gtest_brief=1",
        cwd=copy)
    run(find(out, "hlo-fuzz"), "--generator=idioms", "--seed=1", "--count=60", cwd=copy)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("work", type=lambda p: pathlib.Path(p).resolve())
    arguments = parser.parse_args()
    copy, out = arguments.work / "tree", arguments.work / "build"
    copy_tree(arguments.source, copy)
    build(copy, out)
    check_command(find(out, "hlo-run"), arguments.work)
    if " sinpi(" not in run(find(out, "build_module"), capture_output=True, text=True).stdout:
        sys.exit("the builder's example does not show sinpi")
    check_tests(copy, out, arguments.work)
    print("sinpi works everywhere")


if __name__ == "__main__":
    main()
