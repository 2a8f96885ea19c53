"""Neural networks: layers, attention, losses, training steps with optimizers."""
import jax
import jax.numpy as jnp
import numpy as np
from arguments import bools, given, ints, normal, uniform
from jax import lax
from registry import Area

area = Area('nn')


def layer_norm(x, gain, bias, eps=1e-5):
    mean = x.mean(-1, keepdims=True)
    var = ((x - mean)**2).mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(var + eps) * gain + bias


def attention(q, k, v, mask=None):
    scores = jnp.einsum('bqhd,bkhd->bhqk', q, k) / np.float32(np.sqrt(q.shape[-1])).astype(q.dtype)
    if mask is not None:
        scores = jnp.where(mask, scores, jnp.asarray(-1e9, scores.dtype))
    return jnp.einsum('bhqk,bkhd->bqhd', jax.nn.softmax(scores, -1), v)


def cross_entropy(logits, labels):
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1).mean()


for t in ('f32', 'bf16', 'f16'):
    area.add(f'layer_norm_{t}', layer_norm, [normal(4, 8, t=t), normal(8, t=t), normal(8, t=t)], f'Layer normalisation in {t}.')
    area.add(f'softmax_{t}', lambda x: jax.nn.softmax(x, -1), [normal(3, 10, t=t, scale=2)], f'Softmax in {t}.')
    area.add(f'attention_{t}', attention, [normal(2, 3, 2, 4, t=t), normal(2, 5, 2, 4, t=t), normal(2, 5, 2, 4, t=t)], f'Attention of two heads in {t}.')
QKV = [normal(1, 5, 2, 4)] * 3
area.add('attention_causal', lambda q, k, v: attention(q, k, v, jnp.tril(jnp.ones((5, 5), bool))), QKV, 'Attention under a causal mask.')
area.add('attention_padding_mask', lambda q, k, v, m: attention(q, k, v, m[:, None, None]), QKV + [given([[1, 1, 0, 1, 0]], 'pred')], 'Attention under a padding mask.')
area.add('attention_gradient', lambda q, k, v: jax.grad(lambda *a: (attention(*a)**2).sum(), (0, 1, 2))(q, k, v), QKV, 'The gradients of attention.')
area.add('layer_norm_gradient', lambda x, g, b: jax.grad(lambda *a: (layer_norm(*a)**3).sum(), (0, 1, 2))(x, g, b), [normal(3, 6), normal(6), normal(6)], 'The gradients of layer normalisation.')
area.add('cross_entropy', lambda x, y: jax.value_and_grad(cross_entropy)(x, y), [normal(5, 7), ints(0, 7, (5,))], 'Cross entropy with integer labels, and its gradient.')


@area.case(normal(2, 6, 8), normal(8))
def rms_norm(x, gain):
    """Root-mean-square normalisation, in f32 and rounded to bf16."""
    y = x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * gain
    return y, y.astype(jnp.bfloat16)


@area.case(normal(2, 3, 4, 4), normal(3), normal(3))
def group_and_instance_norm(x, gain, bias):
    """Normalisation over pixels, and over pixels and channels, by plain arithmetic."""
    def norm(v, axes):
        return (v - v.mean(axes, keepdims=True)) * lax.rsqrt(v.var(axes, keepdims=True) + 1e-5)
    return norm(x, (2, 3)) * gain[:, None, None] + bias[:, None, None], norm(x, (1, 2, 3))


@area.case(normal(1, 4, 2, 6), ints(0, 50, (1, 4)))
def rotary_embedding(x, positions):
    """Rotary position embedding of queries."""
    frequency = np.float32(100.0)**(-np.arange(3, dtype=np.float32) / 3)
    angle = positions[..., None, None].astype(jnp.float32) * frequency
    a, b = jnp.split(x, 2, -1)
    return jnp.concatenate([a * jnp.cos(angle) - b * jnp.sin(angle), b * jnp.cos(angle) + a * jnp.sin(angle)], -1)


@area.case(rule=None)
def sinusoidal_positions():
    """A table of sinusoidal positions, no parameters."""
    p = jnp.arange(8)[:, None] / 10.0 ** (2 * jnp.arange(4) / 8)
    return jnp.concatenate([jnp.sin(p), jnp.cos(p)], 1)


