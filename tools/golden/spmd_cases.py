#!/usr/bin/env python3
"""Writes the golden cases of programs for eight devices: each JAX program as XLA gets it, with full shapes and shardings
(`golden/spmd.hlo`), and as XLA:CPU has partitioned and optimised it (`golden/spmd_partitioned.hlo`), with its full arguments
and results. The entry parameters and the root of a partitioned module get the shardings that XLA recorded for them. It also
writes `tests/vectors/tile_maps.jsonl`, shardings in XLA's spelling and the part of an array that JAX gives each device, and
`tests/unit/io/data/partitioned.pb`, a partitioned module.

    spmd_cases.py [PATTERN ...]    write the files, or only run the programs whose names match
"""
import fnmatch
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile
import zlib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
DUMP = tempfile.mkdtemp()
os.environ['JAX_PLATFORMS'] = 'cpu'
os.environ['XLA_FLAGS'] = ('--xla_force_host_platform_device_count=8 --xla_cpu_multi_thread_eigen=false --xla_cpu_max_isa=AVX2 '
                           f'--xla_dump_to={DUMP} --xla_dump_hlo_as_proto')

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import jaxlib  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P  # noqa: E402
from jaxlib import _hlo  # noqa: E402

import packs  # noqa: E402

PRODUCER = f'XLA:CPU, jaxlib {jaxlib.__version__}'
PROGRAMS = []


def mesh_of(**axes):
    return jax.make_mesh(tuple(axes.values()), tuple(axes), axis_types=(AxisType.Auto,) * len(axes))


def program(mesh, args, ins, outs):
    """Adds a program with its arguments (shapes of floats, or arrays) and the specifications of arguments and results."""
    def add(function):
        PROGRAMS.append((function, mesh, args, ins, outs))
        return function
    return add


def per_device(mesh, ins, outs, **options):
    return lambda function: jax.shard_map(function, mesh=mesh, in_specs=ins, out_specs=outs, **options)


DM = mesh_of(data=2, model=4)
ONE = mesh_of(i=8)
CUBE = mesh_of(x=2, y=2, z=2)
SHUFFLED = Mesh(np.array(jax.devices())[[3, 1, 0, 2, 7, 6, 5, 4]].reshape(4, 2), ('a', 'b'))


@program(DM, [(8, 16), (16, 32), (32, 16)], [P('data'), P(None, 'model'), P('model', None)], P('data'))
def tensor_parallel_mlp(x, up, down):
    """A block with its hidden dimension over one axis of the mesh and the batch over the other."""
    return x + jnp.maximum(x @ up, 0) @ down


@program(ONE, [(16, 8), {'w': (8, 16), 'b': (16,), 'v': (16, 8)}, (16, 8)],
         [P('i'), {'w': P('i'), 'b': P('i'), 'v': P(None, 'i')}, P('i')], ({'w': P('i'), 'b': P('i'), 'v': P(None, 'i')}, P()))
def fsdp_step(x, weights, target):
    """A step of gradient descent whose weights are sharded over all devices."""
    def loss(w):
        return jnp.mean((jnp.tanh(x @ w['w'] + w['b']) @ w['v'] - target) ** 2)
    value, slope = jax.value_and_grad(loss)(weights)
    return jax.tree.map(lambda w, s: w - 0.1 * s, weights, slope), value


@program(DM, [(4, 8, 16), (16, 48), (16, 16)], [P('data'), P(None, 'model'), P('model')], P('data'))
def attention_heads(x, qkv, out):
    """Attention with its heads over one axis of the mesh."""
    q, k, v = (a.reshape(4, 8, 4, 4) for a in jnp.split((x @ qkv), 3, axis=-1))
    weights = jax.nn.softmax(jnp.einsum('bqhd,bkhd->bhqk', q, k) / 2, axis=-1)
    return jnp.einsum('bhqk,bkhd->bqhd', weights, v).reshape(4, 8, 16) @ out


