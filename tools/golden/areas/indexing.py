"""Gather, scatter, dynamic-slice and dynamic-update-slice, in the many forms that indexing takes."""
import jax
import jax.numpy as jnp
from accuracy import exact
from arguments import bools, given, ints, normal, permutation
from jax import lax
from registry import Area

area = Area('indexing')
INDEX_TYPES = ['s8', 's16', 's32', 's64', 'u8', 'u16', 'u32', 'u64']

for t in INDEX_TYPES:
    area.add(f'dynamic_slice_{t}', lambda x, i, j: lax.dynamic_slice(x, (i, j), (2, 3)),
             [normal(5, 6), given(3, t), given(4, t)], f'A dynamic slice at {t} indices, one of which is clamped.', x64=True, rule=exact())

for name, i, j in (('inside', 1, 2), ('negative', -3, 1), ('beyond', 2, 9), ('far', 2147483647, -2147483648)):
    area.add(f'update_slice_{name}', lambda x, u, i, j: lax.dynamic_update_slice(x, u, (i, j)),
             [normal(4, 5), normal(2, 2), given(i, 's32'), given(j, 's32')], f'A dynamic update at ({i}, {j}): starts are clamped.', rule=exact())

# Modes of out-of-bounds indices in both directions.
OUT = given([0, 4, -1, -6, 5, 100, 2], 's32')
for mode in ('clip', 'fill', 'wrap', 'promise_in_bounds'):
    indices = given([0, 4, 1, 2], 's32') if mode == 'promise_in_bounds' else OUT
    area.add(f'take_{mode}', lambda x, i, m=mode: jnp.take(x, i, axis=0, mode=None if m == 'promise_in_bounds' else m),
             [normal(5, 3), indices], f'Rows by index, mode {mode}.', rule=exact())
for mode in ('drop', 'clip'):
    for operation in ('set', 'add', 'mul', 'min', 'max'):
        area.add(f'at_{operation}_{mode}', lambda x, i, u, o=operation, m=mode: getattr(x.at[i], o)(u, mode=m),
                 [ints(-9, 10, (5, 3)), given([0, 4, 5, 100, -6, 2], 's32'), ints(-3, 4, (6, 3))],
                 f'Scatter {operation} of rows, indices out of bounds, mode {mode}.', rule=exact())

area.add('at_add_duplicates', lambda x, i, u: x.at[i].add(u), [normal(4, 3), given([1, 1, 3, 1, 3], 's32'), normal(5, 3)],
         'Floating scatter-add with duplicate indices.')
area.add('at_multiply_float', lambda x, i, u: (x.at[i].multiply(u), x.at[i].divide(u)),
         [normal(6), given([0, 5, 3], 's32'), normal(3)], 'Multiply and divide at indices.')


def forms(*rows):
    for name, description, program, arguments in rows:
        area.add(name, program, arguments, description, rule=exact())


