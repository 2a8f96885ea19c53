"""Modules: parsing, verification and evaluation."""

from __future__ import annotations

import os
import threading
from typing import Any, Sequence

from hlo_run import _core
from hlo_run._arguments import bind
from hlo_run._arrays import to_numpy
from hlo_run._core import Computation, Diagnostic, Value
from hlo_run._devices import DevicesExecutable, compile_devices
from hlo_run._profile import Profile
from hlo_run.errors import InvalidInput


def parse(text: str | bytes, *, name: str = "<string>", strict: bool = False, elided: str | None = None,
          max_errors: int = 20, max_nesting: int = 1000, max_literal_bytes: int = 1 << 36,
          max_instructions: int = 1 << 28) -> Module:
    """Parses HLO text, or the bytes of a serialised HloModuleProto, HloProto or HloSnapshot, and returns a module.

    Raises InvalidModule with all errors if the text does not parse. A parsed module may still violate rules, which
    `Module.verify` reports. `name` replaces the file name in messages; `strict` rejects what XLA's reader rejects;
    `elided` gives values to constants that a dump printed as {...}: 'zeros', 'random', 'random:SEED' or 'counter'. The
    limits apply to errors, nesting, bytes of one literal, and instructions.
    """
    content = text.encode() if isinstance(text, str) else bytes(text)
    return Module(_core.parse(content, name, strict, max_errors, max_nesting, max_literal_bytes, max_instructions), elided)


def load(path: str | os.PathLike, *, strict: bool = False, elided: str | None = None, max_errors: int = 20,
         max_nesting: int = 1000, max_literal_bytes: int = 1 << 36, max_instructions: int = 1 << 28) -> Module:
    """Reads a module from a file: HLO text or a serialised module, as in `parse`."""
    return Module(_core.load(os.fspath(path), strict, max_errors, max_nesting, max_literal_bytes, max_instructions), elided)


def can_interrupt() -> bool:
    """Tells whether Ctrl-C can cancel a run of this thread."""
    return threading.current_thread() is threading.main_thread()


class Executable:
    """A compiled module that can run many times. It is thread-safe; each thread has its own plan."""

    def __init__(self, module: Module, engine: str, device: str, disabled_passes: Sequence[str]) -> None:
        self._module = module
        self._options = (engine, device, list(disabled_passes))
        self._idle = [self._plan()]
        self._lock = threading.Lock()

    def _plan(self) -> _core.PlannedModule:
        return _core.compile(self._module._core, *self._options)

    def _take(self) -> _core.PlannedModule:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return self._plan()

    def _give_back(self, planned: _core.PlannedModule) -> None:
        with self._lock:
            self._idle.append(planned)

    @property
    def engine(self) -> str:
        """Returns the engine in use: 'fast', or 'reference' if the fast one does not support the module."""
        planned = self._take()
        try:
            return planned.engine
        finally:
            self._give_back(planned)

    def run_values(self, values: Sequence[Value], *, max_seconds: float = 0, max_steps: int = 0, seed: int = 0,
                   emulate_dot_algorithms: bool = False) -> Value:
        """Runs the module on one value per parameter and returns a value, which supports DLPack and can be an argument
        again."""
        planned = self._take()
        try:
            return planned.run(list(values), max_seconds, max_steps, seed, emulate_dot_algorithms, can_interrupt())
        finally:
            self._give_back(planned)

    def run(self, *arrays: Any, arguments: dict[str, Any] | None = None, max_seconds: float = 0, max_steps: int = 0,
            seed: int = 0, emulate_dot_algorithms: bool = False, **named: Any) -> Any:
        """Runs as `Module.run` does, without compilation."""
        values = bind(self._module.entry, arrays, {**(arguments or {}), **named})
        return to_numpy(self.run_values(values, max_seconds=max_seconds, max_steps=max_steps, seed=seed,
                                        emulate_dot_algorithms=emulate_dot_algorithms))

    __call__ = run

    def profile(self, *arrays: Any, arguments: dict[str, Any] | None = None, repeat: int = 3, **named: Any) -> Profile:
        """Profiles as `Module.profile` does, without compilation."""
        values = bind(self._module.entry, arrays, {**(arguments or {}), **named})
        planned = self._take()
        try:
            return Profile(planned.engine, _core.profile(planned, values, repeat, can_interrupt()))
        finally:
            self._give_back(planned)


