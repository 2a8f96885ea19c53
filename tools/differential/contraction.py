"""Generates random dots, convolutions, transforms and factorisations."""
import math

import numpy as np

from .builder import braces
from .values import COMPLEX, Value, bits, epsilon, fits, in_range, is_float, is_int, own_zeros, size


def is_complex(t):
    return t in COMPLEX


def contracted(b, opcode, operands, t, dims, terms, attributes, **more):
    """Sums `terms` products: exact if the accumulator represents them, then rounded once. A single product is excluded from
    further arithmetic, because the sign of a zero is uncertain: XLA multiplies, but a sum of it and 0 is +0."""
    x, y = operands[:2]
    if not is_float(t) and not is_complex(t):
        return b.op(opcode, operands, t, dims, attributes, **more)
    top, step = x.top * y.top * max(terms, 1) * (2 if is_complex(t) else 1), x.step + y.step
    wide = t if bits(t) >= 32 else 'f32'
    if not fits(wide, top, step) or not in_range(t, top, step):
        return None
    return b.op(opcode, operands, t, dims, attributes, top=top, step=step, final=terms == 1 or not fits(t, top, step), **more)


def dot(b):
    x = b.array(lambda v: v.type != 'pred' and bits(v.type) > 4)
    if not x:
        return None
    rank = len(x.dims)
    roles = [b.rng.choice('bcff') for _ in range(rank)]
    batch = [d for d in range(rank) if roles[d] == 'b']
    contract = [d for d in range(rank) if roles[d] == 'c']
    b.rng.shuffle(contract)
    b.rng.shuffle(batch)
    free = list(b.some_dims(b.rng.choice((0, 1, 1, 2)), 4))
    slots = [('b', k) for k in range(len(batch))] + [('c', k) for k in range(len(contract))] + [('f', k) for k in range(len(free))]
    b.rng.shuffle(slots)
    y_dims = [x.dims[batch[k]] if r == 'b' else x.dims[contract[k]] if r == 'c' else free[k] for r, k in slots]
    y = b.array(t=x.type, dims=y_dims)
    if not y or size(y_dims) > 400:
        return None
    y_batch = [slots.index(('b', k)) for k in range(len(batch))]
    y_contract = [slots.index(('c', k)) for k in range(len(contract))]
    dims = [x.dims[d] for d in batch] + [x.dims[d] for d in range(rank) if roles[d] == 'f']
    dims += [n for n, (r, _) in zip(y_dims, slots) if r == 'f']
    if size(dims) > 500:
        return None
    attributes = []
    if batch:
        attributes += [f'lhs_batch_dims={braces(batch)}']
    if contract:
        attributes += [f'lhs_contracting_dims={braces(contract)}']
    if batch:
        attributes += [f'rhs_batch_dims={braces(y_batch)}']
    if contract:
        attributes += [f'rhs_contracting_dims={braces(y_contract)}']
    t = x.type
    if b.chance(0.3):
        wider = {'bf16': ['f32'], 'f16': ['f32'], 's8': ['s32', 's16'], 'u8': ['u32', 's32'], 's16': ['s32'], 'f32': ['f64'],
                 'f8e4m3fn': ['f32', 'bf16'], 'f8e5m2': ['f32', 'f16']}.get(t)
        t = b.rng.choice(wider) if wider else t
    return contracted(b, 'dot', (x, y), t, dims, size([x.dims[d] for d in contract]), ', '.join(attributes))


