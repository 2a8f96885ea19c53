#!/usr/bin/env python3
"""Writes tests/cases/semantics/complex-special.hlo: complex functions of zeros, infinities and NaNs.

    complex_cases.py --oracle XLA.py OUT.hlo

ORACLE is a Python file with New and evaluate (an XLA driver built on jaxlib); run this script in an environment that has
jaxlib and numpy. The values are those of XLA:CPU. Besides the value, a case has the signs of both parts. Points at which
XLA:CPU gives rounding noise instead of a zero, or NaN instead of a finite number, are left out.
"""
import argparse
import importlib.util

import numpy as np

UNARY = ['exponential', 'exponential-minus-one', 'log', 'log-plus-one', 'logistic', 'rsqrt', 'sign', 'sine', 'cosine',
         'tan', 'tanh']
BINARY = ['multiply', 'divide', 'power']
GRID = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan]
PAIRS = 160
TYPES = {'c64': ('f32', 's32', np.complex64, 'abs 1e-6 rel 4e-6'), 'c128': ('f64', 's64', np.complex128, 'abs 1e-14 rel 1e-13')}

MODULE = '''HloModule m
ENTRY e {{
{parameters}  r = {t}[{n}] {op}({names})
  re = {part}[{n}] real(r)
  im = {part}[{n}] imag(r)
  rb = {bits}[{n}] bitcast-convert(re)
  ib = {bits}[{n}] bitcast-convert(im)
  zero = {bits}[] constant(0)
  zeros = {bits}[{n}] broadcast(zero), dimensions={{}}
  rs = pred[{n}] compare(rb, zeros), direction=LT
  is = pred[{n}] compare(ib, zeros), direction=LT
  rn = pred[{n}] compare(re, re), direction=EQ
  in = pred[{n}] compare(im, im), direction=EQ
  rneg = pred[{n}] and(rs, rn)
  ineg = pred[{n}] and(is, in)
  ROOT t = ({t}[{n}], pred[{n}], pred[{n}]) tuple(r, rneg, ineg)
}}
'''


def grid():
    re, im = np.meshgrid(GRID, GRID, indexing='ij')
    points = np.empty(re.size, np.complex128)
    points.real, points.imag = re.ravel(), im.ravel()
    return points


def number(x):
    return str(x).replace('e+', 'e') if np.isfinite(x) else str(float(x)).replace('-nan', 'nan')


def literal(values):
    if values.dtype == np.bool_:
        return '{' + ', '.join('true' if v else 'false' for v in values) + '}'
    return '{' + ', '.join(f'({number(v.real)}, {number(v.imag)})' for v in values) + '}'


def is_noise(values):
    """True where a part is tiny compared with the other, or NaN although the other is finite."""
    size = np.maximum(np.abs(values.real), np.abs(values.imag))
    noise = np.zeros(values.shape, np.bool_)
    for part in (values.real, values.imag):
        noise |= (part != 0) & (np.abs(part) < 1e-6 * size) & np.isfinite(size)
    return noise


def module(op, t, n, operands):
    part, bits, _, _ = TYPES[t]
    names = 'ab'[:operands]
    parameters = ''.join(f'  {name} = {t}[{n}] parameter({k})\n' for k, name in enumerate(names))
    return MODULE.format(op=op, t=t, n=n, part=part, bits=bits, names=', '.join(names), parameters=parameters)


def case(oracle, xla, op, t, arrays):
    arrays = [a.astype(TYPES[t][2]) for a in arrays]
    text = module(op, t, arrays[0].size, len(arrays))
    out = oracle.evaluate(xla, 'cpu', None, text, arrays)[3]
    keep = ~is_noise(np.asarray(out['0']))
    arrays = [a[keep] for a in arrays]
    results = [np.asarray(out[k])[keep] for k in ('0', '1', '2')]
    lines = [f'// {t} {op} of special values  [xla-cpu]', '// run',
             module(op, t, arrays[0].size, len(arrays)).rstrip('\n')]
    lines += [f'// in   {literal(a)}' for a in arrays]
    lines += [f'// out  {literal(r)}' for r in results]
    return lines[:1] + [f'// output 0 within {TYPES[t][3]}'] + lines[1:]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--oracle', required=True)
    parser.add_argument('out')
    a = parser.parse_args()
    spec = importlib.util.spec_from_file_location('oracle', a.oracle)
    oracle = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(oracle)
    xla = oracle.New()
    points = grid()
    cases = []
    for t in TYPES:
        for op in UNARY:
            cases.append(case(oracle, xla, op, t, [points]))
        rng = np.random.default_rng(1)
        for op in BINARY:
            pairs = rng.choice(points.size**2, PAIRS, replace=False)
            cases.append(case(oracle, xla, op, t, [points[pairs // points.size], points[pairs % points.size]]))
    with open(a.out, 'w') as f:
        f.write('\n// -----\n'.join('\n'.join(lines) for lines in cases) + '\n')


if __name__ == '__main__':
    main()
