"""Reads, checks, prints and evaluates XLA HLO modules.

    >>> import numpy as np, hlo_run
    >>> module = hlo_run.parse("ENTRY e { x = f32[3] parameter(0) ROOT y = f32[3] add(x, x) }")
    >>> module.run(np.arange(3, dtype=np.float32))
    array([0., 2., 4.], dtype=float32)

`parse` and `load` return a `Module`: `verify()` lists its errors, `run()` evaluates it, `print()` returns its text,
`run_devices()` evaluates it on replicas and partitions, `stats()` and `profile()` measure its cost, and `computations` contains its computations. `hlo_run.jax` evaluates JAX
functions.
"""

from hlo_run._core import (CompareReport, Computation, Diagnostic, Instruction, Note, Shape, Value, build_info,
                           set_memory_limit, version as __version__)
from hlo_run._devices import DevicesExecutable, PerDevice
from hlo_run._module import Executable, Module, load, parse
from hlo_run._profile import Profile
from hlo_run.errors import Cancelled, Error, InvalidInput, InvalidModule, LimitReached, Unsupported



def __getattr__(name: str):
    if name == "jax":  # Imported lazily: JAX is optional and slow to load.
        import importlib
        return importlib.import_module("hlo_run.jax")
    raise AttributeError(f"module 'hlo_run' has no attribute '{name}'")


__all__ = [
    "Cancelled", "CompareReport", "Computation", "DevicesExecutable", "Diagnostic", "Error", "Executable", "Instruction",
    "InvalidInput", "InvalidModule", "LimitReached", "Module", "Note", "PerDevice", "Profile", "Shape", "Unsupported",
    "Value", "build_info", "load", "parse", "set_memory_limit",
]
