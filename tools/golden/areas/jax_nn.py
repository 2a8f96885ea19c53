"""Every function of jax.nn, its initialisers, jax.ops and jax.image."""
import jax
import jax.numpy as jnp
from accuracy import exact
from arguments import bools, ints, normal, uniform
from catalogue import Catalogue

area = Catalogue('jax_nn', jax.nn, modules=('initializers',))
row, rows, skip = area.row, area.rows, area.skip
x = normal(2, 4, scale=2.0)
rows('celu elu gelu hard_sigmoid hard_silu hard_swish hard_tanh identity leaky_relu log_sigmoid mish relu relu6 selu sigmoid silu soft_sign softplus '
     'sparse_plus sparse_sigmoid squareplus swish tanh glu softmax log_softmax logsumexp logmeanexp standardize', x)
row('gelu exact', x, approximate=False)
row('gelu bf16', normal(8, t='bf16'))
row('softmax where', x, where=bools(2, 4))
row('softmax bf16', normal(2, 6, t='bf16'))
row('softmax f16', normal(2, 6, t='f16'))
row('log1mexp', uniform(0.1, 4, (6,)))
row('one_hot', ints(0, 5, (4,)), 5)
row('dot_product_attention', normal(1, 4, 2, 3), normal(1, 4, 2, 3), normal(1, 4, 2, 3))
row('dot_product_attention causal', normal(1, 4, 2, 3), normal(1, 4, 2, 3), normal(1, 4, 2, 3), is_causal=True)
skip('describes a configuration', 'get_scaled_dot_general_config')
skip('needs block-scaled operands of a GPU', 'scaled_dot_general scaled_matmul')

from jax.nn import initializers  # noqa: E402

key = ints(0, 2**31, (2,), 'u32')
for name in ('delta_orthogonal glorot_normal glorot_uniform he_normal he_uniform kaiming_normal kaiming_uniform lecun_normal lecun_uniform '
             'orthogonal xavier_normal xavier_uniform').split():
    shape = (3, 2, 4) if name == 'delta_orthogonal' else (4, 3)
    row(f'initializers.{name}', key, form=lambda k, n=name, s=shape: getattr(initializers, n)()(k, s, jnp.float32),
        golden='orthogonal' not in name)
for name in 'normal uniform truncated_normal'.split():
    row(f'initializers.{name}', key, form=lambda k, n=name: getattr(initializers, n)(0.1)(k, (3, 4), jnp.float32))
row('initializers.constant', key, form=lambda k: initializers.constant(2.5)(k, (2, 3), jnp.float32))
rows('initializers.zeros initializers.ones', key, (2, 3))
row('initializers.variance_scaling', key, form=lambda k: initializers.variance_scaling(2.0, 'fan_avg', 'normal')(k, (4, 3), jnp.float32))
for name in 'segment_sum segment_prod segment_max segment_min'.split():
    row(f'ops.{name}', normal(6), ints(0, 3, (6,)), form=lambda d, s, n=name: getattr(jax.ops, n)(d, s, num_segments=4))
for method in ('nearest', 'linear', 'cubic', 'lanczos3'):
    row(f'image.resize {method}', normal(4, 5), form=lambda a, w=method: jax.image.resize(a, (7, 3), w),
        rule=exact() if method == 'nearest' else None)
row('image.scale_and_translate', normal(4, 4), form=lambda a: jax.image.scale_and_translate(
    a, (5, 5), (0, 1), jnp.array([1.2, 0.9]), jnp.array([0.3, -0.2]), 'linear'))
