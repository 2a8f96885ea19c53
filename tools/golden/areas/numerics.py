"""Numerical programs: iterations, differential equations, linear algebra by hand, probability."""
import jax
import jax.numpy as jnp
import numpy as np
from accuracy import exact
from arguments import bools, given, ints, normal, spd, stochastic, uniform
from jax import lax
from registry import Area

area = Area('numerics')


@area.case(uniform(0.5, 3, (5,)), x64=True)
def newton_cube_root(a):
    """Cube roots by Newton's iteration until the step is small."""
    x, steps = lax.while_loop(lambda s: s[1] < 12, lambda s: (s[0] - (s[0]**3 - a) / (3 * s[0]**2), s[1] + 1), (jnp.ones_like(a), 0))
    return x, steps


@area.case(normal(2, scale=0.5), given(0.1))
def rk4_pendulum(state, dt):
    """A pendulum by twenty steps of the classical Runge-Kutta method."""
    f = lambda s: jnp.stack([s[1], -jnp.sin(s[0])])

    def step(s, _):
        k1 = f(s)
        k2 = f(s + dt / 2 * k1)
        k3 = f(s + dt / 2 * k2)
        k4 = f(s + dt * k3)
        s = s + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return s, s
    return lax.scan(step, state, None, length=20)


@area.case(uniform(0.5, 1.5, (3,), 'f64'), x64=True)
def lorenz_f64(state):
    """The Lorenz system by Euler steps in f64, a short while."""
    def step(s, _):
        x, y, z = s
        s = s + 0.005 * jnp.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])
        return s, s[0]
    return lax.scan(step, state, None, length=30)


@area.case(normal(2), given([3.0, 1.0]))
def adaptive_step(y, target):
    """A while loop whose trip count depends on floating values far from any tie."""
    def body(s):
        v, n = s
        return v + 0.3 * (target - v), n + 1
    return lax.while_loop(lambda s: (jnp.abs(s[0] - target).max() > 0.0123) & (s[1] < 50), body, (y, jnp.int32(0)))


@area.case(rule=exact())
def mandelbrot():
    """Escape counts of a coarse grid, with steps of a power of two and few iterations."""
    c = (jnp.arange(24) / 8 - 2)[None, :] + 1j * (jnp.arange(17) / 8 - 1)[:, None]

    def step(_, s):
        zr, zi, n = s
        keep = zr * zr + zi * zi <= 4.03
        r = jnp.where(keep, zr * zr - zi * zi + c.real, zr)
        i = jnp.where(keep, 2 * zr * zi + c.imag, zi)
        return r, i, n + keep
    return lax.fori_loop(0, 12, step, (jnp.zeros(c.shape), jnp.zeros(c.shape), jnp.zeros(c.shape, jnp.int32)))[2]


