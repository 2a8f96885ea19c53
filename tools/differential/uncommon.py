"""Generates random instructions that XLA:CPU does not run, or not deterministically. XLA gets an equivalent form."""
import numpy as np

from .builder import braces, numpy_type, shape
from .values import Value, epsilon, fits, in_range, is_float, own_zeros


def same(v):
    return {'top': v.top, 'step': v.step, 'final': v.final, 'wild': v.wild}


def stand_in(b, opcode, t, dims, text, xla, uses, **known):
    """Adds an instruction in two forms, after the shape; both may use any of `uses`."""
    name = b.names.next(opcode.replace('-', '_'))
    b.emit(name, f'{shape(t, dims)} {text}', [v.name for v in uses], f'{shape(t, dims)} {xla}')
    value = Value(name, t, tuple(dims), **known)
    b.values.append(value)
    return value


def cut(b, a, d, begin, end):
    dims = list(a.dims)
    dims[d] = end - begin
    ranges = ', '.join(f'[{begin}:{end}]' if k == d else f'[0:{n}]' for k, n in enumerate(a.dims))
    return b.op('slice', (a,), a.type, dims, f'slice={{{ranges}}}', **same(a))


def shuffle(b):
    """A rotation is the end followed by the beginning."""
    a = b.movable(lambda v: v.dims and 0 not in v.dims)
    if not a:
        return None
    d = b.rng.randrange(len(a.dims))
    n = a.dims[d]
    shift = b.rng.randint(-2 * n, 2 * n)
    at = n - shift % n
    end, start = cut(b, a, d, at, n), cut(b, a, d, 0, at)
    return stand_in(b, 'shuffle', a.type, a.dims, f'shuffle({a.name}), dimensions={{{d}}}, mode=rotate, shifts={{{shift}}}',
                    f'concatenate({end.name}, {start.name}), dimensions={{{d}}}', (a, end, start), **same(a))


def powers(b):
    """exp2 and log2 in terms of functions that XLA:CPU supports."""
    t = b.rng.choice(('f32', 'f64', 'f16', 'bf16'))
    opcode = b.rng.choice(('exp2', 'log2'))
    a = b.fresh(t, b.some_dims(), 1, 4)
    if not a:
        return None
    scalar = b.fresh(t, (), array=b.numbers(t, (), 2, 2)[0] * 0 + 2, top=2)
    two = scalar and b.op('broadcast', (scalar,), t, a.dims, 'dimensions={}', final=True)
    if not two:
        return None
    rule = {'kind': 'close', 'abs': 8 * epsilon(t), 'rel': 16 * epsilon(t), 'why': 'the same function by way of others'}
    if opcode == 'exp2':
        return stand_in(b, opcode, t, a.dims, f'exp2({a.name})', f'power({two.name}, {a.name})', (a, two), final=True, rule=rule)
    logs = [b.op('log', (v,), t, a.dims, final=True, rule=rule) for v in (a, two)]
    # Elements of a may be 0 or negative; both implementations give their logarithms as infinities and NaN.
    return stand_in(b, opcode, t, a.dims, f'log2({a.name})', f'divide({logs[0].name}, {logs[1].name})', (a, *logs), final=True,
                    wild=True, rule=rule)


def running_sum(b):
    """A scan that adds is a reduce-window over all preceding elements; its carry is the last sum."""
    a = b.array(lambda v: v.dims and 0 not in v.dims and v.type in ('s32', 's64', 'u32', 'u8', 's16'))
    if not a:
        return None
    d = b.rng.randrange(len(a.dims))
    n, backwards = a.dims[d], b.chance(0.4)
    rest = [m for k, m in enumerate(a.dims) if k != d]
    zero = b.fresh(a.type, (), 0, 0)
    start = zero and b.op('broadcast', (zero,), a.type, rest, 'dimensions={}')
    if not start:
        return None
    add, calls = b.combiner('add', a.type)
    size = 'x'.join(str(n) if k == d else '1' for k in range(len(a.dims)))
    pad = 'x'.join((f'0_{n - 1}' if backwards else f'{n - 1}_0') if k == d else '0_0' for k in range(len(a.dims)))
    inner = b.child()
    inner.layouts = False
    x, carry = inner.add_parameter(Value('', a.type, tuple(rest))), inner.add_parameter(Value('', a.type, tuple(rest)))
    total = inner.op('add', (x, carry), a.type, rest)
    step, steps = inner.computation([total, total], 'step')
    both = f'({shape(a.type, a.dims)}, {shape(a.type, rest)})'
    windows = b.op('reduce-window', (a, zero), a.type, a.dims, f'window={{size={size} pad={pad}}}, to_apply={add}', calls)
    last = cut(b, windows, d, 0 if backwards else n - 1, 1 if backwards else n)
    end = b.op('reshape', (last,), a.type, rest)
    name = b.names.next('scan')
    b.emit(name, f'{both} scan({a.name}, {start.name}), dimensions={{{d}}}, num_carries=1, is_reverse={str(backwards).lower()}, to_apply={step}',
           (a.name, start.name, windows.name, end.name), f'{both} tuple({windows.name}, {end.name})', steps)
    for index, dims in ((0, a.dims), (1, rest)):
        element = b.names.next('element')
        b.emit(element, f'{shape(a.type, dims)} get-tuple-element({name}), index={index}', (name,))
        b.values.append(Value(element, a.type, tuple(dims)))
    return b.values[-1]


