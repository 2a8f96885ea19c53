"""Random numbers by the counter-based generator that lowers to plain HLO: every bit is determined by the key."""
import jax
import jax.numpy as jnp
import numpy as np
from accuracy import exact
from arguments import bits, given, normal
from jax import lax
from registry import Area

area = Area('randomness')
KEY = [bits(2, t='u32')]


def keyed(f):
    return lambda key: f(jax.random.wrap_key_data(key, impl='threefry2x32'))


for name, program, description in [
    ('bits_u32', lambda k: jax.random.bits(k, (13,)), 'Random words of 32 bits, an odd number of them.'),
    ('bits_u8', lambda k: jax.random.bits(k, (10,), jnp.uint8), 'Random bytes.'),
    ('split', lambda k: jax.random.key_data(jax.random.split(k, 3)), 'A key split in three.'),
    ('fold_in', lambda k: jax.random.key_data(jax.random.fold_in(k, 7)), 'A number folded into a key.'),
    ('uniform', lambda k: jax.random.uniform(k, (4, 5)), 'Uniform floats in [0, 1), from the mantissa.'),
    ('randint', lambda k: jax.random.randint(k, (20,), -5, 100), 'Integers in a range.'),
    ('bernoulli', lambda k: jax.random.bernoulli(k, 0.3, (20,)), 'Biased coins.'),
    ('permutation', lambda k: jax.random.permutation(k, 11), 'A random permutation by sorting.'),
    ('shuffle_rows', lambda k: jax.random.permutation(k, jnp.arange(12).reshape(4, 3)), 'Shuffled rows.'),
    ('choice', lambda k: jax.random.choice(k, 10, (6,), replace=False), 'A choice without replacement.'),
]:
    area.add(name, keyed(program), KEY, description, rule=exact())
for name, program, description in [
    ('normal', lambda k: jax.random.normal(k, (4, 5)), 'Normal floats by the inverse error function.'),
    ('truncated_normal', lambda k: jax.random.truncated_normal(k, -1.5, 1.5, (10,)), 'Normal floats in an interval.'),
    ('exponential', lambda k: jax.random.exponential(k, (10,)), 'Exponential floats.'),
    ('gumbel_cauchy_laplace', lambda k: (jax.random.gumbel(k, (6,)), jax.random.laplace(k, (6,))), 'Gumbel and Laplace floats.'),
    ('categorical', lambda k: jax.random.categorical(k, jnp.log(jnp.array([0.1, 0.2, 0.3, 0.4])), shape=(12,)), 'Categories by the Gumbel trick.'),
    ('random_walk', lambda k: jnp.cumsum(jax.random.normal(k, (12, 2)), 0), 'A random walk in the plane.'),
    ('monte_carlo_pi', lambda k: ((jax.random.uniform(k, (200, 2))**2).sum(1) < 1.0001).sum() * 4 / 200, 'An estimate of pi.'),
    ('dirichlet_like', lambda k: jax.nn.softmax(jax.random.normal(k, (3, 4)) * 2), 'Random probability rows.'),
]:
    area.add(name, keyed(program), KEY, description)
area.add('uniform_f64', keyed(lambda k: jax.random.uniform(k, (8,), jnp.float64)), KEY, 'Uniform f64 from 64 random bits.', x64=True, rule=exact())
area.add('uniform_bf16', keyed(lambda k: jax.random.uniform(k, (8,), jnp.bfloat16)), KEY, 'Uniform bf16.', rule=exact())


@area.case(bits(2, t='u32'), normal(3))
def langevin(key, x):
    """Noisy gradient steps, a key split in each."""
    def step(s, _):
        x, k = s
        k, sub = jax.random.split(k)
        x = x - 0.1 * x + 0.1 * jax.random.normal(sub, (3,))
        return (x, k), x
    (x, k), xs = lax.scan(step, (x, jax.random.wrap_key_data(key, impl='threefry2x32')), None, length=4)
    return x, jax.random.key_data(k), xs


@area.case(given([0, 0], 'u32'), given([0x13198A2E, 0x03707344], 'u32'), rule=exact())
def threefry_rounds(key, counter):
    """Twenty rounds of Threefry-2x32 written out."""
    rotations = ((13, 15, 26, 6), (17, 29, 16, 24))
    ks = (key[0], key[1], key[0] ^ key[1] ^ np.uint32(0x1BD11BDA))
    x0, x1 = counter[0] + ks[0], counter[1] + ks[1]
    for g in range(5):
        for r in rotations[g % 2]:
            x0 = x0 + x1
            x1 = ((x1 << r) | (x1 >> (32 - r))) ^ x0
        x0, x1 = x0 + ks[(g + 1) % 3], x1 + ks[(g + 2) % 3] + np.uint32(g + 1)
    return jnp.stack([x0, x1])


@area.case(bits(6, t='u32'), rule=exact())
def linear_congruential(seed):
    """A linear congruential generator with wrapping products."""
    return lax.scan(lambda s, _: (s * np.uint32(1664525) + np.uint32(1013904223), s >> 16), seed, None, length=10)


@area.case(rule=exact())
def halton_sequence():
    """A low-discrepancy sequence: the radical inverse in base two."""
    def digit(_, s):
        i, f, r = s
        return i // 2, f / 2, r + f * (i % 2)
    i = jnp.arange(32)
    return lax.fori_loop(0, 6, digit, (i, jnp.full(32, 0.5), jnp.zeros(32)))[2]
