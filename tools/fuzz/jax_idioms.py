"""Idioms of real programs in JAX. Each takes arrays from a pool and adds its results. Floats contain small integers
unless a program is inexact."""
import random

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

SIZES = (1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 32, 33, 64, 100)
TYPES = (jnp.float32, jnp.float32, jnp.float32, jnp.int32, jnp.int32, jnp.int8, jnp.uint8, jnp.bool_)


class Pool:
    def __init__(self, rng, values):
        self.rng, self.values = rng, list(values)

    def any(self):
        return self.rng.choice(self.values[-4:] if self.rng.random() < 0.5 else self.values)

    def matrix(self, dtype=jnp.float32):
        """Reshapes to two dimensions of at least one element."""
        x = self.any()
        return tame(x.reshape(x.shape[0] if x.ndim else 1, -1)).astype(dtype)

    def like(self, shape, dtype=jnp.float32):
        return tame(jnp.resize(self.any(), shape)).astype(dtype)

    def add(self, *values):
        self.values += [tame(v) for v in values]


def tame(x):
    if x.dtype == jnp.bool_:
        return x
    if jnp.issubdtype(x.dtype, jnp.integer):
        return x
    return jnp.clip(x, -4, 4)


def small(x):
    """Maps integers to small numbers."""
    return lax.rem(x, jnp.asarray(5, x.dtype)) if jnp.issubdtype(x.dtype, jnp.integer) else x


def scan(p):
    xs, reverse = p.matrix(), p.rng.random() < 0.3
    other = p.like(xs.shape[1:])

    def step(carry, x):
        a, b, i = carry
        new = tame(a + x) if p.rng.random() < 0.5 else jnp.maximum(b, x)
        return (b, new, i + 1), (new - a, i)
    (a, b, i), ys = lax.scan(step, (other, xs[0], 0), xs, reverse=reverse)
    p.add(a, b, *ys)


def updates(p):
    x = p.matrix()
    rows, n = x.shape[0], p.rng.randint(1, 5)

    def body(i, state):
        x, seen, total = state
        row = (jnp.abs(x[i % rows, 0]).astype(jnp.int32) + i) % rows
        before = lax.dynamic_index_in_dim(x, row, keepdims=False)
        new = lax.dynamic_update_index_in_dim(x, tame(before + seen), row, 0)
        return new, before, tame(total + new.sum(0) - x[0])
    p.add(*lax.fori_loop(0, n, body, (x, p.like(x.shape[1:]), p.like(x.shape[1:]))))


def early_exit(p):
    x, limit = p.like((p.rng.choice(SIZES),)), p.rng.randint(0, 20)

    def more(state):
        i, x, _ = state
        return (i < 7) & (x.sum() < limit)
    i, x, history = lax.while_loop(more, lambda s: (s[0] + 1, tame(s[1] + 1), jnp.concatenate([s[2][1:], s[1][None]])),
                                   (0, x, jnp.zeros((4,) + x.shape)))
    p.add(i, x, history)