@area.case(normal(1, 6, 4, 8), normal(1, 6, 2, 8), normal(1, 6, 2, 8))
def grouped_query_attention(q, k, v):
    """Four query heads share two key and value heads."""
    return attention(q, jnp.repeat(k, 2, 2), jnp.repeat(v, 2, 2), jnp.tril(jnp.ones((6, 6), bool)))


@area.case(normal(8, 4), normal(8, 4), normal(8, 4))
def flash_attention(q, k, v):
    """Attention with a running maximum over blocks of keys, in a scan."""
    def block(carry, kv):
        m, total, acc = carry
        s = q @ kv[0].T * 0.5
        m2 = jnp.maximum(m, s.max(1))
        p = jnp.exp(s - m2[:, None])
        scale = jnp.exp(m - m2)
        return (m2, total * scale + p.sum(1), acc * scale[:, None] + p @ kv[1]), None
    init = (jnp.full(8, -1e30), jnp.zeros(8), jnp.zeros((8, 4)))
    (m, total, acc), _ = lax.scan(block, init, (k.reshape(4, 2, 4), v.reshape(4, 2, 4)))
    return acc / total[:, None]


@area.case(normal(6, 5), normal(5, 4, scale=0.4), normal(4, 4, 5, scale=0.4))
def mixture_of_experts(x, gate, experts):
    """Tokens are sent to the best two of four experts."""
    weights, chosen = lax.top_k(jax.nn.softmax(x @ gate), 2)
    out = jnp.einsum('td,tkde->tke', x[:, :4], experts[chosen])
    return (out * weights[..., None]).sum(1), chosen


@area.case(normal(7, 3), normal(3, 12, scale=0.5), normal(3, 12, scale=0.5), normal(12))
def lstm(xs, wx, wh, b):
    """An LSTM over a sequence."""
    def step(carry, x):
        h, c = carry
        i, f, g, o = jnp.split(x @ wx + h @ wh + b, 4)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h
    return lax.scan(step, (jnp.zeros(3), jnp.zeros(3)), xs)


@area.case(normal(7, 3), normal(3, 9, scale=0.5), normal(3, 9, scale=0.5))
def gru(xs, wx, wh):
    """A gated recurrent unit over a sequence."""
    def step(h, x):
        rx, zx, nx = jnp.split(x @ wx, 3)
        rh, zh, nh = jnp.split(h @ wh, 3)
        z = jax.nn.sigmoid(zx + zh)
        h = (1 - z) * jnp.tanh(nx + jax.nn.sigmoid(rx + rh) * nh) + z * h
        return h, h
    return lax.scan(step, jnp.zeros(3), xs)[1]


@area.case(uniform(-1, 0, (4,)), normal(10, 4), normal(10, 4))
def state_space_scan(a, b, x):
    """A diagonal state-space layer by associative scan."""
    decay = jnp.broadcast_to(jnp.exp(a), x.shape)
    return lax.associative_scan(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), (decay, b * x))[1]


@area.case(normal(4, 6), normal(4, 6), uniform(0.1, 1, (4, 6)))
def losses(x, y, p):
    """Squared, absolute, Huber, hinge, binary cross entropy and Kullback-Leibler losses."""
    d = x - y
    huber = jnp.where(jnp.abs(d) < 1, 0.5 * d * d, jnp.abs(d) - 0.5).mean()
    q = jax.nn.softmax(x)
    return ((d * d).mean(), jnp.abs(d).mean(), huber, jnp.maximum(0, 1 - x * jnp.sign(y)).mean(),
            -(p * jax.nn.log_sigmoid(x) + (1 - p) * jax.nn.log_sigmoid(-x)).mean(), (q * (jnp.log(q) - jnp.log(p))).sum(1))


@area.case(normal(3, 4, scale=2), normal(3, 4, scale=2))
def contrastive_loss(a, b):
    """A contrastive loss of two batches of embeddings."""
    a, b = (v / jnp.linalg.norm(v, axis=1, keepdims=True) for v in (a, b))
    s = a @ b.T / 0.5
    i = jnp.arange(3)
    return -(jax.nn.log_softmax(s)[i, i] + jax.nn.log_softmax(s.T)[i, i]).mean(), s


@area.case(normal(5, 6), bools(5, 6, p=0.7))
def dropout(x, keep):
    """Dropout with a given mask."""
    return jnp.where(keep, x / 0.7, 0)


