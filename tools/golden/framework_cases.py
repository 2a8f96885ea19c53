#!/usr/bin/env python3
"""Writes the cases of custom calls of frameworks: operations without an HLO opcode, and operations whose sizes are
operands. The expected values are those of SciPy, NumPy and JAX functions.

    python3 framework_cases.py > ../../tests/cases/semantics/framework-calls.hlo
"""

import jax
import numpy as np
import scipy.special

jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402
from library_cases import case, numbers, shape  # noqa: E402
from linalg_cases import text_of  # noqa: E402


def call(title, target, arguments, outputs, **options):
    case(title, target, arguments, outputs, scratch="", **{"tolerance": "", **options})


def functions():
    x = np.array([-2.5, -1, -0.75, -1e-3, -0.0, 0, 1e-8, 0.3, 0.999, 1, 1.4616, 3, 12.5, 60, np.inf, np.nan])
    for name, f, points in (("erf_inv", scipy.special.erfinv, x), ("erfc", scipy.special.erfc, x), ("atan", np.arctan, x),
                            ("bessel_i1e", scipy.special.i1e, x), ("square", np.square, x),
                            ("lgamma", scipy.special.gammaln, x[x != -1]),
                            ("digamma", scipy.special.digamma, np.array([-7.25, -2.5, -0.75, 1e-3, 0.3, 1, 1.4616, 3, 12.5, 60, 1e6]))):
        for dtype in (np.float64, np.float32):
            given = points.astype(dtype)
            wanted = f(given.astype(np.float64)).astype(dtype)
            call(f"chlo.{name} of {np.dtype(dtype).name}", f"chlo.{name}", [given], [wanted],
                 tolerance="4ulp" if name not in ("digamma", "lgamma") or dtype == np.float32 else "abs 1e-15 rel 1e-14")
    s = np.array([2, 3, 1.5, 4, 1, 0.5, 2, 3, 20, 2], np.float64)
    q = np.array([1, 0.5, 7.25, 30, 2, 2, -1.5, -3.25, 2, 0], np.float64)
    # The sum over the negative terms, for which SciPy has no values.
    negative = {(2, -1.5): lambda: sum((-1.5 + n) ** -2.0 for n in range(2)) + scipy.special.zeta(2, 0.5),
                (3, -3.25): lambda: sum((-3.25 + n) ** -3.0 for n in range(4)) + scipy.special.zeta(3, 0.75),
                (1, 2): lambda: np.inf, (0.5, 2): lambda: np.nan, (2, 0): lambda: np.inf}
    zeta = np.array([negative.get((a, b), lambda a=a, b=b: scipy.special.zeta(a, b))() for a, b in zip(s, q)])
    call("chlo.zeta", "chlo.zeta", [s, q], [zeta], tolerance="abs 0 rel 1e-14")
    n = np.array([0, 1, 2, 3, 1, 7], np.float64)
    at = np.array([1.5, 1.5, 0.25, 10, 100, 2], np.float64)
    call("chlo.polygamma", "chlo.polygamma", [n, at], [scipy.special.polygamma(n.astype(int), at)], tolerance="abs 0 rel 1e-13")
    z = numbers(np.random.default_rng(3), 5, dtype=np.float64) + 1j * numbers(np.random.default_rng(4), 5, dtype=np.float64)
    z = z.astype(np.complex64)
    call("chlo.atan of complex numbers", "chlo.atan", [z], [np.arctan(z.astype(np.complex128)).astype(np.complex64)],
         tolerance="abs 1e-6 rel 1e-6")
    call("chlo.conj", "chlo.conj", [z], [np.conj(z)])
    for name, f in (("is_inf", np.isinf), ("is_pos_inf", np.isposinf), ("is_neg_inf", np.isneginf)):
        values = np.array([np.inf, -np.inf, 0, np.nan, 1], np.float32)
        call(f"chlo.{name}", f"chlo.{name}", [values], [f(values)])
    start = np.array([0, 0, 1, 1, -1, -1, np.inf, np.nan, 1, 2, -0.0], np.float32)
    to = np.array([1, -1, 2, 0, 0, -2, 0, 1, np.nan, 2, 0], np.float32)
    call("chlo.next_after", "chlo.next_after", [start, to], [np.nextafter(start, to)])
    call("chlo.next_after of doubles", "chlo.next_after", [start.astype(np.float64), to.astype(np.float64)],
         [np.nextafter(start.astype(np.float64), to.astype(np.float64))])
    y = np.array([0.5, 0.25, 1, 0], np.float32)
    for name, f in (("mhlo.erf", scipy.special.erf), ("mhlo.tan", np.tan), ("chlo.acos", np.arccos), ("chlo.asinh", np.arcsinh),
                    ("stablehlo.log_plus_one", np.log1p)):
        call(f"{name}: the opcode of that name", name, [y], [f(y.astype(np.float64)).astype(np.float32)], tolerance="1ulp")
    x = np.array([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]], np.float32)
    best = np.argsort(-x, -1, kind="stable")[:, :2]
    call("mhlo.topk", "mhlo.topk", [x], [np.take_along_axis(x, best, -1), best.astype(np.int32)], config="{k = 2, largest = true}")
    worst = np.argsort(x, -1, kind="stable")[:, :2]
    call("mhlo.topk of the least", "mhlo.topk", [x], [np.take_along_axis(x, worst, -1), worst.astype(np.int32)],
         config="{k = 2 : i64, largest = false}")
    call("stablehlo.dynamic_top_k", "stablehlo.dynamic_top_k", [x, np.int32(2)],
         [np.take_along_axis(x, best, -1), best.astype(np.int32)])


