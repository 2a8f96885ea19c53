#!/usr/bin/env python3
"""Writes tests/unit/exec/mixed_types.txt: the combinations of element types that XLA accepts, by opcode.

    python3 mixed_types.py ../../tests/unit/exec/mixed_types.txt

Each block is a module with open types, and XLA:CPU's verdict for each choice: A and B are the operand types, R is the
result type. XLA's verifier runs as part of compilation, without mixed precision. A line has A (and B) and the accepted
R. Needs jax (requirements.txt); every block runs in a separate process, since some of them crash XLA.
"""
import argparse
import itertools
import json
import re
import subprocess
import sys

TYPES = ['pred', 's8', 's32', 'u32', 'f8e5m2', 'f16', 'bf16', 'f32', 'f64', 'c64']
FEW = ['pred', 's32', 'f16', 'bf16', 'f32', 'c64']

BINARY = 'ENTRY e {\n  p = A[4] parameter(0)\n  q = B[4] parameter(1)\n  ROOT r = R[4] %s(p, q)\n}'
UNARY = 'ENTRY e {\n  p = A[4] parameter(0)\n  ROOT r = R[4] %s\n}'

MODULES = [UNARY % t for t in (
    'broadcast(p), dimensions={0}', 'reshape(p)', 'transpose(p), dimensions={0}', 'reverse(p), dimensions={0}',
    'slice(p), slice={[0:4]}', 'copy(p)', 'convert(p)', 'negate(p)', 'abs(p)', 'exponential(p)', 'is-finite(p)',
    'bitcast-convert(p)', 'reduce-precision(p), exponent_bits=4, mantissa_bits=3', 'real(p)')] + [
    BINARY % t for t in ('add', 'maximum', 'divide', 'power', 'and')] + [
    'ENTRY e {\n  p = A[4] parameter(0)\n  q = B[4] parameter(1)\n  ROOT r = R[4] compare(p, q), direction=LT\n}',
    'ENTRY e {\n  m = pred[4] parameter(0)\n  p = A[4] parameter(1)\n  q = B[4] parameter(2)\n'
    '  ROOT r = R[4] select(m, p, q)\n}',
    'ENTRY e {\n  l = B[] parameter(0)\n  p = A[4] parameter(1)\n  ROOT r = R[4] clamp(l, p, l)\n}',
    'ENTRY e {\n  p = A[4] parameter(0)\n  q = B[4] parameter(1)\n  ROOT r = R[8] concatenate(p, q), dimensions={0}\n}',
    'ENTRY e {\n  p = A[4] parameter(0)\n  q = B[] parameter(1)\n  ROOT r = R[6] pad(p, q), padding=1_1\n}',
    'ENTRY e {\n  p = A[4] parameter(0)\n  i = s32[] parameter(1)\n'
    '  ROOT r = R[2] dynamic-slice(p, i), dynamic_slice_sizes={2}\n}',
    'ENTRY e {\n  p = A[4] parameter(0)\n  q = B[2] parameter(1)\n  i = s32[] parameter(2)\n'
    '  ROOT r = R[4] dynamic-update-slice(p, q, i)\n}',
    'ENTRY e {\n  p = A[4] parameter(0)\n  i = s32[3] parameter(1)\n'
    '  ROOT r = R[3] gather(p, i), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, '
    'index_vector_dim=1, slice_sizes={1}\n}',
    'second {\n  a = A[] parameter(0)\n  ROOT b = A[] parameter(1)\n}\n'
    'ENTRY e {\n  p = A[4] parameter(0)\n  i = s32[3] parameter(1)\n  q = B[3] parameter(2)\n'
    '  ROOT r = R[4] scatter(p, i, q), update_window_dims={}, inserted_window_dims={0}, '
    'scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=second\n}',
    'lt {\n  a = A[] parameter(0)\n  b = A[] parameter(1)\n  ROOT c = pred[] compare(a, b), direction=LT\n}\n'
    'ENTRY e {\n  p = A[4] parameter(0)\n  ROOT r = R[4] sort(p), dimensions={0}, to_apply=lt\n}',
    'largest {\n  a = A[] parameter(0)\n  b = A[] parameter(1)\n  ROOT c = A[] maximum(a, b)\n}\n'
    'ENTRY e {\n  p = A[4] parameter(0)\n  z = B[] parameter(1)\n'
    '  ROOT r = R[] reduce(p, z), dimensions={0}, to_apply=largest\n}',
    'largest {\n  a = A[] parameter(0)\n  b = A[] parameter(1)\n  ROOT c = A[] maximum(a, b)\n}\n'
    'ENTRY e {\n  p = A[4] parameter(0)\n  z = B[] parameter(1)\n'
    '  ROOT r = R[2] reduce-window(p, z), window={size=2 stride=2}, to_apply=largest\n}',
    'ENTRY e {\n  p = A[4] parameter(0)\n  q = B[4] parameter(1)\n'
    '  ROOT r = R[] dot(p, q), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n}',
    'ENTRY e {\n  p = A[1,4,2] parameter(0)\n  q = B[2,2,3] parameter(1)\n'
    '  ROOT r = R[1,3,3] convolution(p, q), window={size=2}, dim_labels=b0f_0io->b0f\n}',
    'twice {\n  a = A[4] parameter(0)\n  ROOT b = A[4] add(a, a)\n}\n'
    'ENTRY e {\n  p = A[4] parameter(0)\n  ROOT r = R[4] call(p), to_apply=twice\n}',
    'neg {\n  a = A[] parameter(0)\n  ROOT b = A[] add(a, a)\n}\n'
    'ENTRY e {\n  p = A[4] parameter(0)\n  ROOT r = R[4] map(p), dimensions={0}, to_apply=neg\n}',
]