@program(ONE, [(16, 8), (16, 8), (16, 8)], [P('i')] * 3, P('i'))
@per_device(ONE, (P('i'),) * 3, P('i'))
def ring_attention(q, k, v):
    """Attention in which keys and values travel around a ring of devices, with a running softmax."""
    ring = [(d, (d + 1) % 8) for d in range(8)]

    def turn(_, state):
        k, v, top, total, sum_ = state
        scores = q @ k.T / 3
        new_top = jnp.maximum(top, scores.max(-1, keepdims=True))
        weights, decay = jnp.exp(scores - new_top), jnp.exp(top - new_top)
        state = new_top, total * decay + weights @ v, sum_ * decay + weights.sum(-1, keepdims=True)
        return lax.ppermute(k, 'i', ring), lax.ppermute(v, 'i', ring), *state
    start = (k, v, jnp.full_like(q[:, :1], -1e9), jnp.zeros_like(q), jnp.zeros_like(q[:, :1]))
    _, _, _, total, sum_ = lax.fori_loop(0, 8, turn, start)
    return total / sum_


@program(ONE, [(12, 4), (8, 4, 4)], [P(), P('i')], P())
@per_device(ONE, (P(), P('i')), P(), check_vma=False)
def pipeline(batches, weight):
    """A pipeline of eight stages: twelve inputs pass from device to device, and the last device gathers the results."""
    stage, w = lax.axis_index('i'), weight[0]
    held, done = jnp.zeros(4), jnp.zeros((12, 4))
    for step in range(12 + 7):
        held = jnp.tanh(jnp.where(stage == 0, batches[min(step, 11)], held) @ w)
        if step >= 7:
            done = done.at[step - 7].set(held)
        held = lax.ppermute(held, 'i', [(d, d + 1) for d in range(7)])
    return lax.psum(jnp.where(stage == 7, done, 0), 'i')


@program(ONE, [(32, 4), np.arange(32, dtype=np.int32) * 5 % 8, (8, 4, 4)], [P('i'), P('i'), P('i')], P('i'))
@per_device(ONE, (P('i'),) * 3, P('i'))
def mixture_of_experts(x, expert, weight):
    """Tokens go to the experts on other devices and back by all-to-all."""
    place = jax.nn.one_hot(expert, 8, dtype=x.dtype)
    sent = jnp.einsum('te,td->etd', place, x)
    there = lax.all_to_all(sent, 'i', 0, 0, tiled=True)
    back = lax.all_to_all(jnp.tanh(there @ weight[0]), 'i', 0, 0, tiled=True)
    return jnp.einsum('te,etd->td', place, back)


@program(DM, [(8, 32), (32,)], [P('data', 'model'), P('model')], P('data', 'model'))
@per_device(DM, (P('data', 'model'), P('model')), P('data', 'model'))
def layer_norm(x, scale):
    """Mean and variance over a sharded dimension by all-reduces."""
    mean = lax.pmean(x.mean(-1, keepdims=True), 'model')
    variance = lax.pmean(((x - mean) ** 2).mean(-1, keepdims=True), 'model')
    return (x - mean) * lax.rsqrt(variance + 1e-3) * scale


@program(ONE, [(16, 8), (8, 16)], [P('i'), P(None, 'i')], P(None, 'i'))
@per_device(ONE, (P('i'), P(None, 'i')), P(None, 'i'))
def gathered_matmul(x, w):
    """Each device gathers the rows and makes some columns of a product."""
    return lax.all_gather(x, 'i', tiled=True) @ w


@program(ONE, [(16, 16), (16, 8)], [P(None, 'i'), P('i')], P('i'))
@per_device(ONE, (P(None, 'i'), P('i')), P('i'))
def scattered_matmul(x, w):
    """Each device gets some rows of a sum of partial products by a reduce-scatter."""
    return lax.psum_scatter(x @ w, 'i', tiled=True)


@program(DM, [(8, 16), (16, 8)], [P('data', 'model'), P('data', 'model')], P('data', 'model'))
@per_device(DM, (P('data', 'model'), P('data', 'model')), P('data', 'model'))
def summa_matmul(a, b):
    """A product on a grid of devices: rows and columns are gathered along the two axes of the mesh."""
    return lax.all_gather(a, 'model', axis=1, tiled=True) @ lax.all_gather(b, 'data', axis=0, tiled=True)


