"""Derives the tolerance for a correct evaluator, compared with XLA:CPU, from the arithmetic of the program.

Three sources of rules:

* `exact()`: data movement, integers, comparisons, single correctly rounded operations, and sums whose every partial
  sum is representable.
* `ulp(n)`: one transcendental function; the budget of XLA:CPU plus that of the evaluator's own library.
* derived (the default): stochastic arithmetic.  The program is run again `RUNS` times, and in each run the result of
  every inexact operation moves by its error bound with a random sign: one ulp for arithmetic in f32 and f64 (XLA:CPU
  may contract and re-associate it), the budgets below for functions, and for a sum or contraction over k terms the
  probabilistic bound sqrt(k) * u * sum |a||b|, u the unit roundoff of the accumulator.  Arithmetic in 16-bit types
  does not move: it is computed in f32, rounded once, and equal in every evaluator that is given equal operands.
  What an output moves by is how rounding may propagate to it; the rule allows `SLACK` times the largest move seen.
  An integer or boolean output that moves is refused: such a case would hang on rounding.
"""
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend import core as jex_core

RUNS = 16
SLACK = 4

# Error budgets of XLA:CPU in ULPs for f32 and f64. Rules add one for the other library that is compared.
FUNCTION_ULPS = {
    'exp': (6, 1), 'log': (1, 1), 'log1p': (1, 1), 'sqrt': (1, 0), 'rsqrt': (1, 1), 'cbrt': (1, 2), 'tanh': (3, 4),
    'sin': (1, 1), 'cos': (1, 1), 'tan': (2, 1), 'erf': (2, 1), 'atan2': (3, 2), 'atan': (3, 2),
}
OTHER_FUNCTION_ULPS = (4, 8)  # the remaining elementary functions
# Functions that are lowered to polynomials or continued fractions: about one rounding per term of their expansion.
EXPANDED = {'erf_inv': 16, 'lgamma': 64, 'digamma': 64, 'igamma': 64, 'igammac': 64, 'bessel_i0e': 32,
            'bessel_i1e': 32, 'erfc': 16, 'zeta': 64, 'polygamma': 64, 'regularized_incomplete_beta': 64,
            'asin': 8, 'acos': 8, 'asinh': 8, 'acosh': 8, 'atanh': 8, 'sinh': 8, 'cosh': 8, 'logistic': 8,
            'integer_pow': 8, 'polynomial': 16, 'pow': 8, 'exp2': 8, 'expm1': 8, 'square': 1}

EXACT = set('''
abs and argmax argmin bitcast_convert_type broadcast_in_dim bitcast clamp ceil complex concatenate conj copy copy_p cummax cummin
dynamic_slice dynamic_update_slice eq expand_dims floor gather ge gt imag iota is_finite le lt max min ne neg not or
pad population_count clz real reduce_and reduce_max reduce_min reduce_or reduce_precision reduce_xor
reduce_window_max reduce_window_min
reshape rev round scatter scatter-max stack tile unstack scatter-min select_and_gather_add select_n sign slice sort split squeeze stop_gradient
top_k transpose xor tie_in optimization_barrier select_and_scatter_min rem copysign nextafter
'''.split())


def exact():
    return {'kind': 'exact'}


def ulp(n, why):
    return {'kind': 'ulp', 'ulp': int(n), 'why': why}


def close(abs_, rel, why):
    return {'kind': 'close', 'abs': float(abs_), 'rel': float(rel), 'why': why}


def function_rule(name, element_type):
    """Returns the rule for one elementary function applied to inputs."""
    if element_type in ('f16', 'bf16'):
        return ulp(1, f'{name} is computed in f32 and rounded once, so two libraries differ by one ulp at most')
    xla = FUNCTION_ULPS.get(name)
    wide = element_type == 'f64'
    if xla is None:
        return ulp(OTHER_FUNCTION_ULPS[wide], f'{name}: two libraries, each within a few ulp')
    if name == 'sqrt':
        return exact()
    return ulp(xla[wide] + 1, f'XLA:CPU holds {name} to {xla[wide]} ulp; one more for the library of the evaluator')


