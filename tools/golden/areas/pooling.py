"""Reduce-window and its gradients."""
import jax
import jax.numpy as jnp
import numpy as np
from accuracy import exact
from arguments import bits, ints, normal
from jax import lax
from registry import Area

area = Area('pooling')


def window(x, operation, init, size, stride, padding='VALID', base=None, dilation=None):
    return lax.reduce_window(x, np.asarray(init, x.dtype), operation, size, stride, padding, base, dilation)


# name: (window, strides, padding, base dilation, window dilation) on [1,8,9,2]
FORMS = {
    'plain': ((1, 2, 2, 1), (1, 2, 2, 1), 'VALID', None, None),
    'same': ((1, 3, 3, 1), (1, 2, 2, 1), 'SAME', None, None),
    'overlapping': ((1, 3, 2, 1), (1, 1, 1, 1), 'VALID', None, None),
    'dilated': ((1, 2, 3, 1), (1, 1, 2, 1), 'VALID', None, (1, 3, 2, 1)),
    'base_dilated': ((1, 3, 2, 1), (1, 2, 1, 1), [(0, 0), (1, 2), (0, 1), (0, 0)], (1, 2, 2, 1), None),
    'across_features': ((1, 1, 1, 2), (1, 1, 1, 1), 'SAME', None, None),
    'uneven_padding': ((1, 3, 4, 1), (1, 3, 2, 1), [(0, 0), (2, 0), (1, 3), (0, 0)], None, None),
}
for name, form in FORMS.items():
    area.add(f'max_{name}', lambda x, f=form: window(x, lax.max, -np.inf, *f), [normal(1, 8, 9, 2)], f'Maximum over windows, {name.replace("_", " ")}.', rule=exact())
    area.add(f'min_{name}', lambda x, f=form: window(x, lax.min, 127, *f), [ints(-99, 99, (1, 8, 9, 2), 's8')], f'Minimum of s8 over windows, {name.replace("_", " ")}.', rule=exact())
    area.add(f'sum_{name}', lambda x, f=form: window(x, lax.add, 0, *f), [normal(1, 8, 9, 2)], f'Sum over windows, {name.replace("_", " ")}.')
area.add('sum_integers', lambda x: window(x, lax.add, 0, (3,), (1,), 'SAME'), [bits(20)], 'A wrapping sum of integers over windows.', rule=exact())
area.add('product', lambda x: window(x, lax.mul, 1, (2, 2), (1, 1)), [ints(-9, 10, (5, 5))], 'A product of integers over windows.', rule=exact())
area.add('non_neutral_init', lambda x: (window(x, lax.add, 100, (3,), (2,), 'SAME'), window(x, lax.max, 5, (2,), (1,), [(2, 3)])), [ints(0, 10, (9,))],
         'An initial value that is not neutral takes part once for each window.', rule=exact())
area.add('outside', lambda x: window(x, lax.max, -1, (2,), (1,), [(4, 4)]), [ints(0, 10, (3,))], 'Windows that are entirely in the padding give the initial value.', rule=exact())
area.add('bf16_max', lambda x: window(x, lax.max, -np.inf, (2, 2), (2, 2)), [normal(6, 6, t='bf16')], 'Maximum of bf16 over windows.', rule=exact())
area.add('rank_3', lambda x: window(x, lax.max, -np.inf, (2, 3, 2), (1, 1, 2)), [normal(4, 5, 6)], 'Windows of three dimensions.', rule=exact())


@area.case(ints(-20, 20, (10,)), ints(0, 99, (10,)), rule=exact())
def variadic(x, y):
    """Reduces two arrays together: the greatest value of each window and its position."""
    def pick(a, b):
        keep = (a[0] > b[0]) | ((a[0] == b[0]) & (a[1] <= b[1]))
        return jnp.where(keep, a[0], b[0]), jnp.where(keep, a[1], b[1])
    return lax.reduce_window((x, y), (np.int32(-1000), np.int32(1000)), pick, (3,), (2,), 'VALID')


for name in ('plain', 'same', 'overlapping', 'uneven_padding'):
    form = FORMS[name][:3]
    area.add(f'max_{name}_gradient', lambda x, f=form: jax.grad(lambda v: (window(v, lax.max, -np.inf, *f)**2).sum() / 2)(x), [normal(1, 6, 7, 2)],
             f'The gradient of maximum pooling, {name.replace("_", " ")}: select-and-scatter.')
    area.add(f'average_{name}_gradient', lambda x, f=form: jax.grad(lambda v: (window(v, lax.add, 0, *f)**2).sum() / 18)(x), [normal(1, 6, 7, 2)],
             f'The gradient of average pooling, {name.replace("_", " ")}.')


@area.case(ints(0, 4, (1, 6, 6, 1), 'f32'), rule=exact())
def max_gradient_ties(x):
    """The gradient of maximum pooling goes to the first of equal values."""
    return jax.grad(lambda v: (window(v, lax.max, -np.inf, (1, 2, 2, 1), (1, 1, 1, 1)) * jnp.arange(1., 26.).reshape(1, 5, 5, 1)).sum())(x)


@area.case(normal(2, 6, 6, 3))
def average(x):
    """Average pooling that counts only real elements, and global average."""
    total = window(x, lax.add, 0, (1, 3, 3, 1), (1, 2, 2, 1), 'SAME')
    count = window(jnp.ones_like(x), lax.add, 0, (1, 3, 3, 1), (1, 2, 2, 1), 'SAME')
    return total / count, x.mean((1, 2))


@area.case(normal(1, 8, 8, 1))
def pyramid(x):
    """Two levels of pooling and a nearest-neighbour upsampling."""
    y = window(x, lax.max, -np.inf, (1, 2, 2, 1), (1, 2, 2, 1))
    z = window(y, lax.add, 0, (1, 2, 2, 1), (1, 2, 2, 1)) / 4
    return x - jnp.repeat(jnp.repeat(z, 4, 1), 4, 2)


@area.case(normal(12))
def moving_statistics(x):
    """Moving sum, maximum and variance of a series."""
    s = window(x, lax.add, 0, (4,), (1,))
    q = window(x * x, lax.add, 0, (4,), (1,))
    return s / 4, window(x, lax.max, -np.inf, (4,), (1,)), q / 4 - (s / 4)**2


@area.case(ints(0, 2, (7, 7)), rule=exact())
def morphology(x):
    """Erosion, dilation and the boundary between them."""
    d = window(x, lax.max, 0, (3, 3), (1, 1), 'SAME')
    e = window(x, lax.min, 1, (3, 3), (1, 1), 'SAME')
    return d, e, d - e
