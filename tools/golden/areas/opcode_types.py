"""Each opcode with each element type that XLA:CPU runs it for, edge values included."""
import jax.numpy as jnp
import numpy as np
from accuracy import close, exact, function_rule, ulp
from arguments import DTYPES, given
from jax import lax
from registry import Area

area = Area('opcode_types')
SIGNED = ['s2', 's4', 's8', 's16', 's32', 's64']
UNSIGNED = ['u2', 'u4', 'u8', 'u16', 'u32', 'u64']
INTEGERS = SIGNED + UNSIGNED
EIGHT = ['f8e4m3fn', 'f8e5m2', 'f8e4m3', 'f8e3m4', 'f8e4m3b11fnuz', 'f8e4m3fnuz', 'f8e5m2fnuz']
FLOATS = ['f16', 'bf16', 'f32', 'f64'] + EIGHT
WIDE = ['f16', 'bf16', 'f32', 'f64']
COMPLEX = ['c64', 'c128']
EVERY = ['pred'] + INTEGERS + FLOATS + COMPLEX
EXTRA = ['f8e8m0fnu', 'f4e2m1fn']


def bits(t):
    return int(t[1:])


def values(t, count=12, special=True, salt=0, low=None, high=None):
    """Small, extreme and special elements of the type."""
    rng = np.random.default_rng([len(t), ord(t[0]), ord(t[-1]), sum(map(ord, t)), salt])
    if t == 'pred':
        return given(rng.random(count) < 0.5, t)
    if t in INTEGERS:
        n = bits(t)
        lo, hi = (-(1 << n - 1), (1 << n - 1) - 1) if t in SIGNED else (0, (1 << n) - 1)
        small_hi = min(hi, 9 if high is None else high)
        small_lo = max(lo, -9 if low is None else min(low, small_hi))
        x = [int(v) for v in rng.integers(small_lo, small_hi + 1, count)]
        if special and low is None:
            edges = [lo, hi, 0, 1, hi - 1, lo + 1]
            x[::2] = [edges[int(k)] for k in rng.integers(0, 6, len(x[::2]))]
        wide = np.uint64 if t in UNSIGNED else np.int64
        return given(np.array(x, dtype=object).astype(wide).astype(DTYPES[t]), t)
    low, high = (-3, 3) if low is None else (low, high)
    x = rng.integers(low * 4, high * 4 + 1, count) / 4.0
    if t == 'f8e8m0fnu':
        x = 2.0**rng.integers(-4, 5, count)
    if t in COMPLEX:
        x = x + 1j * rng.integers(-8, 9, count) / 4.0
    elif special and low < 0 and t not in EXTRA:
        x[1::4] = ([np.nan, np.inf, -np.inf, -0.0] * count)[:len(x[1::4])]
    return given(np.asarray(x).astype(DTYPES[t]), t)


def add(name, t, program, args, what, rule=None):
    area.add(f'{name}_{t}', program, args, f'{what} of {t}.', x64=True, rule=rule or exact())


# Unary operations.
UNARY = {
    'negate': (lax.neg, SIGNED + FLOATS + COMPLEX + UNSIGNED[2:]), 'abs': (lax.abs, SIGNED[2:] + FLOATS), 'sign': (lax.sign, SIGNED + FLOATS),
    'not': (lax.bitwise_not, ['pred'] + INTEGERS), 'popcnt': (lax.population_count, [t for t in INTEGERS if bits(t) >= 8]),
    'count_leading_zeros': (lax.clz, [t for t in INTEGERS if bits(t) >= 8]), 'floor': (lax.floor, FLOATS), 'ceil': (lax.ceil, FLOATS),
    'is_finite': (lax.is_finite, FLOATS), 'real': (lax.real, COMPLEX), 'imag': (lax.imag, COMPLEX), 'conjugate': (lax.conj, COMPLEX),
    'round_nearest_even': (lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN), FLOATS),
    'round_nearest_afz': (lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO), FLOATS), 'sqrt': (lax.sqrt, FLOATS),
}
for name, (function, types) in UNARY.items():
    for t in types:
        add(name, t, function, [values(t)], name.replace('_', '-'))