def mlp_params():
    return {'w1': normal(5, 8, scale=0.4), 'b1': normal(8, scale=0.1), 'w2': normal(8, 3, scale=0.4), 'b2': normal(3, scale=0.1)}


def mlp(p, x):
    return jnp.tanh(x @ p['w1'] + p['b1']) @ p['w2'] + p['b2']


def mlp_loss(p, x, y):
    return cross_entropy(mlp(p, x), y)


BATCH = [normal(6, 5), ints(0, 3, (6,))]
area.add('mlp_forward', mlp, [mlp_params(), normal(6, 5)], 'A two-layer perceptron.')
area.add('mlp_sgd_step', lambda p, x, y: jax.tree.map(lambda a, g: a - 0.1 * g, p, jax.grad(mlp_loss)(p, x, y)), [mlp_params()] + BATCH,
         'One step of gradient descent on a perceptron.')


@area.case(mlp_params(), mlp_params(), *BATCH)
def mlp_momentum_step(p, m, x, y):
    """One step with momentum and weight decay."""
    g = jax.grad(mlp_loss)(p, x, y)
    m = jax.tree.map(lambda a, b: 0.9 * a + b, m, g)
    return jax.tree.map(lambda a, b: a * 0.999 - 0.1 * b, p, m), m


@area.case(mlp_params(), {k: uniform(0.01, 0.1, s) for k, s in (('b1', (8,)), ('b2', (3,)), ('w1', (5, 8)), ('w2', (8, 3)))}, mlp_params(), given(3, 's32'), *BATCH)
def mlp_adam_step(p, v, m, step, x, y):
    """One step of Adam with bias correction and clipping by global norm."""
    loss, g = jax.value_and_grad(mlp_loss)(p, x, y)
    norm = jnp.sqrt(sum((a**2).sum() for a in jax.tree.leaves(g)))
    g = jax.tree.map(lambda a: a * jnp.minimum(1.0, 0.5 / norm), g)
    m = jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, m, g)
    v = jax.tree.map(lambda a, b: 0.99 * a + 0.01 * b * b, v, g)
    t = step.astype(jnp.float32) + 1
    c1, c2 = 1 - 0.9**t, 1 - 0.99**t
    p = jax.tree.map(lambda a, mm, vv: a - 0.01 * (mm / c1) / (jnp.sqrt(vv / c2) + 1e-4), p, m, v)
    return loss, p, step + 1


@area.case(mlp_params(), normal(4, 6, 5), ints(0, 3, (4, 6)))
def mlp_training_loop(p, xs, ys):
    """Four steps of gradient descent in a scan, with the losses."""
    def step(p, batch):
        loss, g = jax.value_and_grad(mlp_loss)(p, *batch)
        return jax.tree.map(lambda a, b: a - 0.1 * b, p, g), loss
    return lax.scan(step, p, (xs, ys))


@area.case(normal(5, 8, t='bf16', scale=0.4), normal(8, 3, t='bf16', scale=0.4), normal(6, 5, t='bf16'), normal(6, 3, t='bf16'))
def mlp_bf16_gradient(w1, w2, x, y):
    """The gradient of a bf16 perceptron."""
    return jax.grad(lambda a, b: (((jax.nn.relu(x @ a) @ b - y)**2).astype(jnp.float32)).mean(), (0, 1))(w1, w2)


def cnn_params():
    return {'c1': normal(3, 3, 1, 3, scale=0.3), 'c2': normal(3, 3, 3, 4, scale=0.3), 'w': normal(16, 3, scale=0.3)}


def cnn(p, x):
    dims = ('NHWC', 'HWIO', 'NHWC')
    x = jax.nn.relu(lax.conv_general_dilated(x, p['c1'], (1, 1), 'SAME', dimension_numbers=dims))
    x = lax.reduce_window(x, -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), 'VALID')
    x = jax.nn.relu(lax.conv_general_dilated(x, p['c2'], (2, 2), 'SAME', dimension_numbers=dims))
    return x.reshape(x.shape[0], -1) @ p['w']


area.add('cnn_forward', cnn, [cnn_params(), normal(2, 8, 8, 1)], 'A small convolutional network.')
area.add('cnn_sgd_step', lambda p, x, y: jax.tree.map(lambda a, g: a - 0.1 * g, p, jax.grad(lambda q: cross_entropy(cnn(q, x), y))(p)),
         [cnn_params(), normal(2, 8, 8, 1), ints(0, 3, (2,))], 'One step of gradient descent on a convolutional network.')