def instance(module, a, b, r):
    by = {'A': a, 'B': b, 'R': r}
    return 'HloModule m\n' + re.sub(r'\b[ABR](?=\[)', lambda m: by[m.group()], module)


def verdicts(number):
    """Prints the accepted combinations of one module as they are found."""
    import jax
    from jaxlib import _hlo, _jax
    jax.config.update('jax_platforms', 'cpu')
    device = jax.devices('cpu')[0]
    options = _jax.CompileOptions()
    devices = _jax.DeviceList((device,))
    module = MODULES[number]
    first = int(sys.stdin.readline())
    for i, (a, b, r) in enumerate(combinations(module)):
        if i < first:
            continue
        print(json.dumps(['try', i]), flush=True)
        try:
            parsed = _hlo.hlo_module_from_text(instance(module, a, b, r))
            text = _jax.mlir.hlo_to_stablehlo(parsed.as_serialized_hlo_module_proto())
            device.client.compile_and_load(text, devices, options)
            print(json.dumps(['accepted', a, b, r]), flush=True)
        except Exception:  # Rejected.
            pass
    print(json.dumps(['end']), flush=True)


def combinations(module):
    if not re.search(r'\bB\[', module):
        return [(a, '', r) for a in TYPES for r in TYPES]
    return list(itertools.product(FEW, FEW, FEW))


def ask(number):
    accepted, first = set(), 0
    while True:  # Resumes after the combination that crashed XLA.
        process = subprocess.run([sys.executable, __file__, '--module', str(number)], input=f'{first}\n', text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for line in process.stdout.splitlines():
            what, *rest = json.loads(line)
            if what == 'try':
                first = rest[0] + 1
            elif what == 'accepted':
                accepted.add(tuple(rest))
            elif what == 'end':
                return accepted


def block(module, accepted):
    lines = [module]
    for a, b in dict.fromkeys((a, b) for a, b, _ in combinations(module)):
        results = [r for x, y, r in combinations(module) if (x, y) == (a, b) and (x, y, r) in accepted]
        if results:
            lines.append(f'// {a}{" " + b if b else ""} -> {" ".join(results)}')
    return '\n'.join(lines) + '\n'


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('file', nargs='?')
    parser.add_argument('--module', type=int)
    arguments = parser.parse_args()
    if arguments.module is not None:
        return verdicts(arguments.module)
    blocks = [block(m, ask(i)) for i, m in enumerate(MODULES)]
    with open(arguments.file, 'w') as f:
        f.write('// Written by tools/golden/mixed_types.py: which types XLA:CPU takes together.\n')
        f.write('// -----\n'.join(blocks))


if __name__ == '__main__':
    main()
