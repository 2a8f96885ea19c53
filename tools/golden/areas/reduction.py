"""Reductions, scans along an axis, statistics."""
import jax
import jax.numpy as jnp
import numpy as np
from accuracy import exact
from arguments import bits, bools, given, ints, normal, uniform
from jax import lax
from registry import Area

area = Area('reduction')
FLOATS = ['f16', 'bf16', 'f32', 'f64', 'c64']
INTEGERS = ['s8', 's32', 's64', 'u8', 'u16', 'u32']

for t in FLOATS:
    area.add(f'sum_{t}', lambda x: (x.sum(), x.sum(axis=0), x.sum(axis=(0, 2)), x.mean(axis=-1)), [normal(3, 4, 5, t=t)],
             f'Sums and means over different dimensions in {t}.', x64=True)
    if t != 'c64':
        area.add(f'extrema_{t}', lambda x: (x.max(), x.min(0), x.max((1, 2)), x.argmax(1), x.argmin()), [normal(3, 4, 5, t=t)],
                 f'Maxima, minima and their places in {t}.', x64=True, rule=exact())
for t in INTEGERS:
    area.add(f'integers_{t}', lambda x: (lax.reduce_sum(x, (0,)), lax.reduce_prod(x, (1,)), x.max(2), x.min(), lax.reduce_and(x, (0, 1)),
                                         lax.reduce_or(x, (2,)), lax.reduce_xor(x, (0, 2)), x.argmax(2)), [bits(3, 4, 5, t=t)],
             f'All integer reductions in {t}; sums and products wrap.', x64=True, rule=exact())


@area.case(bools(4, 5), rule=exact())
def predicates(x):
    """All, any, exclusive or and counting of pred."""
    return x.all(), x.any(0), x.all(1), lax.reduce_xor(x, (1,)), x.sum(), x.argmax(1)


@area.case(normal(3, 4, 5), rule=exact())
def argmax_ties(x):
    """Arg-maximum and arg-minimum with ties: the first wins."""
    y = jnp.round(x)
    return y.argmax(0), y.argmin(1), y.argmax(), jnp.argmax(y, axis=2, keepdims=True)


@area.case(given([[1, np.nan, 3], [np.inf, 2, -np.inf], [np.nan, np.nan, np.nan]]), rule=exact())
def nan_reductions(x):
    """Maxima and minima over NaN and infinities, and the variants that skip NaN."""
    return x.max(1), x.min(1), jnp.nanmax(x[:2], 1), jnp.nanmin(x[:2], 1), jnp.argmax(x, 1), jnp.isnan(x).sum(1)


@area.case(uniform(0.5, 1.5, (4, 6)))
def product(x):
    """Products over rows, columns and all."""
    return x.prod(), x.prod(0), x.prod(1)


@area.case(normal(5, 6))
def moments(x):
    """Variance, standard deviation, norms and a standardised array."""
    return x.var(0), x.std(1, ddof=1), jnp.linalg.norm(x), jnp.abs(x).sum(1), (x - x.mean(0)) / x.std(0)


@area.case(normal(5, 6), normal(5, 6))
def covariance(x, y):
    """Covariance and correlation matrices."""
    return jnp.cov(x), jnp.corrcoef(x, y)


@area.case(normal(4, 7, scale=3))
def logsumexp_softmax(x):
    """Log-sum-exp, softmax and log-softmax along both axes."""
    return jax.nn.logsumexp(x, 1), jax.nn.softmax(x, 0), jax.nn.log_softmax(x, 1), jax.nn.logsumexp(x)


for t in ('f32', 'bf16', 'f64'):
    area.add(f'cumulative_{t}', lambda x: (jnp.cumsum(x, 0), jnp.cumsum(x, 1), lax.cumsum(x, 1, reverse=True)), [normal(5, 9, t=t)],
             f'Running sums along both axes and backwards in {t}.', x64=True)
area.add('cumulative_integers', lambda x: (jnp.cumsum(x, 1), jnp.cumprod(x, 0), lax.cummax(x, 1), lax.cummin(x, 0), lax.cummax(x, 1, reverse=True)),
         [ints(-9, 10, (5, 9))], 'Running sums, products, maxima and minima of integers.', rule=exact())