def block_params(t='f32'):
    d = 8
    return {'qkv': normal(d, 3 * d, scale=0.3, t=t), 'o': normal(d, d, scale=0.3, t=t), 'up': normal(d, 16, scale=0.3, t=t),
            'down': normal(16, d, scale=0.3, t=t), 'g1': normal(d, t=t), 'g2': normal(d, t=t), 'b1': normal(d, t=t), 'b2': normal(d, t=t)}


def block(p, x):
    n, s, d = x.shape
    h = layer_norm(x, p['g1'], p['b1'])
    q, k, v = jnp.split((h @ p['qkv']).reshape(n, s, 2, 12), 3, -1)
    x = x + attention(q, k, v, jnp.tril(jnp.ones((s, s), bool))).reshape(n, s, d) @ p['o']
    return x + jax.nn.gelu(layer_norm(x, p['g2'], p['b2']) @ p['up']) @ p['down']


for t in ('f32', 'bf16'):
    area.add(f'transformer_block_{t}', block, [block_params(t), normal(2, 5, 8, t=t)], f'A transformer block with causal attention in {t}.')


@area.case({'embed': normal(11, 8, scale=0.5), 'blocks': block_params()}, ints(0, 11, (2, 6)))
def transformer_gradient(p, tokens):
    """Loss and gradients of a one-block language model with tied embeddings."""
    def loss(p):
        logits = block(p['blocks'], p['embed'][tokens[:, :-1]]) @ p['embed'].T
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[:, 1:, None], -1).mean()
    value, g = jax.value_and_grad(loss)(p)
    return value, g


@area.case(normal(11, 8), block_params(), ints(0, 11, (3,)))
def greedy_decoding(embed, p, prompt):
    """Three tokens by greedy decoding in a loop."""
    def step(i, tokens):
        logits = block(p, embed[tokens][None])[0] @ embed.T
        return tokens.at[i].set(jnp.argmax(logits[i - 1]).astype(jnp.int32))
    return lax.fori_loop(3, 6, step, jnp.concatenate([prompt, jnp.zeros(3, jnp.int32)]))


@area.case(normal(6, 8), normal(4, 8, scale=0.5), normal(8, 4, scale=0.5), normal(8, 8))
def low_rank_adapter(x, a, b, w):
    """A linear layer with a low-rank update, and a gated unit."""
    y = x @ w + (x @ a.T) @ b.T * 2
    return y, jax.nn.silu(y[:, :4]) * y[:, 4:], jax.nn.glu(y)


@area.case(ints(-127, 128, (4, 8), 's8'), ints(-127, 128, (8, 3), 's8'), uniform(0.01, 0.1, (4, 1)), uniform(0.01, 0.1, (3,)))
def quantized_dense(x, w, sx, sw):
    """A dense layer of s8 operands with scales for rows and columns."""
    return lax.dot(x, w, preferred_element_type=jnp.int32).astype(jnp.float32) * sx * sw


@area.case(normal(5, 3), ints(0, 5, (8,)), ints(0, 5, (8,)), normal(3, 3))
def graph_convolution(x, source, target, w):
    """One layer of a graph network: gather, transform, scatter-add, normalise."""
    degree = jnp.zeros(5).at[target].add(1.0)
    return jax.nn.relu(jnp.zeros((5, 3)).at[target].add((x @ w)[source]) / jnp.maximum(degree, 1)[:, None] + x)


@area.case(normal(1, 16, 3), normal(12, 6), normal(4, 6), rule=None)
def patch_embedding(image, w, positions):
    """Patches of an image as tokens with position embeddings."""
    x = image.reshape(1, 2, 2, 2, 2, 3).transpose(0, 1, 3, 2, 4, 5).reshape(1, 4, 12)
    return x @ w + positions


@area.case(normal(4, 3), normal(4, 3), uniform(0.1, 1, (4,)))
def policy_gradient(logits, advantages, old):
    """A clipped policy objective and its gradient."""
    def loss(z):
        ratio = jnp.exp(jax.nn.log_softmax(z)[:, 0] - jnp.log(old))
        a = advantages[:, 0]
        return -jnp.minimum(ratio * a, jnp.clip(ratio, 0.8, 1.2) * a).mean()
    return jax.value_and_grad(loss)(logits)
