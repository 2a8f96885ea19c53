#!/usr/bin/env python3
"""Writes the cases of custom calls to GPU and CPU libraries. No program here runs those; what they compute is written
out with NumPy, SciPy's and JAX's functions on the CPU.

    python3 library_cases.py > ../../tests/cases/semantics/library-calls.hlo"""

import math

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402
from jax.extend.random import threefry_2x32  # noqa: E402
from linalg_cases import text_of  # noqa: E402

HLO_TYPE = {"float32": "f32", "float64": "f64", "int32": "s32", "uint32": "u32", "complex64": "c64", "bool": "pred",
            "uint64": "u64", "int64": "s64"}


def shape(a):
    a = np.asarray(a)
    return f"{HLO_TYPE[a.dtype.name]}[{','.join(map(str, a.shape))}]"


def case(title, target, arguments, outputs, attributes="", config="", scratch="u8[8]", tolerance="abs 1e-5 rel 1e-5",
         source="exact"):
    """One call; results behind `outputs` are scratch."""
    results = [shape(o) for o in outputs] + ([scratch] if scratch else [])
    result = f"({', '.join(results)})" if len(results) > 1 else results[0]
    print(f"// {title}  [{source}]")
    if tolerance:
        print(f"// within {tolerance}")
    print("// run\nENTRY e {")
    for i, a in enumerate(arguments):
        print(f"  a{i} = {shape(a)} parameter({i})")
    names = ", ".join(f"a{i}" for i in range(len(arguments)))
    root = "ROOT r = " if not scratch else "c = "
    config = f", backend_config={config}" if config else ""
    print(f'  {root}{result} custom-call({names}), custom_call_target="{target}"{attributes}{config}')
    if scratch:
        for i, o in enumerate(outputs):
            print(f"  {'ROOT ' if len(outputs) == 1 else ''}g{i} = {shape(o)} get-tuple-element(c), index={i}")
        if len(outputs) > 1:
            print(f"  ROOT r = ({', '.join(shape(o) for o in outputs)}) tuple({', '.join(f'g{i}' for i in range(len(outputs)))})")
    print("}")
    for a in arguments:
        print(f"// in   {text_of(np.asarray(a))}")
    for o in outputs:
        print(f"// out  {text_of(np.asarray(o))}")
    print("// -----")


def numbers(rng, *dims, dtype=np.float32):
    return (rng.integers(-16, 17, dims) / 8).astype(dtype)


def dot_numbers(lhs=(1,), rhs=(0,), batch=()):
    def quoted(dims):
        return "[" + ",".join(f'"{d}"' for d in dims) + "]"
    return (f'"dot_dimension_numbers":{{"lhs_contracting_dimensions":{quoted(lhs)},"rhs_contracting_dimensions":{quoted(rhs)},'
            f'"lhs_batch_dimensions":{quoted(batch)},"rhs_batch_dimensions":{quoted(batch)}}}')


def gemm_config(alpha=1, beta=0, epilogue="DEFAULT", **dims):
    return (f'{{"gemm_backend_config":{{"alpha_real":{alpha},"alpha_imag":0,"beta":{beta},{dot_numbers(**dims)},'
            f'"epilogue":"{epilogue}"}}}}')


