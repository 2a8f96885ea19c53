"""Single operations in JAX for many element types and shapes, which `programs_vs_xla.py --suite operations` measures:
`PROGRAMS` maps a name such as `tanh.f64` or `sum.bf16.rows_of_10` to a function that returns the operation and its
arguments (NumPy arrays), about 1,100 in all. They find kernels that are slow for one type or one shape."""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

jax.config.update("jax_enable_x64", True)

ELEMENTS = 100_000
FLOATS = {"f32": "float32", "f64": "float64", "bf16": "bfloat16", "f16": "float16"}
INTEGERS = {"s8": "int8", "u8": "uint8", "s16": "int16", "s32": "int32", "u32": "uint32", "s64": "int64", "u64": "uint64"}
COMPLEX = {"c64": "complex64", "c128": "complex128"}
TYPES = {**FLOATS, **INTEGERS, **COMPLEX}
MOVED = {name: TYPES[name] for name in ("s8", "bf16", "f32", "f64", "c128")}
PROGRAMS = {}


def draw(shape, dtype, low=0.1, high=0.9):
    """Returns uniform floats of a range, integers from 1 to 99, or predicates."""
    generator = np.random.default_rng(0)
    dtype = jnp.dtype(dtype)
    if dtype.kind == "b":
        return generator.random(shape) < 0.5
    if dtype.kind in "iu":
        return generator.integers(1, 100, shape).astype(dtype)
    values = generator.uniform(low, high, shape)
    return (values + 1j * generator.uniform(low, high, shape)).astype(dtype) if dtype.kind == "c" else values.astype(dtype)


def add(name, function, *arguments):
    """`arguments` are functions without parameters, so that arrays exist only while they are measured."""
    PROGRAMS[name] = lambda: (function, tuple(argument() for argument in arguments))


def array(shape, dtype, low=0.1, high=0.9):
    return functools.partial(draw, shape, dtype, low, high)


def indices(limit, count, dtype=np.int32):
    return lambda: np.random.default_rng(1).integers(0, limit, count).astype(dtype)


def add_elementwise():
    real = ("exp log sin cos tan tanh sqrt rsqrt cbrt erf erfc erf_inv lgamma digamma expm1 log1p logistic floor round sign abs neg "
            "asin acos atan sinh cosh asinh atanh is_finite").split()
    for opcode, (name, dtype) in itertools.product(real, FLOATS.items()):
        add(f"{opcode}.{name}", getattr(lax, opcode), array(ELEMENTS, dtype))
    for opcode, (name, dtype) in itertools.product("exp log sin cos tanh sqrt rsqrt expm1 log1p abs neg".split(), COMPLEX.items()):
        add(f"{opcode}.{name}", getattr(lax, opcode), array(ELEMENTS, dtype))
    for opcode, (name, dtype) in itertools.product(("population_count", "clz", "bitwise_not"), INTEGERS.items()):
        add(f"{opcode}.{name}", getattr(lax, opcode), array(ELEMENTS, dtype))
    for opcode, (name, dtype) in itertools.product(("add", "sub", "mul", "div"), TYPES.items()):
        add(f"{opcode}.{name}", getattr(lax, opcode), array(ELEMENTS, dtype), array(ELEMENTS, dtype))
    for opcode, (name, dtype) in itertools.product(("rem", "max", "min", "lt", "eq"), {**FLOATS, **INTEGERS}.items()):
        add(f"{opcode}.{name}", getattr(lax, opcode), array(ELEMENTS, dtype), array(ELEMENTS, dtype))
    for name in ("f32", "f64"):
        add(f"betainc.{name}", jax.scipy.special.betainc, *3 * [array(20_000, FLOATS[name])])
    for opcode, (name, dtype) in itertools.product(("pow", "atan2", "nextafter"), FLOATS.items()):
        add(f"{opcode}.{name}", getattr(lax, opcode), array(ELEMENTS, dtype), array(ELEMENTS, dtype))
    shifts = ("shift_left", "shift_right_logical", "shift_right_arithmetic")
    for opcode, (name, dtype) in itertools.product(shifts, INTEGERS.items()):
        add(f"{opcode}.{name}", lambda x, o=getattr(lax, opcode): o(x, x % 7), array(ELEMENTS, dtype))
    for name, dtype in TYPES.items():
        add(f"select.{name}", jnp.where, array(ELEMENTS, bool), array(ELEMENTS, dtype), array(ELEMENTS, dtype))
    for (a, from_type), (b, to_type) in itertools.product(TYPES.items(), TYPES.items()):
        if a != b and (a not in COMPLEX or b in COMPLEX):
            add(f"convert.{a}.{b}", lambda x, t=to_type: lax.convert_element_type(x, t), array(ELEMENTS, from_type))


