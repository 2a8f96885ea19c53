#!/usr/bin/env python3
"""Computes with XLA the expected values of inline cases whose title contains [xla-cpu].

    env/bin/python ops_cases.py ../../tests/cases/ops            # compare, write nothing; exit status 1 on a difference
    env/bin/python ops_cases.py --write ../../tests/cases/ops    # fill in the lines `// out  ?`

A new case has one line `// out  ?`; `--write` replaces it by a line for each array of the result. Cases with [exact]
have values from exact arithmetic, as XLA:CPU cannot run them; they are skipped. The environment is that of generate.py
(README.md).
"""
import argparse
import os
import pathlib
import re
import sys

os.environ.setdefault('JAX_PLATFORMS', 'cpu')

import jax
import ml_dtypes
import numpy as np
from jaxlib import _hlo, _jax, xla_client

SMALL = {'bf16': ml_dtypes.bfloat16, 'f8e4m3fn': ml_dtypes.float8_e4m3fn, 'f8e5m2': ml_dtypes.float8_e5m2}
ARRAY = re.compile(r'(\w+)\[([\d,]*)\]')
SEPARATOR = '// -----\n'


def dtype(name):
    if name in SMALL:
        return np.dtype(SMALL[name])
    if name == 'pred':
        return np.dtype(bool)
    return np.dtype({'s': 'i', 'u': 'u', 'f': 'f', 'c': 'c'}[name[0]] + str(int(name[1:]) // 8))


def scalar(text):
    if text.startswith('('):
        re_part, im_part = text[1:-1].split(',')
        return complex(float(re_part), float(im_part))
    if text in ('true', 'false'):
        return text == 'true'
    return int(text) if re.fullmatch(r'-?\d+', text) and text != '-0' else float(text)


def read_literal(text, name, dims):
    values = [scalar(word) for word in re.findall(r'\([^)]*\)|[^{},\s]+', text)]
    flat = np.empty(len(values), dtype(name))
    for i, value in enumerate(values):
        flat[i] = value
    return flat.reshape(dims)


def number(x):
    if np.isnan(x):
        return 'nan'
    if np.isinf(x):
        return 'inf' if x > 0 else '-inf'
    if x == 0:
        return '-0.0' if np.signbit(x) else '0'
    text = str(x if x.dtype.kind == 'f' and x.dtype.itemsize >= 4 else np.float32(x))
    return text.removesuffix('.0')


def element(x):
    if x.dtype.kind == 'c':
        return f'({number(x.real)}, {number(x.imag)})'
    if x.dtype.kind == 'b':
        return str(int(x))
    return str(x) if x.dtype.kind in 'iu' else number(x)


def write_literal(array):
    if array.ndim == 0:
        return str(bool(array)).lower() if array.dtype.kind == 'b' else element(array[()])
    return '{' + ', '.join(element(x) if array.ndim == 1 else write_literal(x) for x in array) + '}'


class Xla:
    def __init__(self):
        jax.config.update('jax_enable_x64', True)
        self.device = jax.devices('cpu')[0]

    def run(self, text, inputs):
        proto = _hlo.hlo_module_from_text('HloModule m\n' + text).as_serialized_hlo_module_proto()
        shapes = _hlo.XlaComputation(proto).program_shape().parameter_shapes()
        arrays = []
        for shape, value in zip(shapes, inputs, strict=True):
            name, dims = ARRAY.match(str(shape)).groups()
            arrays.append(read_literal(value, name, [int(d) for d in dims.split(',') if d]))
        options = xla_client.CompileOptions()
        options.env_option_overrides = [('xla_allow_excess_precision', False)]
        program = self.device.client.compile_and_load(
            _jax.mlir.hlo_to_stablehlo(proto), _jax.DeviceList((self.device,)), options)
        results = program.execute_sharded([jax.device_put(a, self.device) for a in arrays])
        return [write_literal(np.asarray(x[0])) for x in results.disassemble_into_single_device_arrays()]


def values(block, word):
    return [line[len(word):].strip() for line in block.splitlines() if re.match(word + r'\s', line)]


def with_outputs(block, outputs):
    lines = [line for line in block.splitlines() if not re.match(r'// out\s', line)]
    return '\n'.join(lines + [f'// out  {value}' for value in outputs]) + '\n'


def is_ours(block):
    return '[xla-cpu]' in block.split('\n', 1)[0] and '\n// run\n' in block and '// foreach' not in block


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--write', action='store_true')
    parser.add_argument('folder', type=pathlib.Path)
    arguments = parser.parse_args()
    xla, status = Xla(), 0
    for path in sorted(arguments.folder.glob('*.hlo')):
        blocks = path.read_text().split(SEPARATOR)
        for i, block in enumerate(blocks):
            if not is_ours(block):
                continue
            title = f'{path.name}: {block.splitlines()[0][3:]}'
            try:
                outputs = xla.run(block, values(block, '// in'))
            except Exception as error:
                print(f'{title}\n  XLA cannot run it: {str(error).splitlines()[0]}')
                status = 1
                continue
            if values(block, '// out') == ['?'] and arguments.write:
                blocks[i] = with_outputs(block, outputs)
            elif values(block, '// out') != outputs:
                print(f'{title}\n  XLA gives {outputs}')
                status = 1
        if arguments.write:
            path.write_text(SEPARATOR.join(blocks))
    return status


if __name__ == '__main__':
    sys.exit(main())
