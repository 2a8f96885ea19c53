#!/usr/bin/env python3
"""Writes the cases of linear algebra custom calls with the results of XLA:CPU through JAX.

    python3 linalg_cases.py current > ../../tests/cases/semantics/lapack.hlo            # jax 0.12
    python3 linalg_cases.py older   > ../../tests/cases/semantics/lapack-older.hlo      # jax 0.4.13
    python3 linalg_cases.py spectra > ../../tests/cases/semantics/spectra.hlo           # the results are NumPy's

Factors that LAPACK defines uniquely are compared directly. The sign or phase of eigenvectors and singular vectors is
free, so the cases compare their moduli and the equations that they must satisfy.
"""

import re
import sys

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp  # noqa: E402

L = jax.lax.linalg
TYPES = {"f32": np.float32, "f64": np.float64, "c64": np.complex64, "c128": np.complex128}


def matrix(rng, shape, dtype):
    """Returns small numbers that every type represents exactly."""
    def part():
        return rng.integers(-16, 17, shape) / 8
    return (part() + 1j * part() if np.issubdtype(dtype, np.complexfloating) else part()).astype(dtype)


def hermitian(a):
    return ((a + np.conj(np.swapaxes(a, -1, -2))) / 2).astype(a.dtype)


def definite(a):
    return (a @ np.conj(np.swapaxes(a, -1, -2)) + 4 * np.eye(a.shape[-1])).astype(a.dtype)


def h(a):
    return jnp.conj(jnp.swapaxes(a, -1, -2))


def number(x):
    if isinstance(x, complex):
        return f"({number(x.real)}, {number(x.imag)})"
    if isinstance(x, bool) or isinstance(x, int):
        return str(x).lower()
    return "nan" if x != x else repr(float(x))


def literal(array, single):
    if array.ndim == 0:
        x = array.item()
        if single and isinstance(x, float):
            return np.format_float_positional(np.float32(x), unique=True, trim="0") if x == x else "nan"
        if single and isinstance(x, complex):
            return f"({literal(np.float32(x.real), True)}, {literal(np.float32(x.imag), True)})"
        return number(x)
    return "{" + ", ".join(literal(a, single) for a in array) + "}"


def text_of(array):
    return literal(np.asarray(array), array.dtype in (np.float32, np.complex64))


def hlo(function, arguments):
    computation = jax.jit(function).lower(*arguments).compiler_ir("hlo")
    text = computation.as_hlo_text(True)
    text = re.sub(r", metadata=\{[^{}]*\}", "", text)
    text = re.sub(r", frontend_attributes=\{(num_batch_dims[^}]*\"[^\"]*\"[^}]*|[^{}]*)\}(?=[,\n])", "", text)
    return re.sub(r"\n(\n)+", "\n", re.sub(r"\n+(FileNames|FunctionNames|FileLocations|StackFrames)\n(\d.*\n)*", "\n", text)).strip()


# The checks for f64 and c64; f32 and c128 have all checks.
SHORT_LIST = ("qr with", "svd of a batch", "eig", "schur", "lu of a wide", "hessenberg")


def case(title, function, arguments, double):
    if title.endswith((" f64", " c64")) and not title.startswith(SHORT_LIST):
        return
    outputs = jax.tree_util.tree_leaves(jax.jit(function)(*arguments))
    bound = "1e-11" if double else "1e-4"
    print(f"// {title}  [xla-cpu]\n// within abs {bound} rel {bound}\n// run")
    print(hlo(function, arguments))
    for a in arguments:
        print(f"// in   {text_of(a)}")
    for o in outputs:
        print(f"// out  {text_of(np.asarray(o))}")
    print("// -----")


def eigh(a):
    v, w = L.eigh(a, symmetrize_input=False)
    return w, jnp.abs(v), (v * w[..., None, :].astype(v.dtype)) @ h(v)


def eigh_upper(a):
    v, w = L.eigh(a, lower=False, symmetrize_input=False)
    return w, (v * w[..., None, :].astype(v.dtype)) @ h(v)


def svd(a, full):
    u, s, vt = L.svd(a, full_matrices=full)
    k = s.shape[-1]
    product = (u[..., :k] * s[..., None, :].astype(u.dtype)) @ vt[..., :k, :]
    return s, product, jnp.abs(h(u) @ u), jnp.abs(vt @ h(vt))