def ragged_dot(b):
    """Multiplies each group of rows by its own matrix; rows after all groups are zero."""
    t = b.rng.choice(('s32', 'f32', 'f64', 's64'))
    m, k, n, groups = (b.rng.randint(1, 4) for _ in range(4))
    x, y = b.array(t=t, dims=(m, k)), b.array(t=t, dims=(groups, k, n))
    if not x or not y:
        return None
    top, step = x.top * y.top * k, x.step + y.step
    if is_float(t) and (not fits(t, top, step) or not in_range(t, top, step)):
        return None
    known = {'top': top, 'step': step} if is_float(t) else {}
    sizes, left = [], m
    for _ in range(groups):
        sizes.append(b.rng.randint(0, left))
        left -= sizes[-1]
    counts = b.names.next('c')
    b.emit(counts, f's32[{groups}] constant({braces(sizes)})')
    rows, at = [], 0
    for g, count in enumerate(sizes):
        part = cut(b, x, 0, at, at + count)
        matrix = b.op('reshape', (cut(b, y, 0, g, g + 1),), t, (k, n), **same(y))
        rows.append(b.op('dot', (part, matrix), t, (count, n), 'lhs_contracting_dims={1}, rhs_contracting_dims={0}', **known))
        at += count
    zero = b.fresh(t, (), array=np.zeros((), numpy_type(t)))
    if not zero:
        return None
    rows.append(b.op('broadcast', (zero,), t, (m - at, n), 'dimensions={}', **known))
    name = b.names.next('ragged_dot')
    b.emit(name, f'{shape(t, (m, n))} ragged-dot({x.name}, {y.name}, {counts}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}, '
           'lhs_ragged_dims={0}, rhs_group_dims={0}', [x.name, y.name, counts, *(r.name for r in rows)],
           f'{shape(t, (m, n))} concatenate({", ".join(r.name for r in rows)}), dimensions={{0}}')
    value = Value(name, t, (m, n), **known)
    b.values.append(value)
    return value


def scaled_dot(b):
    """Multiplies both sides by powers of two, one per block."""
    t = b.rng.choice(('f32', 'bf16', 'f8e4m3fn', 'f8e5m2'))
    m, n, blocks, block = (b.rng.randint(1, 3) for _ in range(4))
    k = blocks * block
    x, y = b.array(t=t, dims=(m, k)), b.array(t=t, dims=(n, k))
    if not x or not y:
        return None
    scales = [b.fresh('f32', dims, 1, 2) for dims in ((m, blocks), (n, blocks))]
    top, step = 4 * x.top * y.top * k, x.step + y.step
    if None in scales or not fits('f32', top, step):
        return None
    factors = []
    for side, scale in zip((x, y), scales):
        rows = side.dims[0]
        wide = b.op('convert', (side,), 'f32', side.dims, **same(side)) if t != 'f32' else side
        spread = b.op('broadcast', (scale,), 'f32', (rows, blocks, block), 'dimensions={0,1}', **same(scale))
        flat = b.op('reshape', (spread,), 'f32', (rows, k), **same(scale))
        factors.append(b.op('multiply', (wide, flat), 'f32', (rows, k), top=2 * side.top, step=side.step))
    dims = 'lhs_contracting_dims={1}, rhs_contracting_dims={1}'
    return stand_in(b, 'scaled-dot', 'f32', (m, n), f'scaled-dot({x.name}, {y.name}, {scales[0].name}, {scales[1].name}), {dims}',
                    f'dot({factors[0].name}, {factors[1].name}), {dims}', (x, y, *scales, *factors), top=top, step=step)


def channel(b):
    """The data that are sent over a channel are received from it."""
    if b.parent:
        return None
    a = b.movable(lambda v: own_zeros(v))
    if not a:
        return None
    number = b.names.next('channel').split('.')[1]
    token, sent, received = (b.names.next(stem) for stem in ('token', 'sent', 'received'))
    pair = f'({shape(a.type, a.dims)}, u32[], token[])'
    b.emit(token, 'token[] after-all()')
    for name, text, uses in ((sent, f'{pair} send({a.name}, {token}), channel_id={number}', (a.name, token)),
                             (f'{sent}.done', f'token[] send-done({sent}), channel_id={number}', (sent,)),
                             (received, f'{pair} recv({sent}.done), channel_id={number}', (f'{sent}.done',)),
                             (f'{received}.done', f'({shape(a.type, a.dims)}, token[]) recv-done({received}), channel_id={number}', (received,))):
        b.emit(name, text, uses, 'token[] after-all()')
    name = b.names.next('came')
    b.emit(name, f'{shape(a.type, a.dims)} get-tuple-element({received}.done), index=0', (f'{received}.done', a.name),
           f'{shape(a.type, a.dims)} copy({a.name})')
    value = a.like(name)
    b.values.append(value)
    return value


def narrow_rng(b):
    """Integers in [low, low + 1) have only one value."""
    t = b.rng.choice(('s32', 'u32', 's64', 's8', 'u16'))
    low = b.rng.randint(0, 9)
    ends = [b.fresh(t, (), n, n) for n in (low, low + 1)]
    if None in ends:
        return None
    dims = b.some_dims()
    return stand_in(b, 'rng', t, dims, f'rng({ends[0].name}, {ends[1].name}), distribution=rng_uniform',
                    f'broadcast({ends[0].name}), dimensions={{}}', ends)


OPERATIONS = ((shuffle, 0.6), (powers, 0.6), (running_sum, 0.6), (ragged_dot, 0.6), (scaled_dot, 0.6), (channel, 0.4), (narrow_rng, 0.3))
