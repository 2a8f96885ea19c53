#!/usr/bin/env python3
"""Writes the cases of custom calls to GPU and CPU libraries. The libraries are not needed; the expected values are
computed with NumPy, SciPy and JAX functions on the CPU.

    python3 library_cases.py > ../../tests/cases/semantics/library-calls.hlo
"""

import math

import jax
import ml_dtypes
import numpy as np

jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402
from jax.extend.random import threefry_2x32  # noqa: E402
from linalg_cases import text_of as wide_text  # noqa: E402

HLO_TYPE = {"float32": "f32", "float64": "f64", "int32": "s32", "uint32": "u32", "complex64": "c64", "bool": "pred",
            "uint64": "u64", "int64": "s64", "bfloat16": "bf16", "float8_e4m3fn": "f8e4m3fn", "float8_e5m2": "f8e5m2",
            "float8_e8m0fnu": "f8e8m0fnu", "float4_e2m1fn": "f4e2m1fn", "int8": "s8"}


def text_of(a):
    return wide_text(a.astype(np.float32) if a.dtype.name.startswith(("float8", "float4", "bfloat")) else a)


def shape(a):
    a = np.asarray(a)
    return f"{HLO_TYPE[a.dtype.name]}[{','.join(map(str, a.shape))}]"


def case(title, target, arguments, outputs, attributes="", config="", scratch="u8[8]", tolerance="abs 1e-5 rel 1e-5",
         source="exact"):
    """Prints one call; results after `outputs` are scratch."""
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
    case("matmul with the input of gelu as an additional result", "__cublas$lt$matmul", [a, b], [np.float32(gelu(wide)), np.float32(wide)],
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
    config = '{"cudnn_conv_backend_config":{"conv_result_scale":1}}'
    case("convolution, forwards", "__cudnn$convForward", [x, w], [np.float32(y)], attributes, config, source="xla-cpu")
    case("convolution, backwards to its input", "__cudnn$convBackwardInput", [dy, w], [np.float32(dx)], attributes, config,
         source="xla-cpu")
    case("convolution, backwards to its filter", "__cudnn$convBackwardFilter", [x, dy], [np.float32(dw)], attributes, config,
         source="xla-cpu")
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
    case("keys sorted downwards by __cub$DeviceRadixSort", "__cub$DeviceRadixSort", [keys],
         [np.take_along_axis(keys, down, -1)], config='{"descending":true}', tolerance="")
    case("pairs sorted by __cub$DeviceRadixSort", "__cub$DeviceRadixSortUnassignedScratchSize", [keys, values],
         [np.take_along_axis(keys, order, -1), np.take_along_axis(values, order, -1)],
         config='{"descending":false}', tolerance="")
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
    print("// singular values of cuSOLVER's Jacobi method, and the product of its factors  [exact]\n"
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


def narrow(values, dtype):
    """Returns the nearest values of a narrow type, clamped as XLA does before converting to a type without infinities.
    """
    top = float(ml_dtypes.finfo(dtype).max)
    return np.clip(np.asarray(values, np.float64), -top, top).astype(np.float32).astype(dtype)


def blocks(rng):
    f8, e8, f4 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu, ml_dtypes.float4_e2m1fn
    a, b = narrow(numbers(rng, 2, 8), f8), narrow(numbers(rng, 3, 8), f8)
    a_scale, b_scale = np.array([[0.5, 2], [1, 4]]).astype(e8), np.array([[1, 1], [0.25, 8], [2, 0.5]]).astype(e8)

    def wide(x, scale):
        return x.astype(np.float64) * np.repeat(scale.astype(np.float64), x.shape[-1] // scale.shape[-1], -1)
    product = wide(a, a_scale) @ wide(b, b_scale).T
    for target in ("__op$block_scaled_dot", "__cudnn$blockScaledDot"):
        case(f"blocks with scales, {target[5:]}", target, [a, b, a_scale, b_scale], [np.float32(product)], scratch="")
    case("blocks with scales and a scale of the product", "__op$block_scaled_dot",
         [a, b, a_scale, b_scale, np.float32(0.375)], [np.float32(0.375 * product)], scratch="")
    case("blocks with scales on the left alone", "__op$block_scaled_dot", [a, b, a_scale],
         [np.float32(wide(a, a_scale) @ b.astype(np.float64).T)], scratch="")
    case("matmul of blocks with scales", "__cublas$lt$matmul$mx", [a, b, a_scale, b_scale], [np.float32(product)],
         config=gemm_config(lhs=(1,), rhs=(1,)), scratch="u8[4]")
    x = np.array([[1, -6, 3, 0.25, 0, 0, 0, 0], [100, 50, 25, -12, 1.5, 0.75, 2, -3]], np.float32)
    for dtype, power in ((f4, 4), (f8, 256)):
        # The scale is rounded to a power of two, as in any conversion to f8e8m0fnu.
        scale = (np.abs(x).reshape(2, 2, 4).max(-1) / power).astype(np.float32).astype(e8)
        factors = np.repeat(scale.astype(np.float64), 4, -1)
        q = np.divide(x, factors, out=np.zeros_like(factors), where=x != 0).astype(np.float32).astype(dtype)
        if np.isfinite(q.astype(np.float32)).all():
            case(f"quantized to {np.dtype(dtype).name} in blocks", "__op$quantize", [x], [q, scale], scratch="", tolerance="")
            case(f"restored from {np.dtype(dtype).name}", "__op$dequantize", [q, scale],
                 [(q.astype(np.float64) * factors).astype(np.float32)], scratch="", tolerance="")
    left, right, sizes = numbers(rng, 6, 3), numbers(rng, 2, 3, 4), np.array([2, 3], np.int32)
    ragged = np.zeros((6, 4))
    ragged[:2], ragged[2:5] = left[:2].astype(np.float64) @ right[0], left[2:5].astype(np.float64) @ right[1]
    bias = numbers(rng, 4)
    dims = ('"ragged_dot_dimension_numbers":{"dot_dimension_numbers":{"lhs_contracting_dimensions":["1"],'
            '"rhs_contracting_dimensions":["1"]},"lhs_ragged_dimensions":["0"],"rhs_group_dimensions":["0"]}')
    for title, alpha, epilogue, more, value in (("matmul in groups", 1, "DEFAULT", [], ragged),
                                                ("matmul in groups with bias and relu", 2, "BIAS_RELU", [bias],
                                                 np.maximum(2 * ragged + bias, 0))):
        case(title, "__cublas$lt$groupedMatmul", [left, right, sizes, *more], [np.float32(value)], scratch="u8[4]",
             config=f'{{"grouped_gemm_backend_config":{{"gemm_backend_config":{{"alpha_real":{alpha},"beta":0,"epilogue":"{epilogue}"}},{dims}}}}}')


def onednn(rng):
    a, b, bias, other = numbers(rng, 2, 3), numbers(rng, 4, 3), numbers(rng, 4), numbers(rng, 2, 4)
    wide = a.astype(np.float64) @ b.T
    erf = np.vectorize(math.erf)

    def config(ops, more="", transposed="true"):
        ops = ",".join(f'"{op}"' for op in ops)
        return f'{{"onednn_matmul_config":{{"transpose_b":{transposed},"fusions":{{"ops":[{ops}]{more}}}}}}}'
    for ops, operands, value in (((), [], wide), (("BIAS", "RELU"), [bias], np.maximum(wide + bias, 0)),
                                 (("BINARY_ADD", "TANH"), [other], np.tanh(wide + other)),
                                 (("BIAS", "GELU_ERF", "SUM"), [bias, other], (wide + bias) * (1 + erf((wide + bias) / math.sqrt(2))) / 2 + other),
                                 (("SWISH",), [], wide / (1 + np.exp(-wide))), (("ELU",), [], np.where(wide < 0, np.expm1(wide), wide)),
                                 (("RELU6",), [], np.clip(wide, 0, 6)), (("SIGMOID",), [], 1 / (1 + np.exp(-wide))),
                                 (("GELU_TANH",), [], gelu(wide))):
        case(f"matmul of oneDNN {' '.join(ops)}".strip(), "__onednn$matmul", [a, b, *operands], [np.float32(value)], config=config(ops), scratch="")
    case("matmul of oneDNN LINEAR, its factor as bits", "__onednn$matmul", [a, b], [np.float32(0.5 * wide)],
         config=config(("LINEAR",), f',"alpha_typecast":{np.float32(0.5).view(np.int32)}'), scratch="")
    batch, matrix = numbers(rng, 2, 3, 4), numbers(rng, 4, 5)
    case("matmul of oneDNN with one right side for a batch", "__onednn$matmul", [batch, matrix], [np.float32(batch.astype(np.float64) @ matrix)],
         config=config((), transposed="false"))
    x, w, bias = numbers(rng, 1, 4, 5, 2), numbers(rng, 2, 3, 2, 3), numbers(rng, 3)
    y = np.asarray(lax.conv_general_dilated(jnp.asarray(x, jnp.float64), jnp.asarray(w, jnp.float64), (1, 2), ((0, 1), (1, 0)),
                                            dimension_numbers=("NHWC", "HWIO", "NHWC")))
    attributes = ", window={size=2x3 stride=1x2 pad=0_1x1_0}, dim_labels=b01f_01io->b01f"
    case("convolution of oneDNN with bias and relu", "__onednn$convolution", [x, w, bias], [np.float32(np.maximum(y + bias, 0))], attributes,
         '{"onednn_conv_config":{"fusions":{"ops":["BIAS","RELU"]}}}', source="xla-cpu", scratch="")


def graphs(rng):
    x, w, other = numbers(rng, 1, 3, 4, 2), numbers(rng, 2, 2, 2, 3), numbers(rng, 1, 3, 4, 3)
    y = np.asarray(lax.conv_general_dilated(jnp.asarray(x, jnp.float64), jnp.asarray(w, jnp.float64), (1, 1), "SAME",
                                            dimension_numbers=("NHWC", "HWIO", "NHWC")))
    attributes = ", window={size=2x2 pad=0_1x0_1}, dim_labels=b01f_01io->b01f"

    def config(graph):
        return f'{{"cudnn_conv_backend_config":{{"serialized_graph":"{graph}"}}}}'
    scale, divisor = np.float32(0.25), np.float32(4)
    case("a graph of cuDNN", "__cudnn$convForwardGraph", [x, w, scale, other], [np.float32(np.maximum(y * 0.25 + other, 0))], attributes,
         config("1:[f32]conv();2:[f32]scale(1);3:[f32]add(2);4:[f32]relu(3);"), source="xla-cpu")
    case("a graph of cuDNN that uses the convolution twice", "__cudnn$convForwardGraph", [x, w], [np.float32(y + np.maximum(y, 0))], attributes,
         config("1:[f32]conv();2:[f32]relu(1);3:[f32]add(1,2);"), source="xla-cpu")
    f8 = ml_dtypes.float8_e4m3fn
    case("a graph of cuDNN that ends in 8 bits and says the largest value", "__cudnn$convForwardGraph", [x * 64, w, divisor],
         [narrow(64 * y / 4, f8), np.float32(np.abs(64 * y).max())], attributes,
         config("1:[f32]conv();2:[f32]amax(1);3:[f8e4m3fn]invscale(1);"), source="xla-cpu")
    bias = numbers(rng, 3)
    print("// filters reordered for a convolution of 8 bits: their consumer undoes it  [exact]\n// run\nENTRY e {\n"
          "  w = f32[2,2,2,3] parameter(0)\n  b = f32[3] parameter(1)\n"
          '  ROOT c = (f32[2,2,2,3], f32[3]) custom-call(w, b), custom_call_target="__cudnn$convReorderFilterAndBias"\n}')
    print(f"// in   {text_of(w)}\n// in   {text_of(bias)}\n// out  {text_of(w)}\n// out  {text_of(bias)}\n// -----")


def attention_config(scale, mask="NO_MASK", window=0, batch=(0, 1), rows=2, backward=False):
    """Returns JAX's configuration for arrays whose dimension `rows` counts the queries or keys."""
    def quoted(dims):
        return "[" + ",".join(f'"{d}"' for d in dims) + "]"
    def product(name, left, right, left_batch):
        return (f'"{name}_dot_dimension_numbers":{{"lhs_contracting_dimensions":["{left}"],"rhs_contracting_dimensions":["{right}"],'
                f'"lhs_batch_dimensions":{quoted(left_batch)},"rhs_batch_dimensions":{quoted(batch)}}}')
    scores = (0, 1)
    products = [product("bmm1", 3, 3, batch), product("bmm2", 3, rows, scores)] if not backward else [
        product("bmm1_grad_gemm1", 2, rows, scores), product("bmm1_grad_gemm2", 3, rows, scores),
        product("bmm2_grad_gemm1", 2, rows, scores), product("bmm2_grad_gemm2", 3, 3, batch)]
    return (f'{{"cudnn_fmha_backend_config":{{"fmha_scale":{scale},"dropout_rate":0.0,"mask_type":"{mask}",'
            f'"sliding_window_length":{window},{",".join(products)}}}}}')


def attention(rng):
    """q, k, v are [B, N, T, H]; k and v may have fewer heads."""
    def forward(q, k, v, bias, scale, allowed):
        group = q.shape[1] // k.shape[1]
        scores = scale * jnp.einsum("bnth,bnsh->bnts", q, jnp.repeat(k, group, 1)) + bias
        scores = jnp.where(allowed, scores, -jnp.inf)
        some = allowed.any(-1)
        stats = jax.nn.logsumexp(jnp.where(some[..., None], scores, 0), -1)
        p = jnp.where(some[..., None], jnp.exp(jnp.where(allowed, scores, -jnp.inf) - stats[..., None]), 0)
        return jnp.einsum("bnts,bnsh->bnth", p, jnp.repeat(v, group, 1)), jnp.where(some, stats, -jnp.inf)

    b, n, t, s, h = 2, 2, 3, 4, 2
    q, k, v = numbers(rng, b, n, t, h), numbers(rng, b, n, s, h), numbers(rng, b, n, s, h)
    bias = numbers(rng, 1, n, t, s)
    rows, columns = np.arange(t)[:, None], np.arange(s)[None, :]
    everything = np.ones((b, n, t, s), bool)
    lengths = np.array([2, 3], np.int32), np.array([4, 2], np.int32)
    padded = (rows < lengths[0][:, None, None, None]) & (columns < lengths[1][:, None, None, None]) & everything
    variants = [("attention", "fmhaSoftmax", "NO_MASK", 0, everything, False, ()),
                ("attention with a bias", "fmhaScaleBiasSoftmax", "NO_MASK", 0, everything, True, ()),
                ("causal attention", "fmhaSoftmax", "CAUSAL", 0, everything & (columns <= rows), False, ()),
                ("attention of the last two", "fmhaSoftmax", "CAUSAL", 2, everything & (columns <= rows) & (columns > rows - 2), False, ()),
                ("attention of sequences of several lengths", "fmhaScaleBiasSoftmax", "PADDING", 0, padded, True, lengths),
                ("causal attention in sequences of several lengths", "fmhaSoftmax", "PADDING_CAUSAL", 0,
                 padded & (columns <= rows), False, lengths)]
    for title, name, mask, window, allowed, has_bias, more in variants:
        wide = [jnp.asarray(x, jnp.float64) for x in (q, k, v, bias if has_bias else np.zeros_like(bias))]

        def run(*x):
            return forward(*x, 0.5, allowed)
        o, stats = run(*wide)
        extra = [bias] if has_bias else []
        config = attention_config(0.5, mask, window)
        case(title, f"__cudnn${name}", [q, k, v, *extra, *more], [np.float32(o), np.float32(stats)], config=config)
        do = numbers(rng, *o.shape)
        _, pullback, _ = jax.vjp(run, *wide, has_aux=True)
        gradients = [np.float32(g) for g in pullback(jnp.asarray(do, jnp.float64))]
        case(f"{title}, backwards", f"__cudnn${name}Backward",
             [q, k, v, np.float32(stats), do, *extra, np.float32(o), *more], gradients if has_bias else gradients[:3],
             config=attention_config(0.5, mask, window, backward=True))

    # JAX's order is [B, T, N, H]; the results are [B, N, T, H]. Several query heads share a head of keys and values.
    def grouped_case(heads, queries):
        q, k, v = numbers(rng, b, queries, heads, h), numbers(rng, b, s, n, h), numbers(rng, b, s, n, h)
        wide = [jnp.asarray(np.swapaxes(x, 1, 2), jnp.float64) for x in (q, k, v)]
        all_of = np.ones((b, heads, queries, s), bool)

        def grouped(*x):
            return forward(*x, 0.0, 0.25, all_of)
        o, stats = grouped(*wide)
        title = "attention of four heads to two" + (", and four queries" if queries == 4 else "")
        config = attention_config(0.25, batch=(0, 2), rows=1)
        case(title, "__cudnn$fmhaSoftmax", [q, k, v], [np.float32(o)], config=config)
        do = numbers(rng, *o.shape)
        _, pullback, _ = jax.vjp(grouped, *wide, has_aux=True)
        case(f"{title}, backwards", "__cudnn$fmhaSoftmaxBackward",
             [q, k, v, np.float32(stats), np.swapaxes(do, 1, 2), np.swapaxes(np.float32(o), 1, 2)],
             [np.float32(g) for g in pullback(jnp.asarray(do, jnp.float64))],
             config=attention_config(0.25, batch=(0, 2), rows=1, backward=True))

    grouped_case(4, t)
    grouped_case(4, 4)


if __name__ == "__main__":
    rng = np.random.default_rng(11)
    products(rng)
    convolutions(rng)
    norms(rng)
    others(rng)
    blocks(rng)
    onednn(rng)
    graphs(rng)
    attention(rng)