def svd_old(a, full):
    u, s, vt = jnp.linalg.svd(a, full_matrices=full)
    k = s.shape[-1]
    product = (u[..., :k] * s[..., None, :].astype(u.dtype)) @ vt[..., :k, :]
    return s, product, jnp.abs(h(u) @ u), jnp.abs(vt @ h(vt))


def eig(a):
    w, left, right = L.eig(a, compute_left_eigenvectors=True, compute_right_eigenvectors=True)
    norms = jnp.sum(jnp.abs(right) ** 2, -2)
    return (jnp.sort(w.real), jnp.sort(jnp.abs(w.imag)), a @ right - right * w[..., None, :],
            h(left) @ a - w[..., None] * h(left), norms)


def schur(a):
    t, z = L.schur(a)
    return z @ t @ h(z), h(z) @ z, jnp.abs(jnp.trace(t))


def tridiagonal(a, lower):
    return L.tridiagonal(a, lower=lower)[:4]


def current():
    for name, dtype in TYPES.items():
        rng = np.random.default_rng(7)
        double = dtype in (np.float64, np.complex128)
        tall, wide, square = (matrix(rng, s, dtype) for s in ((2, 4, 3), (3, 5), (4, 4)))
        case(f"qr of a batch of tall matrices, {name}", lambda a: L.qr(a, full_matrices=False), (tall,), double)
        case(f"qr of a wide matrix, all of q, {name}", lambda a: L.qr(a, full_matrices=True), (wide,), double)
        case(f"qr with column pivoting, {name}", lambda a: L.qr(a, pivoting=True, full_matrices=False), (tall,), double)
        case(f"products with q by its reflectors, {name}",
             lambda a, c: [jax._src.lax.linalg.ormqr_p.bind(*jax._src.lax.linalg.geqrf(a), c, left=left, transpose=t)
                           for left, t in ((True, False), (True, True), (False, False))]
             if hasattr(jax._src.lax.linalg, "ormqr_p") else L.qr(a), (square, matrix(rng, (4, 4), dtype)), double)
        case(f"lu of tall matrices, {name}", L.lu, (tall,), double)
        case(f"lu of a wide matrix, {name}", L.lu, (wide,), double)
        case(f"cholesky, {name}", lambda a: L.cholesky(a, symmetrize_input=False), (definite(square),), double)
        case(f"cholesky of a matrix that is not definite gives NaN, {name}",
             lambda a: L.cholesky(a, symmetrize_input=False), (hermitian(square) - 4 * np.eye(4, dtype=dtype),), double)
        case(f"eigh, {name}", eigh, (hermitian(square),), double)
        case(f"eigh by the upper triangle, {name}", eigh_upper, (hermitian(square),), double)
        case(f"svd of a batch of tall matrices, {name}", lambda a: svd(a, False), (tall,), double)
        case(f"svd of a wide matrix with all vectors, {name}", lambda a: svd(a, True), (wide,), double)
        case(f"singular values alone, {name}", lambda a: L.svd(a, compute_uv=False), (tall,), double)
        case(f"eig, {name}", eig, (square,), double)
        case(f"schur, {name}", schur, (square,), double)
        case(f"hessenberg, {name}", L.hessenberg, (square,), double)
        for lower in (True, False):
            case(f"tridiagonal, {'lower' if lower else 'upper'}, {name}", lambda a, lower=lower: tridiagonal(a, lower),
                 (hermitian(square),), double)
        case(f"tridiagonal solve, {name}", L.tridiagonal_solve,
             (matrix(rng, (4,), dtype), matrix(rng, (4,), dtype), matrix(rng, (4,), dtype), matrix(rng, (4, 2), dtype)), double)
        triangle = matrix(rng, (3, 3), dtype) + 4 * np.eye(3, dtype=dtype)
        for left, lower, op, unit in ((True, True, 0, False), (True, False, 1, False), (False, True, 2, True)):
            case(f"triangular solve, left {left}, lower {lower}, op {op}, unit {unit}, {name}",
                 lambda a, b, left=left, lower=lower, op=op, unit=unit: L.triangular_solve(
                     a, b, left_side=left, lower=lower, transpose_a=op > 0, conjugate_a=op > 1, unit_diagonal=unit),
                 (triangle, matrix(rng, (3, 3), dtype)), double)


