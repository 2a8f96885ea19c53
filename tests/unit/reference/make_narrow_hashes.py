#!/usr/bin/env python3
"""Writes narrow_hashes.inc: a hash for every opcode and type below, over all values of the type.

    python3 -m venv env && env/bin/pip install numpy ml_dtypes && env/bin/python make_narrow_hashes.py

Conversions of every code of every type of 16 bits and fewer into every real type: values of the codes are those of NumPy
and ml_dtypes, rounding is a search among them (nearest, ties to even, overflow as semantics 1.3 says). Unary
operations on all of them, and arithmetic of all pairs of floats of 8 bits and fewer: in f32 by NumPy, rounded once. Of
integers (pairs: of 4 bits and fewer): in Python's integers, wrapped. A hash is FNV-1a over the result's elements in memory, all NaNs alike.
"""
import math
import pathlib

import ml_dtypes
import numpy as np

np.seterr(all='ignore')
INTS = {f'{s}{n}': (s == 's', n) for s in 'su' for n in (1, 2, 4, 8, 16, 32, 64)}
FLOATS = {'f16': np.float16, 'bf16': ml_dtypes.bfloat16, 'f8e5m2': ml_dtypes.float8_e5m2, 'f8e4m3': ml_dtypes.float8_e4m3,
          'f8e3m4': ml_dtypes.float8_e3m4, 'f8e4m3fn': ml_dtypes.float8_e4m3fn,
          'f8e4m3b11fnuz': ml_dtypes.float8_e4m3b11fnuz, 'f8e4m3fnuz': ml_dtypes.float8_e4m3fnuz,
          'f8e5m2fnuz': ml_dtypes.float8_e5m2fnuz, 'f8e8m0fnu': ml_dtypes.float8_e8m0fnu,
          'f6e3m2fn': ml_dtypes.float6_e3m2fn, 'f6e2m3fn': ml_dtypes.float6_e2m3fn, 'f4e2m1fn': ml_dtypes.float4_e2m1fn}
BITS = {'f16': 16, 'bf16': 16, 'f6e3m2fn': 6, 'f6e2m3fn': 6, 'f4e2m1fn': 4}
IEEE = ('f16', 'bf16', 'f8e5m2', 'f8e4m3', 'f8e3m4')
FINITE = ('f6e3m2fn', 'f6e2m3fn', 'f4e2m1fn')


def bits(name):
    return INTS[name][1] if name in INTS else 1 if name == 'pred' else BITS.get(name, 8)