def eps(dtype):
    return float(jnp.finfo(dtype).eps)


def roundoff(dtype):
    return eps(dtype) / 2


# ------------------------------------------------------------------ perturbing results by their error bound

def signs(x, salt):
    """Returns a random sign for each element, from its bits, its position and the salt."""
    if jnp.iscomplexobj(x):
        x = jnp.real(x) + jnp.imag(x)
    if x.dtype.itemsize == 8:
        words = lax.bitcast_convert_type(x, jnp.uint32)
        word = words[..., 0] * np.uint32(0x9E3779B1) ^ words[..., 1]
    else:
        word = lax.bitcast_convert_type(x.astype(jnp.float32), jnp.uint32)
    place = lax.iota(jnp.uint32, max(x.size, 1))[:x.size].reshape(x.shape)
    h = (word ^ salt) * np.uint32(0x85EBCA6B) + place * np.uint32(0xC2B2AE35)
    h = (h ^ (h >> 15)) * np.uint32(0x27D4EB2F)
    h = (h ^ (h >> 13)) * np.uint32(0x165667B1)
    return jnp.where((h >> 31) == 1, jnp.float32(1), jnp.float32(-1))


def moved(x, by, salt):
    """Returns x plus or minus `by` for finite values; infinities and NaN stay the same."""
    wide = jnp.promote_types(x.dtype, jnp.float32)
    part = signs(x, salt).astype(jnp.finfo(wide).dtype) * by.astype(jnp.finfo(wide).dtype)
    if jnp.iscomplexobj(x):
        other = signs(x, salt ^ np.uint32(0x5bd1e995)).astype(part.dtype) * by.astype(part.dtype)
        part = lax.complex(part, other)
    y = (x.astype(wide) + part).astype(x.dtype)
    return jnp.where(jnp.isfinite(x) & jnp.isfinite(y), y, x)


def magnitude(x):
    """Returns |x| in the type of x."""
    return (jnp.abs(jnp.real(x)) + jnp.abs(jnp.imag(x)) if jnp.iscomplexobj(x) else jnp.abs(x)).astype(x.dtype)


