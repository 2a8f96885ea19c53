"""Integer and bit operations of every width, where every bit counts."""
import jax
import jax.numpy as jnp
import numpy as np
from accuracy import exact
from arguments import bits, bools, dtype, given, ints
from jax import lax
from registry import Area

area = Area('integers')
TYPES = ['s8', 's16', 's32', 's64', 'u8', 'u16', 'u32', 'u64']


def edges(t):
    info = np.iinfo(dtype(t))
    return [v for v in (0, 1, 2, 3, 7, info.max, info.max - 1, info.min, info.min + 1, -1, -2, -7, 100)
            if info.min <= v <= info.max]


def grid(t):
    """All pairs of edge values, as two arrays."""
    e = edges(t)
    return [given(np.repeat(np.array(e, dtype(t)), len(e)), t), given(np.tile(np.array(e, dtype(t)), len(e)), t)]


def arithmetic(a, b):
    return a + b, a - b, a * b, lax.div(a, b), lax.rem(a, b), lax.max(a, b), lax.min(a, b)


def bitwise(a, b):
    return a & b, a | b, a ^ b, ~a, lax.population_count(a), lax.clz(a)


def shifts(a, b):
    return lax.shift_left(a, b), lax.shift_right_logical(a, b), lax.shift_right_arithmetic(a, b)


def comparisons(a, b):
    return a == b, a != b, a < b, a <= b, a > b, a >= b


for t in TYPES:
    width = dtype(t).itemsize * 8
    area.add(f'arithmetic_edges_{t}', arithmetic, grid(t),
             f'{t}: add, subtract, multiply, divide, remainder, maximum, minimum at the edges, division by zero included.',
             x64=True, rule=exact())
    area.add(f'bits_{t}', bitwise, [bits(6, 10, t=t), bits(6, 10, t=t)],
             f'{t}: and, or, xor, not, population count, leading zeros on random bits.', x64=True, rule=exact())
    area.add(f'shifts_{t}', shifts, [bits(40, t=t), given(np.arange(40) % (width + 3), t)],
             f'{t}: the three shifts by 0 up to more than the width.', x64=True, rule=exact())
    area.add(f'compare_{t}', comparisons, grid(t), f'{t}: the six comparisons at the edges.', x64=True, rule=exact())

for t in ['s8', 's16', 's32', 's64']:
    area.add(f'unary_{t}', lambda a: (-a, abs(a), lax.sign(a)), [given(edges(t), t)],
             f'{t}: negate, abs and sign, the least value included.', x64=True, rule=exact())


@area.case(bools(20), bools(20), rule=exact())
def predicates(a, b):
    """Logical operations, comparisons and select on pred."""
    return a & b, a | b, a ^ b, ~a, a == b, a != b, a < b, a >= b, jnp.where(a, b, ~b), lax.max(a, b), lax.min(a, b)


@area.case(ints(-6, 7, (30,)), ints(0, 9, (30,)), rule=exact())
def integer_power(a, b):
    """Integer powers with small exponents, and floor division and modulo as NumPy defines them."""
    return a**b, a // (b + 1), a % (b + 1), jnp.divmod(a, -b - 1), jnp.gcd(a, b), jnp.lcm(a, b)


@area.case(bits(32, t='u32'), rule=exact())
def murmur_finalizer(h):
    """The finalizer of a 32-bit hash: shifts, xors and wrapping products."""
    h ^= h >> 16
    h *= np.uint32(0x85EBCA6B)
    h ^= h >> 13
    h *= np.uint32(0xC2B2AE35)
    return h ^ (h >> 16)


@area.case(bits(24, t='u8'), rule=exact())
def fnv1a(data):
    """The FNV-1a hash over the prefixes of a byte string."""
    def step(h, byte):
        h = (h ^ byte.astype(jnp.uint32)) * np.uint32(16777619)
        return h, h
    return lax.scan(step, np.uint32(2166136261), data)


@area.case(bits(16, t='u8'), rule=exact())
def crc32(data):
    """CRC-32, bit by bit in a nested loop."""
    def byte(crc, value):
        crc = crc ^ value.astype(jnp.uint32)
        return lax.fori_loop(0, 8, lambda _, c: jnp.where(c & 1 == 1, (c >> 1) ^ np.uint32(0xEDB88320), c >> 1), crc), None
    return ~lax.scan(byte, np.uint32(0xFFFFFFFF), data)[0]


@area.case(bits(4, t='u64'), x64=True, rule=exact())
def xorshift_u64(state):
    """Forty steps of a 64-bit xorshift generator with a multiplicative output."""
    def step(s, _):
        s = s ^ (s >> 12)
        s = s ^ (s << 25)
        s = s ^ (s >> 27)
        return s, s * np.uint64(0x2545F4914F6CDD1D)
    return lax.scan(step, state, None, length=40)


