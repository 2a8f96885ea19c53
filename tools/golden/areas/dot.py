"""Dot products: every layout of batch and contracting dimensions, element types, einsum."""
import jax
import jax.numpy as jnp
from accuracy import exact
from arguments import bits, bools, dtype, ints, normal
from jax import lax
from registry import Area

area = Area('dot')

# name: (lhs shape, rhs shape, contracting (lhs, rhs), batch (lhs, rhs))
LAYOUTS = {
    'matmul': ((4, 6), (6, 5), ((1,), (0,)), ((), ())),
    'lhs_transposed': ((6, 4), (6, 5), ((0,), (0,)), ((), ())),
    'rhs_transposed': ((4, 6), (5, 6), ((1,), (1,)), ((), ())),
    'both_transposed': ((6, 4), (5, 6), ((0,), (1,)), ((), ())),
    'vector_vector': ((9,), (9,), ((0,), (0,)), ((), ())),
    'matrix_vector': ((4, 6), (6,), ((1,), (0,)), ((), ())),
    'vector_matrix': ((6,), (6, 4), ((0,), (0,)), ((), ())),
    'outer': ((4,), (5,), ((), ()), ((), ())),
    'outer_matrices': ((2, 3), (4, 2), ((), ()), ((), ())),
    'batch': ((3, 4, 6), (3, 6, 5), ((2,), (1,)), ((0,), (0,))),
    'batch_last': ((4, 6, 3), (6, 5, 3), ((1,), (0,)), ((2,), (2,))),
    'batch_mixed': ((4, 3, 6), (6, 5, 3), ((2,), (0,)), ((1,), (2,))),
    'two_batch': ((2, 3, 4, 5), (2, 3, 5, 2), ((3,), (2,)), ((0, 1), (0, 1))),
    'two_batch_permuted': ((2, 4, 3, 5), (3, 5, 2, 2), ((3,), (1,)), ((0, 2), (3, 0))),
    'two_contracting': ((4, 3, 5), (3, 5, 2), ((1, 2), (0, 1)), ((), ())),
    'two_contracting_permuted': ((3, 4, 5), (5, 2, 3), ((0, 2), (2, 0)), ((), ())),
    'elementwise_batch': ((3, 4), (3, 4), ((), ()), ((0, 1), (0, 1))),
    'row_dots': ((3, 7), (3, 7), ((1,), (1,)), ((0,), (0,))),
    'contract_one': ((4, 1), (1, 5), ((1,), (0,)), ((), ())),
    'contract_none': ((4, 0), (0, 5), ((1,), (0,)), ((), ())),
    'long': ((2, 300), (300, 3), ((1,), (0,)), ((), ())),
    'free_inside': ((2, 3, 4, 5), (4, 6, 7), ((2,), (0,)), ((), ())),
}
for name, (lhs, rhs, contracting, batch) in LAYOUTS.items():
    area.add(name, lambda a, b, n=(contracting, batch): lax.dot_general(a, b, n), [normal(*lhs), normal(*rhs)],
             f'Dot of {list(lhs)} and {list(rhs)}, contracting {contracting}, batch {batch}.')

for t in ('f16', 'bf16', 'f64', 'c64', 'c128'):
    area.add(f'type_{t}', lambda a, b: a @ b, [normal(4, 9, t=t), normal(9, 5, t=t)], f'A matrix product in {t}.', x64=True)
for t in ('s8', 's16', 's32', 's64', 'u8', 'u16', 'u32', 'u64'):
    area.add(f'type_{t}', lambda a, b: a @ b, [bits(4, 9, t=t), bits(9, 5, t=t)], f'A matrix product in {t} that wraps.', x64=True, rule=exact())
area.add('type_pred', lambda a, b: lax.dot(a, b), [bools(4, 9, p=0.3), bools(9, 5, p=0.3)], 'A matrix product in pred: or of ands.', rule=exact())
for t, wide in (('bf16', 'f32'), ('f16', 'f32'), ('s8', 's32'), ('u8', 's32'), ('s16', 's32'), ('s32', 's64'), ('f32', 'f64')):
    arguments = [bits(3, 8, t=t), bits(8, 4, t=t)] if t[0] in 'su' else [normal(3, 8, t=t), normal(8, 4, t=t)]
    area.add(f'{t}_to_{wide}', lambda a, b, w=wide: jnp.dot(a, b, preferred_element_type=dtype(w)), arguments,
             f'A product of {t} matrices kept in {wide}.', x64=True)
