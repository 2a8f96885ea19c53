"""While, conditional, scan, map and call, alone and inside each other."""
import jax
import jax.numpy as jnp
from accuracy import exact
from arguments import bools, given, ints, normal, uniform
from jax import lax
from registry import Area

area = Area('control_flow')


@area.case(ints(-3, 9, (6,)), rule=exact())
def while_sum(x):
    """A while loop whose trip count is data."""
    return lax.while_loop(lambda s: s[0] < x[0] + 10, lambda s: (s[0] + 1, s[1] + x * s[0]), (jnp.int32(0), jnp.zeros_like(x)))


@area.case(ints(0, 5, (4,)), rule=exact())
def while_never(x):
    """A while loop whose condition is false at once."""
    return lax.while_loop(lambda s: s[0] < 0, lambda s: (s[0] + 1, s[1] * 2), (jnp.int32(0), x))


@area.case(ints(0, 100, (5, 7)), rule=exact())
def fori_dynamic_update(x):
    """A loop that writes one row at a time."""
    return lax.fori_loop(0, 5, lambda i, acc: acc.at[4 - i].set(x[i] * i), jnp.zeros_like(x))


@area.case(ints(0, 7), ints(1, 100, (6,)), rule=exact())
def fori_dynamic_bound(n, x):
    """A loop whose bound is an argument."""
    return lax.fori_loop(0, n, lambda i, s: s * 3 + x[i % 6], jnp.int32(1))


@area.case(ints(0, 9, (4, 5)), rule=exact())
def nested_while(x):
    """Three loops inside each other."""
    def outer(i, acc):
        def middle(j, acc):
            return lax.fori_loop(0, j + 1, lambda k, a: a + x[i, j] * (k + 1), acc)
        return lax.fori_loop(0, 5, middle, acc * 2)
    return lax.fori_loop(0, 4, outer, jnp.int32(0))


@area.case(normal(6, 3), normal(3, 3, scale=0.5))
def scan_rnn(xs, w):
    """A recurrent network by scan, with final state and all states."""
    def step(h, x):
        h = jnp.tanh(h @ w + x)
        return h, h * 2
    return lax.scan(step, jnp.zeros(3), xs)


@area.case(normal(6, 3), normal(3, 3, scale=0.5))
def scan_rnn_gradient(xs, w):
    """The gradient of a recurrent network: a scan forwards and one backwards."""
    def loss(w, xs):
        h, _ = lax.scan(lambda h, x: (jnp.tanh(h @ w + x), None), jnp.zeros(3), xs)
        return (h**2).sum()
    return jax.grad(loss, (0, 1))(w, xs)


@area.case(ints(0, 50, (8,)), rule=exact())
def scan_reverse(x):
    """A scan from the end, its outputs at the places of its inputs."""
    return lax.scan(lambda c, v: (c * 2 + v, c), jnp.int32(0), x, reverse=True)


@area.case(ints(0, 50, (3, 4)), {'a': ints(0, 5, (3,)), 'b': ints(0, 5, (3, 2))}, rule=exact())
def scan_trees(x, tree):
    """A scan over several arrays with a nested carry."""
    def step(carry, item):
        row, t = item
        n, acc = carry
        return (n + t['a'], acc + row), {'sum': row.sum() + n, 'b': t['b'][::-1]}
    return lax.scan(step, (jnp.int32(0), jnp.zeros(4, jnp.int32)), (x, tree))


@area.case(bools(), normal(3, 3), rule=exact())
def cond_simple(p, x):
    """A conditional on a pred."""
    return lax.cond(p, lambda v: v.T, lambda v: -v, x)


for index in (-4, 0, 1, 2, 9):
    area.add(f'switch_{"minus_" if index < 0 else ""}{abs(index)}',
             lambda i, x: lax.switch(i, [lambda v: v + 1, lambda v: v[::-1], lambda v: v * v], x),
             [given(index, 's32'), ints(0, 9, (5,))], f'A three-way conditional with branch index {index}.', rule=exact())


@area.case(ints(0, 4, (10,)), rule=exact())
def switch_in_scan(ops):
    """A stack machine: a conditional with four branches inside a scan."""
    branches = [lambda a: a + 3, lambda a: a * 2, lambda a: a - 5, lambda a: -a]
    return lax.scan(lambda acc, op: (lax.switch(op, branches, acc),) * 2, jnp.int32(1), ops)


