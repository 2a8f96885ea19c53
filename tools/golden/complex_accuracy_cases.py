#!/usr/bin/env python3
"""Writes tests/cases/semantics/complex-accuracy.hlo: complex functions where plain formulas overflow, underflow or cancel.

    complex_accuracy_cases.py OUT.hlo

mpmath computes the values with 2,400 bits.
"""
import argparse
import random
import struct

import mpmath as mp

mp.mp.prec = 2400
RULES = {'c64': 'rel 2.4e-7', 'c128': 'rel 6e-16'}
POWER_RULES = {'c64': 'rel 2.4e-7', 'c128': 'rel 2e-13'}
EXTREMES = {  # A large and a small number whose squares overflow and underflow, and one close to 1.
    'c64': (2.0**100, 2.0**-100, 1 - 2.0**-20), 'c128': (2.0**1000, 2.0**-1000, 1 - 2.0**-40)}


def parts(t):
    large, small, near = EXTREMES[t]
    return [(1.5 * large, large), (large, -small), (small, 1.25 * small), (-small, 0.75 * small), (0.6, 0.8), (near, 2.0**-12),
            (-0.8, -0.6), (0.28, 0.96), (-large, 0.5), (2.0**-30, 3 * 2.0**-32)]


def rounded(t, x):
    return struct.unpack('f', struct.pack('f', x))[0] if t == 'c64' else x


POLAR = [(80.0, 1.0), (-60.0, 2.5), (2.0**-20, 2.0**-21), (0.5, -40.0), (-1.0, 2.0**-10)]
UNARY = {
    'abs': (parts, abs), 'log': (parts, mp.log), 'log-plus-one': (parts, lambda z: mp.log(1 + z)), 'sqrt': (parts, mp.sqrt),
    'rsqrt': (parts, lambda z: 1 / mp.sqrt(z)), 'sign': (parts, lambda z: z / abs(z)), 'exponential': (POLAR, mp.exp),
    'exponential-minus-one': (POLAR, lambda z: mp.exp(z) - 1), 'sine': (POLAR, mp.sin), 'cosine': (POLAR, mp.cos),
    'tan': (POLAR, mp.tan), 'tanh': (POLAR, mp.tanh)}
MIXED = 'of 150 numbers, most of them ordinary'
MIXED_RULES, ABSOLUTE = {'c64': 'rel 2.4e-7', 'c128': 'rel 4e-15'}, {'c64': '0', 'c128': '1e-15'}
QUOTIENTS = {'c64': (2.0**126, 2.0**-125), 'c128': (2.0**1022, 2.0**-1021)}


def text(t, x):
    """The shortest decimal that reads back as x rounded to the type."""
    x = rounded(t, float(x))
    if t == 'c128':
        return repr(x)
    return next(s for d in range(1, 10) if rounded(t, float(s := f'{x:.{d}g}')) == x)


def literal(t, values):
    return '{' + ', '.join(f'({text(t, z.real)}, {text(t, z.imag)})' for z in values) + '}'


def mixed(t, count, seed):
    """Ordinary numbers, with one of parts(t) in every ninth place."""
    r, unusual = random.Random(seed), parts(t)
    return [unusual[i // 9 % len(unusual)] if i % 9 == 8 else (r.gauss(0, 1), r.gauss(0, 1)) for i in range(count)]


def case(t, op, arrays, function, about='where plain formulas overflow, underflow or cancel', rules=RULES, absolute='0'):
    arrays = [[complex(rounded(t, z[0]), rounded(t, z[1])) for z in a] for a in arrays]
    wants = [function(*(mp.mpc(z.real, z.imag) for z in zs)) for zs in zip(*arrays)]
    n, names = len(wants), 'ab'[:len(arrays)]
    rule = (POWER_RULES if op == 'power' else rules)[t]
    lines = [f'// {t} {op} {about}  [exact]', f'// within abs {absolute} {rule}', '// run', 'HloModule m', 'ENTRY e {']
    lines += [f'  {name} = {t}[{n}] parameter({k})' for k, name in enumerate(names)]
    to = {'c64': 'f32', 'c128': 'f64'}[t] if op == 'abs' else t
    lines += [f"  ROOT r = {to}[{n}] {op}({', '.join(names)})", '}']
    lines += [f'// in   {literal(t, a)}' for a in arrays]
    values = '{' + ', '.join(text(t, w) for w in wants) + '}' if op == 'abs' else literal(t, wants)
    return lines + [f'// out  {values}']


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('out')
    a = parser.parse_args()
    cases = []
    for t in RULES:
        for op, (points, function) in UNARY.items():
            cases.append(case(t, op, [points(t) if callable(points) else points], function))
        large, small = QUOTIENTS[t]
        dividends = [(large, large), (small, small), (large, 1.5), (1.0, large), (small, -large), (3.0, 1.0)]
        divisors = [(large, -large), (small, 2 * small), (large, large), (1.0, large), (2.0, 2.0), (3.0, small)]
        cases.append(case(t, 'divide', [dividends, divisors], lambda x, y: x / y))
        powers = [(2.0, 0.0), (-0.5, 0.0), (0.5, 0.0), (2.0, 3.0), (0.5, -2.0)]
        bases = [(0.6, 0.8), (large, large), (large, -large), (0.0, 1.0), (small, small)]
        cases.append(case(t, 'power', [bases, powers], lambda x, y: mp.exp(y * mp.log(x))))
    for t in MIXED_RULES:
        for op in ('exponential-minus-one', 'sqrt', 'rsqrt', 'tanh'):
            numbers = mixed(t, 150, op)
            if op in ('exponential-minus-one', 'tanh'):
                numbers = [z for z in numbers if abs(z[0]) < 1e20 and abs(z[1]) < 1e20]
            cases.append(case(t, op, [numbers], UNARY[op][1], MIXED, MIXED_RULES, ABSOLUTE[t]))
        cases.append(case(t, 'divide', [mixed(t, 150, 'dividend'), mixed(t, 150, 'divisor')[::-1]], lambda x, y: x / y, MIXED,
                          MIXED_RULES, ABSOLUTE[t]))
    with open(a.out, 'w') as f:
        f.write('\n// -----\n'.join('\n'.join(lines) for lines in cases) + '\n')


if __name__ == '__main__':
    main()
