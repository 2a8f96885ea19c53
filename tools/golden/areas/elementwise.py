"""Arithmetic and functions, element by element, in every floating and complex type."""
import jax
import jax.numpy as jnp
import numpy as np
from accuracy import exact, function_rule, ulp
from arguments import given, normal, uniform
from jax import lax
from registry import Area

area = Area('elementwise')
FLOATS = ['f32', 'f64', 'f16', 'bf16']

# name: (function, lowest, highest argument)
FUNCTIONS = {
    'exp': (lax.exp, -10, 8), 'expm1': (lax.expm1, -6, 6), 'log': (lax.log, 0.01, 50), 'log1p': (lax.log1p, -0.9, 50),
    'sqrt': (lax.sqrt, 0, 100), 'rsqrt': (lax.rsqrt, 0.01, 100), 'cbrt': (lax.cbrt, -30, 30),
    'tanh': (lax.tanh, -6, 6), 'logistic': (lax.logistic, -10, 10), 'sin': (lax.sin, -10, 10), 'cos': (lax.cos, -10, 10),
    'tan': (lax.tan, -1.4, 1.4), 'erf': (lax.erf, -3, 3),
}
for name, (function, lo, hi) in FUNCTIONS.items():
    area.add(name, lambda *xs, f=function: tuple(f(x) for x in xs), [uniform(lo, hi, (4, 8), t) for t in FLOATS],
             f'The function {name} in f32, f64, f16 and bf16.', x64=True,
             rule=[function_rule(name, t) for t in FLOATS])

# Functions that are lowered to compositions of others.
COMPOSED = {
    'arcsin_arccos': (lambda x: (lax.asin(x), lax.acos(x)), -0.9, 0.9),
    'arctan': (lambda x: lax.atan(x), -20, 20),
    'sinh_cosh': (lambda x: (lax.sinh(x), lax.cosh(x)), -4, 4),
    'asinh': (lax.asinh, -20, 20), 'acosh': (lax.acosh, 1.1, 20), 'atanh': (lax.atanh, -0.9, 0.9),
    'erf_inv': (lax.erf_inv, -0.95, 0.95), 'erfc': (lax.erfc, -2, 3),
    'lgamma_digamma': (lambda x: (lax.lgamma(x), lax.digamma(x)), 2.5, 15),
    'bessel_i0e_i1e': (lambda x: (lax.bessel_i0e(x), lax.bessel_i1e(x)), 0.1, 12),
    'softplus_gelu_silu': (lambda x: (jax.nn.softplus(x), jax.nn.gelu(x), jax.nn.silu(x)), -4, 4),
    'relu_family': (lambda x: (jax.nn.relu(x), jax.nn.leaky_relu(x), jax.nn.elu(x), jax.nn.selu(x)), -4, 4),
    'exp2_log2_log10': (lambda x: (jnp.exp2(x), jnp.log2(x), jnp.log10(x)), 0.1, 8),
    'sinc_hypot_logaddexp': (lambda x: (jnp.sinc(x), jnp.hypot(x, 2 - x), jnp.logaddexp(x, 1 - x)), 0.1, 3),
}
for name, (function, lo, hi) in COMPOSED.items():
    area.add(name, function, [uniform(lo, hi, (5, 7))], f'{name.replace("_", ", ")}, which reach HLO as compositions of other functions.')

BINARY_ARGUMENTS = [x for t in FLOATS for x in (normal(3, 9, t=t, scale=3), uniform(0.5, 4, (3, 9), t))]


def pairs(f):
    return lambda *xs: tuple(f(xs[i], xs[i + 1]) for i in range(0, len(xs), 2))


for name, function in {'add': lax.add, 'sub': lax.sub, 'mul': lax.mul, 'div': lax.div, 'max': lax.max, 'min': lax.min,
                       'rem': lax.rem, 'nextafter': lax.nextafter}.items():
    arguments = BINARY_ARGUMENTS[:4] if name == 'nextafter' else BINARY_ARGUMENTS
    area.add(f'binary_{name}', pairs(function), arguments,
             f'The binary operation {name}, correctly rounded, in the floating types.', x64=True, rule=exact())
