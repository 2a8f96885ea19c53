"""Convolutions of one to three dimensions with all their attributes, and their gradients."""
import jax
import jax.numpy as jnp
from accuracy import exact
from arguments import ints, normal
from jax import lax
from registry import Area

area = Area('convolution')

# name: (lhs shape NC+spatial, kernel shape OI+spatial, options of conv_general_dilated)
FORMS = {
    '1d': ((2, 3, 10), (4, 3, 3), {}),
    '1d_causal': ((1, 2, 9), (2, 2, 3), dict(padding=[(4, 0)], rhs_dilation=(2,))),
    '2d_valid': ((2, 3, 6, 7), (4, 3, 3, 2), {}),
    '2d_same': ((1, 2, 6, 6), (3, 2, 3, 3), dict(padding='SAME')),
    '2d_strided': ((1, 2, 9, 8), (3, 2, 3, 3), dict(window_strides=(2, 3), padding=[(1, 1), (0, 2)])),
    '2d_dilated': ((1, 2, 9, 9), (2, 2, 3, 3), dict(rhs_dilation=(2, 3))),
    '2d_transposed': ((1, 2, 4, 4), (3, 2, 3, 3), dict(lhs_dilation=(2, 2), padding=[(2, 2), (2, 2)])),
    '2d_lhs_rhs_dilated': ((1, 1, 5, 5), (2, 1, 3, 2), dict(lhs_dilation=(2, 1), rhs_dilation=(1, 2), window_strides=(3, 1), padding=[(1, 2), (2, 0)])),
    '2d_negative_padding': ((1, 2, 8, 8), (2, 2, 3, 3), dict(padding=[(-1, 2), (1, -2)])),
    '2d_grouped': ((1, 4, 5, 5), (6, 2, 3, 3), dict(feature_group_count=2)),
    '2d_depthwise': ((1, 4, 6, 6), (4, 1, 3, 3), dict(feature_group_count=4, padding='SAME')),
    '2d_depthwise_multiplier': ((1, 3, 5, 5), (6, 1, 3, 3), dict(feature_group_count=3)),
    '2d_batch_grouped': ((4, 3, 5, 5), (4, 3, 2, 2), dict(batch_group_count=2)),
    '2d_pointwise': ((2, 5, 3, 3), (4, 5, 1, 1), {}),
    '2d_whole_window': ((2, 2, 4, 4), (3, 2, 4, 4), {}),
    '3d': ((1, 2, 4, 5, 4), (3, 2, 2, 3, 2), dict(window_strides=(1, 2, 1), padding=[(0, 0), (1, 1), (1, 0)])),
    '0d': ((3, 4), (5, 4), {}),
}
for name, (lhs, kernel, options) in FORMS.items():
    settings = dict(window_strides=(1,) * (len(lhs) - 2), padding='VALID') | options
    area.add(name, lambda x, w, s=settings: lax.conv_general_dilated(x, w, **s), [normal(*lhs), normal(*kernel)],
             f'Convolution {name.replace("_", " ")} of {list(lhs)} with {list(kernel)}.')
    if name in ('1d', '2d_strided', '2d_dilated', '2d_grouped', '2d_transposed', '2d_depthwise', '3d'):
        area.add(f'{name}_gradient', lambda x, w, s=settings: jax.grad(lambda a, b: (lax.conv_general_dilated(a, b, **s)**2).sum() / 2, (0, 1))(x, w),
                 [normal(*lhs), normal(*kernel)], f'Both gradients of the convolution {name.replace("_", " ")}.')
for labels in (('NHWC', 'HWIO', 'NHWC'), ('CHWN', 'IHWO', 'CHWN'), ('NHWC', 'OIHW', 'NCHW'), ('HWNC', 'HWOI', 'HWCN')):
    area.add('labels_' + '_'.join(labels).lower(), lambda x, w, l=labels: lax.conv_general_dilated(
        jnp.transpose(x, ['NCHW'.index(c) for c in l[0]]), jnp.transpose(w, ['OIHW'.index(c) for c in l[1]]), (1, 2), 'SAME', dimension_numbers=l),
        [normal(2, 3, 5, 6), normal(4, 3, 3, 3)], f'Dimension labels {labels[0]}, {labels[1]} to {labels[2]}.')