@program(ONE, [(16, 8), (8, 16)], [P('i'), P(None, 'i')], P(None, 'i'))
@per_device(ONE, (P('i'), P(None, 'i')), P(None, 'i'))
def collective_matmul(x, w):
    """A gathered product whose rows arrive around a ring while earlier ones are multiplied."""
    here, rows = lax.axis_index('i'), x.shape[0]
    out = jnp.zeros((rows * 8, w.shape[1]), x.dtype)
    out = lax.pcast(out, 'i', to='varying')
    for step in range(8):
        out = lax.dynamic_update_slice(out, x @ w, ((here + step) % 8 * rows, jnp.int32(0)))
        x = lax.ppermute(x, 'i', [(d, (d - 1) % 8) for d in range(8)])
    return out


@program(ONE, [(64,)], [P('i')], P('i'))
@per_device(ONE, (P('i'),), P('i'))
def halo_exchange(x):
    """Three steps of heat conduction, for which neighbours exchange the ends of their parts."""
    for _ in range(3):
        left = lax.ppermute(x[-1:], 'i', [(d, d + 1) for d in range(7)])
        right = lax.ppermute(x[:1], 'i', [(d + 1, d) for d in range(7)])
        wide = jnp.concatenate([left, x, right])
        x = x + 0.25 * (wide[:-2] - 2 * x + wide[2:])
    return x


@program(DM, [(8, 16), (16, 16)], [P('data', None), P(None, 'model')], P('data', None))
def partly_manual(x, w):
    """A region that is manual along one axis of the mesh; XLA partitions along the other."""
    def body(x, w):
        y = jnp.maximum(x @ w, 0)
        return y - lax.pmean(y.mean(0, keepdims=True), 'data')
    return jax.shard_map(body, mesh=DM, in_specs=(P('data'), P()), out_specs=P('data'), axis_names={'data'})(x, w)


@program(CUBE, [(8, 16)], [P('x', ('y', 'z'))], P(('z', 'x'), 'y'))
def three_axes(x):
    """A mesh of three axes, two of which share a dimension; the result is laid out in another way."""
    return jnp.cumsum(x, axis=1) - x.T.reshape(8, 16)


@program(ONE, [(16, 24)], [P('i')], P(None, 'i'))
def resharding(x):
    """A result that is sharded along another dimension than its argument."""
    return x * 2 + 1


@program(DM, [(10, 6), (6, 14)], [P(), P()], P())
def uneven_tiles(x, w):
    """Sizes that the axes of the mesh do not divide."""
    y = lax.with_sharding_constraint(x @ w, NamedSharding(DM, P('data', 'model')))
    return lax.with_sharding_constraint(jnp.tanh(y), NamedSharding(DM, P('model', 'data'))).sum(0)


@program(DM, [(32, 16), np.arange(24, dtype=np.int32).reshape(4, 6) * 7 % 32], [P('model', None), P('data')], P('data'))
def embedding(table, ids):
    """Rows of a table that is sharded by its rows."""
    return table[ids]


@program(ONE, [np.random.default_rng(1).permutation(64).astype(np.int32)], [P('i')], (P('i'), P('i'), P()))
def sorted_numbers(x):
    """A sort and scans along a sharded dimension."""
    return jnp.sort(x), jnp.cumsum(x), jnp.argmax(x)


@program(DM, [(2, 16, 16, 3), (3, 3, 3, 4)], [P('data', 'model'), P()], P('data', 'model'))
def spatial_convolution(x, kernel):
    """A convolution of images that are cut into stripes."""
    return lax.conv_general_dilated(x, kernel, (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))


@program(DM, [(4, 8), (6, 8, 8)], [P('data'), P(None, None, 'model')], P('data'))
def layers_in_a_loop(x, weights):
    """A loop over layers whose weights are sharded, with collectives in its body."""
    return lax.scan(lambda x, w: (jnp.tanh(x @ w) + x, None), x, weights)[0]


@program(ONE, [(8, 4), np.int32(1)], [P('i'), P()], P())
@per_device(ONE, (P('i'), P()), P())
def chosen_collective(x, which):
    """Branches with different collectives, which all devices choose alike."""
    return lax.cond(which > 0, lambda: lax.psum(x, 'i'), lambda: lax.pmax(x, 'i'))


@program(SHUFFLED, [(8, 8), (8, 8)], [P('b', 'a'), P('a', 'b')], P('b'))
def shuffled_devices(x, y):
    """A mesh whose devices are in another order than their numbers."""
    return x @ y


