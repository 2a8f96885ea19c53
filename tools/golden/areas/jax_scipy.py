"""Every function of jax.scipy."""
import jax
import jax.numpy as jnp
import jax.scipy as jsp
import jax.scipy.cluster.vq
import jax.scipy.fft
import jax.scipy.integrate
import jax.scipy.interpolate
import jax.scipy.linalg
import jax.scipy.ndimage
import jax.scipy.optimize
import jax.scipy.signal
import jax.scipy.sparse.linalg
import jax.scipy.special
import jax.scipy.stats
from arguments import bools, given, ints, normal, spd, stochastic, uniform
from catalogue import Catalogue, recomposed_eigh, recomposed_schur, recomposed_svd

DISTRIBUTIONS = ('bernoulli beta betabinom binom cauchy chi2 dirichlet expon gamma gennorm geom gumbel_l gumbel_r laplace logistic multinomial '
                 'multivariate_normal nbinom norm pareto poisson t truncnorm uniform vonmises wrapcauchy').split()
area = Catalogue('jax_scipy', jsp, modules=(
    'special', 'linalg', 'signal', 'ndimage', 'interpolate', 'integrate', 'optimize', 'cluster.vq', 'fft', 'sparse.linalg', 'stats',
    *(f'stats.{d}' for d in DISTRIBUTIONS)))
row = area.row


def group(prefix, names, *args, **options):
    for name in names.split():
        row(f'{prefix}.{name}', *args, **options)


x = normal(5)
positive = uniform(0.4, 4, (5,))
inner = uniform(0.05, 0.95, (5,))
m, a = normal(3, 3), spd(3)

group('special', 'entr digamma gamma gammaln gammasgn loggamma exp1 i0 i0e i1 i1e spence sici fresnel', positive)
group('special', 'erf erfc erfcx dawsn expi log_ndtr ndtr log_softmax softmax logsumexp', x)
group('special', 'erfinv erfcinv ndtri logit', inner)
group('special', 'expit', x)
group('special', 'wofz', normal(4, t='c64'))
group('special', 'factorial', ints(0, 9, (5,)))
group('special', 'bernoulli', 6)
group('special', 'bessel_jn', positive, v=3)
group('special', 'beta betaln gammainc gammaincc kl_div rel_entr xlogy xlog1py poch boxcox boxcox1p comb', positive, positive)
group('special', 'owens_t', x, x)
group('special', 'betainc', positive, positive, inner)
group('special', 'expn', 3, positive)
group('special', 'hyp1f1', positive, positive, x)
group('special', 'hyp2f1', positive, positive, positive, uniform(0.05, 0.6, (5,)))
group('special', 'multigammaln', uniform(2, 5, (4,)), 2)
group('special', 'polygamma', ints(1, 4, (4,)), uniform(0.5, 3, (4,)))
group('special', 'zeta', uniform(1.3, 4, (4,)), uniform(0.5, 3, (4,)))
group('special', 'sph_harm_y', given([2], 's32'), given([1], 's32'), uniform(0.2, 2, (1,)), uniform(0.2, 2, (1,)),
      form=lambda n, k, t, p: jsp.special.sph_harm_y(n, k, t, p, n_max=3))

group('linalg', 'cholesky cho_factor sqrtm', a)
row('linalg.cho_solve', a, normal(3), form=lambda q, y: jsp.linalg.cho_solve(jsp.linalg.cho_factor(q), y))
group('linalg', 'det inv lu_factor', m)
row('linalg.expm', m, golden=False)  # the choice of an approximant depends on rounding
group('linalg', 'lu qr', m)
group('linalg', 'polar hessenberg', m, golden=False)
row('linalg.schur', m, form=lambda q: recomposed_schur(*jsp.linalg.schur(q)))
row('linalg.svd', m, form=lambda q: recomposed_svd(*jsp.linalg.svd(q)))
row('linalg.rsf2csf', m, form=lambda q: recomposed_schur(*jsp.linalg.rsf2csf(*jsp.linalg.schur(q))), golden=False)
row('linalg.funm', a, form=lambda q: jsp.linalg.funm(q, jnp.exp), golden=False)
row('linalg.eigh', a, form=lambda q: recomposed_eigh(*jsp.linalg.eigh(q)[::-1]))
row('linalg.eigh_tridiagonal', normal(4), normal(3), eigvals_only=True, golden=False)
row('linalg.expm_frechet', m, normal(3, 3), compute_expm=False, golden=False)
row('linalg.lu_solve', m, normal(3), form=lambda q, y: jsp.linalg.lu_solve(jsp.linalg.lu_factor(q), y))
row('linalg.qr_multiply', normal(4, 3), normal(2, 4), golden=False)
row('linalg.solve', m, normal(3))
row('linalg.solve_sylvester', a, spd(3), m, golden=False)
row('linalg.solve_triangular', a, normal(3), lower=True)
row('linalg.block_diag', m, normal(2, 1), form=lambda p, q: jsp.linalg.block_diag(p, q))
group('linalg', 'circulant companion fiedler fiedler_companion toeplitz hankel', given([2.0, 1.0, -0.5, 3.0]))
row('linalg.convolution_matrix', normal(3), 4)
row('linalg.leslie', normal(4), normal(3))
group('linalg', 'dft hilbert helmert invhilbert pascal invpascal hadamard', 4)

