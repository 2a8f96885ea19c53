#!/usr/bin/env python3
"""Writes the golden cases: lowers each program of `areas/` to HLO text, runs it on XLA:CPU and stores the results.

    generate.py [--out DIR] [PATTERN ...]    write the cases whose area/name matches a pattern (default: all)
    generate.py --check [PATTERN ...]        compute again and compare with the stored cases, writing nothing
    generate.py --list [PATTERN ...]         name the cases
"""
import argparse
import fnmatch
import importlib
import io
import json
import os
import pathlib
import re
import sys
import zipfile
import zlib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
os.environ['JAX_PLATFORMS'] = 'cpu'
# One thread and one instruction set make results as reproducible across machines as possible.
os.environ['XLA_FLAGS'] = '--xla_cpu_multi_thread_eigen=false --xla_cpu_max_isa=AVX2'

import jax  # noqa: E402
import jaxlib  # noqa: E402
import numpy as np  # noqa: E402
from jaxlib import _hlo  # noqa: E402

import accuracy  # noqa: E402
import compare  # noqa: E402

# Every instruction rounds to its declared type.
COMPILER_OPTIONS = {'xla_allow_excess_precision': False}
PRODUCER = f'XLA:CPU, jaxlib {jaxlib.__version__}'
# Opcodes that cases must not use, because their results depend on the device, library or seed.
EXCLUDED = {'custom-call', 'fft', 'cholesky', 'triangular-solve', 'rng', 'rng-bit-generator',
            'rng-get-and-update-state', 'batch-norm-training', 'batch-norm-inference', 'batch-norm-grad',
            'all-reduce', 'all-gather', 'all-to-all', 'collective-permute', 'reduce-scatter', 'infeed', 'outfeed',
            'send', 'recv', 'set-dimension-size', 'get-dimension-size', 'dynamic-reshape'}
OPCODE = re.compile(r'^\s*(?:ROOT )?%?[\w.-]+ = (?:\([^=]*?\)|\S+) ([a-z][a-z0-9-]*)\(', re.M)
MAX_CASE_BYTES = 60_000
MAX_CATALOGUE_BYTES = 24_000  # larger cases of the catalogue are compared, but not stored


class Dropped(Exception):
    """The program cannot be a case; contains the reason."""


def areas():
    for path in sorted((HERE / 'areas').glob('*.py')):
        if path.stem != '__init__':
            yield importlib.import_module(f'areas.{path.stem}').area


def draw(case):
    """Returns the flattened inputs, seeded only by the name of the case."""
    rng = np.random.default_rng(zlib.crc32(f'{case.area}/{case.name}'.encode()))
    leaves, tree = jax.tree.flatten(tuple(case.args))
    return [np.asarray(spec(rng)) for spec in leaves], tree


def hlo_text(module):
    options = _hlo.HloPrintOptions()
    options.print_large_constants = True
    options.print_metadata = False  # metadata contains file names of the machine
    text = module.to_string(options)
    # XLA prints a negative zero in a constant as -0 and reads it as the integer 0.
    lines = [re.sub(r'(?<![\w.+-])-0(?![\w.])', '-0.0', line) if ' constant(' in line else line
             for line in text.rstrip().split('\n')]
    return '\n'.join(line.rstrip() for line in lines) + '\n'


def stored(array):
    """Returns the array in its npz form: types that NumPy lacks become unsigned integers of the same width."""
    array = np.ascontiguousarray(array).reshape(np.shape(array))
    if array.dtype.isbuiltin == 1:
        return array
    return array.view({1: np.uint8, 2: np.uint16}[array.dtype.itemsize])