x345 = normal(3, 4, 5)
forms(
    ('rows', 'Rows of a matrix by an index array of rank two.', lambda x, i: x[i], [normal(6, 3), ints(0, 6, (2, 4))]),
    ('columns', 'Columns of a matrix.', lambda x, i: (x[:, i], x[1:4, i]), [normal(5, 6), ints(0, 6, (3,))]),
    ('points', 'Single elements by coordinate arrays.', lambda x, i, j: (x[i, j], x[i[:, None], j]), [normal(5, 6), ints(0, 5, (4,)), ints(0, 6, (4,))]),
    ('mixed', 'Advanced indices split by a slice, beside new axes and ellipsis.',
     lambda x, i, j: (x[i, :, j], x[..., i], x[i, None, 1:3], x[:, j][..., ::2]), [x345, ints(0, 3, (2,)), ints(0, 4, (2,))]),
    ('scalar_index', 'A scalar index drops the dimension.', lambda x, i: (x[i], x[:, i], x[-1, i], x[i, i, i]), [x345, given(2, 's32')]),
    ('negative_index', 'Negative indices count from the end.', lambda x, i: (x[i], x[:, i]), [normal(4, 4), given([-1, -4, 0, -2], 's32')]),
    ('boolean_mask', 'Boolean masks by where and by nonzero with a fixed size.',
     lambda x, m: (jnp.where(m, x, 0), x[jnp.nonzero(m, size=6, fill_value=0)], jnp.argwhere(m, size=5)), [normal(4, 5), bools(4, 5, p=0.4)]),
    ('take_along_axis', 'One index for each place, along each axis.',
     lambda x, i: (jnp.take_along_axis(x, i, 0), jnp.take_along_axis(x, i % 3, 1)), [normal(4, 3), ints(0, 4, (4, 3))]),
    ('put_along_axis', 'Values put at one index for each row.', lambda x, i, v: jnp.put_along_axis(x, i, v, 1, inplace=False),
     [normal(4, 5), ints(0, 5, (4, 1)), normal(4, 1)]),
    ('window_gather', 'Windows of a sequence: slices at many starts, some out of bounds.',
     lambda x, i: jax.vmap(lambda s: lax.dynamic_slice(x, (s, 0), (3, 2)))(i), [normal(8, 2), given([0, 2, 5, 7, -4], 's32')]),
    ('window_scatter', 'Windows written at many starts, in order.',
     lambda x, i, u: lax.fori_loop(0, 3, lambda k, a: lax.dynamic_update_slice(a, u[k], (i[k],)), x), [normal(10), given([1, 2, 9], 's32'), normal(3, 3)]),
    ('batched_gather', 'A gather under vmap: batching dimensions.', lambda x, i: jax.vmap(lambda a, k: a[k])(x, i), [normal(3, 6, 2), ints(0, 6, (3, 4))]),
    ('batched_gather_inner', 'A gather whose batch is not the first dimension.',
     lambda x, i: jax.vmap(lambda a, k: a[k], (1, 0), 1)(x, i), [normal(6, 3, 2), ints(0, 6, (3, 4))]),
    ('batched_scatter', 'Scatter-set, -add and -max under vmap: batching dimensions.',
     lambda x, i, u: tuple(jax.vmap(lambda a, k, v, o=o: getattr(a.at[k], o)(v))(x, i, u) for o in ('set', 'add', 'max')),
     [ints(0, 50, (3, 6)), given([[0, 5, 2], [1, 4, 3], [5, 0, 1]], 's32'), ints(0, 90, (3, 3))]),
    ('batched_dynamic_slice', 'A dynamic slice under vmap with one start for each row.',
     lambda x, i: jax.vmap(lambda a, k: lax.dynamic_slice(a, (k,), (3,)))(x, i), [normal(4, 7), given([0, 4, 6, -2], 's32')]),
    ('batched_update_slice', 'A dynamic update under vmap with one start for each row.',
     lambda x, u, i: jax.vmap(lambda a, v, k: lax.dynamic_update_slice(a, v, (k,)))(x, u, i), [normal(4, 7), normal(4, 2), given([0, 5, 6, -2], 's32')]),
    ('gather_2d_windows', 'Patches of an image at random corners.',
     lambda x, ij: jax.vmap(lambda c: lax.dynamic_slice(x, (c[0], c[1], 0), (2, 3, 2)))(ij), [normal(6, 7, 2), ints(-1, 7, (4, 2))]),
    ('embedding_one_hot', 'An embedding by gather and by one-hot select.',
     lambda w, i: (w[i], jnp.where(i[..., None, None] == jnp.arange(7)[:, None], w, 0).max(axis=-2, initial=-1e9)), [normal(7, 3), ints(0, 7, (2, 3))]),
    ('histogram', 'Counting by scatter-add.', lambda i: (jnp.zeros(8, jnp.int32).at[i].add(1), jnp.bincount(i, length=8)), [ints(0, 8, (40,))]),
    ('segment_ops', 'Segment sum, maximum and minimum.',
     lambda v, s: (jax.ops.segment_sum(v, s, 5), jax.ops.segment_max(v, s, 5), jax.ops.segment_min(v, s, 5)), [ints(-20, 20, (15,)), ints(0, 5, (15,))]),
    ('inverse_permutation', 'Applying and inverting a permutation.', lambda p: (p[p], jnp.zeros_like(p).at[p].set(jnp.arange(12)), jnp.argsort(p)), [permutation(12)]),
    ('scatter_rows_last', 'Rows written along the last axis.', lambda x, i, u: x.at[:, i].set(u), [normal(3, 6), given([4, 0], 's32'), normal(3, 2)]),
    ('scatter_points', 'Points written and added in a matrix by coordinates.',
     lambda x, i, j, u: (x.at[i, j].set(u), x.at[i, j].max(u)), [normal(5, 5), given([0, 4, 2], 's32'), given([1, 1, 3], 's32'), normal(3)]),
    ('scatter_block', 'A block at a traced corner, and a strided assignment.',
     lambda x, u: (x.at[1:3, 2:4].set(u), x.at[::2].add(1), x.at[:, -1].set(0)), [ints(0, 9, (4, 5)), ints(10, 20, (2, 2))]),
    ('scatter_apply', 'A function applied at indices.', lambda x, i: x.at[i].apply(lambda v: -v * 2), [ints(0, 9, (7,)), given([1, 5], 's32')]),
    ('roll_dynamic', 'A roll by a traced distance.', lambda x, k: (jnp.roll(x, k), jnp.roll(x, -k)), [normal(7), given(3, 's32')]),
    ('ring_buffer', 'A ring buffer filled in a loop and read back in order.',
     lambda x: lax.fori_loop(0, 11, lambda i, b: b.at[i % 4].set(x[i]), jnp.zeros(4))[(jnp.arange(4) + 11) % 4], [normal(11)]),
    ('kv_cache', 'A key-value cache updated at the position of each sequence.',
     lambda cache, new, pos: jax.vmap(lambda c, n, p: lax.dynamic_update_slice(c, n[None], (p, 0)))(cache, new, pos),
     [normal(3, 5, 4), normal(3, 4), given([0, 3, 4], 's32')]),
    ('gather_bool', 'Indexing pred and 8-bit arrays.', lambda x, y, i: (x[i], y[i], x.at[i].set(False)), [bools(6), ints(0, 100, (6,), 's8'), given([5, 0, 3], 's32')]),
    ('sparse_matrix', 'A sparse matrix in coordinate form becomes dense, and back.',
     lambda r, c, v: (jnp.zeros((4, 4), jnp.int32).at[r, c].add(v), jnp.zeros((4, 4), jnp.int32).at[r, c].add(v)[r, c]), [ints(0, 4, (6,)), ints(0, 4, (6,)), ints(1, 9, (6,))]),
    ('pointer_jumping', 'Roots of a forest by pointer jumping.', lambda p: lax.fori_loop(0, 4, lambda _, q: q[q], p), [given([0, 0, 1, 2, 3, 5, 5, 6, 7, 4], 's32')]),
    ('table_lookup', 'Chained look-ups: a state machine over symbols.',
     lambda table, s: lax.scan(lambda q, c: (table[q, c],) * 2, jnp.int32(0), s), [ints(0, 4, (4, 3)), ints(0, 3, (14,))]),
)


