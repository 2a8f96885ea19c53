"""Generates random elementwise instructions."""
from .values import COMPLEX, FLOATS, INTEGERS, SIGNED, bits, epsilon, in_range, is_float, is_int, own_zeros

ALL_TYPES = ('pred',) + INTEGERS + tuple(FLOATS)
# Tolerated differences between two libraries in ULPs for f32 and f64: XLA:CPU's own budget and one more. Its tanh exceeds its
# budget of 3 and 4: errors of 4.4 and 6.5 were measured.
FUNCTIONS = {
    'exponential': (7, 2), 'log': (2, 2), 'log-plus-one': (2, 2), 'exponential-minus-one': (5, 9), 'logistic': (9, 9),
    'tanh': (5, 7), 'sine': (2, 2), 'cosine': (2, 2), 'tan': (3, 2), 'cbrt': (2, 3), 'rsqrt': (2, 2), 'erf': (3, 2),
    'asin': (9, 9), 'acos': (9, 9), 'asinh': (9, 9), 'acosh': (9, 9), 'atanh': (9, 9), 'sinh': (9, 9), 'cosh': (9, 9),
}
TAME = {'exponential', 'exponential-minus-one', 'sinh', 'cosh'}  # these overflow early


def is_complex(t):
    return t in COMPLEX


def small_step(v):
    return v.top, v.step


def sum_like(b):
    a = b.array(kinds=(is_float, is_complex), wild=True)
    c = a and b.array(t=a.type, dims=a.dims, wild=True)
    if not c:
        return None
    return b.rounded(b.rng.choice(('add', 'subtract')), (a, c), a.type, a.dims, a.top + c.top, min(a.step, c.step))


def product(b):
    a = b.array(kinds=(is_float, is_complex), wild=True)
    c = a and b.array(t=a.type, dims=a.dims, wild=True)
    if not c or is_complex(a.type) and (a.wild or c.wild):
        return None
    top = a.top * c.top * (2 if is_complex(a.type) else 1)
    return b.rounded('multiply', (a, c), a.type, a.dims, top, a.step + c.step)


def quotient(b):
    opcode = b.rng.choice(('divide', 'remainder'))
    a = b.array(kinds=(is_float,), wild=True)
    c = a and b.array(t=a.type, dims=a.dims, wild=True)
    if not c:
        return None
    if opcode == 'remainder':
        return b.op(opcode, (a, c), a.type, a.dims, top=a.top, step=min(a.step, c.step), wild=True, final=True)
    if not in_range(a.type, a.top / 2.0**c.step, a.step) or not in_range(a.type, 1, a.step - 8 - max(0, int(c.top).bit_length())):
        return None
    why = 'XLA takes a quotient by a constant for a product with its reciprocal: two roundings more'
    return b.op(opcode, (a, c), a.type, a.dims, final=True, wild=True, rule=ulp(2, why))


def integer_binary(b):
    opcode = b.rng.choice(('add', 'subtract', 'multiply', 'divide', 'remainder', 'maximum', 'minimum', 'and', 'or', 'xor',
                           'shift-left', 'shift-right-arithmetic', 'shift-right-logical', 'power'))
    a = b.array(kinds=(is_int,))
    if opcode in ('and', 'or', 'xor', 'maximum', 'minimum') and b.chance(0.3):
        a = b.array(t='pred')
    c = a and b.array(t=a.type, dims=a.dims)
    if c and opcode == 'power':  # XLA:CPU uses only the low six bits of the exponent, and evaluates 0^-1 as 1/0
        c = b.fresh(a.type, a.dims, 0, 20)
    # XLA evaluates 0/0 as 1 if it finds that both are equal.
    if c and opcode in ('divide', 'remainder') and (c is a or any(v.name[:2] != 'p.' for v in (a, c))):
        return None
    return c and b.op(opcode, (a, c), a.type, a.dims)


def extremum(b):
    a = b.array(kinds=(is_float,), wild=True)
    c = a and b.array(t=a.type, dims=a.dims, wild=True)
    return c and b.op(b.rng.choice(('maximum', 'minimum')), (a, c), a.type, a.dims, top=max(a.top, c.top),
                      step=min(a.step, c.step), wild=a.wild or c.wild)