area.add('atan2', pairs(lax.atan2), BINARY_ARGUMENTS, 'Four-quadrant arc tangent in the floating types.', x64=True,
         rule=[function_rule('atan2', t) for t in FLOATS])
area.add('power', pairs(lambda x, y: lax.pow(jnp.abs(x) + 0.25, y)), BINARY_ARGUMENTS,
         'Positive bases to real powers in the floating types.', x64=True)


@area.case(normal(4, 6, scale=4), x64=True)
def integer_powers(x):
    """Static integer powers, positive and negative."""
    return x**2, x**3, x**5, x**-1, (jnp.abs(x) + 1)**-3


SPECIALS = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 2.5, -2.5, 0.5, -0.5, 1e30, -1e30, 1e-30]


@area.case(given(SPECIALS), given(SPECIALS, 'f64'), x64=True, rule=exact())
def special_values(x, y):
    """Sign, abs, negate, rounding and is-finite at zeros, infinities, NaN and halves."""
    return tuple(f(v) for v in (x, y) for f in (
        lax.sign, lax.abs, lax.neg, lax.floor, lax.ceil, lambda v: lax.round(v, lax.RoundingMethod.TO_NEAREST_EVEN),
        lambda v: lax.round(v, lax.RoundingMethod.AWAY_FROM_ZERO), lax.is_finite))


@area.case(given([[v] * len(SPECIALS) for v in SPECIALS]), given([SPECIALS] * len(SPECIALS)), rule=exact())
def special_pairs(x, y):
    """Add, multiply and divide over all pairs of special values."""
    return x + y, x * y, x / y


@area.case(given([[v] * 13 for v in SPECIALS[:4] + SPECIALS[5:14]]), given([SPECIALS[1:14]] * 13), rule=exact())
def special_comparisons(x, y):
    """All six comparisons over pairs of special values, NaN included."""
    return x == y, x != y, x < y, x <= y, x > y, x >= y


SHORT = [0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999997, 8388609.0, -3.7, 3.2, 100.5, 1e10]


@area.case(given(SHORT), given([x for x in SHORT if abs(x) < 6e4], 'f16'), given(SHORT, 'bf16'), given(SHORT, 'f64'),
           x64=True, rule=exact())
def rounding(*xs):
    """Floor, ceil and both roundings to integers in each floating type."""
    return tuple(f(x) for x in xs for f in (
        jnp.floor, jnp.ceil, jnp.round, jnp.trunc, lambda v: lax.round(v, lax.RoundingMethod.AWAY_FROM_ZERO)))


@area.case(normal(40, scale=100), uniform(-70000, 70000, (30,)), uniform(-1e6, 1e6, (20,), 'f64'), x64=True, rule=exact())
def reduce_precision(x, y, z):
    """Rounding to fewer exponent and mantissa bits: f16, bf16, tf32 and an 8-bit format."""
    formats = [(5, 10), (8, 7), (8, 10), (4, 3), (5, 2)]
    return tuple(lax.reduce_precision(v, e, m) for v in (x, y, z) for e, m in formats)


@area.case(normal(5, 5, t='bf16'), normal(5, 5, t='bf16'), normal(5, 5, t='bf16'))
def bf16_chain(a, b, c):
    """A chain of bf16 operations, each rounded to bf16."""
    x = a * b + c
    y = x / (jnp.abs(a) + 1) - b
    return x, y, jnp.maximum(y * y, c)


@area.case(normal(5, 5, t='f16'), normal(5, 5, t='f16'), normal(5, 5, t='f16'))
def f16_chain(a, b, c):
    """A chain of f16 operations, each rounded to f16."""
    x = a * b + c
    y = x / (jnp.abs(a) + 1) - b
    return x, y, jnp.minimum(y * y, c)


