"""Generates a random module instruction by instruction in two forms: the module itself, and the form that XLA:CPU
accepts (fusions and asynchronous calls as calls, no layouts)."""
import dataclasses
import random

import ml_dtypes
import numpy as np

from .values import (COMMON, COMPLEX, FLOATS, RARE, SIGNED, Value, bits, fits, in_range, is_float, is_int, size)

MOST_ELEMENTS = 200


@dataclasses.dataclass
class Instruction:
    name: str
    text: str              # after "name = "
    xla: str               # the form for XLA
    uses: tuple            # operand names
    calls: tuple = ()      # texts of the called computations with their callees: (ours, XLA's)


def numpy_type(t):
    plain = {'pred': np.bool_, 'bf16': ml_dtypes.bfloat16, 'c64': np.complex64, 'c128': np.complex128}
    if t in plain:
        return np.dtype(plain[t])
    if t in ('s2', 'u2', 's4', 'u4'):
        return np.dtype(getattr(ml_dtypes, {'s': 'int', 'u': 'uint'}[t[0]] + t[1:]))
    if t.startswith('f8'):
        return np.dtype(getattr(ml_dtypes, 'float8_' + t[2:]))
    return np.dtype({'s': 'int', 'u': 'uint', 'f': 'float'}[t[0]] + t[1:])


def shape(t, dims):
    return f'{t}[{",".join(map(str, dims))}]'


def braces(items):
    return '{' + ','.join(map(str, items)) + '}'


def number(x, t):
    if t == 'pred':
        return 'true' if x else 'false'
    if is_int(t):
        return str(int(x))
    x = float(x)
    return 'nan' if x != x else '-inf' if x == -np.inf else 'inf' if x == np.inf else repr(x)


def literal(array, t):
    if array.ndim == 0:
        x = array[()]
        return f'({number(x.real, t)}, {number(x.imag, t)})' if t in COMPLEX else number(x, t)
    return '{' + ', '.join(literal(x, t) for x in array) + '}'


class Names:
    def __init__(self):
        self.count = 0

    def next(self, stem):
        self.count += 1
        return f'{stem}.{self.count}'


