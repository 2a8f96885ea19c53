"""Programs of many fields in JAX, which `programs_vs_xla.py` measures: `PROGRAMS` maps a name to a function that returns
the program and its arguments (NumPy arrays). The arguments are drawn with a fixed seed."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, nn, random

PROGRAMS = {}


def program(make):
    PROGRAMS[make.__name__] = make
    return make


class Draw:
    """Arrays of normal and uniform numbers."""

    def __init__(self, seed=0):
        self.generator = np.random.default_rng(seed)

    def normal(self, *shape, scale=1.0, dtype=np.float32):
        return (scale * self.generator.standard_normal(shape)).astype(dtype)

    def uniform(self, *shape, low=0.0, high=1.0, dtype=np.float32):
        return self.generator.uniform(low, high, shape).astype(dtype)

    def integers(self, limit, *shape, dtype=np.int32):
        return self.generator.integers(0, limit, shape).astype(dtype)


def layers(draw, *sizes):
    return [(draw.normal(a, b, scale=a**-0.5), draw.normal(b, scale=0.1)) for a, b in zip(sizes, sizes[1:])]


def mlp(parameters, x, activation=jnp.tanh):
    for w, b in parameters[:-1]:
        x = activation(x @ w + b)
    w, b = parameters[-1]
    return x @ w + b


def descend(parameters, gradients, rate):
    return jax.tree.map(lambda p, g: p - rate * g, parameters, gradients)


# Networks


@program
def mlp_train():
    draw = Draw()

    def step(parameters, x, y):
        loss = lambda p: jnp.mean((mlp(p, x, nn.relu) - y) ** 2)
        value, gradients = jax.value_and_grad(loss)(parameters)
        return value, descend(parameters, gradients, 0.01)

    return step, (layers(draw, 128, 256, 256, 10), draw.normal(64, 128), draw.normal(64, 10))


@program
def lenet_grad():
    draw = Draw()
    kernels = [draw.normal(5, 5, 1, 6, scale=0.2), draw.normal(5, 5, 6, 16, scale=0.1)]

    def loss(weights, x, labels):
        kernels, dense = weights
        for kernel in kernels:
            x = nn.relu(lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))
            x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        logits = mlp(dense, x.reshape(x.shape[0], -1), nn.relu)
        return -jnp.mean(jnp.take_along_axis(nn.log_softmax(logits), labels[:, None], 1))

    return jax.grad(loss), ((kernels, layers(draw, 7 * 7 * 16, 84, 10)), draw.normal(32, 28, 28, 1), draw.integers(10, 32))


@program
def residual_block_bf16():
    draw = Draw()
    dims = ("NHWC", "HWIO", "NHWC")

    def block(x, k1, k2, scale):
        y = nn.relu(lax.conv_general_dilated(x, k1, (1, 1), "SAME", dimension_numbers=dims))
        y = lax.conv_general_dilated(y, k2, (1, 1), "SAME", dimension_numbers=dims)
        y = y.astype(jnp.float32)
        y = (y - y.mean((0, 1, 2))) * lax.rsqrt(y.var((0, 1, 2)) + 1e-5) * scale
        return nn.relu(x + y.astype(jnp.bfloat16))

    bf16 = lambda a: jnp.asarray(a, jnp.bfloat16)
    return block, (bf16(draw.normal(2, 28, 28, 64)), bf16(draw.normal(3, 3, 64, 64, scale=0.05)),
                   bf16(draw.normal(3, 3, 64, 64, scale=0.05)), draw.normal(64))


def attention(q, k, v, mask=None):
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) * q.shape[-1] ** -0.5
    if mask is not None:
        scores = jnp.where(mask, scores, -1e9)
    return jnp.einsum("bhqk,bhkd->bhqd", nn.softmax(scores), v)


@program
def masked_attention():
    draw = Draw()
    causal = lambda q, k, v: attention(q, k, v, jnp.tril(jnp.ones((q.shape[2],) * 2, bool)))
    return causal, tuple(draw.normal(2, 8, 128, 32) for _ in range(3))


@program
def transformer_block_grad():
    draw = Draw()
    width, heads = 64, 4
    norm = lambda x: (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)

    def loss(weights, x):
        qkv, out, up, down = weights
        batch, length, _ = x.shape
        split = (norm(x) @ qkv).reshape(batch, length, 3, heads, width // heads).transpose(2, 0, 3, 1, 4)
        y = attention(*split, jnp.tril(jnp.ones((length, length), bool))).transpose(0, 2, 1, 3).reshape(x.shape)
        x = x + y @ out
        return jnp.mean((x + nn.gelu(norm(x) @ up) @ down) ** 2)

    weights = [draw.normal(width, n, scale=0.1) for n in (3 * width, width, 4 * width)] + [draw.normal(4 * width, width, scale=0.1)]
    return jax.value_and_grad(loss), (weights, draw.normal(4, 64, width))


@program
def lstm():
    draw = Draw()

    def run(w, u, b, xs):
        def step(carry, x):
            h, c = carry
            i, f, g, o = jnp.split(x @ w + h @ u + b, 4, axis=-1)
            c = nn.sigmoid(f) * c + nn.sigmoid(i) * jnp.tanh(g)
            h = nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zeros = jnp.zeros((xs.shape[1], u.shape[0]))
        return lax.scan(step, (zeros, zeros), xs)[1]

    return run, (draw.normal(32, 256, scale=0.1), draw.normal(64, 256, scale=0.1), draw.normal(256), draw.normal(50, 8, 32))


@program
def gru():
    draw = Draw()

    def run(w, u, xs):
        def step(h, x):
            gates = x @ w
            r, z = jnp.split(nn.sigmoid(gates[:, :64] + h @ u[:, :64]), 2, -1)
            n = jnp.tanh(gates[:, 64:] + r * (h @ u[:, 64:]))
            h = (1 - z) * n + z * h
            return h, h.mean()

        return lax.scan(step, jnp.zeros((xs.shape[1], 32)), xs)

    return run, (draw.normal(16, 96, scale=0.2), draw.normal(32, 96, scale=0.2), draw.normal(100, 4, 16))


@program
def rnn_grad():
    draw = Draw()

    def loss(w, u, xs):
        def step(h, x):
            h = jnp.tanh(x @ w + h @ u)
            return h, jnp.sum(h**2)

        return lax.scan(step, jnp.zeros((xs.shape[1], u.shape[0])), xs)[1].sum()

    return jax.grad(loss, (0, 1)), (draw.normal(8, 32, scale=0.3), draw.normal(32, 32, scale=0.1), draw.normal(40, 16, 8))


@program
def layer_norm_grad():
    draw = Draw()

    def loss(x, scale, bias):
        y = (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)
        return jnp.sum((y * scale + bias) ** 2)

    return jax.grad(loss, (0, 1, 2)), (draw.normal(512, 256), draw.normal(256), draw.normal(256))


@program
def decode_step():
    """One token with rotary embeddings and a cache of keys and values."""
    draw = Draw()

    def step(x, wq, wk, wv, keys, values, position):
        half = 16
        angle = position / 10000.0 ** (jnp.arange(half) / half)
        turn = lambda a: jnp.concatenate([a[..., :half] * jnp.cos(angle) - a[..., half:] * jnp.sin(angle),
                                          a[..., :half] * jnp.sin(angle) + a[..., half:] * jnp.cos(angle)], -1)
        q, k, v = (turn((x @ wq).reshape(8, 32)), turn((x @ wk).reshape(8, 32)), (x @ wv).reshape(8, 32))
        keys = lax.dynamic_update_index_in_dim(keys, k, position, 1)
        values = lax.dynamic_update_index_in_dim(values, v, position, 1)
        scores = jnp.einsum("hd,htd->ht", q, keys) * 32**-0.5
        scores = jnp.where(jnp.arange(keys.shape[1]) <= position, scores, -1e9)
        return jnp.einsum("ht,htd->hd", nn.softmax(scores), values), keys, values

    weights = [draw.normal(256, 256, scale=0.06) for _ in range(3)]
    return step, (draw.normal(256), *weights, draw.normal(8, 512, 32), draw.normal(8, 512, 32), np.int32(300))


@program
def expert_router():
    draw = Draw()

    def route(x, gate, w1, w2):
        weight, expert = lax.top_k(nn.softmax(x @ gate), 2)
        one_hot = nn.one_hot(expert, gate.shape[1]) * weight[..., None]
        hidden = nn.relu(jnp.einsum("td,edf->tef", x, w1))
        return jnp.einsum("tef,efd,te->td", hidden, w2, one_hot.sum(1))

    return route, (draw.normal(128, 32), draw.normal(32, 8), draw.normal(8, 32, 64, scale=0.2), draw.normal(8, 64, 32, scale=0.1))


@program
def dense_int8():
    draw = Draw()

    def dense(x, w, scale):
        amax = jnp.max(jnp.abs(x), -1, keepdims=True)
        q = jnp.clip(jnp.round(x / amax * 127), -127, 127).astype(jnp.int8)
        y = lax.dot_general(q, w, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32)
        return y.astype(jnp.float32) * (amax / 127) * scale

    return dense, (draw.normal(64, 256), draw.integers(255, 256, 512, dtype=np.int8), draw.uniform(512))


@program
def convolutions_int8():
    draw = Draw()

    def layer(x, w, scale):
        y = lax.conv_general_dilated(
            x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), preferred_element_type=jnp.int32
        )
        return jnp.clip(jnp.round(y.astype(jnp.float32) * scale), 0, 127).astype(jnp.int8)

    def network(x, w1, w2, scale):
        return layer(layer(x, w1, scale), w2, scale)

    weights = [draw.integers(255, 3, 3, 64, 64).astype(np.int8) for _ in range(2)]
    return network, (draw.integers(127, 2, 28, 28, 64).astype(np.int8), *weights, np.float32(1e-3))


@program
def mlp_bf16_grad():
    draw = Draw()

    def loss(parameters, x, y):
        return jnp.mean((mlp(parameters, x, nn.gelu) - y).astype(jnp.float32) ** 2)

    parameters = jax.tree.map(lambda p: jnp.asarray(p, jnp.bfloat16), layers(draw, 256, 1024, 1024, 256))
    x, y = (jnp.asarray(draw.normal(128, 256), jnp.bfloat16) for _ in range(2))
    return jax.grad(loss), (parameters, x, y)


@program
def attention_bf16():
    draw = Draw()

    def attention(q, k, v):
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k, preferred_element_type=jnp.float32) / 8
        weights = nn.softmax(scores).astype(jnp.bfloat16)
        return jnp.einsum("bhqk,bkhd->bqhd", weights, v)

    return attention, tuple(jnp.asarray(draw.normal(2, 256, 4, 64), jnp.bfloat16) for _ in range(3))


@program
def adam_update():
    draw = Draw()

    def update(p, g, m, v, t):
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g * g
        return p - 1e-3 * (m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.999**t)) + 1e-8), m, v

    return update, (draw.normal(400, 500), draw.normal(400, 500), draw.normal(400, 500), draw.uniform(400, 500), np.float32(3))


@program
def dropout_gelu():
    draw = Draw()

    def run(x, seed):
        keep = random.bernoulli(random.key(seed), 0.9, x.shape)
        return jnp.where(keep, nn.gelu(x) / 0.9, 0)

    return run, (draw.normal(256, 512), np.uint32(7))


@program
def cross_entropy_bf16():
    draw = Draw()

    def loss(logits, labels):
        return jnp.mean(nn.logsumexp(logits.astype(jnp.float32), -1) - jnp.take_along_axis(logits, labels[:, None], 1)[:, 0])

    return jax.value_and_grad(loss), (jnp.asarray(draw.normal(256, 2000), jnp.bfloat16), draw.integers(2000, 256))


@program
def contrastive_loss():
    draw = Draw()

    def loss(a, b):
        a, b = (x / jnp.linalg.norm(x, axis=-1, keepdims=True) for x in (a, b))
        logits = a @ b.T / 0.07
        return -jnp.mean(jnp.diag(nn.log_softmax(logits)) + jnp.diag(nn.log_softmax(logits.T)))

    return jax.value_and_grad(loss, (0, 1)), (draw.normal(128, 64), draw.normal(128, 64))


@program
def graph_convolution():
    draw = Draw()

    def run(x, w, senders, receivers):
        degree = jax.ops.segment_sum(jnp.ones(senders.shape), receivers, x.shape[0]) + 1
        messages = (x @ w)[senders] * lax.rsqrt(degree[senders])[:, None]
        return nn.relu(jax.ops.segment_sum(messages, receivers, x.shape[0]) * lax.rsqrt(degree)[:, None])

    return run, (draw.normal(1000, 32), draw.normal(32, 32), draw.integers(1000, 8000), draw.integers(1000, 8000))


# Simulation


@program
def nbody():
    draw = Draw()

    def run(x, v, mass):
        def step(state, _):
            x, v = state
            d = x[None] - x[:, None]
            force = jnp.sum(d * (mass[None] / (jnp.sum(d * d, -1) + 0.01) ** 1.5)[..., None], 1)
            v = v + 0.01 * force
            return (x + 0.01 * v, v), None

        return lax.scan(step, (x, v), None, 10)[0]

    return run, (draw.normal(64, 3), draw.normal(64, 3), draw.uniform(64))


@program
def heat_2d():
    draw = Draw()

    def run(u):
        def step(_, u):
            around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
            return u.at[1:-1, 1:-1].add(0.2 * (around - 4 * u[1:-1, 1:-1]))

        return lax.fori_loop(0, 20, step, u)

    return run, (draw.normal(256, 256),)


@program
def fft_poisson():
    draw = Draw()

    def solve(rho):
        k = jnp.fft.fftfreq(rho.shape[0]) * 2 * jnp.pi
        k2 = k[:, None] ** 2 + k[None] ** 2
        return jnp.real(jnp.fft.ifft2(jnp.where(k2 > 0, -jnp.fft.fft2(rho) / jnp.where(k2 > 0, k2, 1), 0)))

    return solve, (draw.normal(128, 128),)


@program
def lorenz_rk4():
    draw = Draw()

    def f(s):
        x, y, z = s
        return jnp.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])

    def run(s):
        def step(s, _):
            k1 = f(s)
            k2 = f(s + 0.005 * k1)
            k3 = f(s + 0.005 * k2)
            k4 = f(s + 0.01 * k3)
            s = s + 0.01 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            return s, s

        return lax.scan(step, s, None, 500)

    return run, (draw.normal(3, 16),)


@program
def neural_ode():
    draw = Draw()

    def run(parameters, x):
        def step(x, _):
            k1 = mlp(parameters, x)
            k2 = mlp(parameters, x + 0.05 * k1)
            return x + 0.1 * k2, None

        return lax.scan(step, x, None, 50)[0]

    return run, (layers(draw, 4, 32, 32, 4), draw.normal(16, 4))


@program
def ising():
    draw = Draw()

    def run(spins, seed):
        rows, columns = jnp.indices(spins.shape)

        def sweep(spins, key):
            for parity in (0, 1):
                key, draw_key = random.split(key)
                field = sum(jnp.roll(spins, s, a) for s in (-1, 1) for a in (0, 1))
                flip = random.uniform(draw_key, spins.shape) < jnp.exp(-0.88 * spins * field)
                spins = jnp.where(flip & ((rows + columns) % 2 == parity), -spins, spins)
            return spins, spins.mean()

        return lax.scan(sweep, spins, random.split(random.key(seed), 10))

    return run, (np.where(draw.uniform(64, 64) < 0.5, np.float32(-1), np.float32(1)), np.uint32(3))


@program
def game_of_life():
    draw = Draw()

    def run(board):
        def step(_, board):
            n = sum(jnp.roll(board, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))
            return ((n == 3) | ((board == 1) & (n == 2))).astype(jnp.int32)

        return lax.fori_loop(0, 20, step, board)

    return run, (draw.integers(2, 128, 128),)


@program
def julia_newton():
    def run(z):
        def step(z, _):
            z = z - (z**3 - 1) / (3 * z**2)
            return z, None

        z = lax.scan(step, z, None, 20)[0]
        roots = jnp.exp(2j * jnp.pi * jnp.arange(3) / 3).astype(jnp.complex64)
        return jnp.argmin(jnp.abs(z[..., None] - roots), -1)

    x = np.linspace(-2, 2, 128, dtype=np.float32)
    return run, ((x[:, None] + 1j * x[None]).astype(np.complex64),)


@program
def mandelbrot():
    def run(c):
        def step(state):
            i, z, count = state
            inside = jnp.abs(z) < 2
            return i + 1, jnp.where(inside, z * z + c, z), count + inside

        return lax.while_loop(lambda s: s[0] < 50, step, (0, jnp.zeros_like(c), jnp.zeros(c.shape, jnp.int32)))[2]

    x = np.linspace(-2, 1, 160, dtype=np.float32)
    return run, ((x[None] + 1j * x[:, None]).astype(np.complex64),)


@program
def lattice_boltzmann():
    draw = Draw()
    cx = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1], np.float32)
    cy = np.array([0, 0, 1, 0, -1, 1, 1, -1, -1], np.float32)
    weights = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4, np.float32)

    def run(f):
        def step(_, f):
            f = jnp.stack([jnp.roll(f[i], (int(cx[i]), int(cy[i])), (0, 1)) for i in range(9)])
            rho = f.sum(0)
            ux, uy = jnp.tensordot(cx, f, 1) / rho, jnp.tensordot(cy, f, 1) / rho
            cu = cx[:, None, None] * ux + cy[:, None, None] * uy
            return f - (f - weights[:, None, None] * rho * (1 + 3 * cu + 4.5 * cu**2 - 1.5 * (ux**2 + uy**2))) / 0.6

        return lax.fori_loop(0, 10, step, f)

    return run, (draw.uniform(9, 64, 64, low=0.9, high=1.1),)


# Statistics and optimisation


@program
def sinkhorn():
    draw = Draw()

    def run(x, y):
        cost = jnp.sum((x[:, None] - y[None]) ** 2, -1) / 0.5

        def step(_, state):
            f, g = state
            f = -nn.logsumexp(g[None] - cost, 1)
            return f, -nn.logsumexp(f[:, None] - cost, 0)

        return lax.fori_loop(0, 20, step, (jnp.zeros(x.shape[0]), jnp.zeros(y.shape[0])))

    return run, (draw.normal(100, 2), draw.normal(120, 2))


@program
def kmeans():
    draw = Draw()

    def run(points, centres):
        def step(_, centres):
            nearest = jnp.argmin(jnp.sum((points[:, None] - centres[None]) ** 2, -1), 1)
            member = nn.one_hot(nearest, centres.shape[0])
            return (member.T @ points) / jnp.maximum(member.sum(0), 1)[:, None]

        return lax.fori_loop(0, 10, step, centres)

    return run, (draw.normal(1000, 4), draw.normal(8, 4))


@program
def rosenbrock_adam():
    draw = Draw()

    def run(x):
        loss = lambda x: jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

        def step(t, state):
            x, m, v = state
            g = jax.grad(loss)(x)
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
            t = t + 1.0
            return x - 0.01 * (m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.999**t)) + 1e-8), m, v

        return lax.fori_loop(0, 200, step, (x, jnp.zeros_like(x), jnp.zeros_like(x)))[0]

    return run, (draw.normal(16),)


@program
def bfgs():
    from jax.scipy.optimize import minimize

    draw = Draw()
    quadratic = lambda x, a: jnp.sum((a @ x - 1) ** 2) + 0.1 * jnp.sum(x**4)
    return lambda x, a: minimize(quadratic, x, (a,), method="BFGS", options={"maxiter": 20}).x, (draw.normal(8), draw.normal(8, 8))


@program
def levenberg_marquardt():
    draw = Draw()

    def run(p, t, y):
        model = lambda p: p[0] * jnp.exp(-p[1] * t) + p[2] * jnp.sin(p[3] * t)

        def step(p, _):
            r, jacobian = model(p) - y, jax.jacfwd(model)(p)
            return p - jnp.linalg.solve(jacobian.T @ jacobian + 0.1 * jnp.eye(4), jacobian.T @ r), jnp.sum(r * r)

        return lax.scan(step, p, None, 20)

    t = np.linspace(0, 4, 200, dtype=np.float32)
    return run, (np.array([1, 0.5, 0.3, 2], np.float32), t, draw.normal(200))


@program
def hmc_logistic():
    draw = Draw()

    def run(w, x, y, seed):
        energy = lambda w: jnp.sum(nn.softplus(-y * (x @ w))) + 0.5 * jnp.sum(w * w)
        slope = jax.grad(energy)

        def sample(w, key):
            momentum_key, accept_key = random.split(key)
            p = random.normal(momentum_key, w.shape)

            def leap(_, state):
                w, p = state
                p = p - 0.005 * slope(w)
                w = w + 0.01 * p
                return w, p - 0.005 * slope(w)

            new, q = lax.fori_loop(0, 5, leap, (w, p))
            change = energy(w) - energy(new) + 0.5 * (jnp.sum(p * p) - jnp.sum(q * q))
            w = jnp.where(jnp.log(random.uniform(accept_key)) < change, new, w)
            return w, w

        return lax.scan(sample, w, random.split(random.key(seed), 20))

    return run, (draw.normal(8), draw.normal(200, 8), np.sign(draw.normal(200)), np.uint32(1))


@program
def mcmc():
    def run(x, seed):
        density = lambda x: -0.5 * jnp.sum(x**2, -1) + jnp.log1p(jnp.sum(jnp.cos(3 * x), -1) ** 2)

        def step(x, key):
            propose, accept = random.split(key)
            new = x + 0.3 * random.normal(propose, x.shape)
            take = jnp.log(random.uniform(accept, x.shape[:1])) < density(new) - density(x)
            x = jnp.where(take[:, None], new, x)
            return x, x.mean(0)

        return lax.scan(step, x, random.split(random.key(seed), 100))

    return run, (Draw().normal(64, 2), np.uint32(5))


@program
def particle_filter():
    draw = Draw()

    def run(observed, seed):
        def step(x, pair):
            y, key = pair
            move, pick = random.split(key)
            x = 0.9 * x + random.normal(move, x.shape)
            weight = nn.softmax(-0.5 * (y - x) ** 2)
            index = jnp.searchsorted(jnp.cumsum(weight), (jnp.arange(x.size) + random.uniform(pick)) / x.size)
            return x[jnp.clip(index, 0, x.size - 1)], jnp.sum(weight * x)

        return lax.scan(step, jnp.zeros(256), (observed, random.split(random.key(seed), observed.size)))[1]

    return run, (draw.normal(50), np.uint32(2))


@program
def kalman_filter():
    draw = Draw()

    def run(a, c, ys):
        def step(state, y):
            m, p = state
            m, p = a @ m, a @ p @ a.T + 0.1 * jnp.eye(4)
            gain = jnp.linalg.solve(c @ p @ c.T + jnp.eye(2), c @ p).T
            m = m + gain @ (y - c @ m)
            return (m, p - gain @ c @ p), m

        return lax.scan(step, (jnp.zeros(4), jnp.eye(4)), ys)[1]

    return run, (draw.normal(4, 4, scale=0.4), draw.normal(2, 4), draw.normal(100, 2))


@program
def gaussian_process():
    draw = Draw()

    def run(x, y, new):
        kernel = lambda a, b: jnp.exp(-0.5 * jnp.sum((a[:, None] - b[None]) ** 2, -1))
        factor = jnp.linalg.cholesky(kernel(x, x) + 0.1 * jnp.eye(x.shape[0]))
        alpha = jax.scipy.linalg.cho_solve((factor, True), y)
        v = jax.scipy.linalg.solve_triangular(factor, kernel(x, new), lower=True)
        return kernel(new, x) @ alpha, 1 - jnp.sum(v * v, 0)

    return run, (draw.normal(200, 3), draw.normal(200), draw.normal(100, 3))


@program
def conjugate_gradient():
    draw = Draw()
    m = draw.normal(128, 128)

    def run(a, b):
        return jax.scipy.sparse.linalg.cg(a, b, maxiter=50)[0]

    return run, (m @ m.T / 128 + np.eye(128, dtype=np.float32), draw.normal(128))


@program
def projected_gauss_seidel():
    draw = Draw()

    def run(a, b):
        def sweep(_, x):
            body = lambda i, x: x.at[i].set(jnp.maximum(0, x[i] - (a[i] @ x - b[i]) / a[i, i]))
            return lax.fori_loop(0, b.size, body, x)

        return lax.fori_loop(0, 10, sweep, jnp.zeros_like(b))

    m = draw.normal(32, 32)
    return run, (m @ m.T + 32 * np.eye(32, dtype=np.float32), draw.normal(32))


@program
def principal_components():
    draw = Draw()

    def run(x):
        x = x - x.mean(0)
        values, vectors = jnp.linalg.eigh(x.T @ x / x.shape[0])
        return values, x @ vectors[:, -3:]

    return run, (draw.normal(500, 32),)


@program
def black_scholes():
    draw = Draw()

    def price(s, k, t, r, sigma):
        d1 = (jnp.log(s / k) + (r + sigma**2 / 2) * t) / (sigma * jnp.sqrt(t))
        cdf = lambda x: 0.5 * (1 + lax.erf(x / 2**0.5))
        return s * cdf(d1) - k * jnp.exp(-r * t) * cdf(d1 - sigma * jnp.sqrt(t))

    each = jax.vmap(jax.value_and_grad(price, (0, 4)), (0, 0, 0, None, 0))
    return each, (draw.uniform(20000, low=50, high=150), draw.uniform(20000, low=50, high=150), draw.uniform(20000, low=0.1, high=2),
                  np.float32(0.03), draw.uniform(20000, low=0.1, high=0.5))


@program
def asian_option():
    def run(seed):
        steps = random.normal(random.key(seed), (1000, 50)) * 0.02 + 0.0005
        path = 100 * jnp.exp(jnp.cumsum(steps, 1))
        return jnp.mean(jnp.maximum(path.mean(1) - 100, 0))

    return run, (np.uint32(9),)


@program
def gamma_regression():
    draw = Draw()

    def loss(w, x, y):
        shape = nn.softplus(x @ w) + 0.1
        return -jnp.sum(jax.scipy.stats.gamma.logpdf(y, shape))

    return jax.value_and_grad(loss), (draw.normal(4), draw.normal(2000, 4), draw.uniform(2000, low=0.1, high=3))


# Signals, images, sequences and integers


@program
def ema_assoc_scan():
    draw = Draw()

    def run(a, x):
        combine = lambda l, r: (l[0] * r[0], l[1] * r[0] + r[1])
        return lax.associative_scan(combine, (a, x))[1]

    return run, (draw.uniform(1024, 32), draw.normal(1024, 32))


@program
def affine_warp():
    draw = Draw()

    def run(image, matrix):
        ys, xs = jnp.meshgrid(jnp.arange(image.shape[0]), jnp.arange(image.shape[1]), indexing="ij")
        at = matrix @ jnp.stack([ys.ravel(), xs.ravel(), jnp.ones(ys.size)])
        return jax.scipy.ndimage.map_coordinates(image, list(at), order=1).reshape(image.shape)

    return run, (draw.uniform(128, 128), np.array([[0.9, 0.1, 2], [-0.1, 0.9, 5]], np.float32))


@program
def stereo_cost():
    draw = Draw()

    def run(left, right):
        cost = jnp.stack([jnp.abs(left - jnp.roll(right, d, 1)) for d in range(16)])
        cost = lax.reduce_window(cost, 0.0, lax.add, (1, 5, 5), (1, 1, 1), "SAME")
        return jnp.argmin(cost, 0)

    return run, (draw.uniform(96, 128), draw.uniform(96, 128))


@program
def edges_of_image():
    draw = Draw()

    def run(image):
        kernel = jnp.array([[1.0, 0, -1], [2, 0, -2], [1, 0, -1]])
        gx, gy = (jax.scipy.signal.convolve2d(image, k, mode="same") for k in (kernel, kernel.T))
        strength = jnp.hypot(gx, gy)
        return strength * (strength > jnp.quantile(strength, 0.9)), jnp.arctan2(gy, gx)

    return run, (draw.uniform(128, 160),)


@program
def spectrogram():
    draw = Draw()

    def run(signal):
        frames = jnp.stack([signal[i * 128 : i * 128 + 256] for i in range(60)])
        return jnp.log1p(jnp.abs(jnp.fft.rfft(frames * jnp.hanning(256))) ** 2)

    return run, (draw.normal(8192),)


@program
def viterbi():
    draw = Draw()

    def run(transition, emission):
        def forward(score, e):
            candidates = score[:, None] + transition
            return candidates.max(0) + e, candidates.argmax(0)

        last, back = lax.scan(forward, emission[0], emission[1:])
        return lax.scan(lambda s, b: (b[s], b[s]), last.argmax(), back, reverse=True)[1]

    return run, (draw.normal(32, 32), draw.normal(200, 32))


@program
def edit_distance():
    draw = Draw()

    def run(a, b):
        def row(previous, c):
            def cell(left, args):
                up, diagonal, d = args
                value = jnp.minimum(jnp.minimum(up, left) + 1, diagonal + (c != d))
                return value, value

            first = previous[0] + 1
            rest = lax.scan(cell, first, (previous[1:], previous[:-1], b))[1]
            return jnp.concatenate([first[None], rest]), None

        return lax.scan(row, jnp.arange(b.size + 1), a)[0][-1]

    return run, (draw.integers(4, 60), draw.integers(4, 60))


@program
def floyd_warshall():
    draw = Draw()
    step = lambda k, d: jnp.minimum(d, d[:, k][:, None] + d[k][None])
    return lambda d: lax.fori_loop(0, d.shape[0], step, d), (draw.uniform(96, 96, low=1, high=10),)


@program
def page_rank():
    draw = Draw()

    def run(source, target):
        n = 2000
        degree = jnp.zeros(n).at[source].add(1.0)
        step = lambda _, r: 0.15 / n + 0.85 * jnp.zeros(n).at[target].add(r[source] / jnp.maximum(degree[source], 1))
        return lax.fori_loop(0, 10, step, jnp.full(n, 1 / n))

    return run, (draw.integers(2000, 10000), draw.integers(2000, 10000))


@program
def sort_pairs():
    draw = Draw()
    return lambda k, v: lax.sort((k, v), num_keys=1), (draw.normal(64, 1024), draw.integers(1000, 64, 1024))


@program
def unique_counts():
    draw = Draw()
    return lambda x: jnp.unique(x, return_counts=True, size=256), (draw.integers(256, 20000),)


@program
def hash_words():
    draw = Draw()

    def run(words):
        def mix(h, w):
            h = (h ^ w) * jnp.uint32(0x01000193)
            return h ^ (h >> 15), None

        return lax.scan(mix, jnp.full(words.shape[1:], 0x811C9DC5, jnp.uint32), words)[0]

    return run, (draw.integers(2**31, 32, 4096, dtype=np.uint32),)


@program
def top_k_sampling():
    draw = Draw()

    def run(logits, seed):
        values, indices = lax.top_k(logits, 40)
        noise = random.gumbel(random.key(seed), values.shape)
        return jnp.take_along_axis(indices, jnp.argmax(values + noise, -1)[:, None], 1)

    return run, (draw.normal(16, 32000), np.uint32(4))