FUNCTIONS = {'exponential': ('exp', lax.exp), 'exponential_minus_one': ('expm1', lax.expm1), 'log': ('log', lax.log), 'log_plus_one': ('log1p', lax.log1p),
             'logistic': ('logistic', lax.logistic), 'tanh': ('tanh', lax.tanh), 'sine': ('sin', lax.sin), 'cosine': ('cos', lax.cos), 'tan': ('tan', lax.tan),
             'cbrt': ('cbrt', lax.cbrt), 'rsqrt': ('rsqrt', lax.rsqrt), 'erf': ('erf', lax.erf), 'asinh': ('asinh', lax.asinh), 'sinh': ('sinh', lax.sinh),
             'cosh': ('cosh', lax.cosh), 'atan': ('atan', lax.atan)}
for name, (short, function) in FUNCTIONS.items():
    for t in WIDE:
        add(name, t, function, [values(t, 16)], name.replace('_', '-'), function_rule(short, t))
for name in ('exponential', 'log', 'tanh', 'sine', 'cosine'):
    for t in COMPLEX:
        eps = float(np.finfo(DTYPES[t]).eps)
        add(name, t, FUNCTIONS[name][1], [values(t)], name, close(16 * eps, 32 * eps, 'a complex function is a chain of real functions, products and sums'))

# Binary operations.
BINARY = {
    'add': (lax.add, INTEGERS + FLOATS + COMPLEX), 'subtract': (lax.sub, INTEGERS + FLOATS + COMPLEX), 'multiply': (lax.mul, INTEGERS + FLOATS),
    'divide': (lax.div, INTEGERS + FLOATS), 'remainder': (lax.rem, INTEGERS + FLOATS), 'maximum': (lax.max, ['pred'] + INTEGERS + FLOATS),
    'minimum': (lax.min, ['pred'] + INTEGERS + FLOATS), 'and': (lax.bitwise_and, ['pred'] + INTEGERS), 'or': (lax.bitwise_or, ['pred'] + INTEGERS),
    'xor': (lax.bitwise_xor, ['pred'] + INTEGERS), 'mulhi': (lax.mulhi, [t for t in INTEGERS if bits(t) >= 8]),
}
for name, (function, types) in BINARY.items():
    for t in types:
        rule = ulp(1, 'XLA:CPU divides in f16 and rounds again') if name == 'divide' and t in EIGHT else None
        add(name, t, function, [values(t, 16), values(t, 16, salt=1)], name, rule)
for name, function in {'shift_left': lax.shift_left, 'shift_right_arithmetic': lax.shift_right_arithmetic, 'shift_right_logical': lax.shift_right_logical}.items():
    for t in INTEGERS:
        add(name, t, function, [values(t, 16), values(t, 16, salt=1, low=-1, high=bits(t) + 1)], name.replace('_', '-'))
for name, function in {'power': lax.pow, 'atan2': lax.atan2}.items():
    for t in WIDE:
        add(name, t, function, [values(t, 16), values(t, 16, salt=1)], name, function_rule(name, t))
for t in ('f16', 'bf16', 'f32'):
    add('nextafter', t, lax.nextafter, [values(t, 16), values(t, 16, salt=1)], 'nextafter')
for t in EVERY:
    six = (lax.eq, lax.ne) if t in COMPLEX else (lax.eq, lax.ne, lax.lt, lax.le, lax.gt, lax.ge)
    add('compare', t, lambda x, y, six=six: tuple(f(x, y) for f in six), [values(t, 16), values(t, 16, salt=1)], 'compare, in each direction,')
    add('select', t, lambda p, x, y: (lax.select(p, x, y), jnp.where(p[0], x, y)), [values('pred'), values(t), values(t, salt=1)], 'select')
for t in INTEGERS + FLOATS:
    add('clamp', t, lax.clamp, [values(t, low=0, high=1), values(t, salt=1), values(t, salt=2, low=2, high=3)], 'clamp')