@program(ONE, [np.arange(32, dtype=np.int32)], [P('i')], (P('i'), P(), P(), P()))
@per_device(ONE, (P('i'),), (P('i'), P(), P(), P()))
def device_numbers(x):
    """The number of a device in its values, and maximum, minimum and a conjunction over devices."""
    y = x * (lax.axis_index('i') + 1)
    return y, lax.pmax(y, 'i'), lax.pmin(y, 'i'), lax.psum(jnp.any(x > 20).astype(jnp.int32), 'i')


@program(DM, [(8, 32), np.arange(8, dtype=np.int32) * 5 % 32], [P('data', 'model'), P('data')], P())
@per_device(DM, (P('data', 'model'), P('data')), P())
def vocabulary_loss(logits, labels):
    """Cross-entropy whose classes are sharded."""
    top = lax.pmax(lax.stop_gradient(logits.max(-1)), 'model')
    total = jnp.log(lax.psum(jnp.exp(logits - top[:, None]).sum(-1), 'model')) + top
    at = labels - lax.axis_index('model') * logits.shape[1]
    mine = jnp.take_along_axis(logits, jnp.clip(at, 0, 7)[:, None], 1)[:, 0]
    picked = lax.psum(jnp.where((at >= 0) & (at < 8), mine, 0), 'model')
    return lax.pmean((total - picked).mean(), 'data')


EXPLICIT = jax.make_mesh((2, 4), ('data', 'model'), axis_types=(AxisType.Explicit,) * 2)


def constrained(x, mesh, *spec):
    return lax.with_sharding_constraint(x, NamedSharding(mesh, P(*spec)))


@program(DM, [(8, 16), (16, 16)], [P('data', None), P(None, 'model')], P('data', 'model'))
def nested_manual(x, w):
    """A region that is manual along one axis inside a region that is manual along another."""
    def inner(x, w):
        return jnp.tanh(x @ w) + lax.axis_index('model')

    def outer(x, w):
        y = jax.shard_map(inner, in_specs=(P(), P(None, 'model')), out_specs=P(None, 'model'), axis_names={'model'})(x, w)
        return y - lax.pmean(y, 'data')
    return jax.shard_map(outer, mesh=DM, in_specs=(P('data'), P()), out_specs=P('data'), axis_names={'data'})(x, w)


@program(ONE, [(4, 6, 8), (8, 8, 8)], [P(), P('i')], (P(), P('i')))
def pipeline_gradient(batches, weights):
    """The gradient of a pipeline whose steps are a scan around a permute."""
    def body(batches, w):
        stage = lax.axis_index('i')

        def step(held, t):
            x = lax.dynamic_index_in_dim(batches, jnp.minimum(t, 3), keepdims=False)
            y = jnp.tanh(jnp.where(stage == 0, x, held) @ w[0])
            return lax.ppermute(y, 'i', [(d, (d + 1) % 8) for d in range(8)]), y
        _, ys = lax.scan(step, lax.pcast(jnp.zeros((6, 8)), 'i', to='varying'), jnp.arange(11))
        return lax.psum(jnp.where(stage == 7, ys[7:], 0), 'i')

    def loss(w):
        return (jax.shard_map(body, mesh=ONE, in_specs=(P(), P('i')), out_specs=P())(batches, w) ** 2).mean()
    return jax.value_and_grad(loss)(weights)


@program(DM, [(8, 16, 3)], [P('data', 'model')], (P(('model', 'data')), P('data', None, None), P('data', 'model')))
@per_device(DM, (P('data', 'model'),), (P(('model', 'data')), P('data', None, None), P('data', 'model')), check_vma=False)
def untiled(x):
    """Scatters and gathers that remove or add a dimension, along one axis or two."""
    scattered = lax.psum_scatter(x[:, :2].reshape(8, 3), ('model', 'data'), scatter_dimension=0, tiled=False)
    gathered = lax.all_gather(x, 'model', axis=1, tiled=False).reshape(4, 16, 3)
    return scattered[None], gathered, lax.psum_scatter(x.sum(2), 'data', scatter_dimension=0, tiled=True)


