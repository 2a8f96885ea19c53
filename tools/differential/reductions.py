"""Generates random reductions, windows, sorts and scatters."""
import numpy as np

from .builder import braces, literal, numpy_type
from .movement import gather_numbers, same, windows_in_batches
from .values import Value, bits, fits, is_float, is_int, own_zeros, size

LOGIC = ('and', 'or', 'xor')


def monoid(b, a):
    """Returns (opcode, initial value, neutral or not) that may combine elements of `a` in any order."""
    if a.type == 'pred':
        return b.rng.choice(('and', 'or', 'maximum', 'minimum'))
    if is_int(a.type):
        return b.rng.choice(('add', 'multiply', 'maximum', 'minimum', 'and', 'or', 'xor'))
    return b.rng.choice(('add', 'add', 'maximum', 'minimum')) if is_float(a.type) else 'add'


def init_for(b, a, opcode):
    """Returns the neutral element, which XLA may assume."""
    if a.type == 'pred':
        value = opcode in ('and', 'minimum')
    elif is_int(a.type):
        n = bits(a.type)
        signed = a.type[0] == 's'
        lo, hi = (-(1 << n - 1), (1 << n - 1) - 1) if signed else (0, (1 << n) - 1)
        value = {'add': 0, 'multiply': 1, 'maximum': lo, 'minimum': hi, 'and': -1 if signed else hi, 'or': 0, 'xor': 0}[opcode]
        wide = np.int64 if signed else np.uint64
        value = np.array(value, dtype=object).astype(wide)
    else:
        value = {'add': 0, 'maximum': -np.inf, 'minimum': np.inf}[opcode]
        if abs(value) == np.inf and bits(a.type) == 8:
            return None
    array = np.asarray(value).astype(numpy_type(a.type))
    name = b.names.next('init')
    v = Value(name, a.type, (), 0, 0)
    b.emit(name, f'{a.type}[] constant({literal(array, a.type)})')
    return v


def reduce(b):
    a = b.array(lambda v: v.dims)
    if not a:
        return None
    which = sorted(b.rng.sample(range(len(a.dims)), b.rng.randint(1, len(a.dims))))
    n = size([a.dims[d] for d in which])
    opcode = monoid(b, a)
    top = a.top * (n if opcode == 'add' else 1)
    if not is_int(a.type) and a.type != 'pred' and opcode == 'add' and not fits(a.type, top, a.step):
        return None
    if n == 0 and opcode in ('maximum', 'minimum') and is_float(a.type):
        return None
    init = init_for(b, a, opcode)
    if not init:
        return None
    name, calls = b.combiner(opcode, a.type)
    dims = [x for d, x in enumerate(a.dims) if d not in which]
    return b.op('reduce', (a, init), a.type, dims, f'dimensions={braces(which)}, to_apply={name}', calls, top=top, step=a.step)


def reduce_pair(b):
    """Generates a reduction to the largest or smallest element and its index."""
    a = b.array(lambda v: v.dims and size(v.dims) and v.type not in ('pred', 'c64', 'c128') and bits(v.type) > 8)
    if not a:
        return None
    d = b.rng.randrange(len(a.dims))
    counter = b.op('iota', (), 's32', a.dims, f'iota_dimension={d}')
    opcode = b.rng.choice(('maximum', 'minimum'))
    init = init_for(b, a, opcode)
    zero = init and init_for(b, counter, 'add')
    if not zero:
        return None
    inner = b.child()
    inner.layouts = False
    x, i, y, j = (inner.add_parameter(Value('', t, ())) for t in (a.type, 's32', a.type, 's32'))
    direction = 'GT' if opcode == 'maximum' else 'LT'
    better = inner.op('compare', (x, y), 'pred', (), f'direction={direction}')
    equal = inner.op('compare', (x, y), 'pred', (), 'direction=EQ')
    first = inner.op('compare', (i, j), 'pred', (), 'direction=LT')
    tie = inner.op('and', (equal, first), 'pred', ())
    left = inner.op('or', (better, tie), 'pred', ())
    name, calls = inner.computation([inner.op('select', (left, x, y), a.type, ()), inner.op('select', (left, i, j), 's32', ())], 'best')
    dims = a.dims[:d] + a.dims[d + 1:]
    return b.tuple_op('reduce', (a, counter, init, zero), (a.like('', dims=dims), Value('', 's32', dims)),
                      f'dimensions={{{d}}}, to_apply={name}', calls)