def gelu(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def products(rng):
    a, b, c, bias = numbers(rng, 2, 3), numbers(rng, 3, 4), numbers(rng, 2, 4), numbers(rng, 4)
    wide = a.astype(np.float64) @ b
    case("gemm scales its product and adds another matrix", "__cublas$gemm", [a, b, c], [np.float32(2 * wide + 0.5 * c)],
         config=gemm_config(2, 0.5), scratch="s8[4]")
    left, right = numbers(rng, 5, 3, 2), numbers(rng, 5, 4, 3)
    case("gemm of a batch with both operands transposed", "__cublas$gemm", [left, right],
         [np.float32(np.einsum("bkm,bnk->bmn", left.astype(np.float64), right))],
         config=gemm_config(lhs=(1,), rhs=(2,), batch=(0,)), scratch="")
    case("matmul with bias and relu", "__cublas$lt$matmul", [a, b, bias], [np.float32(np.maximum(wide + bias, 0))],
         config=gemm_config(epilogue="BIAS_RELU"), scratch="s8[4]")
    case("matmul with bias and gelu", "__cublas$lt$matmul", [a, b, c, bias], [np.float32(gelu(wide + c + bias))],
         config=gemm_config(beta=1, epilogue="BIAS_GELU"), scratch="s8[4]")
    case("matmul that keeps what gelu is applied to", "__cublas$lt$matmul", [a, b], [np.float32(gelu(wide)), np.float32(wide)],
         config=gemm_config(epilogue="GELU_AUX"), scratch="s8[4]")
    case("matmul with silu", "__cublas$lt$matmul", [a, b], [np.float32(wide / (1 + np.exp(-wide)))],
         config=gemm_config(epilogue="SILU"), scratch="s8[4]")
    z, w = numbers(rng, 2, 3) + 1j * numbers(rng, 2, 3), numbers(rng, 3, 2) + 1j * numbers(rng, 3, 2)
    case("gemm of complex matrices", "__cublas$gemm", [z.astype(np.complex64), w.astype(np.complex64)], [(z @ w).astype(np.complex64)],
         config=gemm_config(), scratch="")


def convolutions(rng):
    x, w = numbers(rng, 2, 4, 7, 6), numbers(rng, 6, 2, 3, 2)
    window, padding = dict(window_strides=(2, 1), rhs_dilation=(1, 2)), ((1, 2), (0, 1))

    def forward(x, w):
        return lax.conv_general_dilated(x, w, padding=padding, feature_group_count=2,
                                        dimension_numbers=("NCHW", "OIHW", "NCHW"), **window)
    y, pullback = jax.vjp(forward, jnp.asarray(x, jnp.float64), jnp.asarray(w, jnp.float64))
    dy = numbers(rng, *y.shape)
    dx, dw = pullback(jnp.asarray(dy, jnp.float64))
    attributes = (", window={size=3x2 stride=2x1 pad=1_2x0_1 rhs_dilate=1x2}, dim_labels=bf01_oi01->bf01, "
                  "feature_group_count=2")
    case("convolution, forwards", "__cudnn$convForward", [x, w], [np.float32(y)], attributes, source="xla-cpu")
    case("convolution, backwards to its input", "__cudnn$convBackwardInput", [dy, w], [np.float32(dx)], attributes, source="xla-cpu")
    case("convolution, backwards to its filter", "__cudnn$convBackwardFilter", [x, dy], [np.float32(dw)], attributes, source="xla-cpu")
    bias, side = numbers(rng, 6), numbers(rng, *y.shape)
    full = 0.5 * np.asarray(y) + 2 * side.astype(np.float64) + bias[None, :, None, None]
    for mode, value in (("kRelu", np.maximum(full, 0)), ("kElu", np.where(full < 0, np.expm1(full), full)), ("2", np.maximum(full, 0))):
        quoted = mode if mode.isdigit() else f'"{mode}"'
        case(f"convolution with bias, side input and activation {mode}", "__cudnn$convBiasActivationForward", [x, w, bias, side],
             [np.float32(value)], attributes,
             f'{{"cudnn_conv_backend_config":{{"conv_result_scale":0.5,"side_input_scale":2,"activation_mode":{quoted}}}}}',
             source="xla-cpu")


def norms(rng):
    x, scale, bias, dy = numbers(rng, 3, 2, 4), numbers(rng, 2, 4), numbers(rng, 2, 4), numbers(rng, 3, 2, 4)

    def layer(x, scale, bias):
        mean = x.mean((1, 2), keepdims=True)
        return (x - mean) / jnp.sqrt(((x - mean) ** 2).mean((1, 2), keepdims=True) + 1e-3) * scale + bias
    wide = [jnp.asarray(a, jnp.float64) for a in (x, scale, bias)]
    y, pullback = jax.vjp(layer, *wide)
    dx, dscale, dbias = (np.float32(d) for d in pullback(jnp.asarray(dy, jnp.float64)))
    mean = np.asarray(wide[0]).mean((1, 2))
    factor = 1 / np.sqrt(np.asarray(wide[0]).var((1, 2)) + 1e-3)

    def config(kind):
        return f'{{"cudnn_norm_backend_config":{{"epsilon":0.001,"kind":"{kind}"}}}}'
    case("layer norm", "__cudnn$norm", [x, scale, bias], [np.float32(y)], config=config("LAYER_FWD_INFER"))
    case("layer norm that keeps means and factors", "__cudnn$norm", [x, scale, bias],
         [np.float32(y), np.float32(mean), np.float32(factor)], config=config("LAYER_FWD_TRAIN"))
    case("layer norm, backwards", "__cudnn$norm", [x, scale, dy, np.float32(mean), np.float32(factor)], [dx, dscale, dbias],
         config=config("LAYER_BWD"))
    row = np.asarray(wide[0])
    last = (row - row.mean(-1, keepdims=True)) / np.sqrt(row.var(-1, keepdims=True) + 1e-3) * scale[0] + bias[0]
    case("layer norm of oneDNN", "__onednn$layernorm", [x, scale[0], bias[0]], [np.float32(last)],
         config='{"onednn_layer_norm_config":{"epsilon":0.001}}', scratch="")
    for axis in (1, 2):
        e = np.exp(row - row.max(axis, keepdims=True))
        case(f"softmax of oneDNN along dimension {axis}", "__onednn$softmax", [x], [np.float32(e / e.sum(axis, keepdims=True))],
             config=f'{{"onednn_softmax_config":{{"softmax_axis":{axis}}}}}', scratch="")


def others(rng):
    keys = np.array([[3, -1, 0, -0.0, 2], [5, 5, -7, 1, 0]], np.float32)
    total = np.where(keys.view(np.int32) < 0, ~keys.view(np.int32), keys.view(np.int32) | np.int32(-2**31)).view(np.uint32)
    order = np.argsort(total, axis=-1, kind="stable")
    down = np.argsort(~total, axis=-1, kind="stable")
    values = np.arange(10, dtype=np.int32).reshape(2, 5)
    case("keys sorted", "xla.gpu.ext.cub_sort_keys", [keys], [np.take_along_axis(keys, order, -1)],
         config="{descending = false, batch_size = 2 : i64}", tolerance="")
    case("pairs sorted downwards", "xla.gpu.ext.cub_sort_pairs", [keys, values],
         [np.take_along_axis(keys, down, -1), np.take_along_axis(values, down, -1)],
         config="{descending = true, batch_size = 2 : i64}", tolerance="")
    x = numbers(rng, 2, 5)
    case("running sums", "xla.gpu.ext.cub_scan", [x], [np.cumsum(x, -1, dtype=np.float32)],
         config="{vector_length = 2 : i64, row_length = 5 : i64, column_length = 1 : i64, kind = 0 : i32, is_reverse = false}")
    key = np.array([[17, 42, 2**32 - 1], [2**31, 5, 0]], np.uint32)
    words = np.array([[1, 2, 3], [4, 5, 2**32 - 1]], np.uint32)
    pairs = np.stack([np.asarray(threefry_2x32(jnp.asarray(key[:, i]), jnp.asarray(words[:, i]))) for i in range(3)], 1)
    case("threefry by the word", "cu_threefry2x32_ffi", [key[0], key[1], words[0], words[1]], [pairs[0], pairs[1]], scratch="",
         tolerance="", source="xla-cpu")
    pivots = np.array([[2, 2, 3], [0, 3, 3]], np.int32)
    permutations = np.asarray(jax.vmap(lambda p: lax.linalg.lu_pivots_to_permutation(p, 5))(jnp.asarray(pivots)))
    case("pivots as a permutation", "cu_lu_pivots_to_permutation", [pivots], [permutations.astype(np.int32)], scratch="",
         tolerance="", source="xla-cpu")
    a = numbers(rng, 4, 4, dtype=np.float64)
    r = np.linalg.cholesky(a @ a.T + 4 * np.eye(4)).T
    v = numbers(rng, 4, dtype=np.float64)
    updated = np.linalg.cholesky(r.T @ r + np.outer(v, v)).T
    print("// a rank-one update of a Cholesky factor  [exact]\n// within abs 1e-11 rel 1e-11\n// run\nENTRY e {\n"
          "  r = f64[4,4] parameter(0)\n  w = f64[4] parameter(1)\n"
          '  c = (f64[4,4], f64[4]) custom-call(r, w), custom_call_target="cu_cholesky_update_ffi"\n'
          "  ROOT g = f64[4,4] get-tuple-element(c), index=0\n}")
    print(f"// in   {text_of(r)}\n// in   {text_of(v)}\n// out  {text_of(updated)}\n// -----")
    c = numbers(rng, 4, 4, dtype=np.float64)
    one, two = np.float64(0.5), np.float64(3)
    case("a matrix times its transpose", "cusolver_syrk_ffi", [a, c, one, two], [0.5 * a @ a.T + 3 * c], scratch="",
         config="{transpose = false}")
    spd = a @ a.T + 4 * np.eye(4)
    case("cholesky of cuSOLVER, upper", "cusolver_potrf_ffi", [np.triu(spd)], [np.linalg.cholesky(spd).T, np.int32(0)], scratch="",
         config="{lower = false}")
    u, s, vt = np.linalg.svd(a)
    print("// singular values of cuSOLVER's Jacobi method, and what its vectors give  [exact]\n"
          "// within abs 1e-11 rel 1e-11\n// run\nENTRY e {\n  a = f64[4,4] parameter(0)\n"
          "  c = (f64[4,4], f64[4], f64[4,4], f64[4,4], s32[]) custom-call(a), custom_call_target=\"cusolver_gesvdj_ffi\", "
          "backend_config={full_matrices = true, compute_uv = true}\n"
          "  s = f64[4] get-tuple-element(c), index=1\n  u = f64[4,4] get-tuple-element(c), index=2\n"
          "  v = f64[4,4] get-tuple-element(c), index=3\n  b = f64[4,4] broadcast(s), dimensions={1}\n"
          "  us = f64[4,4] multiply(u, b)\n"
          "  p = f64[4,4] dot(us, v), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"
          "  ROOT t = (f64[4], f64[4,4]) tuple(s, p)\n}")
    print(f"// in   {text_of(a)}\n// out  {text_of(s)}\n// out  {text_of(a)}\n// -----")
    triangle = np.tril(numbers(rng, 3, 3)) + 4 * np.eye(3, dtype=np.float32)
    right = numbers(rng, 3, 2)
    case("triangular solve of cuBLAS", "__cublas$triangularSolve", [triangle.astype(np.float32), right],
         [np.float32(np.linalg.solve(triangle.astype(np.float64).T, right))],
         config='{"left_side":true,"lower":true,"unit_diagonal":false,"transpose_a":"TRANSPOSE"}')
    wide = np.array([2**40 + 5, 2**64 - 2, 7], np.uint64)
    low, high = (wide & np.uint64(2**32 - 1)).astype(np.uint32), (wide >> np.uint64(32)).astype(np.uint32)
    case("the low half of a word", "X64SplitLow", [wide], [low], scratch="", tolerance="")
    case("the high half of a word", "X64SplitHigh", [wide], [high], scratch="", tolerance="")
    case("a word of two halves", "X64Combine", [low, high], [wide], scratch="", tolerance="")
    square = numbers(rng, 3, 3, dtype=np.float64)
    p, l, upper = scipy_lu(square)
    case("lu of the TPU's expander", "LuDecomposition", [square], [l - np.eye(3) + upper, np.asarray(lax.linalg.lu(square)[1]),
                                                                   np.asarray(lax.linalg.lu(square)[2])], scratch="")


def scipy_lu(a):
    lu, _, permutation = (np.asarray(x) for x in lax.linalg.lu(a))
    return permutation, np.tril(lu, -1) + np.eye(len(a)), np.triu(lu)


if __name__ == "__main__":
    rng = np.random.default_rng(11)
    products(rng)
    convolutions(rng)
    norms(rng)
    others(rng)