@area.case(ints(-20, 20, (6,)), rule=exact())
def cond_in_while(x):
    """Conditionals inside a while loop, nested."""
    def body(s):
        i, acc = s
        v = x[i]
        acc = lax.cond(v > 0, lambda a: lax.cond(v % 2 == 0, lambda b: b + v, lambda b: b * 2, a), lambda a: a - 1, acc)
        return i + 1, acc
    return lax.while_loop(lambda s: (s[0] < 6) & (s[1] < 1000), body, (jnp.int32(0), jnp.int32(3)))


@area.case(normal(5, 4), rule=exact())
def map_rows(x):
    """A function mapped over rows by a loop."""
    return lax.map(lambda r: jnp.stack([r.max(), r.min()]), x), lax.map(lambda r: r[::-1], x, batch_size=2)


@area.case(normal(9), normal(9))
def associative_scan_linear(a, b):
    """A first-order linear recurrence by associative scan."""
    return lax.associative_scan(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), (a, b))


@area.case(ints(-9, 10, (11,)), rule=exact())
def associative_scan_max(x):
    """Running maxima and wrapping products by associative scan, forwards and backwards."""
    return lax.associative_scan(jnp.maximum, x), lax.associative_scan(jnp.multiply, x, reverse=True)


@area.case(bools(8), ints(0, 9, (8, 2)), rule=exact())
def vmapped_cond(p, x):
    """A conditional under vmap becomes a select."""
    return jax.vmap(lambda q, v: lax.cond(q, lambda w: w.sum(), lambda w: w[0] * 100, v))(p, x)


@area.case(ints(1, 40, (9,)), rule=exact())
def vmapped_while(x):
    """A while loop under vmap runs until the last lane is done."""
    return jax.vmap(lambda v: lax.while_loop(lambda s: s[0] > 1, lambda s: (s[0] // 2, s[1] + 1), (v, jnp.int32(0)))[1])(x)


@area.case(uniform(1, 100, (6,)))
def newton_sqrt(a):
    """Square roots by Newton's iteration, a fixed number of steps."""
    return lax.fori_loop(0, 20, lambda _, x: 0.5 * (x + a / x), a)


@area.case(ints(0, 30), rule=exact())
def fibonacci(n):
    """A loop that swaps its carried values."""
    return lax.fori_loop(0, n, lambda _, p: (p[1], p[0] + p[1]), (jnp.int32(0), jnp.int32(1)))


@area.case(ints(0, 100, (16,)), rule=exact())
def calls_shared(x):
    """One jitted function called several times: shared computations."""
    @jax.jit
    def twist(v):
        return jnp.roll(v, 1) ^ (v * 3)
    return twist(twist(x)), twist(x + 1)


@area.case(normal(4), normal(4))
def custom_gradient(x, y):
    """Functions with rules of their own for differentiation, and a rematerialised one."""
    @jax.custom_vjp
    def clip_gradient(v):
        return v
    clip_gradient.defvjp(lambda v: (v, None), lambda _, g: (jnp.clip(g, -0.5, 0.5),))

    @jax.checkpoint
    def inner(v):
        return jnp.sin(v) * jnp.cos(v)
    return jax.value_and_grad(lambda a, b: (clip_gradient(a * b) * 3 + inner(a)).sum(), (0, 1))(x, y)


@area.case(ints(0, 9, (10,)), rule=exact())
def insertion_sort(x):
    """Insertion sort by nested while loops."""
    def insert(i, a):
        v = a[i]

        def shift(s):
            j, a = s
            return j - 1, a.at[j].set(a[j - 1])
        j, a = lax.while_loop(lambda s: (s[0] > 0) & (s[1][s[0] - 1] > v), shift, (i, a))
        return a.at[j].set(v)
    return lax.fori_loop(1, 10, insert, x)


@area.case(ints(0, 100, (12,)), rule=exact())
def binary_search(x):
    """Binary search by a while loop in a sorted array."""
    s = jnp.sort(x)

    def find(v):
        def body(r):
            lo, hi = r
            mid = (lo + hi) // 2
            return lax.cond(s[mid] < v, lambda: (mid + 1, hi), lambda: (lo, mid))
        return lax.while_loop(lambda r: r[0] < r[1], body, (jnp.int32(0), jnp.int32(12)))[0]
    return jax.vmap(find)(jnp.arange(0, 100, 9))


@area.case(normal(5, t='bf16'), normal(5, t='bf16'))
def bf16_loop(x, y):
    """A bf16 accumulation in a loop, rounded in each step."""
    return lax.fori_loop(0, 8, lambda i, a: a * jnp.bfloat16(0.5) + y, x)


@area.case(ints(0, 5, (3,)), rule=exact())
def zero_trip_scan(x):
    """A scan over nothing."""
    return lax.scan(lambda c, v: (c + v, c), x, jnp.zeros((0, 3), jnp.int32))