def storage(name):
    return max(1, bits(name) // 8)


def values(name):
    """What each code means, in f64."""
    n = bits(name)
    codes = np.arange(1 << n, dtype=np.uint16 if n > 8 else np.uint8)
    if name in FLOATS:
        return codes.view(FLOATS[name]).astype(np.float64)
    codes = codes.astype(np.int64)
    if name in INTS and INTS[name][0]:
        codes = np.where(codes >> (n - 1) & 1, codes - (1 << n), codes)
    return codes.astype(np.float64)


def round_to(x, name):
    """Codes of a small float type for f64 values."""
    table = values(name)
    n = bits(name)
    nan_code = int(np.flatnonzero(np.isnan(table))[0]) if np.isnan(table).any() else 0
    out = np.zeros(x.shape, np.int64)
    if name == 'f8e8m0fnu':
        exponent = np.floor(np.log2(np.where(x > 0, x, 1.0)))
        mantissa = x / np.exp2(exponent)
        code = exponent + 127 + (mantissa >= 1.5)
        code = np.where(x <= 2.0**-127, 0, np.where(x < 2.0**-126, 1, code))
        return np.where((x > 0) & (code < 255) & np.isfinite(x), code, 255).astype(np.int64)
    positive = table[:1 << (n - 1)]
    finite = np.isfinite(positive)
    magnitudes = positive[finite]
    codes = np.flatnonzero(finite)
    a = np.abs(np.where(np.isnan(x), 0, x))
    above = np.searchsorted(magnitudes, a)          # First one that is not smaller.
    high = np.minimum(above, len(magnitudes) - 1)
    low = np.maximum(above - 1, 0)
    to_high, to_low = magnitudes[high] - a, a - magnitudes[low]
    up = (to_high < to_low) | ((to_high == to_low) & (codes[high] % 2 == 0)) | (magnitudes[high] == a)
    out = np.where(up, codes[high], codes[low])
    largest = magnitudes[-1]
    step = largest - magnitudes[-2]
    # Half a step above the largest value is a tie with the next code, which is even if the largest is odd.
    tie_overflows = codes[-1] % 2 == 1
    over = (a > largest + step / 2) | ((a == largest + step / 2) & tie_overflows)
    sign = np.where(np.signbit(x), 1 << (n - 1), 0)
    if name in FINITE:
        out = np.where(a > largest, codes[-1], out)
        return np.where(np.isnan(x), 0, out | sign)
    if name in IEEE:
        infinity = int(np.flatnonzero(np.isinf(positive))[0])
        return np.where(np.isnan(x), nan_code, np.where(over, infinity, out) | sign)
    is_uz = name.endswith('fnuz')
    signed = np.where(out == 0, 0, out | sign) if is_uz else out | sign
    return np.where(np.isnan(x) | over | np.isinf(x), nan_code, signed)


def convert(source, x, to):
    """Returns the bytes of the elements in type `to`, and which of them are NaN."""
    if to == 'pred':
        return (np.isnan(x) | (x != 0)).astype(np.uint8), np.zeros(x.shape, bool)
    if to in INTS:
        signed, n = INTS[to]
        if source in FLOATS:
            low, high = (-(1 << (n - 1)), (1 << (n - 1)) - 1) if signed else (0, (1 << n) - 1)
            whole = [0 if math.isnan(v) else high if v >= float(high) else low if v <= float(low) else math.trunc(v)
                     for v in x.tolist()]
        else:
            whole = [int(v) for v in x.tolist()]
        size = storage(to)
        mask = (1 << n) - 1
        memory = []
        for v in whole:
            v &= mask
            if signed and v >> (n - 1):
                v -= 1 << n
            memory.append(v & ((1 << 8 * size) - 1))
        return np.array(memory, f'u{size}'), np.zeros(x.shape, bool)
    if to in ('f32', 'f64'):
        y = x.astype(to.replace('f', 'float'))
        return y.view(f'u{y.itemsize}'), np.isnan(y)
    codes = round_to(x, to)
    return codes.astype(np.uint16 if bits(to) == 16 else np.uint8), np.isnan(values(to))[codes]


def fnv(memory, nan):
    memory = np.where(nan, ~np.zeros_like(memory), memory).astype(memory.dtype)
    h = 0xcbf29ce484222325
    for byte in memory.tobytes():
        h = (h ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return h


def float_pairs(op, a, b):
    a, b = a.astype(np.float32), b.astype(np.float32)
    if op in ('maximum', 'minimum'):
        pick = np.maximum(a, b) if op == 'maximum' else np.minimum(a, b)
        both_zero = (a == 0) & (b == 0)  # -0 counts as less than +0.
        negative = np.signbit(a) & np.signbit(b) if op == 'maximum' else np.signbit(a) | np.signbit(b)
        return np.where(both_zero, np.where(negative, np.float32(-0.0), np.float32(0)), pick)
    return {'add': np.add, 'subtract': np.subtract, 'multiply': np.multiply, 'divide': np.divide,
            'remainder': np.fmod}[op](a, b)


def float_unary(op, a):
    a = a.astype(np.float32)
    if op == 'round-nearest-afz':
        # a - trunc(a) is exact.
        size = np.abs(a)
        return np.copysign(np.trunc(size) + (size - np.trunc(size) >= 0.5).astype(np.float32), a)
    if op == 'sign':
        return np.where((a == 0) | np.isnan(a), a, np.where(np.signbit(a), np.float32(-1), np.float32(1)))
    return {'abs': np.abs, 'negate': np.negative, 'floor': np.floor, 'ceil': np.ceil, 'round-nearest-even': np.rint,
            'sqrt': np.sqrt}[op](a)


def whole_unary(op, a, n):
    pattern = a & ((1 << n) - 1)
    return {'abs': abs(a), 'negate': -a, 'sign': (a > 0) - (a < 0), 'not': ~a, 'popcnt': bin(pattern).count('1'),
            'count-leading-zeros': n - pattern.bit_length()}[op]


def whole(op, a, b, signed, n):
    """One integer result, before it wraps."""
    low, all_ones = (-(1 << (n - 1)) if signed else 0), (1 << n) - 1
    count = b & all_ones
    if op == 'divide':
        if b == 0:
            return -1
        return int(math.copysign(abs(a) // abs(b), a * b)) if a else 0
    if op == 'remainder':
        return a if b == 0 else int(math.fmod(a, b))
    if op == 'shift-left':
        return 0 if count >= n else a << count
    if op == 'shift-right-logical':
        return 0 if count >= n else (a & all_ones) >> count
    if op == 'shift-right-arithmetic':
        as_signed = a - (1 << n) if a >> (n - 1) & 1 and a > 0 else a
        return (-1 if as_signed < 0 else 0) if count >= n else as_signed >> count
    return {'add': a + b, 'subtract': a - b, 'multiply': a * b, 'maximum': max(a, b), 'minimum': min(a, b), 'and': a & b,
            'or': a | b, 'xor': a ^ b}[op]


def main():
    lines = ['// Written by make_narrow_hashes.py.']
    targets = ['pred', *INTS, *FLOATS, 'f32', 'f64']
    for source in ['pred', *(t for t in INTS if bits(t) <= 16), *FLOATS]:
        x = values(source)
        for to in targets:
            if to == source:
                continue
            memory, nan = convert(source, x, to)
            if to in FINITE:
                memory = np.where(np.isnan(x), 0, memory).astype(memory.dtype)
            lines.append(f'HLO_CONVERT("{source}", "{to}", 0x{fnv(memory, nan):016x})')
    for name in FLOATS:
        if bits(name) > 8:
            continue
        x = values(name)
        a, b = np.repeat(x, len(x)), np.tile(x, len(x))
        for op in ('add', 'subtract', 'multiply', 'divide', 'remainder', 'maximum', 'minimum'):
            y = float_pairs(op, a, b).astype(np.float64)
            memory, nan = convert('f16', y, name)
            if name in FINITE:
                memory = np.where(np.isnan(y), 0, memory).astype(memory.dtype)
            lines.append(f'HLO_PAIRS("{op}", "{name}", 0x{fnv(memory, nan):016x})')
    for name, (signed, n) in INTS.items():
        if n > 4:
            continue
        x = [int(v) for v in values(name)]
        for op in ('add', 'subtract', 'multiply', 'divide', 'remainder', 'maximum', 'minimum', 'and', 'or', 'xor',
                   'shift-left', 'shift-right-logical', 'shift-right-arithmetic'):
            y = np.array([whole(op, a, b, signed, n) for a in x for b in x], np.float64)
            memory, nan = convert('s64', y, name)
            lines.append(f'HLO_PAIRS("{op}", "{name}", 0x{fnv(memory, nan):016x})')
    for name in FLOATS:
        x = values(name)
        for op in ('abs', 'negate', 'sign', 'floor', 'ceil', 'round-nearest-even', 'round-nearest-afz', 'sqrt'):
            y = float_unary(op, x).astype(np.float64)
            memory, nan = convert('f16', y, name)
            if name in FINITE:
                memory = np.where(np.isnan(y), 0, memory).astype(memory.dtype)
            lines.append(f'HLO_UNARY("{op}", "{name}", 0x{fnv(memory, nan):016x})')
    for name, (signed, n) in INTS.items():
        if n > 16:
            continue
        x = [int(v) for v in values(name)]
        for op in ('negate', 'not', 'popcnt', 'count-leading-zeros', *(('abs', 'sign') if signed else ())):
            memory, nan = convert('s64', np.array([whole_unary(op, v, n) for v in x], np.float64), name)
            lines.append(f'HLO_UNARY("{op}", "{name}", 0x{fnv(memory, nan):016x})')
    pathlib.Path(__file__).with_name('narrow_hashes.inc').write_text('\n'.join(lines) + '\n')


main()
