#!/usr/bin/env python3
"""Writes dot_algorithm_values.inc: dots of f32 vectors by `algorithm=` (semantics 6.1), in NumPy and ml_dtypes.

The products of the pieces are summed in f64 and rounded once to f32, then added in f32 in the table's order."""
import ml_dtypes
import numpy as np

f32, f64 = np.float32, np.float64


def cut(x, dropped):
    return (x.view(np.uint32) & np.uint32(0xFFFFFFFF << dropped & 0xFFFFFFFF)).view(f32)


def bf16(x):
    return x.astype(ml_dtypes.bfloat16).astype(f32)


def tf32(x):  # To nearest even, 10 bits of mantissa.
    bits = x.view(np.uint32).astype(np.uint64)
    rounded = (bits + 0xFFF + (bits >> 13 & 1)) & ~np.uint64(0x1FFF)
    return np.where(np.isfinite(x), rounded.astype(np.uint32).view(f32), x)


def pieces(x, n, dropped, last):
    out = []
    with np.errstate(invalid='ignore'):
        for _ in range(n - 1):
            out.append(cut(x, dropped))
            x = x - out[-1]
    return out + [last(x)]


def dot(a, b):
    with np.errstate(invalid='ignore'):
        return f32(np.sum(a.astype(f64) * b.astype(f64)))


def by(order, n, dropped, last):
    def run(a, b):
        p, q = pieces(a, n, dropped, last), pieces(b, n, dropped, last)
        total = None
        for k, (i, j) in enumerate(order):
            product = dot(p[i], q[j])
            if total is not None:
                if k == len(order) - 1 and np.isnan(total):
                    total = f32(0)
                with np.errstate(invalid='ignore'):
                    product = f32(total + product)
            total = product
        return total
    return run


H, M, L = 0, 1, 2
TWO = [(1, 0), (0, 1), (0, 0)]
SIX = [(M, M), (H, L), (L, H), (H, M), (M, H), (H, H)]
NINE = [(L, L), (L, M), (M, L), (M, M), (H, L), (L, H), (H, M), (M, H), (H, H)]
ALGORITHMS = {
    'dot_bf16_bf16_f32': by([(0, 0)], 1, 16, bf16),
    'dot_bf16_bf16_f32_x3': by(TWO, 2, 16, bf16),
    'dot_bf16_bf16_f32_x6': by(SIX, 3, 16, bf16),
    'dot_bf16_bf16_f32_x9': by(NINE, 3, 16, bf16),
    'dot_tf32_tf32_f32': by([(0, 0)], 1, 13, tf32),
    'dot_tf32_tf32_f32_x3': by(TWO, 2, 13, tf32),
    'dot_f32_f32_f32': lambda a, b: dot(a, b),
}
rng = np.random.default_rng(7)
OPERANDS = [(rng.standard_normal(3).astype(f32), rng.standard_normal(3).astype(f32)) for _ in range(4)]
OPERANDS.append((np.array([np.inf, 1.1, 2], f32), np.array([1.3, 0.7, 3], f32)))

with open('dot_algorithm_values.inc', 'w') as f:
    f.write('// Algorithm, lhs, rhs, result; the floats as bits. Made by make_dot_algorithm_values.py.\n')
    for name, run in ALGORITHMS.items():
        for a, b in OPERANDS:
            words = ['{' + ', '.join(f'0x{w:08x}u' for w in x.view(np.uint32)) + '}' for x in (a, b)]
            result = np.asarray(run(a, b), f32).view(np.uint32)
            f.write(f'{{"{name}", {words[0]}, {words[1]}, 0x{int(result):08x}u}},\n')