for t in ('f16', 'bf16', 'f64'):
    area.add(f'type_{t}', lambda x, w: lax.conv(x, w, (1, 1), 'SAME'), [normal(1, 2, 5, 5, t=t), normal(3, 2, 3, 3, t=t)], f'A convolution in {t}.', x64=True)
area.add('bf16_to_f32', lambda x, w: lax.conv(x, w, (1, 1), 'SAME', preferred_element_type=jnp.float32),
         [normal(1, 2, 5, 5, t='bf16'), normal(3, 2, 3, 3, t='bf16')], 'A bf16 convolution kept in f32.')
area.add('integer_s32', lambda x, w: lax.conv(x, w, (1, 1), 'SAME'), [ints(-100, 100, (1, 2, 5, 5)), ints(-100, 100, (3, 2, 3, 3))], 'A convolution of s32.', rule=exact())
area.add('integer_floats', lambda x, w: lax.conv(x, w, (2, 1), 'VALID'), [ints(-9, 10, (1, 2, 5, 5), 'f32'), ints(-9, 10, (3, 2, 3, 3), 'f32')],
         'A convolution of whole numbers in f32: exact in any order.', rule=exact())
area.add('complex', lambda x, w: lax.conv(x, w, (1, 1), 'SAME'), [normal(1, 2, 4, 4, t='c64'), normal(2, 2, 3, 3, t='c64')], 'A convolution in c64.')
area.add('transpose_layer', lambda x, w: lax.conv_transpose(x, w, (2, 2), 'SAME'), [normal(1, 4, 4, 2), normal(3, 3, 2, 3)], 'A transposed convolution layer.')
area.add('local', lambda x, w: lax.conv_general_dilated_local(x, w, (1,), 'VALID', (3,)), [normal(1, 2, 6), normal(3, 6, 4)],
         'A locally connected layer: another kernel at each place.')
area.add('patches', lambda x: lax.conv_general_dilated_patches(x, (2, 2), (1, 2), 'SAME'), [ints(-9, 10, (1, 2, 4, 5), 'f32')],
         'Patches extracted by a convolution with an identity kernel.', rule=exact())
area.add('numpy_convolve', lambda a, b: (jnp.convolve(a, b), jnp.convolve(a, b, 'same'), jnp.correlate(a, b, 'valid')), [normal(9), normal(4)],
         'One-dimensional convolution and correlation as NumPy defines them.')
area.add('reversed_window', lambda x, w: jnp.convolve(x, w, mode='full'), [ints(-9, 9, (7,), 'f32'), ints(-9, 9, (3,), 'f32')],
         'A full convolution of whole numbers.', rule=exact())


@area.case(normal(1, 6, 6, 1), normal(3, 3, 1, 2), normal(3, 3, 1, 4))
def separable(x, depthwise, pointwise):
    """A depthwise separable block: depthwise, activation, pointwise."""
    d = lax.conv_general_dilated(x, depthwise, (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))
    return lax.conv_general_dilated(jax.nn.relu6(d), pointwise[:1, :1].repeat(2, 2), (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))


@area.case(normal(1, 8, 8), rule=None)
def image_filters(image):
    """Gaussian blur, Sobel edges and a Laplacian by fixed kernels."""
    kernels = jnp.array([[[1, 2, 1], [2, 4, 2], [1, 2, 1]], [[1, 0, -1], [2, 0, -2], [1, 0, -1]], [[0, 1, 0], [1, -4, 1], [0, 1, 0]]], jnp.float32)
    return lax.conv(image[:, None], kernels[:, None] / 16, (1, 1), 'SAME')


@area.case(normal(1, 2, 6, 6), normal(2, 2, 3, 3), normal(2, 2, 3, 3), normal(2))
def residual_block(x, w1, w2, b):
    """A residual block of two convolutions with a bias."""
    y = jax.nn.relu(lax.conv(x, w1, (1, 1), 'SAME') + b[:, None, None])
    return jax.nn.relu(x + lax.conv(y, w2, (1, 1), 'SAME'))