def unary_exact(b):
    a = b.array(lambda v: v.type != 'pred' and not is_complex(v.type), wild=True)
    if not a:
        return None
    if is_int(a.type):
        opcodes = ['not', 'popcnt', 'count-leading-zeros', 'negate']
        if a.type in SIGNED:
            opcodes += ['abs', 'sign']
        opcode = b.rng.choice(opcodes)
        if opcode == 'popcnt' and bits(a.type) < 8:  # XLA:CPU counts the bits of the byte that contains the element
            return None
        return b.op(opcode, (a,), a.type, a.dims)
    opcode = b.rng.choice(('negate', 'abs', 'sign', 'floor', 'ceil', 'round-nearest-afz', 'round-nearest-even', 'is-finite', 'real',
                           'imag', 'sqrt'))
    if opcode == 'is-finite':
        return b.op(opcode, (a,), 'pred', a.dims)
    if opcode == 'sqrt':
        return b.op(opcode, (a,), a.type, a.dims, final=True, wild=True)
    top, step = (1, 0) if opcode == 'sign' else (a.top + 1, 0) if 'o' in opcode[:3] else (a.top, a.step)
    if not in_range(a.type, top, step):
        return None
    return b.op(opcode, (a,), a.type, a.dims, top=top, step=step, wild=a.wild)


def complex_parts(b):
    if b.chance(0.4):
        a = b.array(t=b.rng.choice(('f32', 'f64')))
        c = a and b.array(t=a.type, dims=a.dims)
        return c and b.op('complex', (a, c), {'f32': 'c64', 'f64': 'c128'}[a.type], a.dims, top=max(a.top, c.top), step=min(a.step, c.step))
    a = b.array(kinds=(is_complex,))
    if not a:
        return None
    if b.chance(0.3):
        return b.op('negate', (a,), a.type, a.dims, top=a.top, step=a.step)
    if b.chance(0.3):
        part = COMPLEX[a.type]
        return b.op('abs', (a,), part, a.dims, final=True, rule=ulp(4, 'the modulus of a complex number, two libraries'))
    return b.op(b.rng.choice(('real', 'imag')), (a,), COMPLEX[a.type], a.dims, top=a.top, step=a.step)


def ulp(n, why):
    return {'kind': 'ulp', 'ulp': n, 'why': why}


def function(b):
    opcode = b.rng.choice(tuple(FUNCTIONS))
    a = b.array(lambda v: opcode not in TAME or v.top <= 16, kinds=(is_float, is_complex), wild=True)
    if not a or is_complex(a.type) and (a.wild or opcode in ('cbrt', 'erf') or opcode.startswith('a') or opcode[-1] == 'h' or a.top > 16):
        return None
    if opcode in ('asin', 'acos', 'atanh') and is_float(a.type) and a.top > 1 or opcode in ('sine', 'cosine', 'tan') and a.top > 1000:
        return None
    if opcode == 'logistic' and a.type == 'f16' and a.top > 8:  # XLA:CPU evaluates 1 / (1 + exp(-x)) in f16, and overflows
        return None
    if is_complex(a.type):
        rule = {'kind': 'close', 'abs': 64 * epsilon(a.type) if opcode == 'tan' else 16 * epsilon(a.type), 'rel': 64 * epsilon(a.type),
                'why': f'{opcode} of complex numbers is a chain of real functions and sums'}
        if opcode in ('tan', 'rsqrt', 'log-plus-one'):
            return None
    elif a.type in ('f32', 'f64'):
        n = FUNCTIONS[opcode][a.type == 'f64']
        rule = ulp(n, f'{opcode}: two libraries within a few ulp each')
    else:
        rule = ulp(3 if opcode == 'logistic' else 1, f'{opcode} is computed in a wider type and rounded once, by XLA:CPU after each of its steps')
        if bits(a.type) == 8 and opcode in ('exponential', 'exponential-minus-one', 'sinh', 'cosh') and a.top > 2:
            return None
    return b.op(opcode, (a,), a.type, a.dims, final=True, wild=True, rule=rule)


def function_of_two(b):
    opcode = b.rng.choice(('atan2', 'power'))
    a = b.array(kinds=(is_float,), wild=True)
    c = a and b.array(lambda v: v.top <= 8 and v.step >= -8, t=a.type, dims=a.dims, wild=True)
    if not c or opcode == 'power' and (a.top > 16 or a.step < -4 or bits(a.type) < 32):
        return None
    n = 4 if opcode == 'atan2' else 10
    rule = ulp(n if bits(a.type) >= 32 else 1, f'{opcode}: two libraries within a few ulp each')
    return b.op(opcode, (a, c), a.type, a.dims, final=True, wild=True, rule=rule)


def compare(b):
    a = b.array(wild=True)
    c = a and b.array(t=a.type, dims=a.dims, wild=True)
    if not c:
        return None
    direction = b.rng.choice(('EQ', 'NE') if is_complex(a.type) else ('EQ', 'NE', 'LT', 'LE', 'GT', 'GE'))
    attributes = f'direction={direction}'
    # XLA folds comparisons of constants in the partial order, so that no NaN equals itself.
    folds_nan = (a.wild or c.wild) and a.name[:2] == c.name[:2] == 'c.'
    if is_float(a.type) and own_zeros(a) and own_zeros(c) and b.chance(0.5) and not folds_nan:
        attributes += ', type=TOTALORDER'
    return b.op('compare', (a, c), 'pred', a.dims, attributes)


