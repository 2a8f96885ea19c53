"""Generates random calls, fusions, conditionals, loops and maps."""
import numpy as np

from .builder import braces, shape
from .movement import same
from .values import Value, fits, in_range, is_float, is_int, size

DEPTH = 3


def depth(b):
    return 1 + depth(b.parent) if b.parent else 0


def body(b, given, operations, steps):
    """Returns a child whose parameters are `given`, after some random steps; None if it failed."""
    inner = b.child()
    for v in given:
        inner.add_parameter(v)
    for _ in range(steps):
        grow(inner, operations)
    results = [v for v in inner.values if v.name not in {p.name for p, _ in inner.parameters}]
    return (inner, results) if results else None


def grow(b, operations):
    """Adds one more instruction if the draw allows it."""
    makers, weights = operations
    before = len(b.instructions), len(b.values)
    maker = b.rng.choices(makers, weights)[0]
    if maker.__module__ == __name__ and depth(b) >= DEPTH:
        return None
    made = maker(b)
    if made is None:  # undo its preparations
        if b.parent:
            del b.instructions[before[0]:], b.values[before[1]:]
    return made


def arguments(b, most=3):
    found = []
    for _ in range(b.rng.randint(1, most)):
        v = b.movable()
        if v and v not in found:
            found.append(v)
    return found


def chosen(b, results):
    """Chooses one value or several for the root of a computation."""
    last = results[-1]
    more = [v for v in results[:-1] if b.chance(0.3)][:2]
    return [last] + more if more and b.chance(0.5) else last


def apply_computation(b, opcode, attribute, xla_attribute, operations):
    given = arguments(b)
    made = given and body(b, given, operations(), b.rng.randint(2, 6))
    if not made:
        return None
    inner, results = made
    root = chosen(b, results)
    name, calls = inner.computation(root, opcode)
    attributes, xla = attribute.format(name), xla_attribute.format(name)
    if isinstance(root, list):
        return b.tuple_op(opcode, given, [v.like('') for v in root], attributes, calls, xla_opcode='call', xla_attributes=xla)
    return b.op(opcode, given, root.type, root.dims, attributes, calls, xla_opcode='call', xla_attributes=xla, **same(root))


def everything():
    from . import operations
    return operations.ALL


def simple():
    from . import operations
    return operations.SIMPLE


def call(b):
    return apply_computation(b, 'call', 'to_apply={}', 'to_apply={}', everything)


def fusion(b):
    kind = b.rng.choice(('kLoop', 'kInput', 'kOutput', 'kCustom'))
    return apply_computation(b, 'fusion', f'kind={kind}, calls={{}}', 'to_apply={}', everything)


def asynchronous(b):
    """Generates call-start and call-done; XLA gets the call."""
    given = arguments(b)
    made = given and body(b, given, simple(), b.rng.randint(2, 4))
    if not made:
        return None
    inner, results = made
    root = results[-1]
    name, calls = inner.computation(root, 'async')
    start, done = b.names.next('call_start'), b.names.next('call_done')
    args = ', '.join(v.name for v in given)
    ins = ', '.join(shape(v.type, v.dims) for v in given)
    out = shape(root.type, root.dims)
    b.emit(start, f'(({ins}), {out}, s32[]) call-start({args}), to_apply={name}', [v.name for v in given],
           f'{out} call({args}), to_apply={name}', calls)
    b.emit(done, f'{out} call-done({start})', (start,), f'{out} reshape({start})')
    value = Value(done, root.type, root.dims, **same(root))
    b.values.append(value)
    return value


def barrier(b):
    given = arguments(b)
    if len(given) < 2:
        return None
    packed = b.names.next('packed')
    text = '(' + ', '.join(f'{v.type}[{",".join(map(str, v.dims))}]' for v in given) + ')'
    b.emit(packed, f'{text} tuple({", ".join(v.name for v in given)})', [v.name for v in given])
    return b.tuple_op('opt-barrier', (Value(packed, '', ()),), [v.like('') for v in given])


def nested(b):
    """Generates a nested tuple and an element of it."""
    given = [v for v in arguments(b, 4)]
    if len(given) < 2:
        return None
    text = [shape(v.type, v.dims) for v in given]
    inner, outer, back = b.names.next('inner'), b.names.next('outer'), b.names.next('back')
    packed = f'({", ".join(text[1:])})'
    b.emit(inner, f'{packed} tuple({", ".join(v.name for v in given[1:])})', [v.name for v in given[1:]])
    b.emit(outer, f'({text[0]}, {packed}) tuple({given[0].name}, {inner})', (given[0].name, inner))
    b.emit(back, f'{packed} get-tuple-element({outer}), index=1', (outer,))
    k = b.rng.randrange(len(given) - 1)
    name = b.names.next('element')
    b.emit(name, f'{text[k + 1]} get-tuple-element({back}), index={k}', (back,))
    b.values.append(given[k + 1].like(name))
    return b.values[-1]