def convolution(b):
    t = b.rng.choice(('f32', 'f32', 'f64', 'bf16', 'f16', 's32', 's8'))
    spatial = b.rng.choice((0, 1, 1, 2, 2))
    groups = b.rng.choice((1, 1, 1, 2))
    batches = 1 if groups > 1 else b.rng.choice((1, 1, 1, 2))
    n, zin, zout = b.rng.randint(1, 2) * batches, b.rng.randint(1, 3), b.rng.randint(1, 2) * groups * batches
    spec, out, x_spatial, k_spatial = {'size': [], 'stride': [], 'pad': [], 'lhs_dilate': [], 'rhs_dilate': [], 'rhs_reversal': []}, [], [], []
    for _ in range(spatial):
        m, k = b.rng.randint(1, 6), b.rng.randint(1, 3)
        stride, low, high = b.rng.choice((1, 1, 2, 3)), b.rng.randint(-1, 2), b.rng.randint(-1, 2)
        base, hole, flip = b.rng.choice((1, 1, 1, 2)), b.rng.choice((1, 1, 2)), b.rng.choice((0, 0, 1))
        full = (m - 1) * base + 1 + low + high - ((k - 1) * hole + 1)
        if full < 0:
            return None
        out.append(full // stride + 1)
        x_spatial.append(m)
        k_spatial.append(k)
        for key, value in zip(spec, (k, stride, f'{low}_{high}', base, hole, flip)):
            spec[key].append(value)
    digits = [str(i) for i in range(spatial)]
    orders = [b.rng.sample(['b', 'f'] + digits, spatial + 2), b.rng.sample(['i', 'o'] + digits, spatial + 2), b.rng.sample(['b', 'f'] + digits, spatial + 2)]
    x_sizes = {'b': n, 'f': zin * groups, **dict(zip(digits, x_spatial))}
    k_sizes = {'i': zin, 'o': zout, **dict(zip(digits, k_spatial))}
    o_sizes = {'b': n // batches, 'f': zout, **dict(zip(digits, out))}
    x = b.array(t=t, dims=[x_sizes[c] for c in orders[0]])
    k = x and b.array(t=t, dims=[k_sizes[c] for c in orders[1]])
    if not k:
        return None
    neutral = {'stride': 1, 'pad': '0_0', 'lhs_dilate': 1, 'rhs_dilate': 1, 'rhs_reversal': 0}
    text = ' '.join(f'{key}=' + 'x'.join(map(str, v)) for key, v in spec.items() if key == 'size' or any(e != neutral[key] for e in v))
    attributes = (f'window={{{text}}}, ' if spatial else '') + 'dim_labels={}_{}->{}'.format(*map(''.join, orders))
    attributes += f', feature_group_count={groups}' if groups > 1 else ''
    attributes += f', batch_group_count={batches}' if batches > 1 else ''
    if is_int(t) and x.name[:2] == k.name[:2] == 'c.':  # XLA saturates in constant folding
        return None
    terms = zin * size(k_spatial)
    return contracted(b, 'convolution', (x, k), t, [o_sizes[c] for c in orders[2]], terms, attributes)


def fft(b):
    kind = b.rng.choice(('FFT', 'IFFT', 'RFFT', 'IRFFT'))
    wide = b.chance(0.3)
    real, pair = ('f64', 'c128') if wide else ('f32', 'c64')
    a = b.array(lambda v: v.dims and size(v.dims), t=real if kind == 'RFFT' else pair)
    if not a:
        return None
    rank = b.rng.randint(1, min(3, len(a.dims)))
    lengths = list(a.dims[-rank:])
    dims = list(a.dims)
    if kind == 'RFFT':
        dims[-1] = lengths[-1] // 2 + 1
    elif kind == 'IRFFT':
        lengths[-1] = max(1, 2 * (dims[-1] - 1) + b.rng.randint(0, 1))
        if lengths[-1] // 2 + 1 != dims[-1]:
            return None
        dims[-1] = lengths[-1]
    n = size(lengths)
    t = real if kind == 'IRFFT' else pair
    bound = 16 * epsilon(t) * (1 + math.log2(n)) * a.top * math.sqrt(2) * (n if kind[0] != 'I' else 1)
    rule = {'kind': 'close', 'abs': bound, 'rel': 0.0, 'why': '16 eps log2(n) times the largest possible result'}
    return b.op('fft', (a,), t, dims, f'fft_type={kind}, fft_length={braces(lengths)}', final=True, rule=rule)


def random_bits(b):
    algorithm = b.rng.choice(('rng_three_fry', 'rng_philox'))
    words = 2 if algorithm == 'rng_three_fry' else b.rng.choice((2, 3))
    state = b.fresh('u64', (words,))
    if not state:
        return None
    out = Value('', b.rng.choice(('u32', 'u32', 'u64', 'u16', 'u8')), b.some_dims(b.rng.choice((0, 1, 2, 3))))
    if not size(out.dims):
        return None
    return b.tuple_op('rng-bit-generator', (state,), (Value('', 'u64', (words,)), out), f'algorithm={algorithm}')


def cholesky(b):
    """Factorises L L^T with small integers in L, so that every step is exact."""
    n = b.rng.randint(1, 5)
    low = np.tril(b.data.integers(-2, 3, (n, n)), -1) + np.diag(2.0**b.data.integers(0, 2, n))
    t = b.rng.choice(('f32', 'f64'))
    a = b.fresh(t, (n, n), array=(low @ low.T).astype('float32' if t == 'f32' else 'float64'))
    return a and b.op('cholesky', (a,), t, (n, n), 'lower=' + b.rng.choice(('true', 'false')), final=True)


def triangular_solve(b):
    """Uses powers of two on the diagonal and small integers, so that substitution is exact."""
    n, columns = b.rng.randint(1, 4), b.rng.randint(1, 3)
    t = b.rng.choice(('f32', 'f64'))
    left, lower, unit = (b.rng.choice(('true', 'false')) for _ in range(3))
    form = b.rng.choice(('NO_TRANSPOSE', 'TRANSPOSE', 'ADJOINT'))
    full = b.data.integers(-2, 3, (n, n)) * 1.0
    np.fill_diagonal(full, 2.0**b.data.integers(-1, 2, n))
    part = np.tril(full) if lower == 'true' else np.triu(full)
    if unit == 'true':
        np.fill_diagonal(part, 1.0)
    part = part if form == 'NO_TRANSPOSE' else part.T
    x = b.data.integers(-4, 5, (n, columns) if left == 'true' else (columns, n)) * 1.0
    right = part @ x if left == 'true' else x @ part
    kind = 'float32' if t == 'f32' else 'float64'
    a, c = b.fresh(t, (n, n), array=full.astype(kind)), b.fresh(t, x.shape, array=right.astype(kind))
    if not a or not c:
        return None
    a.final = c.final = True
    attributes = f'left_side={left}, lower={lower}, unit_diagonal={unit}, transpose_a={form}'
    return b.op('triangular-solve', (a, c), t, x.shape, attributes, final=True)


def batch_norm(b):
    """Uses a few values of moderate size; the tolerance covers the dozen roundings of the formula."""
    t = b.rng.choice(('f32', 'f64'))
    x = b.array(lambda v: len(v.dims) >= 2 and size(v.dims) and v.top <= 16, t=t)
    if not x:
        return None
    d = b.rng.randrange(len(x.dims))
    n = (x.dims[d],)
    vectors = [b.fresh(t, n, 1, 4) for _ in range(2)]
    if not all(vectors):
        return None
    # |x - mean| * rsqrt(eps) * scale is at most 32 / sqrt(0.5) * 4; variance cancels on up to 256 * 2 in magnitude.
    rule = {'kind': 'close', 'abs': 2.0**14 * size(x.dims) * epsilon(t), 'rel': 64 * epsilon(t), 'why': 'a chain of sums, products and one rsqrt'}
    known = {'final': True, 'rule': rule}
    epsilons = f'epsilon=0.5, feature_index={d}'
    if b.chance(0.5):
        more = [b.fresh(t, n, 1, 4) for _ in range(2)]
        return b.op('batch-norm-inference', (x, *vectors, *more), t, x.dims, epsilons, **known) if all(more) else None
    parts = [Value('', t, x.dims, **known), Value('', t, n, **known), Value('', t, n, **known)]
    return b.tuple_op('batch-norm-training', (x, *vectors), parts, epsilons)


def topk(b):
    x = b.array(lambda v: v.dims and v.dims[-1] and v.type in ('f32', 's32', 'f64', 'bf16') and own_zeros(v), wild=True)
    if not x:
        return None
    k = b.rng.randint(1, x.dims[-1])
    dims = x.dims[:-1] + (k,)
    return b.tuple_op('topk', (x,), (x.like('', dims=dims), Value('', 's32', dims)), f'k={k}, largest={b.rng.choice(("true", "false"))}')


OPERATIONS = ((dot, 5), (convolution, 3), (fft, 1), (random_bits, 1), (cholesky, 0.5), (triangular_solve, 0.5), (batch_norm, 0.5), (topk, 0.5))