@area.case(bits(10, t='u32'), rule=exact())
def bit_reverse(x):
    """Reversal of 32 bits by masks and shifts, and by a loop."""
    for shift, mask in ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F), (8, 0x00FF00FF)):
        x = ((x >> shift) & np.uint32(mask)) | ((x & np.uint32(mask)) << shift)
    x = (x >> 16) | (x << 16)
    y = lax.fori_loop(0, 32, lambda i, p: (p[0] >> 1, (p[1] << 1) | (p[0] & 1)), (x, jnp.zeros_like(x)))[1]
    return x, y


@area.case(bits(12, t='u32'), bits(12, t='u32'), rule=exact())
def multiply_high(a, b):
    """The high word of a 32-bit product from 16-bit halves, and a rotate."""
    al, ah, bl, bh = a & 0xFFFF, a >> 16, b & 0xFFFF, b >> 16
    mid = ah * bl + ((al * bl) >> 16)
    high = ah * bh + (mid >> 16) + ((al * bh + (mid & 0xFFFF)) >> 16)
    return high, a * b, (a << (b & 31)) | (a >> ((32 - b) & 31))


@area.case(bits(16, t='u8'), rule=exact())
def pack_bits(x):
    """Unpacking bytes to bits and packing them again."""
    unpacked = (x[:, None] >> jnp.arange(8, dtype=jnp.uint8)) & 1
    packed = (unpacked << jnp.arange(8, dtype=jnp.uint8)).sum(axis=1, dtype=jnp.uint8)
    return unpacked, packed, jnp.packbits(unpacked.reshape(-1)), jnp.unpackbits(x)


@area.case(ints(0, 1 << 16, (20,), 'u32'), rule=exact())
def morton_codes(x):
    """Interleaving the bits of two coordinates and taking them apart."""
    def spread(v):
        for shift, mask in ((8, 0x00FF00FF), (4, 0x0F0F0F0F), (2, 0x33333333), (1, 0x55555555)):
            v = (v | (v << shift)) & np.uint32(mask)
        return v
    code = spread(x) | (spread(x[::-1]) << 1)
    return code, jnp.sort(code)


@area.case(given([1.0, -1.0, 0.15625, 3.14159, -2e10, 1e-20]), rule=exact())
def float_fields(x):
    """Sign, exponent and mantissa of a float through bitcast-convert, and the fast inverse square root's first guess."""
    u = lax.bitcast_convert_type(x, jnp.uint32)
    guess = lax.bitcast_convert_type(np.uint32(0x5F3759DF) - (u >> 1), jnp.float32)
    return u >> 31, (u >> 23) & 255, u & 0x7FFFFF, guess


@area.case(ints(1, 200, (40,)), rule=exact())
def collatz(x):
    """Length of the Collatz sequence of each number, by one while loop over all."""
    def body(state):
        n, steps = state
        live = n != 1
        n = jnp.where(live, jnp.where(n % 2 == 0, n // 2, 3 * n + 1), n)
        return n, steps + live
    return lax.while_loop(lambda s: jnp.any(s[0] != 1), body, (x, jnp.zeros_like(x)))[1]


@area.case(bits(5, 8, t='s8'), bits(8, 4, t='s8'), rule=exact())
def saturating_add(a, b):
    """Saturating 8-bit addition through wider arithmetic, and a product kept modulo 256."""
    wide = a.astype(jnp.int16) + b.T.astype(jnp.int16)[:1]
    return jnp.clip(wide, -128, 127).astype(jnp.int8), jnp.dot(a, b), jnp.dot(a, b, preferred_element_type=jnp.int32)


@area.case(rule=exact())
def prime_sieve():
    """The sieve of Eratosthenes below 200."""
    n = 200

    def strike(i, sieve):
        multiples = (jnp.arange(n) % i == 0) & (jnp.arange(n) > i)
        return jnp.where(sieve[i], sieve & ~multiples, sieve)
    sieve = lax.fori_loop(2, 15, strike, jnp.arange(n) >= 2)
    return sieve, sieve.sum(), jnp.nonzero(sieve, size=46)[0]


@area.case(ints(2, 1000, (8,), 'u32'), ints(2, 1000, (8,), 'u32'), rule=exact())
def modular_power(base, exponent):
    """Powers modulo a prime by repeated squaring in a while loop."""
    p = np.uint32(65521)

    def body(s):
        b, e, r = s
        return b * b % p, e >> 1, jnp.where(e & 1 == 1, r * b % p, r)
    return lax.while_loop(lambda s: jnp.any(s[1] > 0), body, (base % p, exponent, jnp.ones_like(base)))[2]