class Module:
    """An HLO module, made by `parse` or `load`."""

    def __init__(self, core: _core.ParsedModule, elided: str | None = None) -> None:
        self._core = core
        self._executables: dict[tuple, Executable] = {}
        self._devices_executables: dict[tuple, DevicesExecutable] = {}
        if elided is not None:
            core.fill_elided(elided)

    name: str = property(lambda self: self._core.name, doc="The module's name.")
    warnings: list[Diagnostic] = property(lambda self: self._core.warnings, doc="Warnings of the parser.")
    computations: tuple[Computation, ...] = property(
        lambda self: self._core.computations, doc="The computations, callees before callers.")
    entry: Computation = property(lambda self: self._core.entry, doc="The computation that a run evaluates.")

    def computation(self, name: str) -> Computation:
        """Returns the computation of this name; raises KeyError if there is none."""
        for computation in self.computations:
            if computation.name == name:
                return computation
        raise KeyError(name)

    def verify(self, *, strict: bool = False, layout_sensitive: bool = False, allow_mixed_precision: bool = True,
               warnings: bool = False, max_errors: int = 20) -> list[Diagnostic]:
        """Returns the rules that the module violates; an empty list if it is valid. `warnings` includes warnings.

        `strict` rejects modules that XLA's verifier rejects although they can be evaluated.
        """
        found = self._core.verify(strict, layout_sensitive, allow_mixed_precision, max_errors)
        return found if warnings else [d for d in found if d.severity == "error"]

    def compile(self, *, engine: str = "fast", device: str = "cpu", disabled_passes: Sequence[str] = ()) -> Executable:
        """Verifies and compiles the module for many runs. Equal options return the same executable."""
        key = (engine, device, tuple(disabled_passes))
        if key not in self._executables:
            self._executables[key] = Executable(self, *key)
        return self._executables[key]

    def run(self, *arrays: Any, arguments: dict[str, Any] | None = None, engine: str = "fast", device: str = "cpu",
            max_seconds: float = 0, max_steps: int = 0, seed: int = 0, emulate_dot_algorithms: bool = False,
            **named: Any) -> Any:
        """Evaluates the entry computation and returns its result: a NumPy array, or a tuple of results.

        Arguments are arrays by position or by parameter name (in `arguments` if a name is not a Python identifier);
        trees of tuples, lists and dicts are tuples or several parameters. An array must have the parameter's type and
        sizes, with the types of ml_dtypes for those that NumPy lacks; Python numbers take the type. Row-major arrays
        and DLPack objects are not copied.

        engine: 'fast' or 'reference'; device: 'cpu', 'gpu', 'gpu:1', 'emulated-gpu'. max_seconds and max_steps raise
        LimitReached; `seed` is the seed of rng, whose values do not depend on operands alone. The GIL is released
        during the run, and Ctrl-C cancels it.
        """
        return self.compile(engine=engine, device=device).run(
            *arrays, arguments={**(arguments or {}), **named}, max_seconds=max_seconds, max_steps=max_steps, seed=seed,
            emulate_dot_algorithms=emulate_dot_algorithms)

    __call__ = run

    def compile_devices(self, *, replicas: int | None = None, partitions: int | None = None, shard: bool = False,
                        engine: str = "fast", device: str = "cpu",
                        disabled_passes: Sequence[str] = ()) -> DevicesExecutable:
        """Verifies and compiles the module for replicas and partitions. Equal options return the same executable."""
        key = (replicas, partitions, shard, engine, device, tuple(disabled_passes))
        if key not in self._devices_executables:
            self._devices_executables[key] = compile_devices(self, self._core.reread(), *key)
        return self._devices_executables[key]

    def run_devices(self, *arrays: Any, arguments: dict[str, Any] | None = None, replicas: int | None = None,
                    partitions: int | None = None, shard: bool = False, engine: str = "fast", device: str = "cpu",
                    max_seconds: float = 0, max_steps: int = 0, seed: int = 0, strict_match: bool = False,
                    collective_timeout: float = 0, xla_cpu_reductions: bool = False, **named: Any) -> list[Any]:
        """Evaluates the module on several devices and returns the result of each, replica by replica.

        replicas, partitions: the counts; by default those of the module's header, or what its groups ask for. Arguments
        are those of `run`, for all devices alike; `PerDevice([x0, x1, ...])` gives each its own. shard: the arguments are
        whole arrays, which the shardings of the parameters split over the partitions; the results of partitions are
        joined by the sharding of the result, so there is one for each replica.

        strict_match, collective_timeout and xla_cpu_reductions are `--match=strict`, `--collective-timeout` and
        `--xla-cpu-reductions` of `hlo-run run`. device: 'gpu:0,1' assigns the devices to these GPUs round-robin. Warnings of
        the run are RuntimeWarnings. Devices that wait for each other raise InvalidInput, which names them.
        """
        executable = self.compile_devices(replicas=replicas, partitions=partitions, shard=shard, engine=engine,
                                          device=device)
        return executable.run(*arrays, arguments={**(arguments or {}), **named}, max_seconds=max_seconds,
                              max_steps=max_steps, seed=seed, strict_match=strict_match,
                              collective_timeout=collective_timeout, xla_cpu_reductions=xla_cpu_reductions)

    def profile(self, *arrays: Any, arguments: dict[str, Any] | None = None, engine: str = "fast", device: str = "cpu",
                repeat: int = 3, **named: Any) -> Profile:
        """Measures the run time of each instruction: the fastest of several runs, and of as many profiled ones."""
        return self.compile(engine=engine, device=device).profile(*arrays, arguments=arguments, repeat=repeat, **named)

    def random_inputs(self, seed: int = 0, *, fill: str = "uniform") -> list[Any]:
        """Generates one argument per parameter from a seed; indices are within the indexed dimensions.

        fill: 'uniform', 'normal', 'zeros', 'ones' or 'iota'.
        """
        return [to_numpy(value) for value in self._core.inputs(fill, seed)]

    def snapshot_inputs(self) -> list[Any]:
        """Returns the arguments that an HloSnapshot contains."""
        if self._core.arguments is None:
            raise InvalidInput(f"{self._core.file} is not a snapshot")
        return [to_numpy(value) for value in self._core.arguments]

    def stats(self) -> dict[str, Any]:
        """Returns counts of instructions, opcodes and types, FLOPs, bytes read and written, peak bytes and the critical
        path."""
        return self._core.stats()

    def print(self, *, form: str = "long", metadata: bool = True, layouts: bool = True, large_constants: bool = True,
              backend_config: bool = True) -> str:
        """Returns the module as HLO text. form: 'long', 'short', 'canonical' or 'fingerprint'."""
        return self._core.print(form, metadata, layouts, large_constants, backend_config)

    def __str__(self) -> str:
        return self.print(form="short", metadata=False, large_constants=False)

    def __repr__(self) -> str:
        return f"<Module {self.name}: {len(self.computations)} computations, {self._core.instruction_count} instructions>"

    def _repr_html_(self) -> str:
        from hlo_run._html import module_html
        return module_html(self)