def npz_bytes(arrays):
    """Returns an npz whose bytes depend only on the arrays."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, 'w', zipfile.ZIP_DEFLATED, compresslevel=9) as z:
        for k, array in enumerate(arrays):
            member = io.BytesIO()
            np.lib.format.write_array(member, stored(array), allow_pickle=False)
            info = zipfile.ZipInfo(f'{k}.npy', date_time=(1980, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            z.writestr(info, member.getvalue())
    return buffer.getvalue()


def refuse_subnormals(arrays, what):
    """Rejects subnormals: XLA:CPU flushes them to zero, other implementations do not."""
    for k, x in enumerate(arrays):
        if x.dtype.name in ('float32', 'float64', 'bfloat16', 'complex64', 'complex128'):
            parts = [x.real, x.imag] if x.dtype.kind == 'c' else [x]
            for p in parts:
                p64 = np.abs(p.astype(np.float64))
                tiny = 2.0**-1022 if p.dtype.itemsize == 8 else 2.0**-126
                if np.any((p64 > 0) & (p64 < tiny)):
                    raise Dropped(f'{what} {k} holds a subnormal')


def rules_of(case, inputs, tree, outputs):
    rule = case.rule
    if rule is None:
        rule = accuracy.derived_rules(case.program, inputs, tree)
    elif isinstance(rule, dict):
        rule = [rule if np.issubdtype(x.dtype, np.inexact) or x.dtype.kind == 'V' or x.dtype.name == 'bfloat16'
                else accuracy.exact() for x in outputs]
    if len(rule) != len(outputs):
        raise ValueError(f'{len(rule)} rules for {len(outputs)} outputs')
    return rule


def case_json(case, rules, form=''):
    """Uses the most frequent rule as default; other outputs have their own."""
    keys = [json.dumps(r) for r in rules]
    common = max(keys, key=lambda k: (keys.count(k), -keys.index(k)))
    entry = {
        'name': case.name,
        'description': case.description + form,
        'source': {'program': f'tools/golden/areas/{case.source}:{case.name}', 'producer': PRODUCER},
        'devices': 1,
        'rule': json.loads(common),
    }
    others = {str(i): r for i, (k, r) in enumerate(zip(keys, rules)) if k != common}
    if others:
        entry['rules'] = others
    return json.dumps(entry, indent=2) + '\n'


def build(case):
    """Returns the files of a case by folder and name; a second folder has the optimised form."""
    with jax.enable_x64(case.x64):
        inputs, tree = draw(case)
        args = jax.tree.unflatten(tree, inputs)

        def program(*xs):
            return case.program(*xs)
        program.__name__ = re.sub(r'\W', '_', case.name)
        lowered = jax.jit(program, keep_unused=True).lower(*args)
        text = hlo_text(lowered.compiler_ir('hlo').get_hlo_module())
        excluded = EXCLUDED & set(OPCODE.findall(text)) if not case.both else None
        if excluded:
            raise Dropped('it uses ' + ', '.join(sorted(excluded)))
        compiled = lowered.compile(compiler_options=COMPILER_OPTIONS)
        outputs = [np.asarray(x) for x in jax.tree.leaves(compiled(*args))]
        rules = rules_of(case, inputs, tree, outputs)
    refuse_subnormals(inputs, 'input')
    refuse_subnormals(outputs, 'output')
    files = {'module.hlo': text.encode(), 'outputs.npz': npz_bytes(outputs), 'case.json': case_json(case, rules).encode()}
    if inputs:
        files['inputs.npz'] = npz_bytes(inputs)
    forms = {f'{case.area}/{case.name}': files}
    if case.both:
        after = hlo_text(compiled.runtime_executable().hlo_modules()[0])
        forms[f'{case.area}_optimised/{case.name}'] = files | {
            'module.hlo': after.encode(), 'case.json': case_json(case, rules, ' As XLA:CPU has optimised it.').encode()}
    for folder in list(forms):
        size = sum(map(len, forms[folder].values()))
        if size > (MAX_CASE_BYTES if not case.both else MAX_CATALOGUE_BYTES):
            if not case.both:
                raise Dropped(f'it takes {size} bytes')
            del forms[folder]
    return forms


def write(folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        if old.name not in files:
            old.unlink()
    for name, data in files.items():
        (folder / name).write_bytes(data)


def differences(folder, files):
    """Compares a new run with the stored case: text and rules must be equal, outputs within the stored rule."""
    if not folder.is_dir():
        return ['it is not stored']
    found = [f'{n} differs' for n in ('module.hlo', 'inputs.npz')
             if n in files and (folder / n).read_bytes() != files[n]]
    return found + compare.outputs(folder, files['outputs.npz'])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('patterns', nargs='*', metavar='PATTERN', help='area/name, with * and ?')
    parser.add_argument('--out', type=pathlib.Path, default=HERE.parent.parent / 'golden')
    parser.add_argument('--check', action='store_true')
    parser.add_argument('--list', action='store_true')
    options = parser.parse_args()
    failed = written = size = 0
    for area in areas():
        for case in area.cases:
            name = f'{case.area}/{case.name}'
            if not case.golden:
                continue
            if options.patterns and not any(fnmatch.fnmatch(name, p) for p in options.patterns):
                continue
            if options.list:
                print(f'{name}: {case.description}')
                continue
            try:
                forms = build(case)
                problems = []
                for folder, files in forms.items():
                    size += sum(map(len, files.values()))
                    if options.check:
                        problems += differences(options.out / folder, files)
                    else:
                        write(options.out / folder, files)
            except Exception as error:  # a failing case must not stop the others
                problems = [f'{type(error).__name__}: {str(error)[:500]}']
            written += not problems
            failed += bool(problems)
            for problem in problems:
                print(f'{name}: {problem}', file=sys.stderr)
    if not options.list:
        print(f'{written} cases {"agree" if options.check else "written"}, {size / 1e6:.2f} MB, {failed} failed')
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()
