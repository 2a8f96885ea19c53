#!/usr/bin/env python3
"""Runs random JAX programs with hlo-run and XLA:CPU.

    jax_programs.py [--hlo-run PATH] [--seconds N] [--seed S] [--count N] [--finds DIR]
    jax_programs.py --show SEED      print a program's module before and after optimisation
    jax_programs.py --available      exit with a reason if JAX is missing

A program consists of a few idioms on shared arrays. XLA:CPU's results are the expected values; the fast engine and the
reference must give them for the module before and after XLA's optimisation. Values are small integers, also in floats,
so that sums and products are exact in every order; programs with exponentials and quotients have a tolerance from the
number of their roundings. Failures become golden folders.
"""
import argparse
import json
import pathlib
import shutil
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / 'golden'))

ROUNDINGS = 4096  # Of any program with inexact results, with their growth: loops of few iterations over short rows.


def available():
    try:
        import jax  # noqa: F401
        import ml_dtypes  # noqa: F401
        import numpy  # noqa: F401
    except ImportError as missing:
        return f'{missing} for {sys.executable}'
    return None


def write_case(folder, text, arrays, outputs, is_exact, seed, form):
    from differential_fuzz import write_folder
    import numpy as np
    rules = {}
    for k, output in enumerate(outputs):
        if np.asarray(output).dtype.kind != 'f':
            continue
        largest = float(np.nanmax(np.abs(np.where(np.isfinite(output), output, 0)), initial=0))
        bound = ROUNDINGS * 2.0**-24
        rules[str(k)] = ({'kind': 'ulp', 'ulp': 0, 'why': 'every bit but the sign of zero'} if is_exact else
                         {'kind': 'close', 'abs': bound * max(largest, 1.0), 'rel': bound, 'why': 'roundings times epsilon times magnitude'})
    write_folder(folder, text, arrays, outputs, f'jax_{seed}_{form}', f'Program {seed} of tools/fuzz/jax_programs.py.',
                 f'tools/fuzz/jax_programs.py --show {seed}', rules)


def lowered(seed):
    """Returns (module before, module after, arguments, results, is_exact)."""
    import generate
    import jax
    import numpy as np
    import jax_idioms
    function, arguments, is_exact = jax_idioms.program(seed)
    lowering = jax.jit(function, keep_unused=True).lower(*arguments)
    compiled = lowering.compile()
    results = [np.asarray(r) for r in compiled(*arguments)]
    before = generate.hlo_text(lowering.compiler_ir('hlo').get_hlo_module())
    after = generate.hlo_text(compiled.runtime_executable().hlo_modules()[0])
    return before, after, arguments, results, is_exact


def failures(hlo_run, folder):
    """Returns [(case, engine, message)]."""
    import subprocess
    found = []
    for engine in ('fast', 'reference'):
        run = subprocess.run([hlo_run, 'check', str(folder), '--engine', engine, '--format', 'json', '--max-seconds', '20'],
                             capture_output=True, text=True)
        if run.returncode < 0 or not run.stdout:
            found.append((None, engine, f'hlo-run ended with {run.returncode}: {run.stderr[-300:]}'))
            continue
        for case in json.loads(run.stdout)['cases']:
            if case['verdict'] not in ('passed', 'unsupported'):
                found.append((pathlib.Path(case['path']).name, engine, ' '.join(case.get('report', '').split())))
    return found


def fuzz(arguments):
    start, seed, count, finds = time.time(), arguments.seed * 1000, 0, 0
    while time.time() - start < arguments.seconds and count < arguments.count and finds < 10:
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            batch_end = min(time.time() + 20, start + arguments.seconds)
            while time.time() < batch_end and count < arguments.count:
                before, after, inputs, outputs, is_exact = lowered(seed)
                for form, text in (('before', before), ('after', after)):
                    write_case(folder / f'jax_{seed}_{form}', text, inputs, outputs, is_exact, seed, form)
                seed += 1
                count += 1
            for case, engine, message in failures(arguments.hlo_run, folder):
                finds += 1
                print(f'{case} ({engine}): {message[:400]}', flush=True)
                for path in folder.iterdir():
                    if case in (None, path.name):
                        shutil.copytree(path, arguments.finds / path.name, dirs_exist_ok=True)
    print(f'jax: {count} programs, {finds} finds')
    return 1 if finds or not count else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--hlo-run', default=str(HERE.parent.parent / 'build/src/cli/hlo-run'))
    parser.add_argument('--seconds', type=float, default=60)
    parser.add_argument('--count', type=int, default=10**9)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--finds', type=pathlib.Path, default=pathlib.Path('fuzz-finds'))
    parser.add_argument('--show', type=int)
    parser.add_argument('--available', action='store_true')
    arguments = parser.parse_args()
    missing = available()
    if arguments.available or missing:
        print(missing or 'JAX is installed')
        return 1 if missing else 0
    if arguments.show is not None:
        before, after, *_ = lowered(arguments.show)
        print(before + '\n' + after)
        return 0
    return fuzz(arguments)


if __name__ == '__main__':
    sys.exit(main())