def dynamic(text, title, arguments, outputs, computations=""):
    """Prints an entry's text as a case."""
    print(f"// {title}  [exact]\n// run\n{computations}ENTRY e {{\n{text}\n}}")
    for a in arguments:
        print(f"// in   {text_of(np.asarray(a))}")
    for o in outputs:
        print(f"// out  {text_of(np.asarray(o))}")
    print("// -----")


def sizes():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    call("a reshape to sizes of an operand", "mhlo.dynamic_reshape", [x, np.array([3, 2], np.int32)], [x.reshape(3, 2)])
    call("a broadcast to sizes of an operand", "stablehlo.dynamic_broadcast_in_dim", [x[:, :1], np.array([2, 2, 4], np.int64)],
         [np.broadcast_to(x[:, :1].reshape(1, 2, 1), (2, 2, 4))], config='"broadcast_dimensions=[1,2]"')
    call("a slice between operands", "mhlo.real_dynamic_slice",
         [x, np.array([0, 1], np.int32), np.array([2, 3], np.int32), np.array([1, 2], np.int32)], [x[:, 1:3:2]])
    dynamic("""  x = f32[2,3] parameter(0)
  n = s32[2] parameter(1)
  r = f32[<=4,<=6] custom-call(x, n), custom_call_target="stablehlo.dynamic_reshape"
  p = (f32[4,6], s32[], s32[]) custom-call(r), custom_call_target="PadToStatic"
  a = s32[] get-tuple-element(p), index=1
  b = s32[] get-tuple-element(p), index=2
  d = f32[4,6] get-tuple-element(p), index=0
  s = f32[1,6] slice(d), slice={[0:1],[0:6]}
  ROOT t = (s32[], s32[], f32[1,6]) tuple(a, b, s)""", "sizes at run time reach PadToStatic", [x, np.array([1, 6], np.int32)],
            [np.int32(1), np.int32(6), x.reshape(1, 6)])
    dynamic("""  x = s32[4] parameter(0)
  n = s32[] parameter(1)
  r = s32[<=4] custom-call(x, n), custom_call_target="SliceToDynamic"
  m = s32[] get-dimension-size(r), dimensions={0}
  z = s32[] constant(0)
  s = s32[] reduce(r, z), dimensions={0}, to_apply=add
  ROOT t = (s32[], s32[]) tuple(m, s)""", "SliceToDynamic: only the leading part counts", [np.array([1, 2, 4, 8], np.int32), np.int32(3)],
            [np.int32(3), np.int32(7)], "add {\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  ROOT c = s32[] add(a, b)\n}\n")
    window = [np.array(v, np.int64) for v in ([2, 2], [1, 2], [1, 1], [1, 1])] + [np.array([[0, 0], [1, 0]], np.int64)]
    wanted = lax.reduce_window(x, np.float32(0), lax.add, (2, 2), (1, 2), [(0, 0), (1, 0)])
    print("// a reduce-window of run-time windows  [xla-cpu]\n// run\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
          "  ROOT c = f32[] add(a, b)\n}\nENTRY e {")
    arguments = [x, np.float32(0), *window]
    for i, a in enumerate(arguments):
        print(f"  a{i} = {shape(a)} parameter({i})")
    print(f"  ROOT r = {shape(np.asarray(wanted))} custom-call({', '.join(f'a{i}' for i in range(len(arguments)))}), "
          'custom_call_target="stablehlo.dynamic_reduce_window", called_computations={add}\n}')
    for a in arguments:
        print(f"// in   {text_of(np.asarray(a))}")
    print(f"// out  {text_of(np.asarray(wanted))}\n// -----")
    state = np.array([7, 42], np.uint64)
    key, bits = lax.rng_bit_generator(jnp.asarray(state), (3, 2), jnp.uint32, lax.RandomAlgorithm.RNG_THREE_FRY)
    call("random bits of run-time sizes", "stablehlo.dynamic_rng_bit_generator", [state, np.array([3, 2], np.int64)],
         [np.asarray(key), np.asarray(bits)], config='"rng_algorithm=THREE_FRY"', source="xla-cpu")