@area.case(normal(4, 5), normal(4, 5), normal(4, 5, t='f64'), normal(4, 5, t='f64'), x64=True, rule=exact())
def clamp_select(a, b, c, d):
    """Clamp with array and scalar bounds, and select between arrays."""
    return (lax.clamp(jnp.minimum(a, b) - 0.5, a, b), lax.clamp(np.float32(-0.5), a, np.float32(0.5)), jnp.where(a > b, a, b),
            lax.clamp(d - 1, c, d), jnp.where(c > 0, c, d), jnp.clip(b, 0, None))


@area.case(normal(3, 4, t='c64'), normal(3, 4, t='c64'), normal(3, 4, t='c128'), normal(3, 4, t='c128'), x64=True)
def complex_arithmetic(a, b, c, d):
    """Complex add, subtract, multiply, divide and abs in c64 and c128."""
    return a + b, a - b, a * b, a / b, abs(a), c + d, c * d, c / d, abs(d)


@area.case(normal(3, 4, t='c64'), normal(3, 4, t='c128'), x64=True, rule=exact())
def complex_parts(a, c):
    """Real and imaginary part, conjugate, negation, and building a complex from parts."""
    return a.real, a.imag, jnp.conj(a), -a, lax.complex(a.imag, a.real), c.real, c.imag, jnp.conj(c), a == jnp.conj(a)


@area.case(normal(3, 4, t='c64'), normal(3, 4, t='c128'), x64=True)
def complex_functions(a, c):
    """Complex exp, log, sqrt, tanh, sine and cosine away from their branch cuts."""
    return tuple(f(x) for x in (a, c) for f in (jnp.exp, jnp.log, jnp.sqrt, jnp.tanh, jnp.sin, jnp.cos))


@area.case(normal(3, 4, t='c64'), normal(3, 4, t='c64'))
def complex_power(a, b):
    """Complex powers, rsqrt, angle and polar form."""
    return a**b, lax.rsqrt(a), jnp.angle(a), abs(b) * jnp.exp(1j * jnp.angle(b))


@area.case(normal(6, 6), normal(6, 6))
def polynomial_horner(x, c):
    """A polynomial by Horner's rule, many multiply-adds deep."""
    acc = jnp.zeros_like(x)
    for k in range(6):
        acc = acc * x + c[k]
    return acc


@area.case(uniform(-1, 1, (24,), 'f64'), x64=True)
def chebyshev_f64(x):
    """Chebyshev polynomials of the first kind up to degree ten, in f64."""
    t = [jnp.ones_like(x), x]
    for _ in range(9):
        t.append(2 * x * t[-1] - t[-2])
    return jnp.stack(t)


@area.case(normal(8), given(2.0), given([3.0]), rule=exact())
def scalars(x, s, v):
    """Scalars and one-element arrays beside vectors."""
    return x * s, x + v, s * s, s + v, x > s


@area.case(given(np.zeros((0, 3))), given(np.zeros((2, 0), np.float32)))
def empty(x, y):
    """Arrays without elements go through arithmetic, reduction and concatenation."""
    return x + 1, x.sum(), x.sum(axis=0), y @ x, jnp.concatenate([x, jnp.ones((1, 3))])


@area.case(normal(3, 5), rule=exact())
def signed_zeros(x):
    """Negative zero in constants and results keeps its sign."""
    zero = jnp.array([-0.0, 0.0, -0.0, 1.0, -0.0], jnp.float32)
    return x * 0, -zero, jnp.ceil(-jnp.abs(x) / 100), zero * 3, lax.abs(zero), 1 / zero


@area.case(rule=exact())
def constants_only():
    """No parameters: constants of many types."""
    return (jnp.array([[1.5, -2.25], [np.inf, np.nan]], jnp.float32), jnp.arange(5), jnp.array([True, False]),
            jnp.array(1 + 2j, jnp.complex64), jnp.full((2, 3), 7, jnp.uint8), jnp.array([0.1, 65504], jnp.float16),
            jnp.array([0.1, 3e38], jnp.bfloat16), jnp.float32(np.pi))


area.add('ulp_neighbours', lambda x: (x * (1 + 2**-20), x + x * 2**-12), [normal(30)],
         'Products and sums that need the last bit.', rule=[exact(), ulp(1, 'XLA:CPU may fuse the multiply-add')])
