"""Generates random data movement."""
from .builder import braces
from .values import size


def same(v, **more):
    return {'top': v.top, 'step': v.step, 'final': v.final, 'wild': v.wild, 'rule': v.rule, **more}


def broadcast(b):
    a = b.movable(lambda v: len(v.dims) <= 3)
    if not a:
        return None
    extra = b.rng.randint(0, 2)
    positions = sorted(b.rng.sample(range(len(a.dims) + extra), len(a.dims)))
    dims = list(b.some_dims(len(a.dims) + extra, 3))
    for k, p in enumerate(positions):
        dims[p] = a.dims[k]
    if size(dims) > 300:
        return None
    return b.op('broadcast', (a,), a.type, dims, f'dimensions={braces(positions)}', **same(a))


def regroup(b, n):
    """Returns dimensions whose product is n."""
    dims = []
    while n > 1 and len(dims) < 3 and b.chance(0.8):
        d = b.rng.choice([k for k in range(1, n + 1) if n % k == 0])
        dims.append(d)
        n //= d
    dims.append(n)
    b.rng.shuffle(dims)
    return tuple(dims)


def reshape(b):
    a = b.movable()
    if not a:
        return None
    dims = () if size(a.dims) == 1 and b.chance(0.3) else regroup(b, size(a.dims))
    if b.chance(0.2):
        name = 'bitcast'
        layouts, b.layouts = b.layouts, False
        out = None
        if not layouts:
            out = b.op('bitcast', (a,), a.type, dims, xla_opcode='reshape', **same(a))
        b.layouts = layouts
        return out
    return b.op('reshape', (a,), a.type, dims, **same(a))


def transpose(b):
    a = b.movable(lambda v: len(v.dims) >= 2)
    if not a:
        return None
    order = list(range(len(a.dims)))
    b.rng.shuffle(order)
    return b.op('transpose', (a,), a.type, [a.dims[d] for d in order], f'dimensions={braces(order)}', **same(a))


def reverse(b):
    a = b.movable(lambda v: v.dims)
    if not a:
        return None
    which = sorted(b.rng.sample(range(len(a.dims)), b.rng.randint(0, len(a.dims))))
    return b.op('reverse', (a,), a.type, a.dims, f'dimensions={braces(which)}', **same(a))