def bounds(eqn, operands, results, moving):
    """Returns the error bound of each floating result, or None if the operation is exact.

    `moving` is true after an inexact operation; only then can rounding to a narrower type differ.
    """
    name, params = eqn.primitive.name, eqn.params
    if name == 'abs' and jnp.iscomplexobj(operands[0]):
        return [ulps(results[0], 4)]
    if name in EXACT:
        return None
    if name == 'convert_element_type':
        source, target = operands[0].dtype, results[0].dtype
        if not jnp.issubdtype(source, jnp.inexact):
            return None
        widens = jnp.finfo(target).nmant >= jnp.finfo(source).nmant
        return None if widens or not moving else [ulps(results[0], 1)]
    out = results[0]
    terms = contraction_length(name, params, eqn)
    if terms is not None:
        majorant = jnp.real(eqn.primitive.bind(*[magnitude(x) if jnp.issubdtype(x.dtype, jnp.inexact) else x
                                                 for x in operands], **params))
        stepwise = name not in ('dot_general', 'conv_general_dilated', 'reduce_sum')
        unit = roundoff(out.dtype) if stepwise else min(roundoff(out.dtype), roundoff(np.float32))
        wide = jnp.finfo(jnp.promote_types(out.dtype, jnp.float32)).dtype
        return [math.sqrt(terms) * unit * majorant.astype(wide) + ulps(out, 1)]
    if name == 'fft':
        largest = jnp.max(magnitude(out)) if out.size else jnp.zeros((), out.real.dtype)
        length = math.prod(params['fft_lengths'])
        wide = jnp.finfo(out.dtype).dtype
        return [(roundoff(out.dtype) * (2 + math.log2(max(1, length))) * jnp.real(largest)).astype(wide) * jnp.ones(out.shape, wide)]
    if name in ('reduce_prod', 'cumprod', 'cumlogsumexp', 'reduce_window', 'reduce', 'reduce_window_mul'):
        if name == 'cumlogsumexp':
            length = 4 * eqn.invars[0].aval.shape[params['axis']]
        elif name == 'cumprod':
            length = eqn.invars[0].aval.shape[params['axis']]
        else:
            length = max(1, eqn.invars[0].aval.size // max(1, eqn.outvars[0].aval.size))
        return [ulps(x, math.sqrt(length)) if jnp.issubdtype(x.dtype, jnp.inexact) else None for x in results]
    wide = jnp.finfo(out.dtype).bits == 64
    if name in FUNCTION_ULPS:
        budget = FUNCTION_ULPS[name][wide] + 1
    else:
        budget = EXPANDED.get(name, 1)
    if out.dtype.itemsize == 2:
        if name in FUNCTION_ULPS or name in ('pow', 'logistic', 'expm1'):
            budget = 1  # computed in f32, rounded once
        elif name in ('square', 'integer_pow') or name not in EXPANDED:
            budget = 0
    if name in ('add', 'sub', 'mul', 'div') and out.dtype in (jnp.float32, jnp.float64):
        return [jnp.where(rounds(name, operands, out), ulps(out, 1), 0)]
    if jnp.iscomplexobj(out) and name in ('mul', 'div', 'log', 'sqrt', 'pow', 'tanh', 'exp'):
        budget = max(budget, 4)
    return [ulps(x, budget) if jnp.issubdtype(x.dtype, jnp.inexact) else None for x in results]


def ulps(x, n):
    wide = jnp.finfo(jnp.promote_types(x.dtype, jnp.float32)).dtype
    return (jnp.abs(x) if jnp.iscomplexobj(x) else jnp.abs(x.astype(wide))).astype(wide) * (n * roundoff(x.dtype))


def significant_bits(x):
    """Returns the number of bits from the first to the last set bit of each mantissa."""
    info = jnp.finfo(x.dtype)
    word = jnp.uint64 if info.bits == 64 else jnp.uint32
    u = lax.bitcast_convert_type(x, word)
    mantissa = (u & word((1 << info.nmant) - 1)) | word(1 << info.nmant)
    trailing = lax.population_count((mantissa & (~mantissa + word(1))) - word(1))
    return info.nmant + 1 - trailing.astype(jnp.int32)


def rounds(name, operands, result):
    """Returns which elements of an f32 or f64 add, subtract, multiply or divide are inexact: only those may differ."""
    a, b = operands
    precision = jnp.finfo(result.dtype).nmant + 1
    if name == 'mul':
        return significant_bits(a) + significant_bits(b) > precision
    if name == 'div':
        return (significant_bits(b) > 1) & (a != 0) & (a != b)
    b = -b if name == 'sub' else b
    back = result - a
    return (a - (result - back)) + (b - back) != 0


def contraction_length(name, params, eqn):
    """Returns the number of terms that one result element sums, or None if the operation is not a sum."""
    if not eqn.invars:
        return None
    shape = eqn.invars[0].aval.shape
    if name == 'dot_general':
        return max(1, math.prod(shape[d] for d in params['dimension_numbers'][0][0]))
    if name == 'conv_general_dilated':
        kernel = eqn.invars[1].aval
        return max(1, kernel.size // kernel.shape[params['dimension_numbers'].rhs_spec[0]])
    if name == 'reduce_sum':
        return max(1, math.prod(shape[d] for d in params['axes']))
    if name == 'cumsum':
        return max(1, shape[params['axis']])
    if name == 'reduce_window_sum':
        return math.prod(params['window_dimensions'])
    if name == 'scatter-add':
        updates = eqn.invars[2].aval
        window = math.prod(updates.shape[d] for d in params['dimension_numbers'].update_window_dims)
        return updates.size // max(1, window) + 1
    if name == 'select_and_scatter_add':
        return math.prod(params['window_dimensions'])
    return None


INLINED = {'jit': 'jaxpr', 'pjit': 'jaxpr', 'closed_call': 'call_jaxpr', 'core_call': 'call_jaxpr', 'remat': 'jaxpr',
           'checkpoint': 'jaxpr', 'remat2': 'jaxpr', 'custom_jvp_call': 'call_jaxpr', 'custom_vjp_call': 'call_jaxpr',
           'custom_vjp_call_jaxpr': 'fun_jaxpr', 'custom_lin': 'jaxpr'}


# Algorithms of linear algebra are backward stable: their result is exact for a matrix that differs by a small
# multiple of n eps |A|, so their operands are perturbed by this amount.
BACKWARD_STABLE = set('''
cholesky lu qr geqrf geqp3 householder_product eigh eig svd triangular_solve schur hessenberg tridiagonal
tridiagonal_solve ormqr cholesky_update lu_solve symmetric_product
'''.split())


def moved_operands(operands, salt):
    out = []
    for x in operands:
        if jnp.issubdtype(x.dtype, jnp.inexact) and x.size:
            n = max(x.shape[-2:]) if x.ndim > 1 else 1
            by = jnp.max(jnp.abs(x)) * (2 * n * eps(x.dtype))
            x = jnp.where(x == 0, x, moved(x, by * jnp.ones(x.shape, by.dtype), salt))
        out.append(x)
    return out


class Stochastic:
    """Evaluates a jaxpr; with `salt` 0 results are unchanged, any other salt perturbs them."""

    def __init__(self, salt):
        self.salt = salt
        self.inexact = 0  # operations that round, each loop body counted once
        self.in_loop = False

    def run(self, closed, *args):
        jaxpr, consts = (closed.jaxpr, closed.consts) if hasattr(closed, 'jaxpr') else (closed, [])
        env = dict(zip(jaxpr.constvars, consts)) | dict(zip(jaxpr.invars, args))

        def read(v):
            return jnp.asarray(v.val, v.aval.dtype) if isinstance(v, jex_core.Literal) else env[v]
        for number, eqn in enumerate(jaxpr.eqns):
            results = self.apply(eqn, [read(v) for v in eqn.invars], number)
            env |= dict(zip(eqn.outvars, results))
        return [read(v) for v in jaxpr.outvars]

    def apply(self, eqn, operands, number):
        name, params = eqn.primitive.name, eqn.params
        if name in INLINED:
            return self.run(params[INLINED[name]], *operands)
        if name == 'cond':
            branches = [lambda *xs, b=b: self.run(b, *xs) for b in params['branches']]
            return lax.switch(operands[0], branches, *operands[1:])
        self.in_loop = self.in_loop or name in ('while', 'scan')
        if name == 'while':
            nc, nb = params['cond_nconsts'], params['body_nconsts']
            cond_consts, body_consts, init = operands[:nc], operands[nc:nc + nb], operands[nc + nb:]
            def goes_on(c):
                return self.run(params['cond_jaxpr'], *cond_consts, *c)[0]

            def body(c):  # a batched loop keeps finished lanes unchanged
                going, after = goes_on(c), self.run(params['body_jaxpr'], *body_consts, *c)
                if going.ndim == 0:
                    return after
                return [jnp.where(going.reshape(going.shape + (1,) * (x.ndim - going.ndim)), x, old) for x, old in zip(after, c)]
            return lax.while_loop(lambda c: jnp.any(goes_on(c)), body, init)
        if name == 'scan':
            consts, init, xs = map(list, params['ft_in'].update(operands).unpack())
            carry = len(init)

            def body(c, x):
                out = self.run(params['jaxpr'], *consts, *c, *x)
                return out[:carry], out[carry:]
            c, ys = lax.scan(body, init, xs, length=params['length'], reverse=params['reverse'])
            return list(c) + list(ys)
        if name in BACKWARD_STABLE:
            self.inexact += 1
            nudged = moved_operands(operands, self.salt * jnp.uint32(2654435761) ^ jnp.uint32(number * 40503 & 0xffffffff))
            operands = [jnp.where(self.salt == 0, a, b) for a, b in zip(operands, nudged)]
        if name == 'custom_linear_solve':
            return self.custom_solve(operands, params)
        results = eqn.primitive.bind(*operands, **params)
        results = list(results) if eqn.primitive.multiple_results else [results]
        if not any(jnp.issubdtype(x.dtype, jnp.inexact) for x in results):
            return results
        by = bounds(eqn, operands, results, self.inexact > 0 or self.in_loop)
        if by is None:
            return results
        self.inexact += 1
        salt = self.salt * jnp.uint32(2654435761) ^ jnp.uint32(number * 40503 & 0xffffffff)
        amplitude = jnp.where(self.salt == 0, jnp.float32(0), jnp.float32(1))
        return [x if b is None else moved(x, b * amplitude.astype(b.dtype), salt) for x, b in zip(results, by)]


    def custom_solve(self, operands, params):
        """Evaluates only the forward solve; the check of its result is irrelevant here."""
        lengths, jaxprs = params['const_lengths'], params['jaxprs']
        at = lengths.matvec + lengths.vecmat
        consts = operands[at:at + lengths.solve]
        rest = operands[at + lengths.solve + lengths.transpose_solve:]
        return self.run(jaxprs.solve, *consts, *rest)


def round_up(x):
    """Rounds up to one significant decimal digit."""
    if x == 0:
        return 0.0
    power = math.floor(math.log10(x))
    digit = math.ceil(x / 10.0**power - 1e-9)
    return float(f'{digit}e{power}')


def wide(x):
    x = np.asarray(x)
    if x.dtype.kind == 'c':
        return x.astype(np.complex128)
    return x.astype(np.float64)


def derived_rules(program, leaves, tree):
    """Returns one rule per output of the program, derived by stochastic arithmetic."""
    closed = jax.make_jaxpr(lambda *xs: program(*jax.tree.unflatten(tree, xs)))(*leaves)
    count = []

    def run(salt, *xs):
        s = Stochastic(salt)
        out = s.run(closed, *xs)
        count[:] = [s.inexact]
        return out
    run = jax.jit(run)
    base = [np.asarray(x) for x in run(np.uint32(0), *leaves)]
    moves = [np.zeros(x.shape) for x in base]
    for salt in range(1, RUNS + 1):
        for k, x in enumerate(run(np.uint32(salt), *leaves)):
            x = np.asarray(x)
            if not jnp.issubdtype(x.dtype, jnp.inexact):
                if not np.array_equal(x, base[k]):
                    raise ValueError(f'output {k} is {x.dtype} and hangs on rounding')
                continue
            finite = np.isfinite(wide(base[k]))
            if not np.array_equal(finite, np.isfinite(wide(x))):
                raise ValueError(f'output {k} is finite or not depending on rounding')
            with np.errstate(invalid='ignore'):
                moves[k] = np.maximum(moves[k], np.where(finite, np.abs(wide(x) - wide(base[k])), 0))
    return [rule_of(b, m, count[0]) for b, m in zip(base, moves)]


def rule_of(base, move, inexact):
    """Returns the tightest of a few rules abs + rel * |value| that allow every element SLACK times its perturbation."""
    if not jnp.issubdtype(base.dtype, jnp.inexact) or not move.size or move.max() == 0:
        return exact()
    size = np.where(np.isfinite(wide(base)), np.abs(wide(base)), 0)
    need = SLACK * move
    ratios = np.sort((need / np.maximum(size, 1e-300))[size > 0])
    candidates = [2 * eps(base.dtype)] + [float(ratios[int(q * (len(ratios) - 1))]) for q in (0.25, 0.5, 0.75, 1) if len(ratios)]
    best = None
    for rel in sorted(round_up(max(r, 2 * eps(base.dtype))) for r in candidates if r < 1):
        abs_ = round_up(float(np.maximum(need - rel * size, 0).max()))
        allowed = float((abs_ + rel * size).sum())
        if best is None or allowed < best[0] * 0.9:
            best = allowed, abs_, rel
    return close(best[1], best[2], f'{inexact} inexact operations, each moved by its error bound in {RUNS} runs of stochastic '
                                   f'arithmetic, move this output by up to {move.max():.1e}; allowed is {SLACK} times that')