def window(b, dims, most=3, dilate=True):
    """Returns (text, output dimensions, elements of the window) or None."""
    fields = {'size': [], 'stride': [], 'pad': [], 'lhs_dilate': [], 'rhs_dilate': []}
    out = []
    for n in dims:
        w, stride = b.rng.randint(1, most), b.rng.choice((1, 1, 2, 3))
        low, high = b.rng.choice((0, 0, 1, 2)), b.rng.choice((0, 0, 1, 2))
        base, hole = (b.rng.choice((1, 1, 1, 2)), b.rng.choice((1, 1, 1, 2))) if dilate else (1, 1)
        full = (n - 1) * base + 1 if n else 0
        full += low + high - ((w - 1) * hole + 1)
        if full < 0:
            return None
        out.append(full // stride + 1)
        for key, value in zip(fields, (w, stride, f'{low}_{high}', base, hole)):
            fields[key].append(value)
    n = size(fields['size'])
    text = 'window={' + ' '.join(f'{k}=' + 'x'.join(map(str, v)) for k, v in fields.items()
                                 if k == 'size' or any(x not in (1, '0_0') for x in v)) + '}'
    return text, out, n


def reduce_window(b):
    a = b.array(lambda v: v.dims and v.type not in ('c64', 'c128'))
    w = a and window(b, a.dims)
    if not w or size(w[1]) > 300:
        return None
    text, dims, n = w
    opcode = monoid(b, a)
    top = a.top * (n if opcode == 'add' else 1)
    if is_float(a.type) and opcode == 'add' and not fits(a.type, top, a.step):
        return None
    init = init_for(b, a, opcode)
    if not init:
        return None
    name, calls = b.combiner(opcode, a.type)
    wild = is_float(a.type) and opcode != 'add'
    return b.op('reduce-window', (a, init), a.type, dims, f'{text}, to_apply={name}', calls, top=top, step=a.step, wild=wild)


def select_and_scatter(b):
    a = b.array(lambda v: len(v.dims) in (1, 2, 3) and size(v.dims) and v.type in ('f32', 's32', 'f64', 's64', 'u32'))
    w = a and window(b, a.dims, dilate=False)
    if not w:
        return None
    text, dims, n = w
    # Elements are distinct, because XLA:CPU visits windows in another order, which decides ties.
    a = b.fresh(a.type, a.dims, array=b.data.permutation(size(a.dims)).reshape(a.dims).astype(numpy_type(a.type)), top=2.0**8)
    source = a and b.array(t=a.type, dims=dims)
    init = source and init_for(b, a, 'add')
    if not init:
        return None
    top = source.top * size(dims)
    if is_float(a.type) and not fits(a.type, top, source.step):
        return None
    inner = b.child()
    inner.layouts = False
    x, y = inner.add_parameter(Value('', a.type, ())), inner.add_parameter(Value('', a.type, ()))
    pick, picks = inner.computation(inner.op('compare', (x, y), 'pred', (), f'direction={b.rng.choice(("GE", "LE"))}'), 'pick')
    add, adds = b.combiner('add', a.type)
    return b.op('select-and-scatter', (a, source, init), a.type, a.dims, f'{text}, select={pick}, scatter={add}', picks + adds, top=top, step=source.step)


def sort(b):
    a = b.movable(lambda v: v.dims and v.type not in ('c64', 'c128') and bits(v.type) >= 8 and not v.final and own_zeros(v))  # XLA:CPU does not sort s2, u2
    if not a:
        return None
    d = b.rng.randrange(len(a.dims))
    operands = [a]
    for _ in range(b.rng.choice((0, 0, 1, 2))):
        more = b.array(lambda v: v.type not in ('c64', 'c128') and bits(v.type) >= 8 and own_zeros(v), dims=a.dims)
        if more:
            operands.append(more)
    inner = b.child()
    inner.layouts = False
    pairs = [(inner.add_parameter(Value('', v.type, ())), inner.add_parameter(Value('', v.type, ()))) for v in operands]

    def less(k):
        order = ', type=TOTALORDER' if is_float(operands[k].type) else ''
        x, y = pairs[k]
        return inner.op('compare', (x, y), 'pred', (), f'direction={b.rng.choice(("LT", "GT"))}{order}')
    root = less(0)
    if len(operands) > 1 and b.chance(0.4):
        x, y = pairs[0]
        order = ', type=TOTALORDER' if is_float(a.type) else ''
        tie = inner.op('compare', (x, y), 'pred', (), f'direction=EQ{order}')
        root = inner.op('or', (root, inner.op('and', (tie, less(1)), 'pred', ())), 'pred', ())
    name, calls = inner.computation(root, 'before')
    attributes = f'dimensions={{{d}}}, is_stable=true, to_apply={name}'
    if len(operands) == 1:
        return b.op('sort', operands, a.type, a.dims, attributes, calls, **same(a))
    return b.tuple_op('sort', operands, operands, attributes, calls)


def scatter(b):
    a = b.array(lambda v: v.dims and size(v.dims))
    if not a:
        return None
    batch, at, mapped, collapsed, batch_sizes, index_dims, vector = gather_numbers(b, a.dims)
    if not mapped:  # XLA's simplifier then adds all updates in place
        return None
    inserted = collapsed
    sizes = [1 if d in inserted or d in batch else b.rng.randint(1, n) for d, n in enumerate(a.dims)]
    window_dims, dims = windows_in_batches(b, sizes, inserted, batch, batch_sizes)
    if size(dims) > 300:
        return None
    updates = b.array(t=a.type, dims=dims)
    indices = b.index(index_dims, max(a.dims), b.rng.choice(('s32', 's32', 's64', 'u32')))
    if not updates or not indices:
        return None
    opcode = monoid(b, a)
    top = max(a.top, updates.top)
    if opcode == 'add':
        top = a.top + updates.top * size(dims)
        if not (is_int(a.type) or a.type == 'pred') and not fits(a.type, top, min(a.step, updates.step)):
            return None
    if b.chance(0.3):
        inner = b.child()
        inner.layouts = False
        inner.add_parameter(Value('', a.type, ()))
        name, calls = inner.computation(inner.add_parameter(Value('', a.type, ())), 'overwrite')
    else:
        name, calls = b.combiner(opcode, a.type)
    attributes = (f'update_window_dims={braces(window_dims)}, inserted_window_dims={braces(inserted)}, '
                  f'scatter_dims_to_operand_dims={braces(mapped)}, '
                  + (f'input_batching_dims={braces(batch)}, scatter_indices_batching_dims={braces(at)}, ' if batch else '')
                  + f'index_vector_dim={vector}, to_apply={name}')
    return b.op('scatter', (a, indices, updates), a.type, a.dims, attributes, calls, top=top, step=min(a.step, updates.step))


OPERATIONS = ((reduce, 5), (reduce_pair, 1), (reduce_window, 3), (select_and_scatter, 1), (sort, 3), (scatter, 4))