def older():
    for name, dtype in TYPES.items():
        rng = np.random.default_rng(8)
        double = dtype in (np.float64, np.complex128)
        tall, square = matrix(rng, (2, 4, 3), dtype), matrix(rng, (4, 4), dtype)
        case(f"qr, {name}", lambda a: L.qr(a, full_matrices=False), (tall,), double)
        case(f"lu, {name}", L.lu, (tall,), double)
        case(f"cholesky, {name}", lambda a: L.cholesky(a, symmetrize_input=False), (definite(square),), double)
        case(f"eigh, {name}", eigh, (hermitian(square),), double)
        case(f"svd, {name}", lambda a: svd_old(a, True), (tall,), double)
        case(f"eig, {name}", eig, (square,), double)
        case(f"schur, {name}", schur, (square,), double)
        case(f"hessenberg, {name}", L.hessenberg, (square,), double)
        case(f"tridiagonal, {name}", lambda a: tridiagonal(a, True), (hermitian(square),), double)
        case(f"triangular solve, {name}", lambda a, b: L.triangular_solve(a, b, left_side=True, lower=True),
             (matrix(rng, (3, 3), dtype) + 4 * np.eye(3, dtype=dtype), matrix(rng, (3, 3), dtype)), double)


def values_case(title, call, matrix, values, double):
    bound = "1e-12" if double else "1e-5"
    print(f"// {title}\n// within abs {bound} rel {bound}\n// run\nENTRY e {{\n  a = {shape_of(matrix)} parameter(0)")
    print(f"  c = {call}\n  ROOT w = {shape_of(values)} get-tuple-element(c), index=1\n}}")
    print(f"// in   {text_of(matrix)}\n// out  {text_of(values)}\n// -----")


def shape_of(array):
    name = next(name for name, dtype in {**TYPES, "s32": np.int32}.items() if dtype == array.dtype)
    return f"{name}[{','.join(str(n) for n in array.shape)}]"


def spectra():
    """Prints cases of eigenvalues and singular values alone, which NumPy computes in f64."""
    for name, dtype in TYPES.items():
        rng = np.random.default_rng(9)
        double, is_complex = dtype in (np.float64, np.complex128), name[0] == "c"
        real = np.float64 if double else np.float32
        letter = {"f32": "s", "f64": "d", "c64": "c", "c128": "z"}[name]
        wide = np.complex128 if is_complex else np.float64
        full, deficient = hermitian(matrix(rng, (18, 18), dtype)), matrix(rng, (18, 3), dtype)
        deficient = (deficient @ np.conj(deficient.T) / 16).astype(dtype)
        for what, a in (("full rank", full), ("rank 3", deficient), ("repeated eigenvalues", np.kron(np.eye(6), full[:2, :2]).astype(dtype))):
            values = np.linalg.eigvalsh(a.astype(wide)).astype(real)
            target = "cusolver_syevd_ffi" if what == "rank 3" else f"lapack_{letter}{'he' if is_complex else 'sy'}evd_ffi"
            option = "lower = true" if what == "rank 3" else "uplo = 85 : ui8"
            values_case(f"eigenvalues, {what}, {name}",
                        f'({shape_of(a)}, {shape_of(values)}, s32[]) custom-call(a), custom_call_target="{target}", backend_config={{{option}}}',
                        a, values, double)
        for rows, columns in ((20, 13), (9, 17)):
            a = matrix(rng, (rows, columns), dtype)
            values = np.linalg.svd(a.astype(wide), compute_uv=False).astype(real)
            k = min(rows, columns)
            u, v = f"{name}[{rows},{k}]", f"{name}[{k},{columns}]"
            values_case(f"singular values, {rows} x {columns}, {name}",
                        f'({shape_of(a)}, {shape_of(values)}, {u}, {v}, s32[]) custom-call(a), custom_call_target="lapack_{letter}gesdd_ffi", backend_config={{mode = 83 : ui8}}',
                        a, values, double)


if __name__ == "__main__":
    {"current": current, "older": older, "spectra": spectra}[sys.argv[1]]()
