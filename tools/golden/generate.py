#!/usr/bin/env python3
"""Writes the golden cases: lowers each program of `areas/` to HLO text, runs it on XLA:CPU and stores the results.

    generate.py [--out DIR] [PATTERN ...]    write the cases whose area/name matches a pattern (default: all)
    generate.py --check [PATTERN ...]        compute again and compare with the stored cases, writing nothing
    generate.py --list [PATTERN ...]         name the cases
"""
import argparse
import fnmatch
import importlib
import json
import os
import pathlib
import re
import sys
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
import packs  # noqa: E402

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


def case_of(case, text, inputs, outputs, rules, form=''):
    """Returns the case in the format of packs.py. The most frequent rule is the default; other outputs have their own."""
    keys = [json.dumps(r) for r in rules]
    common = max(keys, key=lambda k: (keys.count(k), -keys.index(k)))
    made = {
        'name': case.name,
        'description': case.description + form,
        'source': {'program': f'tools/golden/areas/{case.source}:{case.name}', 'producer': PRODUCER},
        'rule': json.loads(common),
        'module': text,
        'inputs': [stored(x) for x in inputs],
        'outputs': [stored(x) for x in outputs],
    }
    others = {str(i): r for i, (k, r) in enumerate(zip(keys, rules)) if k != common}
    return made | ({'rules': others} if others else {})


def size_of(case):
    """Returns the size of a case in bytes, with its arrays compressed."""
    return len(case['module']) + sum(len(zlib.compress(x.tobytes())) for x in case['inputs'] + case['outputs'])


def build(case):
    """Returns the case by area; a second area has the optimised form."""
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
    forms = {case.area: case_of(case, text, inputs, outputs, rules)}
    if case.both:
        after = hlo_text(compiled.runtime_executable().hlo_modules()[0])
        forms[f'{case.area}_optimised'] = case_of(case, after, inputs, outputs, rules, ' As XLA:CPU has optimised it.')
    for area in list(forms):
        size = size_of(forms[area])
        if size > (MAX_CASE_BYTES if not case.both else MAX_CATALOGUE_BYTES):
            if not case.both:
                raise Dropped(f'it takes {size} bytes')
            del forms[area]
    return forms


def differences(stored_case, fresh):
    """Returns the differences between a new run and the stored case: text and inputs must be equal, outputs within the stored rule."""
    if stored_case is None:
        return ['it is not stored']
    found = ['the module differs'] if stored_case['module'] != fresh['module'] else []
    same = len(stored_case['inputs']) == len(fresh['inputs']) and all(
        a.dtype == b.dtype and a.tobytes() == b.tobytes() for a, b in zip(stored_case['inputs'], fresh['inputs']))
    return found + ([] if same else ['an input differs']) + compare.outputs(stored_case, fresh['outputs'])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('patterns', nargs='*', metavar='PATTERN', help='area/name, with * and ?')
    parser.add_argument('--out', type=pathlib.Path, default=HERE.parent.parent / 'golden')
    parser.add_argument('--check', action='store_true')
    parser.add_argument('--list', action='store_true')
    options = parser.parse_args()
    failed = written = size = 0
    stored_areas = {}
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
                for area_name, made in forms.items():
                    if area_name not in stored_areas:
                        stored_areas[area_name] = packs.read(options.out / area_name)
                    size += size_of(made)
                    if options.check:
                        problems += differences(stored_areas[area_name].get(made['name']), made)
                    else:
                        stored_areas[area_name][made['name']] = made
            except Exception as error:  # one bad case does not stop the others
                problems = [f'{type(error).__name__}: {str(error)[:500]}']
            written += not problems
            failed += bool(problems)
            for problem in problems:
                print(f'{name}: {problem}', file=sys.stderr)
    if not options.check:
        for area_name, cases in stored_areas.items():
            packs.write(options.out / area_name, cases)
    if not options.list:
        print(f'{written} cases {"agree" if options.check else "written"}, {size / 1e6:.2f} MB, {failed} failed')
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()
