"""Conversions between element types, by value and by bits."""
import jax.numpy as jnp
import numpy as np
from accuracy import exact
from arguments import DTYPES, bits, bools, given, normal, uniform
from jax import lax
from registry import Area

area = Area('convert')
INTEGERS = ['s8', 's16', 's32', 's64', 'u8', 'u16', 'u32', 'u64']
FLOATS = ['f16', 'bf16', 'f32', 'f64']
TARGETS = ['pred'] + INTEGERS + FLOATS + ['c64', 'c128']


def to_all(x, targets):
    return tuple(lax.convert_element_type(x, DTYPES[t]) for t in targets)


for t in INTEGERS:
    area.add(f'from_{t}', lambda x: to_all(x, TARGETS), [bits(24, t=t)], f'From {t} to every type.', x64=True, rule=exact())
VALUES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 126.9, 127.5, 128.0, -128.5, -129.0, 255.9, 256.0, 300.0, 1000.25,
          32767.5, 60000.0, -60000.0, np.inf, -np.inf, np.nan]
LARGE = [2147483520.0, 2147483648.0, -2147483648.0, 4294967040.0, 4294967296.0, 1e18, 9.3e18, -9.3e18, 1.9e19, 3e38, -3e38]
for t in FLOATS:
    values = VALUES if t == 'f16' else VALUES + LARGE
    area.add(f'from_{t}', lambda x: to_all(x, TARGETS), [given(values, t)],
             f'From {t} to every type: truncation, saturation, NaN.', x64=True, rule=exact())
area.add('from_pred', lambda x: to_all(x, TARGETS), [bools(9)], 'From pred to every type.', x64=True, rule=exact())
area.add('from_complex', lambda x, y: to_all(x, ['c64', 'c128']) + to_all(y, ['c64', 'c128']),
         [normal(8, t='c64'), normal(8, t='c128')], 'Between the complex types.', x64=True, rule=exact())
area.add('f32_to_half_ties', lambda x: (x.astype(jnp.float16), x.astype(jnp.bfloat16)),
         [given([1 + 2**-11, 1 + 3 * 2**-11, 1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-20, 65519.0, 65520.0, 65504.0, 2.0**-14,
                 -1 - 2**-9, 3.3895314e38, 1 / 3])], 'Ties and overflow when f32 becomes f16 and bf16.', rule=exact())
area.add('f8_round_trip', lambda x: tuple(x.astype(t).astype(jnp.float32) for t in (jnp.float8_e4m3fn, jnp.float8_e5m2)),
         [normal(60, scale=20)], 'Through two 8-bit formats and back.', rule=exact())
area.add('f8_bits', lambda x: (x.astype(jnp.float32), x.astype(jnp.bfloat16), x.astype(jnp.int32)),
         [normal(40, t='f8e4m3fn', scale=40)], 'From f8e4m3fn to wider types.', rule=exact())


@area.case(bits(6, 4, t='u32'), bits(6, 2, t='u64'), normal(5, t='f16'), x64=True, rule=exact())
def bitcast_convert(x, y, h):
    """The same bits as another type, of equal, smaller and larger width."""
    b = lax.bitcast_convert_type
    return (b(x, jnp.int32), b(x, jnp.uint8), b(x, jnp.uint16), b(x.reshape(12, 2), jnp.uint64), b(y, jnp.int64), b(y, jnp.uint32),
            b(h, jnp.uint16), b(b(x, jnp.uint8), jnp.uint32))


@area.case(normal(20, scale=50), uniform(0, 255, (20,)), rule=exact())
def quantize(x, y):
    """Quantisation to s8 and u8 with a power-of-two scale, and back."""
    q = jnp.clip(jnp.round(x / 0.5), -128, 127).astype(jnp.int8)
    u = jnp.round(y).astype(jnp.uint8)
    return q, q.astype(jnp.float32) * 0.5, u, (u.astype(jnp.int32) - 128).astype(jnp.int8)


@area.case(normal(10, 3), rule=exact())
def mixed_chain(x):
    """Down and up again through several types."""
    h = x.astype(jnp.bfloat16)
    i = (h * 4).astype(jnp.int16)
    return h.astype(jnp.float16), i, i.astype(jnp.bool_), i.astype(jnp.float16).astype(jnp.float32) / 4