area.add('cumulative_product', lambda x: (jnp.cumprod(x, 1), lax.cumlogsumexp(x, 0)), [uniform(0.5, 1.5, (4, 9))], 'Running products and log-sum-exp.')
area.add('cumulative_extrema', lambda x: (lax.cummax(x, 0), lax.cummin(x, 1)), [normal(4, 9)], 'Running maxima and minima.', rule=exact())


@area.case(normal(4, 6), normal(4, 6), rule=exact())
def variadic(x, y):
    """A reduction of two arrays at once: the largest element of x and the element of y beside it."""
    def pick(a, b):
        keep = a[0] >= b[0]
        return jnp.where(keep, a[0], b[0]), jnp.where(keep, a[1], b[1])
    largest = lax.reduce((x, y), (np.float32(-np.inf), np.float32(0)), pick, (1,))
    return largest


@area.case(ints(-9, 10, (4, 6)), ints(-9, 10, (4, 6)), rule=exact())
def variadic_sums(x, y):
    """A reduction that sums one array and keeps the maximum of another."""
    return lax.reduce((x, y), (np.int32(5), np.int32(-100)), lambda a, b: (a[0] + b[0], jnp.maximum(a[1], b[1])), (0,))


@area.case(ints(0, 100, (3, 4)), rule=exact())
def custom_combiner(x):
    """A reduction whose combiner is a function of several instructions: greatest common divisor by hand, saturating sum."""
    return lax.reduce(x, np.int32(0), lambda a, b: jnp.minimum(a + b, 150), (1,)), lax.reduce(x, np.int32(0), lambda a, b: (a | b) & 0x5f, (0, 1))


@area.case(ints(0, 50, (3, 4)), rule=exact())
def non_neutral_init(x):
    """An initial value that is not neutral takes part once for each result."""
    return lax.reduce(x, np.int32(1000), lax.add, (1,)), lax.reduce(x, np.int32(25), lax.max, (0,)), lax.reduce(x, np.int32(3), lax.mul, (0, 1))


@area.case(given(np.zeros((0, 4))), given(np.zeros((3, 0))), rule=exact())
def empty(x, y):
    """Reductions over no elements give the initial value."""
    return x.sum(0), y.prod(1), y.sum(), lax.reduce(x, np.float32(-7), lax.max, (0,)), jnp.any(y > 0, 1)


@area.case(normal(2, 1, 3, 1))
def degenerate(x):
    """Reductions over dimensions of size one."""
    return x.sum((1, 3)), x.max(1), x.sum((0, 1, 2, 3)), x.mean((1,), keepdims=True)


@area.case(normal(1, 600))
def long_sum(x):
    """A sum of six hundred terms, with cancellation."""
    return x.sum(), (x - x.mean()).sum(1), jnp.abs(x).sum()


@area.case(ints(0, 2, (1, 900), 'bf16'), rule=exact())
def bf16_count(x):
    """A bf16 sum of ones and zeros, accumulated in f32."""
    return x.sum(), x.astype(jnp.float32).sum(1)


@area.case(normal(4, 8))
def weighted(x):
    """Weighted averages, median and quantiles."""
    w = jnp.exp(-jnp.arange(8.0) / 4)
    return jnp.average(x, 1, w), jnp.median(x, 1), jnp.quantile(x, jnp.array([0.25, 0.9]), axis=0)


@area.case(normal(3, 5))
def gradients(x):
    """Gradients of sum, maximum, product, norm and log-sum-exp."""
    return tuple(jax.grad(f)(x) for f in (lambda v: v.max(1).sum(), lambda v: (v**2).sum()**0.5, jax.nn.logsumexp, lambda v: v.var()))


@area.case(uniform(0, 10, (30,)), rule=exact())
def histogram(x):
    """A histogram with fixed edges, and the bin of each value."""
    edges = jnp.arange(0.0, 11.0, 2.0)
    return jnp.histogram(x, edges)[0], jnp.digitize(x, edges), jnp.searchsorted(edges, x, side='right')


@area.case(ints(-100, 100, (7, 5)), rule=exact())
def peak_to_peak(x):
    """Range, count of non-zeros, differences and discrete integral."""
    return jnp.ptp(x, 0), jnp.count_nonzero(x > 0, 1), jnp.diff(x, axis=0), jnp.ediff1d(x), jnp.max(x, 1, where=x < 50, initial=-1000)