def add_reductions():
    shapes = {"all": ((ELEMENTS,), 0), "columns": ((300, 333), 0), "rows": ((300, 333), 1), "rows_of_10": ((10_000, 10), 1),
              "columns_of_10": ((10, 10_000), 0), "rows_of_3": ((30_000, 3), 1)}
    ordered = {"max": jnp.max, "argmax": jnp.argmax, "cummax": lax.cummax, "logsumexp": jax.nn.logsumexp, "var": jnp.var}
    for shape, (dims, axis) in shapes.items():
        for (opcode, function), (name, dtype) in itertools.product(
                {"sum": jnp.sum, "prod": jnp.prod, "cumsum": jnp.cumsum}.items(), TYPES.items()):
            add(f"{opcode}.{name}.{shape}", lambda x, f=function, a=axis: f(x, axis=a), array(dims, dtype))
        for (opcode, function), (name, dtype) in itertools.product(ordered.items(), {**FLOATS, **INTEGERS}.items()):
            if name in FLOATS or opcode not in ("logsumexp", "var"):
                add(f"{opcode}.{name}.{shape}", lambda x, f=function, a=axis: f(x, axis=a), array(dims, dtype))


def pool(opcode, window, strides, x):
    least = -np.inf if jnp.issubdtype(x.dtype, jnp.floating) else jnp.iinfo(x.dtype).min
    init, combine = (least, lax.max) if opcode == "max" else (0, lax.add)
    return lax.reduce_window(x, np.asarray(init, x.dtype), combine, window, strides, "SAME")


def add_windows():
    nhwc, nchw, image = (4, 64, 64, 8), (4, 8, 64, 64), (256, 256)
    windows = {"3x3": (nhwc, (1, 3, 3, 1), (1, 1, 1, 1)), "2x2": (nhwc, (1, 2, 2, 1), (1, 2, 2, 1)),
               "nchw_2x2": (nchw, (1, 1, 2, 2), (1, 1, 2, 2)), "nchw_3x3": (nchw, (1, 1, 3, 3), (1, 1, 2, 2)),
               "image_3x3": (image, (3, 3), (1, 1)), "image_5x5": (image, (5, 5), (1, 1)), "image_15x15": (image, (15, 15), (1, 1)),
               "line": ((100_000,), (9,), (1,))}
    for (shape, (dims, window, strides)), name, opcode in itertools.product(
            windows.items(), ("f32", "bf16", "f64", "s32"), ("max", "sum")):
        reduce = functools.partial(pool, opcode, window, strides)
        add(f"window_{opcode}.{name}.{shape}", reduce, array(dims, TYPES[name]))
        if name in FLOATS and len(dims) == 4:
            gradient = jax.grad(lambda x, f=reduce: (f(x).astype("float32") ** 2).sum())
            add(f"window_{opcode}_gradient.{name}.{shape}", gradient, array(dims, TYPES[name]))


def add_movement():
    for name, dtype in MOVED.items():
        matrix, rows, line = array((300, 333), dtype), array((10_000, 10), dtype), array(ELEMENTS, dtype)
        add(f"transpose.{name}", lambda x: x.T, matrix)
        add(f"transpose_rows_of_3.{name}", lambda x: x.T, array((30_000, 3), dtype))
        add(f"transpose_3d.{name}", lambda x: jnp.transpose(x, (2, 0, 1)), array((30, 100, 32), dtype))
        add(f"reverse.{name}", lambda x: x[::-1], line)
        add(f"slice_by_2.{name}", lambda x: x[::2], line)
        add(f"pad.{name}", lambda x: jnp.pad(x, ((1, 1), (2, 3))), matrix)
        add(f"concatenate_columns.{name}", lambda x, y: jnp.concatenate([x, y], 1), rows, rows)
        add(f"stack_last.{name}", lambda x, y: jnp.stack([x, y], -1), line, line)
        add(f"roll.{name}", lambda x: jnp.roll(x, 7, 1), matrix)
        add(f"repeat.{name}", lambda x: jnp.repeat(x, 5), array(20_000, dtype))
        add(f"add_column.{name}", lambda x, y: x + y[:, None], rows, array(10_000, dtype))
        add(f"take.{name}", lambda x, i: x[i], array(1000, dtype), indices(1000, ELEMENTS))
        add(f"take_rows_of_4.{name}", lambda x, i: x[i], array((1000, 4), dtype), indices(1000, 25_000))
        add(f"take_columns.{name}", lambda x, i: x[:, i], array((100, 1000), dtype), indices(1000, 1000))
        add(f"take_2d.{name}", lambda x, i, j: x[i, j], matrix, indices(300, ELEMENTS), indices(333, ELEMENTS))
        add(f"scatter_add.{name}", lambda x, i, u: x.at[i].add(u), array(1000, dtype), indices(1000, ELEMENTS), line)
        add(f"scatter_set.{name}", lambda x, i, u: x.at[i].set(u), array(ELEMENTS, dtype),
            lambda: np.random.default_rng(2).permutation(ELEMENTS).astype(np.int32), line)
        add(f"scatter_rows.{name}", lambda x, i, u: x.at[i].add(u), array((1000, 8), dtype), indices(1000, 12_000),
            array((12_000, 8), dtype))
        if name == "c128":
            continue
        add(f"sort.{name}", jnp.sort, array(25_000, dtype))
        add(f"argsort.{name}", jnp.argsort, array(25_000, dtype))
        add(f"sort_rows_of_16.{name}", lambda x: jnp.sort(x, 1), array((2000, 16), dtype))
        add(f"sort_rows_of_100.{name}", lambda x: jnp.sort(x, 1), array((200, 100), dtype))
        add(f"top_k.{name}", lambda x: lax.top_k(x, 10), array((100, 1000), dtype))


