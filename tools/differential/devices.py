"""Generates random instructions on dynamic sizes, and collectives in a group of one device."""
import numpy as np

from .builder import braces
from .movement import same
from .reductions import init_for, window
from .values import Value, fits, is_float, is_int, size


def bounded(t, dims, d):
    return f'{t}[{",".join(f"<={n}" if k == d else str(n) for k, n in enumerate(dims))}]'


def dynamic(b):
    """Generates a bounded dimension, some elementwise operations and moves on it, and a reduction to a static shape."""
    if b.parent:
        return None
    a = b.array(lambda v: v.dims and size(v.dims) and v.type in ('f32', 's32', 'f64', 's64', 'u32', 's8'))
    if not a:
        return None
    dims, top = list(a.dims), a.top
    d = b.rng.randrange(len(dims))
    count = b.fresh('s32', (), 1, dims[d])
    if not count:
        return None

    def emit(stem, text, uses):
        name = b.names.next(stem)
        b.emit(name, f'{bounded(a.type, dims, d)} {text}', uses)
        return name
    current = emit('sized', f'set-dimension-size({a.name}, {count.name}), dimensions={{{d}}}', (a.name, count.name))
    for _ in range(b.rng.randint(0, 3)):
        kind = b.rng.randrange(4)
        if kind == 0:
            current = emit('negate', f'negate({current})', (current,))
            if a.type[0] == 'u':
                top = 2.0**32
        elif kind == 1:
            current = emit('add', f'add({current}, {current})', (current,))
            top *= 2
        elif kind == 2 and len(dims) > 1:
            order = list(range(len(dims)))
            b.rng.shuffle(order)
            dims = [dims[k] for k in order]
            d = order.index(d)
            current = emit('transpose', f'transpose({current}), dimensions={braces(order)}', (current,))
        elif kind == 3:
            current = emit('reverse', f'reverse({current}), dimensions={{{d}}}', (current,))
    which = sorted({d} | {k for k in range(len(dims)) if b.chance(0.4)})
    opcode = b.rng.choice(('add', 'maximum', 'minimum'))
    top *= size(dims) if opcode == 'add' else 1
    if is_float(a.type) and not fits(a.type, top, a.step):
        return None
    init = init_for(b, a, opcode)
    name, calls = b.combiner(opcode, a.type)
    left = [n for k, n in enumerate(dims) if k not in which]
    return b.op('reduce', (Value(current, a.type, ()), init), a.type, left, f'dimensions={braces(which)}, to_apply={name}', calls, top=top, step=a.step)


def dynamic_size(b):
    if b.parent:
        return None
    a = b.array(lambda v: v.dims and size(v.dims))
    count = a and b.fresh('s32', (), 0, max(a.dims))
    if not count:
        return None
    d = b.rng.randrange(len(a.dims))
    limit = b.fresh('s32', (), array=np.int32(a.dims[d]).reshape(()))
    kept = limit and b.op('minimum', (count, limit), 's32', ())
    if not kept:
        return None
    sized = b.names.next('sized')
    b.emit(sized, f'{bounded(a.type, a.dims, d)} set-dimension-size({a.name}, {kept.name}), dimensions={{{d}}}', (a.name, kept.name))
    return b.op('get-dimension-size', (Value(sized, a.type, ()),), 's32', (), f'dimensions={{{d}}}')


def collective(b):
    """With one replica every collective is an identity or a reshape."""
    if b.parent:
        return None
    a = b.array(lambda v: v.dims and size(v.dims) and v.type in ('f32', 's32', 'f64', 's64', 'u32', 'bf16'))
    if not a:
        return None
    d = b.rng.randrange(len(a.dims))
    kind = b.rng.randrange(5)
    if kind in (0, 1):
        opcode, extra = ('all-reduce', '') if kind == 0 else ('reduce-scatter', f'dimensions={{{d}}}, ')
        name, calls = b.combiner(b.rng.choice(('add', 'maximum')), a.type)
        return b.op(opcode, (a,), a.type, a.dims, f'{extra}replica_groups={{}}, to_apply={name}' if kind == 0
                    else f'{extra}replica_groups={{{{0}}}}, to_apply={name}', calls, **same(a))
    if kind == 2:
        return b.op('all-gather', (a,), a.type, a.dims, f'replica_groups={{{{0}}}}, dimensions={{{d}}}', **same(a))
    if kind == 3:
        return b.op('all-to-all', (a,), a.type, a.dims, f'replica_groups={{{{0}}}}, dimensions={{{d}}}', **same(a))
    pairs = '{{0,0}}' if b.chance(0.7) else '{}'
    return b.op('collective-permute', (a,), a.type, a.dims, f'source_target_pairs={pairs}', **same(a)) if pairs != '{}' else None


def device(b):
    return None if b.parent else b.op(b.rng.choice(('replica-id', 'partition-id')), (), 'u32', ())


def windows_together(b):
    """Generates a reduce-window of two inputs."""
    a = b.array(lambda v: v.dims and is_int(v.type) and v.type in ('s32', 's64', 'u32', 's8', 'u8', 's16'))
    c = a and b.array(kinds=(is_int,), dims=a.dims, accepts=lambda v: v.type in ('s32', 's64', 'u32', 's8', 'u8', 's16'))
    w = c and window(b, a.dims)
    if not w or size(w[1]) > 300:
        return None
    text, dims, _ = w
    inits = [init_for(b, v, 'add') for v in (a, c)]
    inner = b.child()
    inner.layouts = False
    x, y, p, q = (inner.add_parameter(Value('', t, ())) for t in (a.type, c.type, a.type, c.type))
    roots = [inner.op('add', (x, p), a.type, ()), inner.op(b.rng.choice(('add', 'xor', 'or')), (y, q), c.type, ())]
    name, calls = inner.computation(roots, 'both')
    return b.tuple_op('reduce-window', (a, c, *inits), [Value('', a.type, tuple(dims)), Value('', c.type, tuple(dims))], f'{text}, to_apply={name}', calls)


OPERATIONS = ((device, 0.2), (dynamic, 1.5), (dynamic_size, 0.3), (collective, 1), (windows_together, 0.7))
