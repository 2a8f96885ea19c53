#!/usr/bin/env python3
"""A differential fuzzer: evaluates random valid modules with hlo-run and with XLA:CPU and compares the results.

    differential_fuzz.py [--hlo-run PATH] [--seconds N] [--seed FIRST] [--batch N] [--keep DIR]
    differential_fuzz.py --show SEED       print a module in the forms for hlo-run and for XLA
    differential_fuzz.py --shrink SEED     write a separate case for each result of a module to --keep

A seed determines a module and its inputs. Most results must agree bit for bit, because the generator keeps arithmetic
exact (differential/values.py); the others have a tolerance from the arithmetic of the one operation that rounds. Each
module is compared twice: as generated, and as XLA:CPU prints it after optimisation. Failures are stored as golden
folders, which `hlo-run check` runs: one of the whole module and one per failing result. Run it in an environment with
jax (tools/golden/README.md).
"""
import argparse
import collections
import io
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))


def generate(seed):
    """Returns (builder, names of the results)."""
    from differential import operations
    from differential.builder import Builder
    from differential.control import grow
    rng = random.Random(seed)
    builder = Builder(rng)
    for _ in range(rng.randint(3, 16)):
        grow(builder, operations.ALL)
    used = {name for i in builder.instructions for name in i.uses}
    parameters = {v.name for v, _ in builder.parameters}
    candidates = [v for v in builder.values if v.name not in parameters and not v.parts]
    results = [v for v in candidates if v.name not in used or rng.random() < 0.2][-12:]
    return builder, results


def npz(arrays):
    import numpy as np
    buffer = io.BytesIO()
    np.savez(buffer, **{str(k): stored(a) for k, a in enumerate(arrays)})
    return buffer.getvalue()


def stored(array):
    import numpy as np
    array = np.ascontiguousarray(array).reshape(np.shape(array))
    if array.dtype.isbuiltin == 1:
        return array
    return array.view({1: np.uint8, 2: np.uint16}[array.dtype.itemsize])


def rule_of(value):
    """XLA may change the signs of zeros: its simplifier drops additions of zero and the like."""
    from differential.values import is_float, is_int
    if value.rule:
        return value.rule
    if is_int(value.type) or value.type == 'pred':
        return {'kind': 'exact'}
    return {'kind': 'ulp', 'ulp': 0, 'why': 'every bit but the sign of zero'}


def write_folder(folder, text, arrays, outputs, name, description, program, rules):
    """Writes a golden folder: a module, its arguments, XLA:CPU's results, and the rule of each result whose rule is not
    'exact'. `program` is the command that prints the module."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / 'module.hlo').write_text(text)
    if arrays:
        (folder / 'inputs.npz').write_bytes(npz(arrays))
    (folder / 'outputs.npz').write_bytes(npz(outputs))
    case = {'name': name, 'description': description, 'source': {'program': program, 'producer': 'XLA:CPU'}, 'devices': 1,
            'rule': {'kind': 'exact'}, 'rules': rules}
    (folder / 'case.json').write_text(json.dumps(case, indent=1))


def write_case(folder, text, arrays, outputs, values, seed, form):
    write_folder(folder, text, arrays, outputs, f'fuzz_{seed}_{form}', f'Module {seed} of the differential fuzzer.',
                 f'tools/differential_fuzz.py --show {seed}', {str(k): rule_of(v) for k, v in enumerate(values)})


def evaluate(builder, results, seed, folder, suffix=''):
    """Runs the module with these results in XLA and writes the two cases."""
    from differential import oracle
    from differential.builder import module_text
    names = [v.name for v in results]
    arrays = [array for _, array in builder.parameters]
    outputs, optimised = oracle.run(module_text(builder, names, 'xla', f'fuzz_{seed}'), arrays)
    write_case(folder / f'{seed}{suffix}_before', module_text(builder, names, 'text', f'fuzz_{seed}'), arrays, outputs, results, seed, 'before')
    write_case(folder / f'{seed}{suffix}_after', optimised, arrays, outputs, results, seed, 'after')


def worker(first, count, folder, shrink):
    out = os.fdopen(os.dup(1), 'w')
    os.dup2(2, 1)

    def tell(**row):
        out.write(json.dumps(row) + '\n')
        out.flush()
    from differential import oracle
    for seed in range(first, first + count):
        tell(seed=seed, status='started')
        builder, results = generate(seed)
        if not results:
            tell(seed=seed, status='empty')
            continue
        groups = [(f'_{k}', [v]) for k, v in enumerate(results)] if shrink else [('', results)]
        for suffix, group in groups:
            try:
                evaluate(builder, group, seed, folder, suffix)
                tell(seed=seed, status='ok', results=len(group), opcodes=len(builder.instructions))
            except oracle.Refused as refusal:
                tell(seed=seed, status='refused', reason=str(refusal).split('\n')[0][:200])


def run_worker(first, count, folder, shrink=False):
    """Yields rows; a crash of XLA affects one module."""
    seed, end = first, first + count
    while seed < end:
        command = [sys.executable, __file__, '--worker', str(seed), str(end - seed), str(folder)] + (['--alone'] if shrink else [])
        last = seed
        errors = tempfile.TemporaryFile()
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process:
            for line in process.stdout:
                row = json.loads(line)
                last = row['seed']
                if row['status'] != 'started':
                    yield row
        if process.returncode == 0:
            return
        errors.seek(0)
        text = errors.read().decode(errors='replace').strip().split('\n')
        why = next((line for line in text if line.startswith('F') or 'Error' in line), text[-1])
        yield {'seed': last, 'status': 'crash', 'reason': why[:250]}
        seed = last + 1


def check(hlo_run, folder):
    """Returns [(case, message)] of the failures of hlo-run; if it crashes, the cases run one by one."""
    if not any(folder.iterdir()):
        return []
    report = checked(hlo_run, folder)
    if report is not None:
        return [(pathlib.Path(c['path']).name, f"{c['verdict']}: {' '.join(c.get('report', '').split())}") for c in report if c['verdict'] != 'passed']
    found = []
    for case in sorted(folder.iterdir()):
        report = checked(hlo_run, case)
        if report is None:
            found.append((case.name, 'hlo-run ends abnormally'))
        elif report[0]['verdict'] != 'passed':
            found.append((case.name, f"{report[0]['verdict']}: {' '.join(report[0].get('report', '').split())}"))
    return found


def checked(hlo_run, folder):
    run = subprocess.run([hlo_run, 'check', str(folder), '--format', 'json', '--max-seconds', '20'], capture_output=True, text=True)
    return json.loads(run.stdout)['cases'] if run.returncode >= 0 and run.stdout else None


def shrink(arguments, seed):
    """Writes a case for each failing result of one module."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        list(run_worker(seed, 1, folder, shrink=True))
        found = check(arguments.hlo_run, folder)
        for case, message in found:
            if (folder / case).is_dir():
                shutil.copytree(folder / case, arguments.keep / case, dirs_exist_ok=True)
                (arguments.keep / case / 'finding.txt').write_text(message + '\n')
        return found