row('signal.convolve', normal(6), normal(3))
row('signal.correlate', normal(6), normal(3), mode='same')
row('signal.convolve2d', normal(4, 4), normal(2, 2))
row('signal.correlate2d', normal(4, 4), normal(2, 2), mode='valid')
row('signal.fftconvolve', normal(6), normal(3))
row('signal.detrend', normal(8))
row('signal.stft', normal(32), nperseg=8)
row('signal.istft', normal(5, 6, t='c64'), nperseg=8)
row('signal.welch', normal(32), nperseg=8)
row('signal.csd', normal(32), normal(32), nperseg=8)
for order in (0, 1):
    row(f'ndimage.map_coordinates order{order}', normal(4, 4), uniform(0, 3, (2, 5)), order=order, mode='nearest')
row('ndimage.map_coordinates wrap', normal(5), uniform(-3, 7, (1, 6)), order=1, mode='wrap')
row('interpolate.RegularGridInterpolator', normal(4, 3), uniform(0, 2, (5, 2)), form=lambda values, at: jsp.interpolate.RegularGridInterpolator(
    (jnp.arange(4.0), jnp.arange(3.0)), values)(at))
row('integrate.trapezoid', normal(6))
row('optimize.minimize', given([1.2, 0.8]), golden=False, form=lambda s: jsp.optimize.minimize(
    lambda t: (t[0] - 1)**2 + 2 * (t[1] + 0.5)**2, s, method='BFGS', options={'maxiter': 3}).x)
row('cluster.vq.vq', normal(6, 2), normal(3, 2))
for kind in ('dct', 'idct', 'dctn', 'idctn'):
    row(f'fft.{kind}', normal(3, 4))
for solver in ('cg', 'gmres', 'bicgstab'):
    row(f'sparse.linalg.{solver}', a, normal(3), golden=False, form=lambda q, y, s=solver: getattr(jsp.sparse.linalg, s)(lambda t: q @ t, y, maxiter=3)[0])

row('stats.mode', ints(0, 4, (9,)), form=lambda v: tuple(jsp.stats.mode(v)))
row('stats.rankdata', normal(7))
row('stats.sem', normal(7))
row('stats.gaussian_kde', normal(8), normal(3), form=lambda d, at: jsp.stats.gaussian_kde(d).evaluate(at))
counts = ints(0, 5, (4,), 'f32')
CONTINUOUS = {
    'beta': (inner, positive, positive), 'cauchy': (x,), 'chi2': (positive, positive), 'expon': (positive,), 'gamma': (positive, positive),
    'gennorm': (x, positive), 'gumbel_l': (x,), 'gumbel_r': (x,), 'laplace': (x,), 'logistic': (x,), 'norm': (x,), 'pareto': (uniform(1.2, 4, (5,)), positive),
    't': (x, positive), 'truncnorm': (uniform(-0.8, 0.8, (5,)), -1.0, 1.0), 'uniform': (inner,), 'vonmises': (x, positive),
    'wrapcauchy': (uniform(0.1, 6, (5,)), uniform(0.1, 0.9, (5,)))}
for name, args in CONTINUOUS.items():
    library = getattr(jsp.stats, name)
    for function in ('pdf', 'logpdf', 'cdf', 'logcdf', 'sf', 'logsf', 'ppf', 'isf'):
        if hasattr(library, function):
            if function in ('ppf', 'isf'):
                args = (inner, *args[1:])
            row(f'stats.{name}.{function}', *args)
DISCRETE = {'bernoulli': (ints(0, 2, (4,)), 0.3), 'betabinom': (counts, 6, 1.5, 2.0), 'binom': (counts, 6, 0.4), 'geom': (ints(1, 6, (4,), 'f32'), 0.3),
            'nbinom': (counts, 4.0, 0.4), 'poisson': (counts, 2.5)}
for name, args in DISCRETE.items():
    library = getattr(jsp.stats, name)
    for function in ('pmf', 'logpmf', 'cdf', 'logcdf', 'sf', 'logsf'):
        if hasattr(library, function):
            row(f'stats.{name}.{function}', *args)
row('stats.bernoulli.ppf', inner, 0.3)
row('stats.poisson.entropy', given([0.5, 2.5]))
row('stats.dirichlet.logpdf', stochastic(3), uniform(0.5, 3, (3,)))
row('stats.dirichlet.pdf', stochastic(3), uniform(0.5, 3, (3,)))
row('stats.multinomial.logpmf', given([1, 2, 1], 's32'), 4, stochastic(3))
row('stats.multinomial.pmf', given([1, 2, 1], 's32'), 4, stochastic(3))
row('stats.multivariate_normal.logpdf', normal(3), normal(3), a)
row('stats.multivariate_normal.pdf', normal(3), normal(3), a)