area.add('bf16_batch_to_f32', lambda a, b: lax.dot_general(a, b, (((2,), (2,)), ((0,), (0,))), preferred_element_type=jnp.float32),
         [normal(2, 3, 40, t='bf16'), normal(2, 4, 40, t='bf16')], 'A batched product of bf16 arrays with f32 results.')
area.add('integer_floats', lambda a, b: a @ b, [ints(-50, 50, (6, 30), 'f32'), ints(-50, 50, (30, 6), 'f32')],
         'A product of whole numbers in f32: exact in any order.', rule=exact())

EINSUMS = {
    'einsum_trace': ('ii->', [(5, 5)]), 'einsum_diagonal': ('ii->i', [(5, 5)]), 'einsum_sum': ('ijk->j', [(2, 3, 4)]),
    'einsum_bilinear': ('i,ij,j->', [(4,), (4, 5), (5,)]), 'einsum_batch': ('bij,bjk->bik', [(2, 3, 4), (2, 4, 2)]),
    'einsum_attention': ('bqhd,bkhd->bhqk', [(2, 3, 2, 4), (2, 5, 2, 4)]), 'einsum_outer': ('ab,cd->acbd', [(2, 3), (2, 2)]),
    'einsum_chain': ('ij,jk,kl->il', [(3, 4), (4, 2), (2, 5)]), 'einsum_permute': ('abc,cbd->da', [(2, 3, 4), (4, 3, 2)]),
    'einsum_hadamard': ('ij,ij->ij', [(3, 4), (3, 4)]), 'einsum_tensor_train': ('aib,bjc,ckd->aijkd', [(1, 2, 3), (3, 2, 3), (3, 2, 1)]),
}
for name, (formula, shapes) in EINSUMS.items():
    area.add(name, lambda *xs, f=formula: jnp.einsum(f, *xs), [normal(*s) for s in shapes], f'The Einstein sum {formula}.')
area.add('einsum_complex', lambda a, b: jnp.einsum('bij,bjk->bki', a, jnp.conj(b)), [normal(2, 3, 4, t='c64'), normal(2, 4, 3, t='c64')],
         'A complex Einstein sum with a conjugated operand.')
area.add('einsum_integers', lambda a, b: jnp.einsum('ijk,kl->jil', a, b), [ints(-9, 9, (2, 3, 4)), ints(-9, 9, (4, 2))],
         'An Einstein sum of integers.', rule=exact())


@area.case(normal(3, 4), normal(4, 5), normal(3, 5))
def gradient(a, b, g):
    """Both gradients of a matrix product."""
    return jax.vjp(lambda x, y: x @ y, a, b)[1](g)


@area.case(normal(2, 4, 3), normal(3, 4), normal(4))
def dense_layer(x, w, b):
    """A dense layer over a batch of sequences."""
    return jax.nn.relu(x @ w + b)


@area.case(ints(0, 2, (8, 8)), rule=exact())
def graph_reachability(a):
    """Transitive closure of a graph by repeated boolean squaring."""
    return lax.fori_loop(0, 3, lambda _, r: ((r @ r) > 0).astype(jnp.int32), jnp.minimum(a * (jnp.arange(8) % 3 == 0) + jnp.eye(8, dtype=jnp.int32), 1))


@area.case(ints(0, 3, (4, 4), 'u32'), rule=exact())
def matrix_power(a):
    """A power of an integer matrix modulo 2^32 by repeated squaring."""
    return jnp.linalg.matrix_power(a, 13)


@area.case(normal(4, 4, t='f64', scale=0.3), x64=True)
def matrix_exponential(a):
    """The exponential of a matrix by its Taylor series, in f64."""
    def step(k, s):
        term, total = s
        term = term @ a / k
        return term, total + term
    return lax.fori_loop(1, 16, step, (jnp.eye(4), jnp.eye(4)))[1]


@area.case(normal(3, 5), normal(4, 5))
def pairwise_distances(x, y):
    """Squared distances of all pairs, two ways."""
    return ((x[:, None] - y[None])**2).sum(-1), (x**2).sum(1)[:, None] + (y**2).sum(1) - 2 * x @ y.T


@area.case(normal(2, 3), normal(4, 2), rule=None)
def kronecker(a, b):
    """The Kronecker product."""
    return jnp.kron(a, b)


@area.case(normal(6, 3))
def gram_schmidt(a):
    """Orthonormal columns by the modified Gram-Schmidt process."""
    q = []
    for k in range(3):
        v = a[:, k]
        for u in q:
            v = v - (u @ v) * u
        q.append(v / jnp.sqrt(v @ v))
    return jnp.stack(q, 1)
