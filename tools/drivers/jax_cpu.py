#!/usr/bin/env python3
"""Runs a module with XLA:CPU through JAX, for `hlo-run check --against` and `hlo-run minimize --judge-against`.

    hlo-run check cases/ --against 'python3 tools/drivers/jax_cpu.py {hlo} {inputs} {outputs}'

A driver of another system does the same: it reads the HLO text, reads the arrays of the entry's parameters from an .npz
archive, runs the module, and writes the arrays of the result. The keys of both archives are `0`, `1`, ...; the element j of a
tuple at i has the key `i.j`. A type that NumPy lacks, such as bf16, has the bytes of its elements. Exit statuses: 0 if the
archive is written, 3 if the system rejects the module, anything else if it fails. Needs the packages jax and numpy.
"""
import os
import sys

REFUSED = 3


def narrow_types():
    """The types of ml_dtypes by their names in HLO."""
    import ml_dtypes
    names = {"bf16": "bfloat16", "f4e2m1fn": "float4_e2m1fn", "f8e3m4": "float8_e3m4", "f8e4m3": "float8_e4m3",
             "f8e4m3fn": "float8_e4m3fn", "f8e4m3b11fnuz": "float8_e4m3b11fnuz", "f8e4m3fnuz": "float8_e4m3fnuz",
             "f8e5m2": "float8_e5m2", "f8e5m2fnuz": "float8_e5m2fnuz", "f8e8m0fnu": "float8_e8m0fnu",
             "s2": "int2", "u2": "uint2", "s4": "int4", "u4": "uint4"}
    return {hlo: getattr(ml_dtypes, name) for hlo, name in names.items() if hasattr(ml_dtypes, name)}


def leaves(shape):
    """The array shapes in a shape, depth first."""
    if shape.is_tuple():
        return [leaf for element in shape.tuple_shapes() for leaf in leaves(element)]
    return [shape]


def key_order(key):
    return [int(part) for part in key.split(".")]


def read_arrays(path, shapes):
    import numpy
    if not os.path.exists(path):
        return []
    with numpy.load(path) as archive:
        arrays = [archive[key] for key in sorted(archive.files, key=key_order)]
    return [array if array.dtype == shape.numpy_dtype() else array.view(shape.numpy_dtype())
            for array, shape in zip(arrays, shapes, strict=True)]


def write_arrays(path, arrays, keys):
    import numpy
    narrow = set(map(numpy.dtype, narrow_types().values()))
    plain = {key: array.view(f"u{array.dtype.itemsize}") if array.dtype in narrow else array
             for key, array in zip(keys, arrays, strict=True)}
    with open(path, "wb") as file:
        numpy.savez(file, **plain)


def result_keys(shape, prefix=""):
    """The keys of the leaves of a result: `0` for an array."""
    if not shape.is_tuple():
        return [prefix or "0"]
    keys = [result_keys(element, f"{prefix}.{i}" if prefix else str(i)) for i, element in enumerate(shape.tuple_shapes())]
    return [key for element in keys for key in element]


def compile_module(text):
    """The executable and the shape of the program."""
    import jax
    jax.config.update("jax_enable_x64", True)
    from jaxlib import _hlo, _jax, xla_client
    from jax._src.lax import linalg
    linalg.initialize_lapack()
    proto = _hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()
    shape = _hlo.XlaComputation(proto).program_shape()
    device = jax.devices("cpu")[0]
    options = xla_client.CompileOptions()
    # Rounds to the declared type after each instruction.
    options.env_option_overrides = [("xla_allow_excess_precision", False)]
    program = _jax.mlir.hlo_to_stablehlo(proto)
    return device.client.compile_and_load(program, _jax.DeviceList((device,)), options), shape, device


def main():
    if len(sys.argv) != 4:
        print(__doc__, file=sys.stderr)
        return 2
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax
    import numpy
    hlo, inputs, outputs = sys.argv[1:]
    with open(hlo) as file:
        text = file.read()
    try:
        executable, shape, device = compile_module(text)
    except Exception as error:  # XLA's errors have no common type.
        print(f"XLA refuses the module: {error}", file=sys.stderr)
        return REFUSED
    shapes = [leaf for parameter in shape.parameter_shapes() for leaf in leaves(parameter)]
    buffers = [jax.device_put(array, device) for array in read_arrays(inputs, shapes)]
    results = executable.execute_sharded(buffers).disassemble_into_single_device_arrays()
    write_arrays(outputs, [numpy.asarray(result[0]) for result in results], result_keys(shape.result_shape()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
