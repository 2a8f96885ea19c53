"""Every function of jax.random: the bits are those of threefry, so draws from them are deterministic."""
import jax
import jax.numpy as jnp
from accuracy import close, exact, ulp
from arguments import ints, normal, spd, stochastic, uniform
from catalogue import Catalogue

area = Catalogue('jax_random', jax.random)
row, rows, skip = area.row, area.rows, area.skip
key = ints(0, 2**31, (2,), 'u32')


def typed(call):
    """Wraps the raw words as a key."""
    return lambda k, *xs, **named: call(jax.random.wrap_key_data(k), *xs, **named)


rows('cauchy exponential gumbel laplace logistic normal rademacher maxwell uniform bits', key, shape=(2, 3))
row('rayleigh', key, 1.5, shape=(4,))
row('double_sided_maxwell', key, 0.5, 1.5, shape=(4,))
for t in ('bfloat16', 'float16'):
    row(f'normal {t}', key, shape=(6,), dtype=jnp.dtype(t), rule=ulp(1, 'each instruction is computed in f32 and rounded once'))
    row(f'uniform {t}', key, shape=(6,), dtype=jnp.dtype(t))
row('uniform f64', key, shape=(3,), dtype=jnp.float64, x64=True)
row('normal f64', key, shape=(3,), dtype=jnp.float64, x64=True)
row('normal c64', key, shape=(3,), dtype=jnp.complex64)
for t in ('uint8', 'uint16', 'uint64'):
    row(f'bits {t}', key, shape=(5,), dtype=jnp.dtype(t), x64=t == 'uint64')
row('ball', key, 3, shape=(2,))
row('bernoulli', key, 0.4, shape=(3, 4))
rows('beta', key, uniform(0.5, 3, (3,)), uniform(0.5, 3, (3,)))
row('binomial', key, 10.0, 0.4, shape=(4,), rule=exact())
row('categorical', key, normal(3, 4))
rows('chisquare t', key, uniform(2, 6, (3,)))
row('choice', key, normal(5), shape=(4,))
row('choice without_replacement', key, 9, shape=(4,), replace=False)
row('choice weighted', key, 5, shape=(4,), p=stochastic(5))
row('dirichlet', key, uniform(0.5, 3, (4,)))
row('f', key, uniform(2, 6, (3,)), uniform(2, 6, (3,)))
row('gamma', key, uniform(0.4, 4, (4,)))
row('loggamma', key, uniform(0.4, 4, (4,)), rule=close(2.4e-7, 4e-7, 'a logarithm near 1 of numbers that are two ulp off'))
row('generalized_normal', key, 1.5, shape=(4,))
row('geometric', key, 0.3, shape=(5,))
row('lognormal', key, 0.7, shape=(4,))
row('multinomial', key, 6.0, stochastic(4), rule=exact())
row('multivariate_normal', key, normal(3), spd(3))
row('orthogonal', key, 3, golden=False)
row('pareto', key, uniform(1, 3, (4,)))
row('weibull_min', key, 1.3, 0.8, shape=(4,))
row('permutation', key, 9)
row('permutation rows', key, normal(4, 2))
row('poisson', key, uniform(0.5, 15, (5,)), rule=exact())
row('randint', key, shape=(6,), minval=-5, maxval=17)
row('randint u8', key, shape=(6,), minval=3, maxval=250, dtype=jnp.uint8)
row('triangular', key, 0.0, 0.4, 1.0, shape=(4,))
row('truncated_normal', key, -1.0, 2.0, shape=(5,))
row('wald', key, uniform(0.5, 2, (4,)))
row('split', key, 3)
row('fold_in', key, 42)
row('clone', key)
row('key_data', key, form=typed(jax.random.key_data))
row('wrap_key_data', key)
row('PRNGKey', ints(0, 1000))
row('key', ints(0, 1000))
for name in ('rbg', 'unsafe_rbg'):
    row(f'normal {name}', ints(0, 2**31, (4,), 'u32'),
        form=lambda k, n=name: jax.random.normal(jax.random.wrap_key_data(k, impl=n), (5,)))
    row(f'split {name}', ints(0, 2**31, (4,), 'u32'),
        form=lambda k, n=name: jax.random.split(jax.random.wrap_key_data(k, impl=n), 3))
skip('answers about keys without computing', 'key_dtype key_impl Key')