@program(ONE, [(16, 8)], [P('i')], P('i'))
@per_device(ONE, (P('i'),), P('i'), check_vma=False)
def index_groups(x):
    """Collectives of groups of an axis, whose members are not in ascending order."""
    pairs = [[0, 3], [5, 1], [2, 4], [7, 6]]
    gathered = lax.all_gather(x, 'i', axis_index_groups=pairs, tiled=True)
    scattered = lax.psum_scatter(gathered, 'i', axis_index_groups=pairs, tiled=True)
    exchanged = lax.all_to_all(scattered, 'i', 0, 1, axis_index_groups=pairs, tiled=True).reshape(2, 8)
    return lax.psum(x, 'i', axis_index_groups=[[0, 1, 2, 3], [4, 5, 6, 7]]) + scattered * 2 + exchanged


@program(DM, [(16, 16), (16, 16)], [P('data', 'model'), P('model', 'data')], P())
def constraints_in_a_loop(x, w):
    """A loop that changes the sharding of its state in each iteration."""
    def body(i, x):
        x = jnp.tanh(constrained(x @ w, DM, 'model', 'data')) + i
        x = constrained(x, DM, ('data', 'model'), None)
        return x / 2 + constrained(x.T, DM, None, ('model', 'data'))
    return lax.fori_loop(0, 5, body, x)


@program(DM, [(8, 12, 4)], [P('data', 'model')], (P('data', 'model'), P('data', None, 'model')))
@per_device(DM, (P('data', 'model'),), (P('data', 'model'), P('data', None, 'model')))
def exchanged_dimensions(x):
    """Exchanges between two dimensions, and one that removes a dimension and adds another."""
    y = lax.all_to_all(x, 'model', split_axis=2, concat_axis=1, tiled=True)
    z = lax.all_to_all(y.reshape(4, 4, 3, 1), 'model', split_axis=1, concat_axis=0, tiled=False)
    return z.reshape(4, 4, 3).transpose(1, 2, 0), y


@program(ONE, [(16, 8), (8, 8), (8, 8)], [P('i'), P(), P()], (P(), P()))
@per_device(ONE, (P('i'), P(), P()), (P(), P()), check_vma=False)
def zero_step(x, w, momentum):
    """A data-parallel step that scatters gradients, updates a part of the weights on each device, and gathers them."""
    part = lax.psum_scatter(jax.grad(lambda w: (jnp.sin(x @ w) ** 2).sum())(w), 'i', tiled=True) / 16
    mine = 0.9 * lax.dynamic_slice_in_dim(momentum, lax.axis_index('i'), 1) + part
    return lax.all_gather(lax.dynamic_slice_in_dim(w, lax.axis_index('i'), 1) - 0.1 * mine, 'i', tiled=True), lax.psum(mine, 'i')


@program(DM, [(24, 8), np.arange(32, dtype=np.int32).reshape(8, 4) * 7 % 24, (8, 4, 8)],
         [P('model', None), P('data'), P('data')], (P('model'), P('model')))
def embedding_gradient(table, ids, g):
    """Sums and overwrites of rows of a table that is in parts along another axis than the numbers of the rows."""
    slope = jax.vjp(lambda t: constrained(t[ids], DM, 'data'), table)[1](g)[0]
    return slope, table.at[ids[:, 0]].set(g[:, 0])


@program(EXPLICIT, [(8, 16), (16, 32), (32, 16)], [P('data', None), P(None, 'model'), P('model', None)], P('data', None))
def explicit_axes(x, a, b):
    """A mesh whose axes are explicit: types of arrays name their shardings."""
    h = jax.nn.relu(jnp.einsum('bd,df->bf', x, a, out_sharding=NamedSharding(EXPLICIT, P('data', 'model'))))
    return jnp.einsum('bf,fd->bd', h, b, out_sharding=NamedSharding(EXPLICIT, P('data', None))) + x


@program(ONE, [(8, 4)], [P('i')], (P(), P('i')))
@per_device(ONE, (P('i'),), (P(), P('i')), check_vma=False)
def loop_until_agreed(x):
    """A loop that all devices leave together, whose iterations permute values and subtract their mean in turn."""
    def step(state):
        x, n = state
        turned = lax.cond(n % 2 == 0, lambda x: lax.ppermute(x, 'i', [(d, (d + 3) % 8) for d in range(8)]),
                          lambda x: x - lax.pmean(x, 'i'), x)
        return turned * 0.7, n + 1
    x, n = lax.while_loop(lambda state: lax.pmax(jnp.abs(state[0]).max(), 'i') > 0.05, step, (x, jnp.int32(0)))
    return n, x