class Builder:
    def __init__(self, rng, parent=None):
        self.rng = rng
        self.parent = parent
        self.names = parent.names if parent else Names()
        self.layouts = parent.layouts if parent else rng.random() < 0.15
        self.instructions = []
        self.values = []
        self.parameters = []   # (Value, array)
        self.data = np.random.default_rng(rng.getrandbits(32))

    # ---- choices
    def chance(self, p):
        return self.rng.random() < p

    def some_type(self, *kinds):
        pool = [t for t in (COMMON if self.chance(0.85) else RARE) if not kinds or any(k(t) for k in kinds)]
        return self.rng.choice(pool or [t for t in COMMON + RARE if any(k(t) for k in kinds)])

    def some_dims(self, rank=None, most=5):
        rank = self.rng.choice((0, 1, 1, 2, 2, 2, 3, 3, 4)) if rank is None else rank
        while True:
            dims = tuple(0 if self.chance(0.01) else self.rng.randint(1, most) for _ in range(rank))
            if size(dims) <= MOST_ELEMENTS:
                return dims

    def numbers(self, t, dims, low=None, high=None, wild=False):
        """Returns (array, top, step) of random elements."""
        if t == 'pred':
            return self.data.random(dims) < 0.5, 0, 0
        if is_int(t):
            n = bits(t)
            lo, hi = (-(1 << n - 1), (1 << n - 1) - 1) if t in SIGNED else (0, (1 << n) - 1)
            if low is None:
                if self.chance(0.6):
                    low, high = max(lo, -9), min(hi, 9)
                else:
                    low, high = lo, hi
            low, high = max(lo, low), min(hi, high)
            raw = np.array([self.rng.randint(low, high) for _ in range(size(dims))], dtype=object)
            if low == lo and high == hi and n > 4:
                for i in range(raw.size):
                    if self.rng.random() < 0.15:
                        raw[i] = self.rng.choice((lo, hi, 0, 1, hi - 1))
            wide = np.uint64 if t[0] == 'u' else np.int64
            return raw.astype(wide).astype(numpy_type(t)).reshape(dims), 0, 0
        part = COMPLEX.get(t, t)
        small = FLOATS[part][0] < 8
        step = self.rng.choice((0, -1) if small else (0, -1, -2, -3))
        count = 3 if small else self.rng.choice((4, 16, 60))
        if low is not None:
            step, count = 0, max(1, high)
        x = self.data.integers(-count if low is None else low, count + 1, dims) * 2.0**step
        if t in COMPLEX:
            x = x + 1j * (self.data.integers(-count, count + 1, dims) * 2.0**step)
        x = np.asarray(x)
        if wild and t not in COMPLEX:
            flat = x.reshape(-1).copy()
            for i in range(flat.size):
                if self.rng.random() < 0.3:
                    flat[i] = self.rng.choice((np.nan, np.inf, -np.inf, 0.0, -0.0))
            x = flat.reshape(x.shape)
        return x.astype(numpy_type(t)), count * 2.0**step, step

    def fresh(self, t, dims, low=None, high=None, wild=False, array=None, top=0, step=0):
        """Returns a new parameter or constant."""
        if array is None:
            array, top, step = self.numbers(t, dims, low, high, wild)
        if self.parent is None and (size(dims) > 8 or self.chance(0.8)) or size(dims) > 60:
            if self.parent is None:
                name = self.names.next('p')
                value = Value(name, t, tuple(dims), top, step, wild=wild)
                self.emit(name, f'{shape(t, dims)} parameter({len(self.parameters)})')
                self.parameters.append((value, array))
            else:
                return None
        else:
            name = self.names.next('c')
            value = Value(name, t, tuple(dims), top, step, wild=wild)
            self.emit(name, f'{shape(t, dims)} constant({literal(array, t)})')
        self.values.append(value)
        return value

    def pick(self, accepts, p=0.8):
        """Returns an existing value that is accepted, or None."""
        found = [v for v in self.values if not v.parts and accepts(v)]
        return self.rng.choice(found[-6:] if self.chance(0.7) else found) if found and self.chance(p) else None

    def array(self, accepts=lambda v: True, t=None, dims=None, kinds=(), rank=None, wild=False):
        """Returns a value for arithmetic: an existing one or a new one."""
        def good(v):
            return (not v.final and (wild or not v.wild) and (t is None or v.type == t) and (dims is None or v.dims == tuple(dims))
                    and (not kinds or any(k(v.type) for k in kinds)) and (rank is None or len(v.dims) == rank) and accepts(v))
        found = self.pick(good)
        if found:
            return found
        for _ in range(10):
            v = self.fresh(t or self.some_type(*kinds), dims if dims is not None else self.some_dims(rank),
                           wild=wild and self.chance(0.3))
            if v and good(v):
                return v
        return None

    def movable(self, accepts=lambda v: True, **more):
        """Returns any array value, including final ones."""
        return self.pick(accepts, 0.6) or self.array(accepts, wild=True, **more)

    def index(self, dims=(), high=4, t=None):
        """Returns integers that are usually, but not always, valid indices."""
        t = t or self.rng.choice(('s32', 's32', 's32', 's64', 'u32', 'u8', 's8'))
        return self.fresh(t, dims, 0 if t[0] == 'u' else -2, high + 1)

    # ---- text
    def emit(self, name, text, uses=(), xla=None, calls=()):
        self.instructions.append(Instruction(name, text, xla or text, tuple(uses), tuple(calls)))

    def layout(self, dims):
        if not self.layouts or len(dims) < 2 or not self.chance(0.3):
            return ''
        order = list(range(len(dims)))
        self.rng.shuffle(order)
        return braces(order)

    def op(self, opcode, operands, t, dims, attributes='', calls=(), xla_opcode=None, xla_attributes=None, **known):
        """Adds an instruction with an array result."""
        name = self.names.next(opcode.replace('-', '_'))
        value = Value(name, t, tuple(dims), **known)
        names = [v.name for v in operands]
        args = ', '.join(names)
        tail = f', {attributes}' if attributes else ''
        xla_tail = tail if xla_attributes is None else f', {xla_attributes}' if xla_attributes else ''
        self.emit(name, f'{shape(t, dims)}{self.layout(dims)} {opcode}({args}){tail}', names,
                  f'{shape(t, dims)} {xla_opcode or opcode}({args}){xla_tail}', calls)
        self.values.append(value)
        return value

    def tuple_op(self, opcode, operands, parts, attributes='', calls=(), xla_opcode=None, xla_attributes=None):
        """Adds an instruction with a tuple result and a get-tuple-element for each element."""
        name = self.names.next(opcode.replace('-', '_'))
        names = [v.name for v in operands]
        text = '(' + ', '.join(shape(p.type, p.dims) for p in parts) + ')'
        tail = f', {attributes}' if attributes else ''
        xla_tail = tail if xla_attributes is None else f', {xla_attributes}' if xla_attributes else ''
        args = ', '.join(names)
        self.emit(name, f'{text} {opcode}({args}){tail}', names, f'{text} {xla_opcode or opcode}({args}){xla_tail}', calls)
        found = []
        for i, p in enumerate(parts):
            element = self.names.next('element')
            self.emit(element, f'{shape(p.type, p.dims)} get-tuple-element({name}), index={i}', (name,))
            found.append(p.like(element))
        self.values += found
        return found[0] if found else None

    def rounded(self, opcode, operands, t, dims, top, step, attributes='', **more):
        """Returns an arithmetic result: exact while it fits, final if it rounds once, None if it leaves the range."""
        wild = any(v.wild for v in operands)
        if not in_range(t, top, step):
            return None
        final = not fits(t, top, step)
        if final and t in ('f16', 'bf16') and all(v.name[:2] != 'c.' for v in operands) and in_range(t, 2 * top, step):
            final, top = False, 1.01 * top  # rounded after each instruction: no contraction or re-association
        return self.op(opcode, operands, t, dims, attributes, top=top, step=step, final=final, wild=wild, **more)

    # ---- computations
    def child(self):
        return Builder(random.Random(self.rng.getrandbits(32)), self)

    def add_parameter(self, value):
        """Adds the next parameter of a called computation, of the kind of `value`."""
        name = self.names.next('a')
        self.emit(name, f'{shape(value.type, value.dims)} parameter({len(self.parameters)})')
        inner = value.like(name)
        self.parameters.append((inner, None))
        self.values.append(inner)
        return inner

    def computation(self, root, stem='f'):
        """Returns (name, texts of the computations) once the body is complete; root is a name or a tuple of Values."""
        name = self.names.next(stem)
        if isinstance(root, (list, tuple)):
            text = '(' + ', '.join(shape(v.type, v.dims) for v in root) + ') tuple(' + ', '.join(v.name for v in root) + ')'
            final = self.names.next('t')
            self.emit(final, text, [v.name for v in root])
            root = final
        else:
            root = root.name
        both, nested = [], []
        for which in ('text', 'xla'):
            lines = [f'  {"ROOT " if i.name == root else ""}{i.name} = {getattr(i, which)}' for i in self.instructions]
            both.append(name + ' {\n' + '\n'.join(lines) + '\n}\n')
        for i in self.instructions:
            nested += i.calls
        return name, tuple(nested) + (tuple(both),)

    def combiner(self, opcode, t):
        """Returns a computation of one binary instruction on scalars."""
        inner = self.child()
        inner.layouts = False
        a = inner.add_parameter(Value('', t, ()))
        b = inner.add_parameter(Value('', t, ()))
        return inner.computation(inner.op(opcode, (a, b), t, ()), opcode)


def module_text(builder, root_names, which, title, keep=None):
    """Returns the whole module; `keep` limits it to the instructions that the roots need."""
    needed = set(root_names)
    for i in reversed(builder.instructions):
        if i.name in needed:
            needed.update(i.uses)
    lines, computations, seen = [], [], set()
    for i in builder.instructions:
        if i.name not in needed and not (' parameter(' in i.text):
            continue
        for c in i.calls:
            if c[0] not in seen:
                seen.add(c[0])
                computations.append(c[0] if which == 'text' else c[1])
        lines.append(f'  {i.name} = {getattr(i, which)}')
    by_name = {v.name: v for v in builder.values}
    roots = [by_name[n] for n in root_names]
    lines.append('  ROOT result = (' + ', '.join(shape(v.type, v.dims) for v in roots) + ') tuple(' + ', '.join(root_names) + ')')
    return f'HloModule {title}\n\n' + '\n'.join(computations) + '\nENTRY main {\n' + '\n'.join(lines) + '\n}\n'