def closed(b, carry, inner, values):
    """Replaces one carried value by another of its kind."""
    k = b.rng.randrange(len(values))
    v = values[k]
    kind = b.rng.randrange(5)
    if kind == 0 and v.dims:
        out = inner.op('reverse', (v,), v.type, v.dims, f'dimensions={braces([b.rng.randrange(len(v.dims))])}', **same(v))
    elif kind == 1 and is_int(v.type):
        out = inner.op(b.rng.choice(('add', 'multiply', 'xor', 'subtract')), (v, v if b.chance(0.3) else inner.fresh(v.type, v.dims) or v), v.type, v.dims)
    elif kind == 2 and v.type not in ('pred', 'c64', 'c128') and not v.final:
        out = inner.op('negate', (v,), v.type, v.dims, **same(v))
    elif kind == 3 and len(v.dims) >= 2 and len(set(v.dims)) == 1:
        order = list(range(len(v.dims)))
        b.rng.shuffle(order)
        out = inner.op('transpose', (v,), v.type, v.dims, f'dimensions={braces(order)}', **same(v))
    elif v.type == 'pred':
        out = inner.op('not', (v,), v.type, v.dims)
    elif v.dims and v.dims[0] and kind == 4:
        zero = inner.fresh('s32', (), array=np.int32(0).reshape(()))
        sizes = (1,) + v.dims[1:]
        if not zero:
            return
        starts = [inner.counter] + [zero] * (len(v.dims) - 1)
        row = inner.op('dynamic-slice', (v, *starts), v.type, sizes, f'dynamic_slice_sizes={braces(sizes)}', **same(v))
        out = inner.op('dynamic-update-slice', (v, row, *[zero] * len(v.dims)), v.type, v.dims, **same(v))
    else:
        return
    values[k] = out


def loop(b):
    """Generates a counted loop over a tuple; the body preserves the kind of each element."""
    trips = b.rng.randint(0, 4)
    given = [v for v in arguments(b) if not v.parts]
    if not given:
        return None
    start = b.fresh('s32', (), array=np.int32(0).reshape(()))
    if not start:
        return None
    state = [start] + given
    types = '(' + ', '.join(f'{v.type}[{",".join(map(str, v.dims))}]' for v in state) + ')'

    def unpack(inner):
        p = inner.names.next('state')
        inner.emit(p, f'{types} parameter(0)')
        out = []
        for i, v in enumerate(state):
            name = inner.names.next('part')
            inner.emit(name, f'{v.type}[{",".join(map(str, v.dims))}] get-tuple-element({p}), index={i}', (p,))
            out.append(v.like(name))
        inner.values += out
        return out
    inner = b.child()
    inner.layouts = False
    values = unpack(inner)
    inner.counter = values[0]
    one = inner.fresh('s32', (), array=np.int32(1).reshape(()))
    following = inner.op('add', (values[0], one), 's32', ())
    carried = values[1:]
    for _ in range(b.rng.randint(1, 4)):
        closed(b, given, inner, carried)
    body_name, body_calls = inner.computation([following] + carried, 'body')
    check = b.child()
    check.layouts = False
    values = unpack(check)
    limit = check.fresh('s32', (), array=np.int32(trips).reshape(()))
    name, calls = check.computation(check.op('compare', (values[0], limit), 'pred', (), 'direction=LT'), 'condition')
    packed = b.names.next('packed')
    b.emit(packed, f'{types} tuple({", ".join(v.name for v in state)})', [v.name for v in state])
    return b.tuple_op('while', (Value(packed, '', ()),), [v.like('') for v in state], f'condition={name}, body={body_name}', calls + body_calls)


def conditional(b):
    """Generates branches of one result kind, each with its own operand."""
    operands, roots, calls, names = [], [], (), []
    two = b.chance(0.5)
    kind = b.movable()
    if not kind:
        return None
    for _ in range(2 if two else b.rng.randint(1, 3)):
        v = b.array(t=kind.type, dims=kind.dims)
        if not v:
            return None
        inner = b.child()
        inner.layouts = False
        p = inner.add_parameter(v)
        values = [p]
        inner.counter = None
        for _ in range(2):
            if is_int(v.type) or v.type == 'pred':
                closed_simple(b, inner, values)
            elif v.dims:
                values[0] = inner.op('reverse', (values[0],), v.type, v.dims, 'dimensions={0}', **same(values[0]))
        name, texts = inner.computation(values[0] if values[0] is not p else inner.op('copy', (p,), v.type, v.dims, **same(v)), 'branch')
        operands.append(v)
        roots.append(v)
        names.append(name)
        calls += texts
    if two:
        which = b.array(t='pred', dims=())
        attributes = f'true_computation={names[0]}, false_computation={names[1]}'
    else:
        which = b.fresh('s32', (), -1, 4)
        attributes = f'branch_computations={{{", ".join(names)}}}'
    if not which:
        return None
    return b.op('conditional', (which, *operands), kind.type, kind.dims, attributes, calls, top=max(v.top for v in roots),
                step=min(v.step for v in roots), wild=any(v.wild for v in roots))


def closed_simple(b, inner, values):
    v = values[0]
    opcode = 'not' if v.type == 'pred' else b.rng.choice(('negate', 'not', 'popcnt') if not v.type.endswith(('2', '4')) or len(v.type) > 2 else ('not',))
    values[0] = inner.op(opcode, (v,), v.type, v.dims)


def map_(b):
    a = b.array(lambda v: v.type not in ('c64', 'c128'))
    c = a and b.array(t=a.type, dims=a.dims)
    if not c:
        return None
    inner = b.child()
    inner.layouts = False
    x, y = inner.add_parameter(a.like('', dims=())), inner.add_parameter(c.like('', dims=()))
    if is_float(a.type):
        top, step = a.top + c.top, min(a.step, c.step)
        if not in_range(a.type, top, step):
            return None
        root = inner.op('add', (inner.op('negate', (x,), a.type, ()), y), a.type, ())
        known = {'top': top, 'step': step, 'final': not fits(a.type, top, step)}
    else:
        root, known = inner.op('xor', (x, y), a.type, ()), {}
    name, calls = inner.computation(root, 'each')
    return b.op('map', (a, c), a.type, a.dims, f'dimensions={braces(range(len(a.dims)))}, to_apply={name}', calls, **known)


OPERATIONS = ((call, 2), (fusion, 4), (asynchronous, 1), (barrier, 1), (loop, 3), (conditional, 2), (map_, 1), (nested, 0.7))