@program(DM, [(4, 32, 8), (4, 8), (4, 8), np.int32(13)], [P('data', 'model'), P('data'), P('data'), P()],
         (P('data'), P('data', 'model')))
def decoding_step(cache, q, new, at):
    """A step of decoding, which writes into a cache that is in parts along the sequence."""
    cache = lax.dynamic_update_slice(cache, new[:, None], (jnp.int32(0), jnp.int32(at), jnp.int32(0)))
    scores = jnp.where(jnp.arange(32) <= at, jnp.einsum('bd,btd->bt', q, cache), -1e9)
    return jnp.einsum('bt,btd->bd', jax.nn.softmax(scores, -1), cache), cache


@program(SHUFFLED, [(16, 8), (8, 16)], [P('a', 'b'), P('b', 'a')], (P(('b', 'a')), P('a')))
@per_device(SHUFFLED, (P('a', 'b'), P('b', 'a')), (P(('b', 'a')), P('a')), check_vma=False)
def shuffled_collectives(x, w):
    """Collectives along axes in both orders, of a mesh whose devices are in another order."""
    scattered = lax.psum_scatter(lax.all_gather(x, ('b', 'a'), tiled=True), ('a', 'b'), tiled=True)
    turned = lax.ppermute(scattered, ('a', 'b'), [(d, (d + 1) % 8) for d in range(8)])
    return turned + lax.axis_index(('b', 'a')), lax.psum(x @ w, 'b')[:, :2]


def is_shape(x):
    return isinstance(x, tuple) and all(isinstance(n, int) for n in x)


def drawn(name, args):
    rng = np.random.default_rng(zlib.crc32(f'spmd/{name}'.encode()))
    return jax.tree.map(lambda s: rng.uniform(-1, 1, s).astype(np.float32) if is_shape(s) else s, args, is_leaf=is_shape)


def shardings(mesh, specs):
    return jax.tree.map(lambda s: NamedSharding(mesh, s), specs, is_leaf=lambda s: isinstance(s, P))


def text_of(module):
    options = _hlo.HloPrintOptions()
    options.print_large_constants = True
    options.print_metadata = False
    return '\n'.join(line.rstrip() for line in module.to_string(options).rstrip().split('\n')) + '\n'


def before_optimization():
    """Returns the last module that was passed to XLA, from its dump."""
    path = max(pathlib.Path(DUMP).glob('*.before_optimizations.hlo.pb'), key=lambda p: p.stat().st_mtime_ns)
    # An HloProto holds the module as its field 1.
    data, size, shift, at = path.read_bytes(), 0, 0, 1
    while True:
        byte = data[at]
        size, shift, at = size | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            break
    return _hlo.HloModule.from_serialized_hlo_module_proto(data[at:at + size])


def with_shardings(module):
    """Returns the text of a partitioned module, with the shardings of its parameters and its result."""
    def of(sharding):
        return f', sharding={_hlo.HloSharding.from_proto(sharding)}'
    head, entry = text_of(module).split('\nENTRY ')
    for k, sharding in enumerate(module.spmd_parameters_shardings):
        entry = re.sub(rf'( parameter\({k}\))', lambda m: m.group(1) + of(sharding), entry)
    result = of(module.spmd_output_sharding)
    return f'{head}\nENTRY ' + re.sub(r'(\n  ROOT .*?)(, metadata=.*)?(?=\n)', lambda m: m.group(1) + result, entry)


def tolerance(function, mesh, args, outputs, ins):
    """Returns four times the error of JAX's single-precision result relative to double precision, but at least two ulp."""
    if not any(x.dtype.kind == 'f' for x in outputs):
        return {'kind': 'exact'}
    with jax.enable_x64(True):
        wide = jax.tree.map(lambda x: x.astype(np.float64) if x.dtype == np.float32 else x, args)
        exact = jax.tree.leaves(jax.jit(function, in_shardings=shardings(mesh, ins))(*wide))
    error = max(float(np.max(np.abs(np.asarray(e, np.float64) - o))) for e, o in zip(exact, outputs) if o.dtype.kind == 'f')
    if error == 0:
        return {'kind': 'exact'}
    error = max([error] + [float(np.abs(o).max()) * 2.0**-24 for o in outputs if o.dtype.kind == 'f'])
    return {'kind': 'close', 'abs': float(f'{4 * error:.2g}'), 'rel': 0.0,
            'why': 'four times the distance of the result from one in double precision, at least half an ulp'}