def slice_(b):
    a = b.movable(lambda v: v.dims)
    if not a:
        return None
    ranges, dims = [], []
    for n in a.dims:
        start = b.rng.randint(0, n)
        limit = b.rng.randint(start, n)
        if b.chance(0.7) and n:
            start, limit = min(start, n - 1), max(limit, min(start, n - 1) + 1)
        stride = b.rng.choice((1, 1, 2, 3))
        ranges.append(f'[{start}:{limit}]' if stride == 1 and b.chance(0.5) else f'[{start}:{limit}:{stride}]')
        dims.append(-(-(limit - start) // stride))
    return b.op('slice', (a,), a.type, dims, 'slice={' + ', '.join(ranges) + '}', **same(a))


def pad(b):
    a = b.movable(lambda v: v.dims)
    fill = a and b.array(t=a.type, dims=(), wild=True)
    if not fill:
        return None
    parts, dims = [], []
    for n in a.dims:
        low, high, interior = b.rng.randint(-1, 2), b.rng.randint(-1, 2), b.rng.choice((0, 0, 1, 2))
        total = max(n - 1, 0) * interior + n + low + high
        if total < 0:
            low, high, interior, total = 0, 0, 0, n
        parts.append(f'{low}_{high}' + (f'_{interior}' if interior or b.chance(0.2) else ''))
        dims.append(total)
    if size(dims) > 400:
        return None
    return b.op('pad', (a, fill), a.type, dims, 'padding=' + 'x'.join(parts),
                **same(a, top=max(a.top, fill.top), step=min(a.step, fill.step), final=a.final or fill.final, wild=a.wild or fill.wild))


def concatenate(b):
    a = b.movable(lambda v: v.dims)
    if not a:
        return None
    d = b.rng.randrange(len(a.dims))
    pieces = [a]
    for _ in range(b.rng.randint(0, 2)):
        dims = a.dims[:d] + (b.rng.randint(0, 3),) + a.dims[d + 1:]
        piece = b.array(t=a.type, dims=dims)
        if not piece:
            return None
        pieces.append(piece)
    dims = a.dims[:d] + (sum(p.dims[d] for p in pieces),) + a.dims[d + 1:]
    return b.op('concatenate', pieces, a.type, dims, f'dimensions={{{d}}}',
                **same(a, top=max(p.top for p in pieces), step=min(p.step for p in pieces), wild=any(p.wild for p in pieces)))


def dynamic_slice(b):
    a = b.movable(lambda v: v.dims)
    if not a:
        return None
    sizes = [b.rng.randint(0 if b.chance(0.05) else min(1, n), n) for n in a.dims]
    t = b.rng.choice(('s32', 's32', 's64', 'u32', 'u8', 's8'))
    starts = [b.index((), max(n, 1), t) for n in a.dims]
    return b.op('dynamic-slice', (a, *starts), a.type, sizes, f'dynamic_slice_sizes={braces(sizes)}', **same(a)) if all(starts) else None


def dynamic_update_slice(b):
    a = b.movable(lambda v: v.dims)
    if not a:
        return None
    update = b.array(t=a.type, dims=[b.rng.randint(min(1, n), n) for n in a.dims], wild=True)
    t = b.rng.choice(('s32', 's32', 's64', 'u32', 'u8', 's8'))
    starts = [b.index((), max(n, 1), t) for n in a.dims]
    if not update or not all(starts):
        return None
    return b.op('dynamic-update-slice', (a, update, *starts), a.type, a.dims,
                **same(a, top=max(a.top, update.top), step=min(a.step, update.step), final=a.final, wild=a.wild or update.wild))


def gather_numbers(b, operand_dims):
    """Generates the dimension numbers that gather and scatter share."""
    rank = len(operand_dims)
    batch = sorted(b.rng.sample(range(rank), b.rng.randint(1, rank - 1))) if rank > 1 and b.chance(0.2) else []
    batch = batch[:1]
    rest = [d for d in range(rank) if d not in batch]
    mapped = b.rng.sample(rest, b.rng.randint(0 if b.chance(0.1) else 1, len(rest))) if rest else []
    collapsed = sorted(d for d in rest if b.chance(0.4))
    batch_sizes = list(b.some_dims(b.rng.choice((0, 1, 1, 2)), 4))
    batch_positions = []
    for d in batch:  # a batching dimension of the indices and the operand
        p = b.rng.randint(0, len(batch_sizes))
        batch_sizes.insert(p, operand_dims[d])
        batch_positions.append(p)
    index_dims = list(batch_sizes)
    vector = len(index_dims)
    if not (len(mapped) == 1 and b.chance(0.3)):
        vector = b.rng.randint(0, len(index_dims))
        index_dims.insert(vector, len(mapped))
    at = [p + (vector <= p and len(index_dims) > len(batch_sizes)) for p in batch_positions]
    return batch, at, mapped, collapsed, batch_sizes, index_dims, vector


def windows_in_batches(b, sizes, collapsed, batch, batch_sizes):
    """Returns (window dimensions, sizes) of the result of a gather, or of the updates of a scatter, whose windows have these sizes."""
    windows = [n for d, n in enumerate(sizes) if d not in collapsed and d not in batch]
    rank = len(windows) + len(batch_sizes)
    window_dims = sorted(b.rng.sample(range(rank), len(windows)))
    dims, batches = [], list(batch_sizes)
    for d in range(rank):
        dims.append(windows.pop(0) if d in window_dims else batches.pop(0))
    return window_dims, dims


def gather(b):
    a = b.movable(lambda v: v.dims and size(v.dims))
    if not a:
        return None
    batch, at, mapped, collapsed, batch_sizes, index_dims, vector = gather_numbers(b, a.dims)
    sizes = [1 if d in collapsed or d in batch else b.rng.randint(1, n) for d, n in enumerate(a.dims)]
    offset_dims, dims = windows_in_batches(b, sizes, collapsed, batch, batch_sizes)
    if size(dims) > 400:
        return None
    indices = b.index(index_dims, max(a.dims), b.rng.choice(('s32', 's32', 's64', 'u32', 'u8')))
    if not indices:
        return None
    attributes = (f'offset_dims={braces(offset_dims)}, collapsed_slice_dims={braces(collapsed)}, start_index_map={braces(mapped)}, '
                  + (f'operand_batching_dims={braces(batch)}, start_indices_batching_dims={braces(at)}, ' if batch else '')
                  + f'index_vector_dim={vector}, slice_sizes={braces(sizes)}')
    return b.op('gather', (a, indices), a.type, dims, attributes, **same(a))


OPERATIONS = ((broadcast, 4), (reshape, 4), (transpose, 3), (reverse, 2), (slice_, 4), (pad, 4), (concatenate, 3), (dynamic_slice, 3),
              (dynamic_update_slice, 3), (gather, 4))
