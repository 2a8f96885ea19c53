"""Sort, argsort, several keys, top-k, search, and what is built on them."""
import jax
import jax.numpy as jnp
import numpy as np
from accuracy import exact
from arguments import bits, bools, given, ints, normal
from jax import lax
from registry import Area

area = Area('sorting')
RULE = exact()
for t in ('s8', 's32', 'u32', 's64', 'u8'):
    area.add(f'sort_{t}', lambda x: (jnp.sort(x, 0), jnp.sort(x, 1), jnp.argsort(x, 1)), [bits(5, 9, t=t)], f'Sort and argsort of {t} along both axes.', x64=True, rule=RULE)
for t in ('f16', 'bf16', 'f32', 'f64'):
    area.add(f'sort_{t}', lambda x: (jnp.sort(x, 0), jnp.sort(x, 1), jnp.argsort(x, 1)), [normal(5, 9, t=t)], f'Sort and argsort of {t} along both axes.', x64=True, rule=RULE)
SPECIAL = given([[3, np.nan, -1, np.inf, 0.0, -0.0, -np.inf, 2, np.nan, 1]] * 2)
INTS = ints(0, 5, (4, 12))
for name, program, arguments, description in [
    ('sort_special', lambda x: (jnp.sort(x), jnp.argsort(x)), [SPECIAL], 'NaN sorts last, infinities at the ends.'),
    ('sort_pred', lambda x: (jnp.sort(x), jnp.argsort(x)), [bools(3, 8)], 'Sort of pred.'),
    ('stable_argsort', lambda x: (jnp.argsort(x, 1), jnp.argsort(x, 0), jnp.argsort(x, 1, descending=True)), [INTS], 'Argsort with many equal keys is stable.'),
    ('descending', lambda x: (-jnp.sort(-x, 1), jnp.sort(x, 0, descending=True)), [INTS], 'Descending sorts.'),
    ('two_keys', lambda a, b, c: lax.sort((a, b, c), num_keys=2), [ints(0, 3, (14,)), ints(0, 4, (14,)), ints(0, 100, (14,))], 'A sort by two keys with a payload.'),
    ('lexsort', lambda a, b: jnp.lexsort((a, b)), [ints(0, 3, (14,)), ints(0, 3, (14,))], 'The order by a last key first.'),
    ('payload', lambda k, v: lax.sort((k, v), dimension=0, num_keys=1), [ints(0, 1000, (7, 3)), normal(7, 3)], 'Keys carry values along.'),
    ('key_value_floats', lambda k, v: lax.sort_key_val(k, v), [normal(9), bits(9, t='u8')], 'Float keys with 8-bit values.'),
    ('sort_complex', lambda x: jnp.sort(x), [normal(9, t='c64')], 'Complex values sort by real part, then imaginary part.'),
    ('top_k', lambda x: (*lax.top_k(x, 3), *lax.top_k(x[0], 1)), [normal(4, 9)], 'The greatest three of each row and their places.'),
    ('top_k_integers', lambda x: lax.top_k(x, 5), [INTS], 'The greatest five with ties: lower places first.'),
    ('top_k_all', lambda x: lax.top_k(x, 6), [normal(2, 6, t='bf16')], 'All elements in order, in bf16.'),
    ('searchsorted', lambda s, v: (jnp.searchsorted(jnp.sort(s), v), jnp.searchsorted(jnp.sort(s), v, side='right')), [ints(0, 30, (11,)), ints(-2, 33, (9,))], 'Places to insert, left and right.'),
    ('searchsorted_sort', lambda s, v: jnp.searchsorted(jnp.sort(s), v, method='sort'), [ints(0, 30, (11,)), ints(-2, 33, (9,))], 'Places to insert, found by sorting both.'),
    ('searchsorted_compare', lambda s, v: jnp.searchsorted(jnp.sort(s), v, method='compare_all'), [ints(0, 30, (11,)), ints(-2, 33, (9,))], 'Places to insert, found by comparing all.'),
    ('unique', lambda x: jnp.unique(x, size=8, fill_value=-1, return_counts=True, return_index=True, return_inverse=True), [ints(0, 8, (15,))], 'Distinct values with places, inverse and counts.'),
    ('set_operations', lambda a, b: (jnp.isin(a, b), jnp.union1d(a, b, size=12, fill_value=-1)), [ints(0, 15, (8,)), ints(0, 15, (6,))], 'Membership and union.'),
    ('rank', lambda x: jnp.argsort(jnp.argsort(x)), [ints(0, 1000, (12,))], 'Ranks by two argsorts.'),
    ('run_length', lambda x: jnp.diff(jnp.nonzero(jnp.concatenate([jnp.array([True]), x[1:] != x[:-1], jnp.array([True])]), size=13, fill_value=-1)[0]), [ints(0, 2, (14,))], 'Lengths of runs.'),
    ('sort_empty_and_one', lambda x: (jnp.sort(x[:, :1], 1), jnp.sort(x[:0], 0), jnp.argsort(x[:1, :1], 1)), [INTS], 'Sorting one element and none.'),
    ('sort_long', lambda x: (jnp.sort(x), jnp.argsort(x)), [ints(0, 5000, (700,))], 'Seven hundred elements.'),
    ('sort_middle_axis', lambda x: jnp.sort(x, 1), [normal(3, 6, 2)], 'Sorting along the middle of three axes.'),
    ('sort_rows', lambda x: x[jnp.lexsort(x.T[::-1])], [ints(0, 3, (10, 3))], 'Rows in lexicographic order.'),
    ('median_filter', lambda x: jnp.sort(jnp.stack([x[i:i + 8] for i in range(5)]), 0)[2], [normal(12)], 'A running median by sorting windows.'),
    ('partition', lambda x: (jnp.sort(jnp.partition(x, 4)[:4]), jnp.sort(jnp.argpartition(x, 4)[:4])), [ints(0, 1000, (11,))], 'Partition around the fourth element.'),
    ('shuffle_by_keys', lambda k, x: x[jnp.argsort(k)], [bits(12, t='u32'), ints(0, 99, (12,))], 'A permutation by sorting random keys.'),
    ('counting_sort', lambda x: jnp.repeat(jnp.arange(6), jnp.bincount(x, length=6), total_repeat_length=20), [ints(0, 6, (20,))], 'Counting sort.'),
    ('non_maximum_suppression', lambda x: lax.fori_loop(0, 9, lambda i, k: k.at[i].set(~jnp.any(k & (jnp.arange(9) < i) & (jnp.abs(x - x[i]) < 8))), jnp.zeros(9, bool)), [ints(0, 60, (9,))],
     'Greedy suppression of neighbours in order.'),
]:
    area.add(name, program, arguments, description, rule=RULE)


@area.case(normal(9), normal(9))
def gradient(x, w):
    """The gradient of a weighted sum of sorted values."""
    return jax.grad(lambda v: (jnp.sort(v) * w).sum())(x)


@area.case(ints(0, 100, (8,)), rule=RULE)
def bitonic(x):
    """A bitonic sorting network made of selects."""
    n = 8
    k = 2
    while k <= n:
        j = k // 2
        while j:
            i = np.arange(n)
            partner = x[i ^ j]
            up = (i & k) == 0
            low = i < (i ^ j)
            x = jnp.where(low == up, jnp.minimum(x, partner), jnp.maximum(x, partner))
            j //= 2
        k *= 2
    return x
