"""Typed values of a random module with the known properties of their elements.

A floating value is tracked as multiples of 2**step that are at most `top` in magnitude. While top / 2**step fits into
the significand, sums and products are exact in every order, so any two correct evaluators agree on every bit. An
operation that may round makes its result `final`: it may be moved, but not used in arithmetic, so that its tolerance
depends on one operation only.
"""
import dataclasses
import math
import re
from typing import Any

# significand bits, largest finite value, exponent of the smallest normal number
FLOATS = {
    'f64': (53, 2.0**1023, -1022), 'f32': (24, 2.0**127, -126), 'bf16': (8, 2.0**127, -126),
    'f16': (11, 65504.0, -14), 'f8e5m2': (3, 57344.0, -14), 'f8e4m3': (4, 240.0, -6), 'f8e4m3fn': (4, 448.0, -6),
    'f8e4m3b11fnuz': (4, 30.0, -10), 'f8e4m3fnuz': (4, 240.0, -7), 'f8e5m2fnuz': (3, 57344.0, -15),
    'f8e3m4': (5, 15.5, -2),
}
COMPLEX = {'c64': 'f32', 'c128': 'f64'}
SIGNED = ('s2', 's4', 's8', 's16', 's32', 's64')
UNSIGNED = ('u2', 'u4', 'u8', 'u16', 'u32', 'u64')
INTEGERS = SIGNED + UNSIGNED
COMMON = ('f32', 'f32', 'f32', 'f64', 'bf16', 'f16', 's32', 's32', 's8', 's64', 'u8', 'u32', 'u64', 's16', 'u16', 'pred')
RARE = ('c64', 'c128', 's4', 'u4', 's2', 'u2') + tuple(t for t in FLOATS if t.startswith('f8'))
EXACT = {'kind': 'exact'}


def bits(t):
    return {'pred': 8, 'bf16': 16}.get(t) or int(re.match('[a-z]+([0-9]+)', t)[1])


def is_float(t):
    return t in FLOATS


def is_int(t):
    return t in INTEGERS


def size(dims):
    return math.prod(dims)


def epsilon(t):
    return 2.0**(1 - FLOATS[COMPLEX.get(t, t)][0])


@dataclasses.dataclass
class Value:
    name: str
    type: str
    dims: tuple
    top: float = 0.0          # floats and complex: largest magnitude of a part
    step: int = 0             # parts are multiples of 2**step
    final: bool = False       # rounded: excluded from arithmetic
    wild: bool = False        # may contain infinities and NaN
    rule: Any = None          # tolerance of the result; None is exact
    parts: tuple = ()         # the elements of a tuple

    def like(self, name, **changes):
        return dataclasses.replace(self, name=name, **changes)


def fits(t, top, step):
    """True if all multiples of 2**step up to top are normal numbers of the type, or zero."""
    precision, largest, smallest = FLOATS[COMPLEX.get(t, t)]
    return top <= largest and step >= smallest and top <= 2.0**(step + precision)


def in_range(t, top, step):
    _, largest, smallest = FLOATS[COMPLEX.get(t, t)]
    return top <= largest * 0.9 and step >= smallest


def own_zeros(v):
    """True if the signs of zeros are certain: XLA may lose those of arithmetic, and total orders distinguish them."""
    return not is_float(v.type) or v.name[:2] in ('p.', 'c.')
