#!/usr/bin/env python3
"""Compares hlo-run with XLA:CPU on every function of JAX's numerical libraries, as lowered and as optimised.

    every_function.py [--hlo-run PATH] [--cache DIR] [--store] [PATTERN ...]

The functions and their arguments are in the catalogue: areas/jax_*.py. XLA's results are stored in the cache folder and
computed only if absent. The table lists for each library the number of public functions, of those with rows, and of
cases that agree in either form; then each failure has a line with its reason, and so has each public function without a
row. With --store the cases that agree are added to golden/.
"""
import argparse
import collections
import fnmatch
import json
import os
import pathlib
import signal
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
CHUNK = 25
LONGEST = 240


def catalogues():
    import generate
    return [area for area in generate.areas() if hasattr(area, 'covered')]


def build(names, cache):
    """Writes the cases with these names in a separate process, because XLA may crash. Returns the reason if there is none."""
    import generate
    import packs
    cases = {f'{c.area}/{c.name}': c for area in catalogues() for c in area.cases}
    for name in names:
        reason = cache / 'reasons' / name.replace('/', '__')
        reason.parent.mkdir(parents=True, exist_ok=True)
        reason.write_text(f'XLA ended the process, or took over {LONGEST} s')
        signal.alarm(LONGEST)
        generate.MAX_CATALOGUE_BYTES = 10**7
        try:
            for area, case in generate.build(cases[name]).items():
                packs.write(cache / area / case['name'], {case['name']: case})
            reason.write_text('')
        except Exception as error:
            reason.write_text(f'{type(error).__name__}: {str(error)[:300]}')


def fill(names, cache):
    while True:
        todo = [n for n in names if not (cache / 'reasons' / n.replace('/', '__')).exists()]
        if not todo:
            return
        subprocess.run([sys.executable, __file__, '--cache', str(cache), '--build', *todo[:CHUNK]], capture_output=True)
        print(f'{len(todo)} to go', file=sys.stderr)


def verdicts(hlo_run, cache, areas):
    folders = [str(cache / (a.name + form)) for a in areas for form in ('', '_optimised') if (cache / (a.name + form)).is_dir()]
    run = subprocess.run([hlo_run, 'check', *folders, '--format', 'json', '--max-seconds', '20'], capture_output=True, text=True)
    return {str(pathlib.Path(c['path']).relative_to(cache).with_suffix('')): (c['verdict'], ' '.join(c.get('report', '').split()))
            for c in json.loads(run.stdout)['cases']}


def store(cache, golden, area, found):
    """Stores the small cases of an area that agree in golden/, in both forms."""
    import generate
    import packs
    for form in ('', '_optimised'):
        cases = packs.read(golden / (area.name + form))
        for case in area.cases:
            name = f'{area.name}{form}/{case.name}'
            if name not in found:
                continue
            made = packs.read(cache / name).get(case.name)
            if case.golden and found[name][0] == 'passed' and generate.size_of(made) <= generate.MAX_CATALOGUE_BYTES:
                cases[case.name] = made
            else:
                cases.pop(case.name, None)
        packs.write(golden / (area.name + form), cases)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = HERE.parent.parent
    parser.add_argument('patterns', nargs='*', metavar='PATTERN', help='area/name, with * and ?')
    parser.add_argument('--hlo-run', default=str(root / 'build/src/cli/hlo-run'))
    parser.add_argument('--cache', type=pathlib.Path, default=pathlib.Path.home() / '.cache/hlo-run-functions')
    parser.add_argument('--store', action='store_true')
    parser.add_argument('--build', nargs='+', help=argparse.SUPPRESS)
    options = parser.parse_args()
    sys.path.insert(0, str(HERE))
    if options.build:
        return build(options.build, options.cache)
    os.environ.setdefault('JAX_PLATFORMS', 'cpu')
    areas = catalogues()
    chosen = {a.name: [c for c in a.cases if not options.patterns or any(fnmatch.fnmatch(f'{c.area}/{c.name}', p) for p in options.patterns)] for a in areas}
    fill([f'{c.area}/{c.name}' for cases in chosen.values() for c in cases], options.cache)
    found = verdicts(options.hlo_run, options.cache, areas)
    print('| library | functions with rows | cases | lowered agree | optimised agree | no case |\n|---|---|---|---|---|---|')
    failures, status = [], 0
    for area in areas:
        counts = collections.Counter()
        for case in chosen[area.name]:
            name = f'{area.name}/{case.name}'
            why = (options.cache / 'reasons' / name.replace('/', '__')).read_text()
            if why:
                counts['none'] += 1
                failures.append(f'{name}: no case: {why}')
                continue
            for form in ('', '_optimised'):
                verdict, report = found.get(f'{area.name}{form}/{case.name}', ('absent', ''))
                counts[form + verdict] += 1
                if verdict != 'passed':
                    failures.append(f'{area.name}{form}/{case.name}: {verdict}: {report[:400]}')
        if options.store:
            store(options.cache, root / 'golden', area, found)
        total = len(chosen[area.name])
        print(f"| {area.name} | {len(area.covered)} | {total} | {counts['passed']} | {counts['_optimisedpassed']} | {counts['none']} |")
    for line in failures:
        print(line)
    for area in areas:
        for name, reason in sorted(area.skipped.items()):
            print(f'{area.name}: no row for {name}: {reason}')
        for name in area.missing():
            status = 1
            print(f'{area.name}: no row for {name}, and no reason')
    return status or int(bool(failures))


if __name__ == '__main__':
    sys.exit(main())
