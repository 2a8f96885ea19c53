"""Argument specifications, which generate the inputs of a case.

A specification is a function of a NumPy random generator that returns an array, so a case is a row of data:
`args=[normal(3, 4), ints(0, 10, (5,))]`. Element types have their HLO names.
"""
import ml_dtypes
import numpy as np

DTYPES = {
    'pred': np.bool_, 's8': np.int8, 's16': np.int16, 's32': np.int32, 's64': np.int64,
    'u8': np.uint8, 'u16': np.uint16, 'u32': np.uint32, 'u64': np.uint64,
    'f16': np.float16, 'bf16': ml_dtypes.bfloat16, 'f32': np.float32, 'f64': np.float64,
    'c64': np.complex64, 'c128': np.complex128,
    's2': ml_dtypes.int2, 's4': ml_dtypes.int4, 'u2': ml_dtypes.uint2, 'u4': ml_dtypes.uint4,
    'f8e4m3fn': ml_dtypes.float8_e4m3fn, 'f8e5m2': ml_dtypes.float8_e5m2, 'f8e4m3': ml_dtypes.float8_e4m3,
    'f8e3m4': ml_dtypes.float8_e3m4, 'f8e4m3b11fnuz': ml_dtypes.float8_e4m3b11fnuz,
    'f8e4m3fnuz': ml_dtypes.float8_e4m3fnuz, 'f8e5m2fnuz': ml_dtypes.float8_e5m2fnuz,
    'f8e8m0fnu': ml_dtypes.float8_e8m0fnu, 'f6e2m3fn': ml_dtypes.float6_e2m3fn, 'f6e3m2fn': ml_dtypes.float6_e3m2fn,
    'f4e2m1fn': ml_dtypes.float4_e2m1fn,
}


def dtype(name):
    return np.dtype(DTYPES[name])


def normal(*shape, t='f32', scale=1.0, mean=0.0):
    """Standard normal values, scaled; complex types have independent parts."""
    def draw(rng):
        x = rng.standard_normal(shape) * scale + mean
        if t in ('c64', 'c128'):
            x = x + 1j * rng.standard_normal(shape) * scale
        return np.asarray(x).astype(dtype(t))
    return draw


def uniform(lo, hi, shape=(), t='f32'):
    return lambda rng: np.asarray(rng.uniform(lo, hi, shape)).astype(dtype(t))


def ints(lo, hi, shape=(), t='s32'):
    """Integers in [lo, hi), possibly stored in a floating type."""
    return lambda rng: np.asarray(rng.integers(lo, hi, shape)).astype(dtype(t))


def bits(*shape, t='s32'):
    """Integers over the full range of the type."""
    def draw(rng):
        size = dtype(t).itemsize
        return np.frombuffer(rng.bytes(int(np.prod(shape)) * size), dtype(t)).reshape(shape).copy()
    return draw


def bools(*shape, p=0.5):
    return lambda rng: rng.random(shape) < p


def permutation(n, t='s32'):
    return lambda rng: rng.permutation(n).astype(dtype(t))


def given(values, t='f32'):
    """The given values."""
    return lambda rng: np.asarray(values).astype(dtype(t)) if not isinstance(values, np.ndarray) \
        else values.astype(dtype(t))


def one_hot(rows, classes, t='f32'):
    return lambda rng: np.eye(classes)[rng.integers(0, classes, rows)].astype(dtype(t))


def spd(n, t='f32'):
    """A symmetric positive definite matrix of moderate condition number."""
    def draw(rng):
        a = rng.standard_normal((n, n))
        return (a @ a.T / n + np.eye(n)).astype(dtype(t))
    return draw


def stochastic(*shape, t='f32'):
    """Arrays whose rows (last dimension) are probability distributions."""
    def draw(rng):
        x = rng.random(shape) + 0.1
        return (x / x.sum(-1, keepdims=True)).astype(dtype(t))
    return draw