def quantization():
    x = np.array([-3.1, -0.26, 0, 0.25, 0.75, 1.1, 40, -40], np.float32)
    q = np.clip(np.round(x.astype(np.float64) / 0.25) + 3, -128, 127).astype(np.int32)
    config = "{scale = 0.25 : f64, zero_point = 3 : i64, storage_min = -128 : i64, storage_max = 127 : i64}"
    call("mhlo.uniform_quantize", "mhlo.uniform_quantize", [x], [q], config=config)
    call("mhlo.uniform_dequantize", "mhlo.uniform_dequantize", [q], [((q - 3.0) * 0.25).astype(np.float32)], config=config)
    matrix, scales, zeros = x.reshape(2, 2, 2), np.array([0.25, 2]), np.array([3, -1])
    q = np.clip(np.round(matrix.astype(np.float64) / scales[:, None]) + zeros[:, None], -8, 7).astype(np.int32)
    config = ("{quantization_dimension = 1 : i64, scale = [0.25, 2.0], zero_point = [3, -1], storage_min = -8 : i64, "
              "storage_max = 7 : i64}")
    call("stablehlo.uniform_quantize along a dimension", "stablehlo.uniform_quantize", [matrix], [q], config=config)
    call("stablehlo.uniform_dequantize along a dimension", "stablehlo.uniform_dequantize", [q],
         [((q - zeros[:, None]) * scales[:, None]).astype(np.float32)], config=config)


def arrangement():
    x, y = np.arange(3, dtype=np.int32), np.arange(3, 9, dtype=np.int32).reshape(2, 3)
    call("ConcatBitcast", "ConcatBitcast", [x, y], [np.arange(9, dtype=np.int32).reshape(3, 3)])
    for amount in (1, -2, 7):
        call(f"rotated by {amount}", "_SPMDInternalOp_RotateRight", [y], [np.roll(y, amount, 1)],
             config=f'"dimension=1,amount={amount}"')


def approximate(rng):
    """The comparator determines the order; the results are the first of a stable sort."""
    comparator = ("greater {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  c = s32[] parameter(2)\n  d = s32[] parameter(3)\n"
                  "  ROOT p = pred[] compare(a, b), direction=GT\n}\n")

    def write(title, target, n, kept, config, rank):
        x = rng.permutation(n).astype(np.float32).reshape((1,) * (rank - 1) + (n,))
        order = np.argsort(-x, -1, kind="stable")[..., :kept]
        dims = ",".join(map(str, x.shape))
        out = ",".join(map(str, order.shape))
        # The indices show which elements were kept; of many, only the first and last ones are listed.
        print(f"// {title}  [exact]\n// run\n{comparator}ENTRY e {{\n  x = f32[{dims}] parameter(0)\n"
              f"  i = s32[{dims}] iota(), iota_dimension={rank - 1}\n  z = f32[] constant(0)\n  m = s32[] constant(-1)\n"
              f'  c = (f32[{out}], s32[{out}]) custom-call(x, i, z, m), custom_call_target="{target}", called_computations={{greater}}, '
              f"backend_config={config}\n  ROOT g = s32[{out}] get-tuple-element(c), index=1\n}}")
        print(f"// in   {text_of(x)}\n// out  {text_of(order.astype(np.int32))}\n// -----")

    def config(k, recall, aggregate, dimension=0):
        return (f'{{"top_k":{k},"reduction_dim":{dimension},"recall_target":{recall},"aggregate_to_topk":{aggregate},'
                '"reduction_input_size_override":-1,"is_fallback":true}')
    write("ApproxTopK down to k elements", "ApproxTopK", 12, 3, config(3, 0.95, "true"), 1)
    write("ApproxTopK of an array that fits a tile", "ApproxTopK", 20, 20, config(3, 0.95, "false"), 1)
    # m = 128, r = min(floor(log2(4)), ceil(log2(4))) = 2, ceil(4 / 4) * 128
    write("ApproxTopK in tiles", "ApproxTopK", 512, 128, config(3, 0.95, "false", 1), 2)
    write("PartialReduce", "PartialReduce", 16, 4,
          '{"log2_reduction":2,"reduction_dim":0,"to_apply_type":"comparator","top_k":2,"recall_target":0.9}', 1)