TARGETS = ['pred'] + INTEGERS + FLOATS + COMPLEX
for t in ['pred'] + INTEGERS + FLOATS + EXTRA[:1]:
    add('convert', t, lambda x: tuple(lax.convert_element_type(x, DTYPES[u]) for u in TARGETS),
        [values(t, low=-2 if t not in UNSIGNED + ['pred'] else 0, high=2)], 'convert, to every type,')
for t in ['f16', 'bf16', 'f32', 'f64', 's8', 's32', 'u64']:
    add('convert_narrow', t, lambda x: tuple(lax.convert_element_type(x, DTYPES[u]) for u in EXTRA + EIGHT),
        [values(t, low=1, high=2)], 'convert, to the narrow formats,')
for t in ('f32', 'f64', 'f16', 'bf16'):
    add('reduce_precision', t, lambda x: tuple(lax.reduce_precision(x, e, m) for e, m in ((5, 10), (4, 3), (8, 7), (5, 2))), [values(t, 24)], 'reduce-precision')

# Data movement on every type.
for t in EVERY:
    cube = lambda x: x.reshape(2, 3, 4)  # noqa: E731
    add('transpose', t, lambda x: cube(x).transpose(2, 0, 1), [values(t, 24)], 'transpose')
    add('slice_pad_reverse', t, lambda x: (cube(x)[:, ::2, 1:3], lax.rev(cube(x), (0, 2)), lax.pad(cube(x), x[0], [(1, 0, 0), (0, -1, 1), (-1, 2, 0)])),
        [values(t, 24)], 'slice, reverse and pad')
    add('concatenate_broadcast', t, lambda x, y: (jnp.concatenate([cube(x), cube(y)], 1), jnp.broadcast_to(y[:4], (2, 3, 4))),
        [values(t, 24), values(t, 24, salt=1)], 'concatenate and broadcast')
    add('gather', t, lambda x, i: jnp.take(cube(x), i, axis=1, mode='clip'), [values(t, 24), given([2, 0, -1, 5], 's32')], 'gather')
    add('scatter', t, lambda x, i, u: cube(x).at[:, i].set(u.reshape(2, 2, 4)), [values(t, 24), given([2, 0], 's32'), values(t, 16, salt=1)], 'scatter')
    add('dynamic_update_slice', t, lambda x, i, u: lax.dynamic_update_slice(cube(x), u.reshape(1, 2, 2), (i, i, i)),
        [values(t, 24), given(1, 's32'), values(t, 4, salt=1)], 'dynamic-update-slice')
    if t not in COMPLEX + ['s2', 'u2']:
        plain = values(t, 24, special=t not in EIGHT)
        add('sort', t, lambda x: lax.sort(cube(x), dimension=2), [plain], 'sort')
    if t in ['f32', 'f64'] or t in INTEGERS and bits(t) >= 8:
        add('reduce', t, lambda x: tuple(f(cube(x), axis=(0, 2)) for f in (jnp.sum, jnp.max, jnp.min)), [values(t, 24, special=t in INTEGERS)], 'reduce')
        add('cumulative', t, lambda x: (lax.cumsum(cube(x), 1), lax.cummax(cube(x), 2)), [values(t, 24, special=t in INTEGERS)], 'cumulative sums and maxima')
for t in ['s8', 's16', 's32', 's64', 'u8', 'u16', 'u32', 'u64', 'f16', 'bf16', 'f32', 'f64', 'c64', 'c128']:
    add('dot', t, lambda x, y: lax.dot(x.reshape(3, 4), y.reshape(4, 3)), [values(t, 12, special=False), values(t, 12, special=False, salt=1)],
        'dot, every sum exact,')
    if t[0] != 'u':
        add('convolution', t, lambda x, y: lax.conv_general_dilated(x.reshape(1, 2, 6), y.reshape(2, 2, 3), (1,), [(1, 1)]),
            [values(t, 12, special=False), values(t, 12, special=False, salt=1)], 'convolution, every sum exact,')
