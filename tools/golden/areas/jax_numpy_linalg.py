"""Every function of jax.numpy.linalg."""
import jax.numpy as jnp
from arguments import normal, spd
from catalogue import Catalogue, recomposed_eigh, recomposed_svd

area = Catalogue('jax_numpy_linalg', jnp.linalg)
row, rows = area.row, area.rows
m, a = normal(3, 3), spd(3)
row('cholesky', a)
rows('cond det inv pinv slogdet svdvals matrix_rank', m)
row('cross', normal(2, 3), normal(2, 3))
rows('diagonal trace matrix_norm matrix_transpose norm vector_norm', m)
row('norm ord', normal(5), 3)
row('eigh', a, form=lambda q: recomposed_eigh(*jnp.linalg.eigh(q)[::-1]))
row('eigvalsh', a)
rows('eig eigvals', m, golden=False)
row('lstsq', normal(5, 3), normal(5))
rows('matmul', m, m)
row('matrix_power', m, 3)
row('multi_dot', [normal(2, 3), normal(3, 4), normal(4, 2)])
row('outer', normal(3), normal(4))
row('qr', normal(4, 3))
row('solve', m, normal(3))
row('svd', normal(3, 2), form=lambda q: recomposed_svd(*jnp.linalg.svd(q)))
row('tensordot', normal(2, 3), normal(3, 2), axes=1)
row('tensorinv', normal(4, 2, 2), 1)
row('tensorsolve', normal(4, 2, 2), normal(4))
row('vecdot', m, m)