def branches(p):
    x, y = p.matrix(), p.any()
    half = max(1, x.shape[0] // 2)
    index = small(p.like((), jnp.int32))
    p.add(lax.switch(index, [lambda x: x[:half], lambda x: x[x.shape[0] - half:], lambda x: jnp.zeros_like(x[:half])], x))
    p.add(lax.cond(index > 0, lambda x, y: (x.sum(0), y), lambda x, y: (x[0], jnp.zeros_like(y)), x, y)[0])


def select(p):
    x = p.matrix()
    y, z = p.like(x.shape), p.like(x.shape, jnp.int32)
    p.add(jnp.select([x > 1, z > 0, (x < y) & (z == 0)], [x, y, jnp.zeros_like(x)], default=p.rng.choice([0.0, 2.0])))
    p.add(jnp.where(jnp.isfinite(x) ^ (y > 0), x, -y).argmax(p.rng.randint(0, 1)))


def stacks(p):
    x = p.matrix()
    s = jnp.stack([jnp.zeros_like(x), x, p.like(x.shape)][:p.rng.randint(2, 3)], axis=p.rng.randint(0, 2))
    axis = p.rng.randint(0, 2)
    p.add(s.max(axis), s.argmin(axis), jnp.concatenate([jnp.ones_like(x[:1]), x]) * 2, jnp.roll(x, p.rng.randint(-3, 3), axis=p.rng.randint(0, 1)))


def sorts(p):
    x = p.matrix()
    values, places = lax.top_k(x, p.rng.randint(1, x.shape[-1]))
    p.add(values, places, jnp.sort(x, axis=p.rng.randint(0, 1)), jnp.argsort(p.like(x.shape, jnp.int32) % 3, axis=-1))


def sums(p):
    x = p.matrix()
    axis = p.rng.randint(0, 1)
    ids = jnp.abs(small(p.like(x.shape[:1], jnp.int32)))
    p.add(jnp.cumsum(x, axis), lax.cummax(x, axis), jax.ops.segment_sum(x, ids, num_segments=p.rng.randint(1, 6)),
          lax.associative_scan(jnp.maximum, x, axis=axis))


def indexing(p):
    x = p.matrix()
    ids = p.like((p.rng.randint(1, 9),), jnp.int32)
    mode = p.rng.choice(['clip', 'drop', 'promise_in_bounds'])
    if mode == 'promise_in_bounds':
        ids, mode = ids % x.shape[0], 'clip'
    p.add(x.at[ids].get(mode='fill', fill_value=1), x.at[ids].add(p.like((len(ids),) + x.shape[1:]), mode=mode), x.at[:, 0].max(2.0),
          jnp.take(x, ids, axis=0, mode='clip'), jax.vmap(lambda row, i: lax.dynamic_slice(row, (i,), (max(1, x.shape[1] // 2),)))(x, jnp.arange(x.shape[0]) % 3))


def products(p):
    x = p.matrix()
    w = p.like((x.shape[1], p.rng.choice(SIZES)))
    y = tame(x @ w + p.like((w.shape[1],)))
    p.add(y, jnp.maximum(y, 0).T, jnp.einsum('ij,kj->ik', x, p.like((5, x.shape[1]))), (y.T @ y).sum(0))
    p.add(jax.grad(lambda v: jnp.sum(tame(v @ w) * 2))(x))


def tokens(p):
    x = p.matrix()
    batch = jnp.stack([x, p.like(x.shape)])
    token = jnp.broadcast_to(p.rng.choice([jnp.zeros((x.shape[1],)), p.like((x.shape[1],))]), (2, 1, x.shape[1]))
    y = jnp.concatenate([token, batch], axis=1) + p.like((x.shape[0] + 1, x.shape[1]))
    p.add(y, y[:, 0], lax.dynamic_update_slice(y, token, (0, p.rng.randint(0, x.shape[0]), 0)))


def types(p):
    x = p.any()
    for _ in range(3):
        x = small(x).astype(p.rng.choice(TYPES))
        p.add(x)
    p.add((p.like((3, 17), jnp.int8).astype(jnp.int32) << 2) ^ 5, jnp.pad(p.matrix(), ((1, 2), (0, 3)), constant_values=1))


def norms(p):
    x = p.matrix()
    centred = x - x.mean(-1, keepdims=True)
    y = centred * lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1) * p.like(x.shape[1:])
    p.add(jax.nn.softmax(x, axis=p.rng.randint(0, 1)) + x, y + x, jnp.tanh(y), jax.nn.gelu(x))


EXACT = (scan, updates, early_exit, branches, select, stacks, sorts, sums, indexing, products, tokens, types)
# Discontinuous operations must not follow inexact results.
SMOOTH = (norms, norms, scan, products, tokens)


def program(seed):
    """Returns (function, arguments, is_exact)."""
    rng = random.Random(seed)
    data = np.random.default_rng(seed)
    is_exact = rng.random() < 0.85
    arguments = []
    for _ in range(rng.randint(1, 3)):
        shape = tuple(rng.choice(SIZES) for _ in range(rng.randint(1, 3)))
        while np.prod(shape) > 6000:
            shape = shape[1:]
        x = data.integers(-3, 4, shape)
        arguments.append(x.astype(np.float32) if rng.random() < 0.7 else x.astype(np.int32))
    idioms = [rng.choice(EXACT if is_exact else SMOOTH) for _ in range(rng.randint(1, 4))]
    state = rng.getrandbits(32)

    def function(*values):
        pool = Pool(random.Random(state), values)
        for idiom in idioms:
            idiom(pool)
        return tuple(v for i, v in enumerate(pool.values[len(values):]) if v.size and (i % 2 == 0 or i + 4 > len(pool.values)))
    return function, arguments, is_exact
