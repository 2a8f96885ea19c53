"""Moving data without indices: broadcast, reshape, transpose, slice, pad, concatenate, reverse, iota."""
import jax
import jax.numpy as jnp
import numpy as np
from accuracy import exact
from arguments import bits, bools, ints, normal
from jax import lax
from registry import Area

area = Area('shapes')
TYPES = ['pred', 's8', 'u16', 's32', 's64', 'f16', 'bf16', 'f32', 'f64', 'c64', 'c128']


def any_type(t, *shape):
    return bools(*shape) if t == 'pred' else bits(*shape, t=t) if t[0] in 'su' else normal(*shape, t=t)


def tour(x):
    """Every static data movement once, on a [2,3,4] array."""
    zero = jnp.zeros((), x.dtype)
    return (lax.broadcast_in_dim(x[0], (3, 2, 4), (0, 2)), x.reshape(4, 6), x.transpose(2, 0, 1), x[:, 1:, ::2],
            lax.pad(x, zero, ((1, 0, 1), (-1, 2, 0), (0, -1, 2))), jnp.concatenate([x, x[:, :1]], axis=1), lax.rev(x, (0, 2)))


for t in TYPES:
    area.add(f'tour_{t}', tour, [any_type(t, 2, 3, 4)], f'Every static data movement on a {t} array.', x64=True, rule=exact())

SIMPLE = {
    'transpose_4d': (lambda x: tuple(x.transpose(p) for p in ((0, 1, 2, 3), (3, 2, 1, 0), (0, 2, 1, 3), (1, 0, 3, 2))),
                     (2, 3, 4, 5), 'Transposes of rank four.'),
    'slice_strides': (lambda x: (x[2:9], x[1:10:3], x[::-1], x[::-2], x[-3:], x[5:5]), (11, 2), 'Slices with strides, backwards and empty.'),
    'pad_negative': (lambda x: (lax.pad(x, 9.0, ((-1, -1, 0), (-2, 3, 0))), lax.pad(x, -1.0, ((-3, 1, 2), (2, -4, 1)))), (4, 5),
                     'Pads whose edges are negative, with and without interior padding.'),
    'pad_modes': (lambda x: (jnp.pad(x, 2, mode='edge'), jnp.pad(x, 2, mode='reflect'), jnp.pad(x, (1, 3), mode='wrap'),
                             jnp.pad(x, 1, mode='symmetric')), (4, 5), 'Padding by copies of the array itself.'),
    'roll_flip_rot': (lambda x: (jnp.roll(x, 2, 0), jnp.roll(x, (-1, 3), (0, 1)), jnp.flip(x, 1), jnp.rot90(x)), (4, 5),
                      'Rolling, flipping and rotating a matrix.'),
    'tile_repeat': (lambda x: (jnp.tile(x, (2, 3)), jnp.repeat(x, 3, axis=1), jnp.repeat(x, np.array([1, 0, 2]), axis=0)), (3, 2),
                    'Tiling and repeating.'),
    'stack_split': (lambda x: (jnp.stack([x, x + 1], 1), jnp.hstack([x, x]), *jnp.split(x, 3, axis=1), jnp.vstack([x, x])), (2, 6),
                    'Stacking and splitting.'),
    'diagonals': (lambda x: (jnp.diag(x[0]), jnp.diagonal(x), jnp.tril(x), jnp.triu(x, 1), jnp.trace(x[:1, :1])), (4, 4),
                  'Diagonals and triangles of a matrix.'),
    'pixel_shuffle': (lambda x: x.reshape(2, 2, 2, 3, 3).transpose(0, 3, 1, 4, 2).reshape(2, 6, 6), (2, 4, 3, 3),
                      'Channels become pixels by reshape and transpose.'),
    'space_to_depth': (lambda x: x.reshape(2, 2, 2, 3, 2).transpose(0, 2, 1, 3, 4).reshape(4, 12), (4, 12), 'Blocks of pixels become channels.'),
    'meshgrid_outer': (lambda x: (*jnp.meshgrid(x, x[:3]), x[:, None] - x[None, :]), (5,), 'Grids and differences of all pairs.'),
    'moveaxis_squeeze': (lambda x: (jnp.moveaxis(x, 0, -1), jnp.swapaxes(x, 1, 2), x[:, None, :, 0], jnp.squeeze(x[:1], 0)), (2, 3, 4),
                         'Moving, inserting and dropping axes.'),
    'toeplitz': (lambda x: jnp.stack([lax.dynamic_slice(jnp.pad(x, 4), (i,), (9,)) for i in range(5)]), (6,),
                 'A banded matrix whose rows are shifted copies.'),
    'rank_zero_and_one': (lambda x: (x.reshape(()), x.reshape(1, 1, 1), jnp.broadcast_to(x.reshape(()), (2, 2))), (1,),
                          'Between scalars and arrays of one element.'),
    'high_rank': (lambda x: (x.transpose(5, 0, 4, 1, 3, 2).reshape(4, -1), x[..., 0].sum(axis=(0, 2, 4))), (2, 1, 2, 3, 1, 2), 'Six dimensions, some of size one.'),
    'im2col': (lambda x: jnp.stack([x[i:i + 4, j:j + 4] for i in range(3) for j in range(3)]).reshape(9, 16), (6, 6), 'Patches of an image as columns.'),
    'zigzag': (lambda x: jnp.concatenate([jnp.flip(jnp.diagonal(x[::-1], k - 3)) if k % 2 else jnp.diagonal(x[::-1], k - 3) for k in range(7)]),
               (4, 4), 'A matrix read in zigzag order.'),
}
for name, (program, shape, description) in SIMPLE.items():
    area.add(name, program, [normal(*shape)], description, rule=None if name == 'high_rank' else exact())


@area.case(rule=exact(), x64=True)
def iotas():
    """Iota in every type, along each dimension."""
    kinds = [jnp.int8, jnp.uint8, jnp.int16, jnp.int32, jnp.uint32, jnp.int64, jnp.float16, jnp.bfloat16, jnp.float32, jnp.float64, jnp.complex64]
    return tuple(lax.broadcasted_iota(k, (3, 4), d) for k in kinds for d in (0, 1)) + (lax.iota(jnp.int8, 300), lax.iota(jnp.bfloat16, 300))


@area.case(normal(3), normal(2, 1), normal(4, 1, 1), normal(), rule=exact())
def broadcasting(a, b, c, s):
    """Implicit broadcasts between ranks and sizes of one."""
    return a + b, b * c, c - a + s, jnp.broadcast_to(a, (2, 4, 3)), jnp.maximum(b, s)


@area.case(ints(0, 9, (2, 3)), ints(0, 9, (0, 3)), ints(0, 9, (1, 3)), rule=exact())
def concatenate_empty(a, b, c):
    """Concatenation of operands, one of which has no elements."""
    return jnp.concatenate([a, b, c]), jnp.concatenate([b, b]), jnp.concatenate([c.T, a.T], axis=1)


@area.case({'w': normal(2, 2), 'nested': (normal(3), [normal(1), ints(0, 5, (2,))])}, rule=exact())
def pytree_arguments(tree):
    """A nested structure of arguments and results, flattened in order."""
    return jax.tree.map(lambda x: x * 2, tree), tree['nested'][0][::-1]


@area.case(normal(3, 4), normal(2, 2), rule=exact())
def unused_argument(x, y):
    """A parameter that nothing reads."""
    return x.T


@area.case(normal(3, 4), rule=exact())
def pass_through(x):
    """A result that is a parameter, and one that appears twice."""
    y = x + 1
    return x, y, y
