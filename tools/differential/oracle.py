"""Runs XLA:CPU through jaxlib."""
import os

os.environ.setdefault('JAX_PLATFORMS', 'cpu')
os.environ.setdefault('XLA_FLAGS', '--xla_cpu_multi_thread_eigen=false --xla_cpu_max_isa=AVX2')

import jax  # noqa: E402
import numpy as np  # noqa: E402
from jaxlib import _hlo, _jax, xla_client  # noqa: E402

jax.config.update('jax_enable_x64', True)
DEVICE = jax.devices('cpu')[0]


class Refused(Exception):
    """XLA rejects the module; contains the stage at which it does."""


def run(text, arrays):
    """Returns (results, the module after optimisation); every instruction rounds to its declared type."""
    try:
        proto = _hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()
    except Exception as error:
        raise Refused(f'parse: {error}') from None
    try:
        mlir = _jax.mlir.hlo_to_stablehlo(proto)
    except Exception as error:
        raise Refused(f'convert: {error}') from None
    options = xla_client.CompileOptions()
    options.env_option_overrides = [('xla_allow_excess_precision', False)]
    try:
        program = DEVICE.client.compile_and_load(mlir, _jax.DeviceList((DEVICE,)), options)
    except Exception as error:
        raise Refused(f'compile: {error}') from None
    try:
        results = program.execute_sharded([jax.device_put(a, DEVICE) for a in arrays]).disassemble_into_single_device_arrays()
        results = [np.asarray(x[0]) for x in results]
    except Exception as error:
        raise Refused(f'run: {error}') from None
    return results, print_module(program.hlo_modules()[0])


def print_module(module):
    options = _hlo.HloPrintOptions()
    options.print_large_constants = True
    options.print_metadata = False
    import re
    lines = [re.sub(r'(?<![\w.+-])-0(?![\w.])', '-0.0', line) if ' constant(' in line else line
             for line in module.to_string(options).rstrip().split('\n')]
    return '\n'.join(lines) + '\n'