def general(mode):
    """Gather with explicit dimension numbers, window sizes above one."""
    def program(x, i):
        numbers = lax.GatherDimensionNumbers(offset_dims=(1, 3), collapsed_slice_dims=(1,), start_index_map=(2, 0))
        return lax.gather(x, i, numbers, slice_sizes=(2, 1, 3), mode=mode)
    return program


for mode in ('clip', 'fill', 'promise_in_bounds'):
    area.add(f'general_gather_{mode}', general(mode), [normal(4, 2, 6), ints(0, 3, (3, 2, 2)) if mode[0] == 'p' else ints(-2, 7, (3, 2, 2))],
             f'Gather with windows, a permuted index map and interleaved offset dimensions, mode {mode}.', rule=exact())


@area.case(ints(0, 100, (4, 2, 6)), ints(-1, 4, (3, 2)), ints(100, 200, (3, 2, 3)), rule=exact())
def general_scatter(x, i, u):
    """Scatter of windows with a permuted index map; windows partly out of bounds are skipped as a whole."""
    numbers = lax.ScatterDimensionNumbers(update_window_dims=(1, 2), inserted_window_dims=(1,), scatter_dims_to_operand_dims=(2, 0))
    return lax.scatter(x, i, u, numbers), lax.scatter_add(x, i, u, numbers), lax.scatter_min(x, i, u, numbers)


@area.case(normal(5, 3), ints(0, 5, (4,)), normal(4, 3))
def gather_gradient(x, i, g):
    """The gradient of a gather is a scatter-add, and the other way round."""
    return jax.vjp(lambda a: a[i], x)[1](g)[0], jax.vjp(lambda a: a.at[i].add(g), x)[1](x)[0]


@area.case(normal(6, 4), given([1, 3], 's32'), normal(2, 2))
def dynamic_slice_gradient(x, start, g):
    """Gradients of dynamic-slice and dynamic-update-slice."""
    f = lambda a: lax.dynamic_slice(a, start, (2, 2))
    h = lambda a, b: lax.dynamic_update_slice(a, b, start)
    return jax.vjp(f, x)[1](g)[0], jax.vjp(h, x, g)[1](x * 2)


@area.case(normal(5, 5), normal(2, 7, scale=1.5, mean=2))
def bilinear_sampling(image, points):
    """Bilinear interpolation at real coordinates."""
    points = jnp.clip(points, 0, 3.99)
    y, x = jnp.floor(points).astype(jnp.int32)
    dy, dx = points - jnp.floor(points)
    top = image[y, x] * (1 - dx) + image[y, x + 1] * dx
    return top * (1 - dy) + (image[y + 1, x] * (1 - dx) + image[y + 1, x + 1] * dx) * dy