def add_contractions():
    shapes = {"64": ((64, 64), (64, 64)), "256": ((256, 256), (256, 256)), "matrix_vector": ((512, 512), (512,)),
              "vector_matrix": ((512,), (512, 512)), "tall": ((4000, 16), (16, 16)), "tall_vector": ((10_000, 8), (8,)),
              "thin": ((16, 4000), (4000, 16)), "four_rows": ((4, 512), (512, 512)), "vectors": ((10_000,), (10_000,)),
              "batch_3x3": ((3000, 3, 3), (3000, 3, 3)), "batch_16x16": ((100, 16, 16), (100, 16, 16))}
    for (shape, (a, b)), (name, dtype) in itertools.product(shapes.items(), TYPES.items()):
        add(f"dot.{name}.{shape}", jnp.matmul, array(a, dtype), array(b, dtype))
    for name, dtype in TYPES.items():
        add(f"dot.{name}.batch_3x3_vector", lambda x, y: jnp.einsum("bij,bj->bi", x, y), array((3000, 3, 3), dtype),
            array((3000, 3), dtype))
        add(f"dot.{name}.trace", lambda x, y: jnp.einsum("ij,ji->", x, y), array((200, 200), dtype), array((200, 200), dtype))
        add(f"dot.{name}.batch_of_vectors", lambda x, y: jnp.einsum("bi,bi->b", x, y), array((3000, 32), dtype),
            array((3000, 32), dtype))
    for name in ("f32", "bf16", "f64"):
        for size in (3, 5):
            add(f"convolution.{name}.image_{size}x{size}", lambda x, k: jax.scipy.signal.convolve2d(x, k, mode="same"),
                array((256, 256), TYPES[name]), array((size, size), TYPES[name]))
    kernels = {"3x3": ((2, 32, 32, 32), (3, 3, 32, 32), {}), "1x1": ((2, 32, 32, 64), (1, 1, 64, 64), {}),
               "first_layer": ((1, 112, 112, 3), (7, 7, 3, 32), {"window_strides": (2, 2)}),
               "depthwise": ((2, 32, 32, 64), (3, 3, 1, 64), {"feature_group_count": 64}),
               "dilated": ((1, 32, 32, 16), (3, 3, 16, 16), {"rhs_dilation": (2, 2)}),
               "groups": ((2, 32, 32, 32), (3, 3, 8, 32), {"feature_group_count": 4})}
    for (kernel, (image, window, options)), name in itertools.product(kernels.items(), ("f32", "bf16", "f64", "f16", "c64")):
        convolve = functools.partial(lax.conv_general_dilated, padding="SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"),
                                     **{"window_strides": (1, 1), **options})
        add(f"convolution.{name}.{kernel}", convolve, array(image, TYPES[name]), array(window, TYPES[name]))


def add_linear_algebra():
    for n in (8, 97, 100, 128, 1000, 1024, 4096):
        for name, dtype in COMPLEX.items():
            add(f"fft.{name}.{n}", jnp.fft.fft, array((max(1, 40_000 // n), n), dtype))
        add(f"rfft.f32.{n}", jnp.fft.rfft, array((max(1, 40_000 // n), n), "float32"))
    functions = {"cholesky": jnp.linalg.cholesky, "lu": lax.linalg.lu, "qr": jnp.linalg.qr, "inverse": jnp.linalg.inv,
                 "singular_values": functools.partial(jnp.linalg.svd, compute_uv=False), "eigenvalues": jnp.linalg.eigvalsh}
    for (opcode, function), n, name in itertools.product(functions.items(), (4, 16, 64, 128), ("f32", "f64", "c64")):
        add(f"{opcode}.{name}.{n}", function, functools.partial(positive_definite, n, TYPES[name]))


def positive_definite(n, dtype):
    matrices = draw((max(1, 2000 // n**2), n, n), dtype)
    return (matrices @ matrices.transpose(0, 2, 1).conj() + n * np.eye(n)).astype(dtype)


add_elementwise()
add_reductions()
add_windows()
add_movement()
add_contractions()
add_linear_algebra()