@area.case(bools(12, 12, p=0.4), rule=exact())
def game_of_life(world):
    """Eight generations on a torus."""
    def generation(_, w):
        n = sum(jnp.roll(w.astype(jnp.int32), (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
        return (n == 3) | (w & (n == 2))
    return lax.fori_loop(0, 8, generation, world)


@area.case(rule=exact())
def rule_110():
    """An elementary cellular automaton, all generations."""
    table = jnp.array([(110 >> k) & 1 for k in range(8)], jnp.int32)

    def step(row, _):
        return table[4 * jnp.roll(row, 1) + 2 * row + jnp.roll(row, -1)], row
    return lax.scan(step, jnp.zeros(40, jnp.int32).at[39].set(1), None, length=20)[1]


@area.case(uniform(0, 1, (9, 9)))
def heat_equation(u):
    """Explicit steps of the heat equation with fixed edges."""
    def step(_, v):
        inner = v[1:-1, 1:-1] + 0.2 * (v[2:, 1:-1] + v[:-2, 1:-1] + v[1:-1, 2:] + v[1:-1, :-2] - 4 * v[1:-1, 1:-1])
        return v.at[1:-1, 1:-1].set(inner)
    return lax.fori_loop(0, 10, step, u)


@area.case(normal(16), normal(16))
def wave_equation(u, v):
    """Leap-frog steps of the wave equation on a ring."""
    def step(s, _):
        a, b = s
        c = 2 * a - b + 0.25 * (jnp.roll(a, 1) - 2 * a + jnp.roll(a, -1))
        return (c, a), c[0]
    return lax.scan(step, (u, v), None, length=15)


@area.case(normal(5, 3), normal(5, 3, scale=0.1), uniform(0.5, 2, (5,)))
def n_body(x, v, m):
    """Gravitation of five bodies, symplectic steps with softening."""
    def step(s, _):
        x, v = s
        d = x[None] - x[:, None]
        r2 = (d**2).sum(-1) + 0.1
        v = v + 0.01 * (m[None, :, None] * d / (r2 * jnp.sqrt(r2))[..., None]).sum(1)
        return (x + 0.01 * v, v), None
    return lax.scan(step, (x, v), None, length=8)[0]


@area.case(normal(10, 2), normal(3, 2))
def k_means(points, centers):
    """One step of k-means: assignment, sums, new centres."""
    d = ((points[:, None] - centers[None])**2).sum(-1)
    a = d.argmin(1)
    count = jnp.zeros(3).at[a].add(1.0)
    return jnp.zeros((3, 2)).at[a].add(points) / jnp.maximum(count, 1)[:, None], a, count


@area.case(stochastic(6, 6))
def page_rank(links):
    """Twenty iterations of PageRank on a dense graph."""
    def step(_, r):
        r = 0.85 * r @ links + 0.15 / 6
        return r / r.sum()
    return lax.fori_loop(0, 20, step, jnp.full(6, 1 / 6, jnp.float32))


@area.case(spd(5), normal(5))
def conjugate_gradient(a, b):
    """Four iterations of conjugate gradients."""
    def step(_, s):
        x, r, p, rr = s
        ap = a @ p
        alpha = rr / (p @ ap)
        x, r = x + alpha * p, r - alpha * ap
        new = r @ r
        return x, r, r + new / rr * p, new
    return lax.fori_loop(0, 4, step, (jnp.zeros(5), b, b, b @ b))[0]


@area.case(spd(4))
def power_iteration(a):
    """The dominant eigenvalue by power iteration."""
    def step(_, v):
        w = a @ v
        return w / jnp.sqrt(w @ w)
    v = lax.fori_loop(0, 10, step, jnp.ones(4) / 2)
    return v @ a @ v


@area.case(spd(4, 'f64'), x64=True)
def cholesky_by_hand(a):
    """A Cholesky factor column by column, in f64."""
    def column(j, l):
        s = a[:, j] - l @ l[j]
        d = jnp.sqrt(s[j])
        return l.at[:, j].set(jnp.where(jnp.arange(4) > j, s / d, jnp.where(jnp.arange(4) == j, d, 0.0)))
    return lax.fori_loop(0, 4, column, jnp.zeros((4, 4)))


@area.case(spd(4), normal(4, 2))
def gauss_elimination(a, b):
    """Linear equations by elimination without pivoting and back substitution."""
    m = jnp.concatenate([a, b], 1)
    for k in range(4):
        m = m.at[k].divide(m[k, k])
        m = m - jnp.where(jnp.arange(4)[:, None] == k, 0.0, m[:, k:k + 1]) * m[k]
    return m[:, 4:]


@area.case(spd(3), rule=None)
def jacobi_rotation(a):
    """One Jacobi rotation of a symmetric matrix."""
    theta = 0.5 * jnp.arctan2(2 * a[0, 1], a[1, 1] - a[0, 0])
    c, s = jnp.cos(theta), jnp.sin(theta)
    j = jnp.eye(3).at[0, 0].set(c).at[1, 1].set(c).at[0, 1].set(s).at[1, 0].set(-s)
    return j.T @ a @ j


@area.case(normal(8, 2), given([0.0, 0.0, 1.0, 0.5]))
def kalman_filter(z, x):
    """A Kalman filter for position and velocity in the plane."""
    f = jnp.eye(4) + 0.1 * jnp.eye(4, k=2)
    h = jnp.eye(2, 4)

    def step(s, m):
        x, p = s
        x, p = f @ x, f @ p @ f.T + 0.01 * jnp.eye(4)
        c = h @ p @ h.T + 0.5 * jnp.eye(2)
        det = c[0, 0] * c[1, 1] - c[0, 1] * c[1, 0]
        inverse = jnp.array([[c[1, 1], -c[0, 1]], [-c[1, 0], c[0, 0]]]) / det
        k = p @ h.T @ inverse
        x = x + k @ (m - h @ x)
        return (x, (jnp.eye(4) - k @ h) @ p), x
    return lax.scan(step, (x, jnp.eye(4)), z)


HMM = [stochastic(4, 4), stochastic(4, 5), ints(0, 5, (9,))]


@area.case(*HMM)
def hmm_forward(transition, emission, observed):
    """The forward algorithm of a hidden Markov model, scaled."""
    def step(alpha, o):
        alpha = (alpha @ transition) * emission[:, o]
        total = alpha.sum()
        return alpha / total, jnp.log(total)
    alpha, logs = lax.scan(step, jnp.full(4, 0.25), observed)
    return alpha, logs.sum()


@area.case(*HMM)
def viterbi(transition, emission, observed):
    """The most probable path of a hidden Markov model."""
    t, e = jnp.log(transition), jnp.log(emission)

    def forward(v, o):
        s = v[:, None] + t
        return s.max(0) + e[:, o], s.argmax(0)
    v, back = lax.scan(forward, e[:, observed[0]], observed[1:])
    last = v.argmax()
    return lax.scan(lambda q, b: (b[q], q), last, back, reverse=True)[1], last, v.max()


@area.case(ints(0, 4, (7,)), ints(0, 4, (9,)), rule=exact())
def levenshtein(a, b):
    """Edit distance by rows of the dynamic programme."""
    def row(previous, x):
        def cell(left, item):
            up, diagonal, y = item
            value = jnp.minimum(jnp.minimum(up, left) + 1, diagonal + (x != y))
            return value, value
        first = previous[0] + 1
        _, rest = lax.scan(cell, first, (previous[1:], previous[:-1], b))
        return jnp.concatenate([first[None], rest]), None
    return lax.scan(row, jnp.arange(10), a)[0]


@area.case(ints(1, 20, (6,)), ints(1, 50, (6,)), rule=exact())
def knapsack(weights, values):
    """The knapsack problem by dynamic programming."""
    def item(best, wv):
        w, v = wv
        i = jnp.arange(40)
        take = jnp.where(i >= w, best[jnp.maximum(i - w, 0)] + v, 0)
        return jnp.maximum(best, take), None
    return lax.scan(item, jnp.zeros(40, jnp.int32), (weights, values))[0]


@area.case(ints(1, 50, (7, 7)), rule=exact())
def floyd_warshall(d):
    """All shortest paths of a dense graph."""
    d = jnp.where(jnp.eye(7, dtype=bool), 0, d)
    return lax.fori_loop(0, 7, lambda k, a: jnp.minimum(a, a[:, k][:, None] + a[k]), d)


@area.case(ints(1, 30, (6, 6)), rule=exact())
def dijkstra(d):
    """Shortest paths from one node, taking the nearest open node each time."""
    def step(_, s):
        best, done = s
        u = jnp.where(done, 10**6, best).argmin()
        return jnp.minimum(best, best[u] + d[u]), done.at[u].set(True)
    return lax.fori_loop(0, 6, step, (jnp.full(6, 10**5).at[0].set(0), jnp.zeros(6, bool)))[0]


@area.case(ints(0, 10, (5, 6)), rule=exact())
def path_sum(grid):
    """The cheapest way through a grid, right and down."""
    def row(above, r):
        def cell(left, item):
            up, v = item
            best = jnp.minimum(left, up) + v
            return best, best
        return (lax.scan(cell, jnp.int32(10**6), (above, r))[1],) * 2
    return lax.scan(row, jnp.full(6, 10**6).at[0].set(0), grid)[1]


@area.case(normal(40))
def exponential_smoothing(x):
    """Exponential smoothing and an alternating filter by scans."""
    return lax.scan(lambda s, v: (0.7 * s + 0.3 * v,) * 2, x[0], x)[1], lax.scan(lambda s, v: (v - 0.5 * s,) * 2, 0.0, x)[1]


@area.case(normal(16), rule=None)
def haar_wavelet(x):
    """A Haar transform down to one coefficient, and back."""
    parts = []
    a = x
    while a.shape[0] > 1:
        parts.append((a[0::2] - a[1::2]) / 2)
        a = (a[0::2] + a[1::2]) / 2
    y = a
    for d in reversed(parts):
        y = jnp.stack([y + d, y - d], 1).reshape(-1)
    return a, y, jnp.concatenate(parts)


@area.case(normal(16), rule=None)
def walsh_hadamard(x):
    """The Walsh-Hadamard transform by butterflies."""
    h = 1
    while h < 16:
        x = x.reshape(-1, 2, h)
        x = jnp.stack([x[:, 0] + x[:, 1], x[:, 0] - x[:, 1]], 1).reshape(-1)
        h *= 2
    return x


@area.case(normal(12, t='c64'))
def fourier_by_matrix(x):
    """A discrete Fourier transform as a complex matrix product, and back."""
    k = np.arange(12)
    w = jnp.asarray(np.exp(-2j * np.pi * np.outer(k, k) / 12).astype(np.complex64))
    y = w @ x
    return y, jnp.conj(w) @ y / 12


@area.case(uniform(0, 1, (6,)), x64=True)
def simpson(a):
    """Integrals by Simpson's rule on sixteen intervals."""
    x = a[:, None] * jnp.linspace(0, 1, 17, dtype=jnp.float32)
    w = np.array([1] + [4, 2] * 7 + [4, 1], np.float32)
    return (jnp.exp(-x * x) * w).sum(1) * a / 48


@area.case(uniform(80, 120, (6,)), uniform(90, 110, (6,)))
def black_scholes(spot, strike):
    """Prices of options with their sensitivities by differentiation."""
    def price(s):
        d1 = (jnp.log(s / strike) + 0.5 * (0.02 + 0.5 * 0.04)) / (0.2 * 0.70710678)
        d2 = d1 - 0.2 * 0.70710678
        cdf = lambda v: 0.5 * (1 + lax.erf(v * 0.70710678))
        return s * cdf(d1) - strike * jnp.exp(-0.01) * cdf(d2)
    return price(spot), jax.grad(lambda s: price(s).sum())(spot)


@area.case(normal(20, 3), normal(3))
def logistic_regression(x, w):
    """Five steps of gradient descent on a logistic regression with labels by sign."""
    y = jnp.where(x @ jnp.array([1.0, -2.0, 0.5]) > 0, 1.0, 0.0)
    def step(_, w):
        return w - 0.5 * x.T @ (jax.nn.sigmoid(x @ w) - y) / 20
    return lax.fori_loop(0, 5, step, w)


@area.case(normal(12), normal(12))
def linear_regression(x, y):
    """A line through points in closed form."""
    sx, sy, sxx, sxy = x.sum(), y.sum(), (x * x).sum(), (x * y).sum()
    slope = (12 * sxy - sx * sy) / (12 * sxx - sx * sx)
    return slope, (sy - slope * sx) / 12


@area.case(normal(4, t='f64'), x64=True)
def rosenbrock(x):
    """Value, gradient and Hessian of the Rosenbrock function in f64."""
    f = lambda v: (100 * (v[1:] - v[:-1]**2)**2 + (1 - v[:-1])**2).sum()
    return f(x), jax.grad(f)(x), jax.hessian(f)(x)


@area.case(normal(3), normal(3))
def forward_derivatives(x, t):
    """Jacobian-vector products, Jacobians both ways, and a second derivative."""
    f = lambda v: jnp.stack([v[0] * jnp.sin(v[1]), jnp.exp(v[2]) * v[0], v @ v])
    return jax.jvp(f, (x,), (t,)), jax.jacfwd(f)(x), jax.jacrev(f)(x), jax.jvp(lambda v: jax.jvp(f, (v,), (t,))[1], (x,), (t,))[1]


@area.case(normal(4, 4), normal(4, 4), normal(4))
def quaternions(a, b, v):
    """Products and norms of quaternions, and a rotation."""
    def multiply(p, q):
        w1, x1, y1, z1 = p.T
        w2, x2, y2, z2 = q.T
        return jnp.stack([w1 * w2 - x1 * x2 - y1 * y2 - z1 * z2, w1 * x2 + x1 * w2 + y1 * z2 - z1 * y2,
                          w1 * y2 - x1 * z2 + y1 * w2 + z1 * x2, w1 * z2 + x1 * y2 - y1 * x2 + z1 * w2], 1)
    u = a / jnp.linalg.norm(a, axis=1, keepdims=True)
    return multiply(a, b), multiply(multiply(u, jnp.broadcast_to(v, a.shape)), u * jnp.array([1.0, -1, -1, -1]))


@area.case(uniform(0, 1, (3, 4)))
def color_spaces(rgb):
    """From RGB to HSV and to luma, with selects."""
    r, g, b = rgb
    hi, lo = rgb.max(0), rgb.min(0)
    d = hi - lo
    h = jnp.where(hi == r, (g - b) / d % 6, jnp.where(hi == g, (b - r) / d + 2, (r - g) / d + 4)) / 6
    return h, d / hi, hi, 0.299 * r + 0.587 * g + 0.114 * b


@area.case(ints(0, 10, (8, 2)), rule=exact())
def polygon_area(p):
    """Twice the signed area of a polygon, and the orientation of each corner."""
    q, r = jnp.roll(p, -1, 0), jnp.roll(p, -2, 0)
    cross = (q[:, 0] - p[:, 0]) * (r[:, 1] - p[:, 1]) - (q[:, 1] - p[:, 1]) * (r[:, 0] - p[:, 0])
    return (p[:, 0] * q[:, 1] - q[:, 0] * p[:, 1]).sum(), jnp.sign(cross)


@area.case(given([[5, 3, 0, 0], [0, 0, 2, 0], [1, 0, 0, 0], [0, 4, 0, 3]], 's32'), rule=exact())
def union_find(edges):
    """Connected components by label propagation until nothing changes."""
    adjacent = (edges + edges.T > 0) | jnp.eye(4, dtype=bool)

    def body(s):
        label, _ = s
        new = jnp.where(adjacent, label[None], 99).min(1)
        return new, jnp.any(new != label)
    return lax.while_loop(lambda s: s[1], body, (jnp.arange(4), True))[0]


@area.case(normal(6, 3), normal(6, 3))
def procrustes_scores(a, b):
    """Centred shapes, their scale and alignment score."""
    a, b = a - a.mean(0), b - b.mean(0)
    a, b = a / jnp.linalg.norm(a), b / jnp.linalg.norm(b)
    return (a * b).sum(), a.T @ b, ((a - b)**2).sum()


@area.case(normal(5), uniform(0.5, 2, (5,)))
def normal_distribution(x, s):
    """Density, logarithm of the density, distribution function and entropy of a normal law."""
    z = x / s
    logpdf = -0.5 * z * z - jnp.log(s) - 0.9189385
    return jnp.exp(logpdf), logpdf, 0.5 * (1 + lax.erf(z * 0.70710678)), jnp.log(s) + 1.4189385


@area.case(uniform(1.5, 6, (5,)), uniform(1.5, 6, (5,)))
def gamma_family(a, b):
    """Logarithms of gamma, beta and factorial functions."""
    return lax.lgamma(a), lax.lgamma(a) + lax.lgamma(b) - lax.lgamma(a + b), jnp.exp(lax.lgamma(a + 1))


@area.case(uniform(1, 5, (4,)), uniform(0.5, 6, (4,)))
def incomplete_gamma(a, x):
    """The regularised incomplete gamma function: series and continued fraction in while loops."""
    return lax.igamma(a, x)


@area.case(normal(2, 6, t='bf16'), normal(6, t='bf16'))
def mixed_precision(x, w):
    """bf16 products, f32 sums, f16 results."""
    y = (x * w).astype(jnp.float32).sum(1)
    return y, y.astype(jnp.float16), (x.astype(jnp.float32) @ w.astype(jnp.float32)).astype(jnp.bfloat16)


@area.case(normal(30), x64=True)
def kahan_sum(x):
    """A compensated sum in a scan, beside the f64 sum."""
    def step(s, v):
        total, c = s
        y = v - c
        t = total + y
        return (t, (t - total) - y), None
    return lax.scan(step, (np.float32(0), np.float32(0)), x)[0][0], x.astype(jnp.float64).sum()