def fuzz(arguments):
    arguments.keep.mkdir(parents=True, exist_ok=True)
    counts, reasons = collections.Counter(), collections.Counter()
    start, seed = time.time(), arguments.seed
    while time.time() - start < arguments.seconds:
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            for row in run_worker(seed, arguments.batch, folder):
                counts[row['status']] += 1
                counts['results'] += row.get('results', 0)
                if row['status'] in ('refused', 'crash'):
                    reasons[row['status'] + ' ' + row['reason'][:120]] += 1
                    with (arguments.keep / 'refused.txt').open('a') as log:
                        log.write(f"{row['seed']} {row['status']} {row['reason']}\n")
            findings = check(arguments.hlo_run, folder)
            for case, message in findings:
                counts['mismatches'] += 1
                print(f'{case}: {message[:300]}', flush=True)
                if (folder / case).is_dir():
                    shutil.copytree(folder / case, arguments.keep / case, dirs_exist_ok=True)
                    (arguments.keep / case / 'finding.txt').write_text(message + '\n')
        for bad in sorted({int(case.split('_')[0]) for case, _ in findings if case[0].isdigit()})[:5]:
            shrink(arguments, bad)
        seed += arguments.batch
        print(f'{time.time() - start:.0f} s, next seed {seed}: ' + ', '.join(f'{v} {k}' for k, v in sorted(counts.items())), flush=True)
    for reason, n in reasons.most_common(30):
        print(f'{n:6} {reason}')
    return 1 if counts['mismatches'] else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--hlo-run', default=str(HERE.parent / 'build/src/cli/hlo-run'))
    parser.add_argument('--seconds', type=float, default=60)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--batch', type=int, default=100)
    parser.add_argument('--keep', type=pathlib.Path, default=pathlib.Path('findings'))
    parser.add_argument('--show', type=int)
    parser.add_argument('--shrink', type=int)
    parser.add_argument('--worker', nargs=3, help=argparse.SUPPRESS)
    parser.add_argument('--alone', action='store_true', help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        worker(int(arguments.worker[0]), int(arguments.worker[1]), pathlib.Path(arguments.worker[2]), arguments.alone)
        return 0
    if arguments.show is not None:
        from differential.builder import module_text
        builder, results = generate(arguments.show)
        for which in ('text', 'xla'):
            print(module_text(builder, [v.name for v in results], which, f'fuzz_{arguments.show}'))
        return 0
    if arguments.shrink is not None:
        arguments.keep.mkdir(parents=True, exist_ok=True)
        for case, message in shrink(arguments, arguments.shrink):
            print(f'{case}: {message}')
        return 0
    return fuzz(arguments)


if __name__ == '__main__':
    sys.exit(main())
