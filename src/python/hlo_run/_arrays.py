"""Converts between arrays (NumPy's, with the types of ml_dtypes, and DLPack objects) and values of HLO types."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from hlo_run._core import Shape, Value
from hlo_run.errors import InvalidInput

_NUMPY = {
    "pred": "bool", "s8": "int8", "s16": "int16", "s32": "int32", "s64": "int64", "u8": "uint8", "u16": "uint16",
    "u32": "uint32", "u64": "uint64", "f16": "float16", "f32": "float32", "f64": "float64", "c64": "complex64",
    "c128": "complex128",
}
_ML_DTYPES = {
    "s1": "int1", "s2": "int2", "s4": "int4", "u1": "uint1", "u2": "uint2", "u4": "uint4", "bf16": "bfloat16",
    "f4e2m1fn": "float4_e2m1fn", "f6e2m3fn": "float6_e2m3fn", "f6e3m2fn": "float6_e3m2fn", "f8e3m4": "float8_e3m4",
    "f8e4m3": "float8_e4m3", "f8e4m3fn": "float8_e4m3fn", "f8e4m3fnuz": "float8_e4m3fnuz",
    "f8e4m3b11fnuz": "float8_e4m3b11fnuz", "f8e5m2": "float8_e5m2", "f8e5m2fnuz": "float8_e5m2fnuz",
    "f8e8m0fnu": "float8_e8m0fnu",
}


@functools.cache
def numpy_type(element_type: str) -> np.dtype | None:
    """Returns the dtype of an element type; None if neither NumPy nor an installed ml_dtypes has it."""
    if element_type in _NUMPY:
        return np.dtype(_NUMPY[element_type])
    try:
        import ml_dtypes
        return np.dtype(getattr(ml_dtypes, _ML_DTYPES[element_type]))
    except (ImportError, AttributeError):
        return None


def _describe(dtype: np.dtype, dims: tuple) -> str:
    return f"{dtype}[{','.join(map(str, dims))}]"


def _is_number(x: Any) -> bool:
    """True for Python numbers and nested lists of them, which take the expected type."""
    return isinstance(x, (bool, int, float, complex, list, tuple)) and not isinstance(x, np.generic)


def _as_numpy(x: Any, shape: Shape, what: str) -> np.ndarray:
    """Returns an array as it is; converts Python numbers and lists to the type of the shape."""
    if not _is_number(x):
        return np.asarray(x)
    wanted = numpy_type(shape.element_type)
    found = np.asarray(x)
    order = "biufc"
    kind = {"pred": "b"}.get(shape.element_type, {"s": "i", "u": "i", "c": "c"}.get(shape.element_type[0], "f"))
    if wanted is None or found.dtype.kind not in order or order.index(found.dtype.kind) > order.index(kind) + (kind == "i"):
        raise InvalidInput(f"{what} takes {shape}, but the argument is {x!r}")
    try:
        return np.asarray(x, dtype=wanted)
    except OverflowError as error:
        raise InvalidInput(f"{what} takes {shape}: {error}") from None


def _fit_bounds(array: np.ndarray, shape: Shape) -> np.ndarray:
    """Returns an array that is smaller than the bounds of dynamic dimensions as the first elements of a full-size
    array."""
    full = np.zeros(shape.dims, array.dtype)
    full[tuple(slice(0, n) for n in array.shape)] = array
    return full


def _fits(dims: tuple, shape: Shape) -> bool:
    return len(dims) == shape.rank and all(
        n == bound or (dynamic and n <= bound) for n, bound, dynamic in zip(dims, shape.dims, shape.dynamic_dims))


def to_value(x: Any, shape: Shape, what: str) -> Value:
    """Returns an array as a value of the shape. The value shares the array's elements if they are in row-major order.
    """
    if shape.kind == "token":
        return Value.token()
    if isinstance(x, Value):
        if str(x.shape) != str(shape):
            raise InvalidInput(f"{what} takes {shape}, but the argument is {x.shape}")
        return x
    if hasattr(x, "__dlpack__") and not isinstance(x, np.ndarray) and not any(shape.dynamic_dims):
        try:
            return Value.from_array(x, shape)
        except (TypeError, InvalidInput, BufferError):
            pass  # A type that DLPack lacks, or another device: NumPy may support it, or report the error.
    array = _as_numpy(x, shape, what)
    wanted = numpy_type(shape.element_type)
    raw_sizes = wanted is None or wanted.name not in _NUMPY.values()
    integers = "iuV" if shape.element_type[0] == "s" else "uV"
    is_raw = raw_sizes and array.dtype.kind in integers and array.dtype.itemsize == (wanted.itemsize if wanted else 1)
    if not (array.dtype == wanted or is_raw) or not _fits(array.shape, shape):
        convert = f"; convert it, for example with x.astype(np.{wanted})" if wanted is not None and _fits(array.shape, shape) else ""
        raise InvalidInput(f"{what} takes {shape}, but the argument is {_describe(array.dtype, array.shape)}{convert}")
    sizes = array.shape
    if any(shape.dynamic_dims):
        array = _fit_bounds(array, shape)
    if array.dtype.byteorder not in "=|<":
        array = array.astype(array.dtype.newbyteorder("="))
    if array.dtype.name not in _NUMPY.values():
        array = array.view(f"u{array.dtype.itemsize}")
    value = Value.from_array(array, shape, raw=raw_sizes)
    return value.with_sizes(list(sizes)) if any(shape.dynamic_dims) else value


def to_numpy(value: Value) -> Any:
    """Returns the value as NumPy arrays: tuples as tuples, tokens as None. The value is empty afterwards."""
    shape = value.shape
    if shape.kind == "tuple":
        return tuple(to_numpy(element) for element in value.take_elements())
    if shape.kind != "array":
        return None
    sizes = value.sizes
    array = value.take()
    dtype = numpy_type(shape.element_type)
    if dtype is not None and array.dtype != dtype:
        array = array.view(dtype)
    if any(shape.dynamic_dims):
        array = array[tuple(slice(0, n) for n in sizes)]
    return array
