"""Modules: reading, checking, running."""

from __future__ import annotations

import os
import threading
from typing import Any, Sequence

from hlo_run import _core
from hlo_run._arguments import bind
from hlo_run._arrays import to_numpy
from hlo_run._core import Computation, Diagnostic, Value
from hlo_run._profile import Profile
from hlo_run.errors import InvalidInput


def parse(text: str | bytes, *, name: str = "<string>", strict: bool = False, elided: str | None = None,
          max_errors: int = 20, max_nesting: int = 1000, max_literal_bytes: int = 1 << 36,
          max_instructions: int = 1 << 28) -> Module:
    """The module of HLO text, or of the bytes of a serialised HloModuleProto, HloProto or HloSnapshot.

    Raises InvalidModule, which lists all errors, where the text does not parse. What parses may still break rules:
    `Module.verify` says so. `name` stands for the file in messages; `strict` refuses what XLA's reader refuses; `elided`
    gives values to constants that a dump wrote as {...}: 'zeros', 'random', 'random:SEED' or 'counter'. The limits are
    those of errors, nesting, bytes of one literal, and instructions.
    """
    content = text.encode() if isinstance(text, str) else bytes(text)
    return Module(_core.parse(content, name, strict, max_errors, max_nesting, max_literal_bytes, max_instructions), elided)


def load(path: str | os.PathLike, *, strict: bool = False, elided: str | None = None, max_errors: int = 20,
         max_nesting: int = 1000, max_literal_bytes: int = 1 << 36, max_instructions: int = 1 << 28) -> Module:
    """The module of a file: HLO text or a serialised module, as in `parse`."""
    return Module(_core.load(os.fspath(path), strict, max_errors, max_nesting, max_literal_bytes, max_instructions), elided)


def _can_interrupt() -> bool:
    return threading.current_thread() is threading.main_thread()


class Executable:
    """A module that is planned once and runs many times. Threads may share it: each has a plan of its own."""

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
        """The engine that runs: 'fast', or 'reference' where the fast one has no plan for the module."""
        planned = self._take()
        try:
            return planned.engine
        finally:
            self._give_back(planned)

    def run_values(self, values: Sequence[Value], *, max_seconds: float = 0, max_steps: int = 0, seed: int = 0,
                   emulate_dot_algorithms: bool = False) -> Value:
        """Runs on values, one for each parameter, and gives a value. It speaks DLPack, and can be an argument again."""
        planned = self._take()
        try:
            return planned.run(list(values), max_seconds, max_steps, seed, emulate_dot_algorithms, _can_interrupt())
        finally:
            self._give_back(planned)

    def run(self, *arrays: Any, arguments: dict[str, Any] | None = None, max_seconds: float = 0, max_steps: int = 0,
            seed: int = 0, emulate_dot_algorithms: bool = False, **named: Any) -> Any:
        """As `Module.run`, without planning."""
        values = bind(self._module.entry, arrays, {**(arguments or {}), **named})
        return to_numpy(self.run_values(values, max_seconds=max_seconds, max_steps=max_steps, seed=seed,
                                        emulate_dot_algorithms=emulate_dot_algorithms))

    __call__ = run

    def profile(self, *arrays: Any, arguments: dict[str, Any] | None = None, repeat: int = 3, **named: Any) -> Profile:
        """As `Module.profile`, without planning."""
        values = bind(self._module.entry, arrays, {**(arguments or {}), **named})
        planned = self._take()
        try:
            return Profile(planned.engine, _core.profile(planned, values, repeat, _can_interrupt()))
        finally:
            self._give_back(planned)