def select(b):
    a = b.movable()
    c = a and b.array(t=a.type, dims=a.dims, wild=True)
    p = c and b.array(t='pred', dims=a.dims if b.chance(0.8) else ())
    return p and b.op('select', (p, a, c), a.type, a.dims, top=max(a.top, c.top), step=min(a.step, c.step), final=a.final or c.final,
                      wild=a.wild or c.wild, rule=a.rule)


def clamp(b):
    a = b.array(lambda v: not is_complex(v.type) and v.type != 'pred', wild=True)
    dims = a and (a.dims if b.chance(0.6) else ())
    low = a and b.array(t=a.type, dims=dims)
    high = low and b.array(t=a.type, dims=dims)
    return high and b.op('clamp', (low, a, high), a.type, a.dims, top=max(a.top, low.top, high.top),
                         step=min(a.step, low.step, high.step), wild=a.wild)


def convert(b):
    a = b.array(lambda v: not is_complex(v.type), wild=True)
    if not a:
        return None
    to = b.rng.choice(ALL_TYPES) if b.chance(0.3) else b.some_type(lambda t: not is_complex(t))
    if not is_float(to):
        return b.op('convert', (a,), to, a.dims)
    if is_float(a.type):
        top, step = a.top * 1.01, a.step
    else:
        top, step = 1 if a.type == 'pred' else 2.0**bits(a.type), 0
    if not in_range(to, top, step):  # overflow and underflow have their own rules
        return b.op('convert', (a,), to, a.dims, final=True, wild=True) if step >= FLOATS[to][2] else None
    return b.op('convert', (a,), to, a.dims, top=top * 1.01, step=step, wild=a.wild)


def convert_complex(b):
    a = b.array(lambda v: v.type in ('f32', 'f64', 's32', 'c64', 'c128', 'pred'))
    if not a:
        return None
    to = b.rng.choice(('c64', 'c128'))
    known = {'top': a.top, 'step': a.step} if not is_int(a.type) else {'final': True}
    return b.op('convert', (a,), to, a.dims, **known)


def bitcast_convert(b):
    a = b.array(kinds=(is_int,))
    if not a:
        return None
    n = bits(a.type)
    if b.chance(0.6):
        to = b.rng.choice([t for t in INTEGERS if bits(t) == n])
        return b.op('bitcast-convert', (a,), to, a.dims)
    to = b.rng.choice([t for t in INTEGERS if bits(t) >= 8])
    m = bits(to)
    if n < 8:
        return None
    if m < n:
        return b.op('bitcast-convert', (a,), to, a.dims + (n // m,))
    if m > n and a.dims and a.dims[-1] == m // n:
        return b.op('bitcast-convert', (a,), to, a.dims[:-1])
    return None


def float_bits(b):
    a = b.array(kinds=(is_float,))
    if not a:
        return None
    return b.op('bitcast-convert', (a,), b.rng.choice([t for t in INTEGERS if bits(t) == bits(a.type)]), a.dims)


def reduce_precision(b):
    a = b.array(lambda v: v.type in ('f32', 'f64', 'f16', 'bf16'), wild=True)
    if not a:
        return None
    e, m = b.rng.randint(4, 8), b.rng.randint(1, 12)
    if a.type == 'f16':
        e = min(e, 5)
    return b.op('reduce-precision', (a,), a.type, a.dims, f'exponent_bits={e}, mantissa_bits={m}', final=True, wild=True)


def iota(b):
    dims = b.some_dims(b.rng.choice((1, 2, 3)))
    t = b.some_type(lambda t: t != 'pred' and bits(t) > 4)
    d = b.rng.randrange(len(dims))
    if is_float(t) and not in_range(t, dims[d], 0):
        return None
    return b.op('iota', (), t, dims, f'iota_dimension={d}', top=dims[d], step=0)


def stochastic_convert(b):
    t, noise, to = b.rng.choice((('f32', 'u32', 's32'), ('f64', 'u64', 's64'), ('f16', 'u16', 's16')))
    a = b.array(t=t)
    c = a and b.array(t=noise, dims=a.dims)
    return c and b.op('stochastic-convert', (a, c), b.rng.choice((to, 's8', 's32')), a.dims)


def copy(b):
    a = b.movable()
    return a and b.op('copy', (a,), a.type, a.dims, top=a.top, step=a.step, final=a.final, wild=a.wild, rule=a.rule)


OPERATIONS = ((sum_like, 6), (product, 4), (quotient, 2), (integer_binary, 8), (extremum, 3), (unary_exact, 5), (complex_parts, 1),
              (function, 3), (function_of_two, 1), (compare, 4), (select, 4), (clamp, 2), (convert, 6), (convert_complex, 1),
              (bitcast_convert, 2), (float_bits, 1), (reduce_precision, 1), (iota, 2), (stochastic_convert, 0.4), (copy, 0.5))