def calls():
    """Prints calls of computations that are attached to them."""
    x = np.array([1, 2, 3], np.float32)
    for target in ("HostExecute", "_xla_multi_module_call"):
        print(f"// {target}: the computation that comes with it  [exact]\n// run\nbody {{\n  a = f32[3] parameter(0)\n  b = s32[] parameter(1)\n"
              "  c = f32[] convert(b)\n  d = f32[3] broadcast(c), dimensions={}\n  ROOT e = f32[3] multiply(a, d)\n}\n"
              "ENTRY e {\n  a = f32[3] parameter(0)\n  n = s32[] parameter(1)\n"
              f'  ROOT r = f32[3] custom-call(a, n), custom_call_target="{target}", called_computations={{body}}\n}}')
        print(f"// in   {text_of(x)}\n// in   5\n// out  {text_of(5 * x)}\n// -----")
    y = np.array([3, 9, -1, 4, 9, 0], np.float32)
    order = np.argsort(-y, kind="stable")[:2]
    print("// stablehlo.dynamic_approx_top_k: so many elements as the last operand says  [exact]\n// run\ngreater {\n  a = f32[] parameter(0)\n"
          "  b = f32[] parameter(1)\n  c = s32[] parameter(2)\n  d = s32[] parameter(3)\n  ROOT p = pred[] compare(a, b), direction=GT\n}\n"
          "ENTRY e {\n  x = f32[6] parameter(0)\n  k = s32[] parameter(1)\n  i = s32[6] iota(), iota_dimension=0\n  z = f32[] constant(0)\n"
          "  m = s32[] constant(-1)\n  ROOT r = (f32[2], s32[2]) custom-call(x, i, z, m, k), "
          'custom_call_target="stablehlo.dynamic_approx_top_k", called_computations={greater}, backend_config={"reduction_dim":0}\n}')
    print(f"// in   {text_of(y)}\n// in   2\n// out  {text_of(y[order])}\n// out  {text_of(order.astype(np.int32))}\n// -----")


def sparse():
    a = np.array([[4, 0, 1.5, 0], [0, 2, 0, 0], [1, 0, 3, -1], [0, 0.5, 0, 5]])
    rows = [np.nonzero(r)[0] for r in a]
    values = np.concatenate([r[c] for r, c in zip(a, rows)])
    columns = np.concatenate(rows).astype(np.int32)
    offsets = np.cumsum([0] + [len(r) for r in rows]).astype(np.int32)
    b = np.array([1, 2, -3, 0.25])
    call("sparse equations", "cusolver_csrlsvqr_ffi", [values, columns, offsets, b], [np.linalg.solve(a, b)], tolerance="abs 1e-14 rel 1e-13")
    below, diagonal, above = np.array([0, 1, -2, 0.5]), np.array([0.5, 4, 1, 3]), np.array([2, 1, -1, 0.0])
    full = np.diag(diagonal) + np.diag(below[1:], -1) + np.diag(above[:-1], 1)
    right = np.arange(8.0).reshape(4, 2)
    call("tridiagonal equations", "tridiagonal_solve_perturbed_ffi", [below, diagonal, above, right], [np.linalg.solve(full, right)],
         tolerance="abs 1e-13 rel 1e-13")


if __name__ == "__main__":
    functions()
    sizes()
    quantization()
    arrangement()
    approximate(np.random.default_rng(5))
    calls()
    sparse()