class Module:
    """An HLO module. `parse` and `load` make them."""

    def __init__(self, core: _core.ParsedModule, elided: str | None = None) -> None:
        self._core = core
        self._executables: dict[tuple, Executable] = {}
        if elided is not None:
            core.fill_elided(elided)

    name: str = property(lambda self: self._core.name, doc="The module's name.")
    warnings: list[Diagnostic] = property(lambda self: self._core.warnings, doc="Warnings of the parser.")
    computations: tuple[Computation, ...] = property(
        lambda self: self._core.computations, doc="The computations, callees before callers.")
    entry: Computation = property(lambda self: self._core.entry, doc="The computation that a run evaluates.")

    def computation(self, name: str) -> Computation:
        """The computation of this name. KeyError where there is none."""
        for computation in self.computations:
            if computation.name == name:
                return computation
        raise KeyError(name)

    def verify(self, *, strict: bool = False, layout_sensitive: bool = False, allow_mixed_precision: bool = True,
               warnings: bool = False, max_errors: int = 20) -> list[Diagnostic]:
        """The rules that the module breaks; an empty list for a valid one. With `warnings`, these as well.

        `strict` refuses what XLA's verifier refuses although it can be evaluated.
        """
        found = self._core.verify(strict, layout_sensitive, allow_mixed_precision, max_errors)
        return found if warnings else [d for d in found if d.severity == "error"]

    def compile(self, *, engine: str = "fast", device: str = "cpu", disabled_passes: Sequence[str] = ()) -> Executable:
        """Checks and plans the module for many runs. The same options give the same executable."""
        key = (engine, device, tuple(disabled_passes))
        if key not in self._executables:
            self._executables[key] = Executable(self, *key)
        return self._executables[key]

    def run(self, *arrays: Any, arguments: dict[str, Any] | None = None, engine: str = "fast", device: str = "cpu",
            max_seconds: float = 0, max_steps: int = 0, seed: int = 0, emulate_dot_algorithms: bool = False,
            **named: Any) -> Any:
        """Evaluates the entry computation and gives its result: a NumPy array, or a tuple of results.

        Arguments are arrays by position, or by the names of parameters (in `arguments` where a name is no Python name);
        trees of tuples, lists and dicts stand for tuples, or for several parameters. An array has to have the parameter's
        type and sizes, with the types of ml_dtypes for those that NumPy lacks; Python's numbers take the type. Arrays in
        row-major order, and what speaks DLPack, are read where they are.

        engine: 'fast' or 'reference'; device: 'cpu', 'gpu', 'gpu:1', 'emulated-gpu'. max_seconds and max_steps raise
        LimitReached; `seed` is that of random numbers that are no function of their operands. The GIL is free during the
        run, and Ctrl-C ends it.
        """
        return self.compile(engine=engine, device=device).run(
            *arrays, arguments={**(arguments or {}), **named}, max_seconds=max_seconds, max_steps=max_steps, seed=seed,
            emulate_dot_algorithms=emulate_dot_algorithms)

    __call__ = run

    def profile(self, *arrays: Any, arguments: dict[str, Any] | None = None, engine: str = "fast", device: str = "cpu",
                repeat: int = 3, **named: Any) -> Profile:
        """Where the time of a run goes, by instruction: the fastest of some runs, and of as many that are watched."""
        return self.compile(engine=engine, device=device).profile(*arrays, arguments=arguments, repeat=repeat, **named)

    def random_inputs(self, seed: int = 0, *, fill: str = "uniform") -> list[Any]:
        """Arguments from a seed, one for each parameter; indices lie within what they index.

        fill: 'uniform', 'normal', 'zeros', 'ones' or 'iota'.
        """
        return [to_numpy(value) for value in self._core.inputs(fill, seed)]

    def snapshot_inputs(self) -> list[Any]:
        """The arguments that an HloSnapshot has kept."""
        if self._core.arguments is None:
            raise InvalidInput(f"{self._core.file} is no snapshot")
        return [to_numpy(value) for value in self._core.arguments]

    def stats(self) -> dict[str, Any]:
        """Counts of instructions, opcodes and types, FLOPs, bytes read and written, peak bytes, the longest chain."""
        return self._core.stats()

    def print(self, *, form: str = "long", metadata: bool = True, layouts: bool = True, large_constants: bool = True,
              backend_config: bool = True) -> str:
        """The module as HLO text. form: 'long', 'short', 'canonical' or 'fingerprint'."""
        return self._core.print(form, metadata, layouts, large_constants, backend_config)

    def __str__(self) -> str:
        return self.print(form="short", metadata=False, large_constants=False)

    def __repr__(self) -> str:
        return f"<Module {self.name}: {len(self.computations)} computations, {self._core.instruction_count} instructions>"

    def _repr_html_(self) -> str:
        from hlo_run._html import module_html
        return module_html(self)