def build(function, mesh, args, ins, outs):
    name = function.__name__
    args = drawn(name, args)
    lowered = jax.jit(function, in_shardings=shardings(mesh, ins), out_shardings=shardings(mesh, outs)).lower(*args)
    compiled = lowered.compile(compiler_options={'xla_allow_excess_precision': False})
    before, after = before_optimization(), compiled.runtime_executable().hlo_modules()[0]
    placed = jax.tree.map(jax.device_put, tuple(args), tuple(shardings(mesh, ins)))
    outputs = [np.asarray(x) for x in jax.tree.leaves(compiled(*placed))]
    rule = tolerance(function, mesh, args, outputs, ins)
    case = {'name': name, 'description': function.__doc__, 'source': {'program': f'tools/golden/spmd_cases.py:{name}', 'producer': PRODUCER},
            'rule': rule, 'inputs': [np.asarray(x) for x in jax.tree.leaves(args)], 'outputs': outputs}
    # Protos do not contain the number of partitions.
    return (case | {'module': text_of(before).replace('\n', ', num_partitions=8\n', 1), 'verb': 'run  partitions 8'},
            case | {'description': function.__doc__ + ' As XLA:CPU has partitioned it.', 'module': with_shardings(after),
                    'verb': 'run  partitions 8  shard'})


def tile_maps():
    """Yields shardings of all meshes above in XLA's two spellings, with the ranges that JAX assigns to the partitions."""
    rows = []
    for mesh in (DM, ONE, CUBE, SHUFFLED, mesh_of(a=2, b=1, c=4)):
        axes = list(mesh.axis_names)
        specs = [P(), *(P(a) for a in axes), *(P(None, a) for a in axes), *(P(a, b) for a in axes for b in axes if a != b),
                 *(P((a, b)) for a in axes for b in axes if a != b), P(tuple(reversed(axes))), P(None, tuple(axes))]
        for spec in specs:
            sharding, shape = NamedSharding(mesh, spec), (16, 24)
            ranges = sharding.devices_indices_map(shape)
            tiles = [[list(s.indices(n)[:2]) for s, n in zip(ranges[d], shape)] for d in mesh.devices.flat]
            named = ','.join('{' + ','.join(f"'{a}'" for a in ((part,) if isinstance(part, str) else part or ())) + '}'
                             for part in tuple(spec) + (None,) * (2 - len(spec)))
            names = ','.join(f"'{a}'={n}" for a, n in mesh.shape.items())
            for text in (str(sharding._to_xla_hlo_sharding(2)), f'{{mesh[{names}], [{named}]}}'):
                rows.append({'sharding': text, 'shape': shape, 'tiles': tiles})
    return rows


def small_module():
    """Returns a serialised module that XLA has partitioned; it records the shardings of its parameters and its result."""
    sharding = NamedSharding(DM, P(('model', 'data'), None))
    function = jax.jit(lambda x, y: (x * y, y), in_shardings=(sharding, NamedSharding(DM, P())), out_shardings=(sharding, NamedSharding(DM, P())))
    compiled = function.lower(np.ones((16, 4), np.float32), np.float32(2)).compile()
    return compiled.runtime_executable().hlo_modules()[0].as_serialized_hlo_module_proto()


def main():
    before, after = {}, {}
    for row in PROGRAMS:
        name = row[0].__name__
        if len(sys.argv) > 1 and not any(fnmatch.fnmatch(name, p) for p in sys.argv[1:]):
            continue
        whole, partitioned = build(*row)
        before[name], after[name] = whole, partitioned
        print(f"{name}: {len(whole['module'])} and {len(partitioned['module'])} bytes, {packs.rule_text(whole['rule'])}")
        if len(sys.argv) > 1:
            print(whole['module'], partitioned['module'])
    shutil.rmtree(DUMP)
    if len(sys.argv) > 1:
        return
    packs.write(ROOT / 'golden/spmd', before)
    packs.write(ROOT / 'golden/spmd_partitioned', after)
    rows = ''.join(json.dumps(row) + '\n' for row in tile_maps())
    (ROOT / 'tests/vectors/tile_maps.jsonl').write_text(rows)
    (ROOT / 'tests/unit/io/data/partitioned.pb').write_bytes(small_module())


if __name__ == '__main__':
    main()
