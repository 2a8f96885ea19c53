"""Runs on several devices: replicas and partitions."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple, Sequence

from hlo_run import _core
from hlo_run._arguments import bind
from hlo_run._arrays import to_numpy
from hlo_run._core import Shape, Value
from hlo_run.errors import InvalidInput

if TYPE_CHECKING:
    from hlo_run._module import Module


class PerDevice:
    """An argument that differs between devices: one for each, replica by replica.

    If the arguments are whole arrays (`shard=True`), it holds one for each replica.
    """

    def __init__(self, arguments: Sequence[Any]) -> None:
        self.arguments = list(arguments)


class _Parameter(NamedTuple):
    """A parameter with the shape of its whole argument."""
    name: str
    shape: Shape


class _Entry(NamedTuple):
    parameters: Sequence[Any]


def _of_device(argument: Any, device: int, count: int) -> Any:
    if not isinstance(argument, PerDevice):
        return argument
    if len(argument.arguments) != count:
        raise InvalidInput(f"the run takes one argument for each of {count} {'device' if count == 1 else 'devices'}, "
                           f"but PerDevice has {len(argument.arguments)}")
    return argument.arguments[device]


class DevicesExecutable:
    """A module that is compiled for replicas and partitions, made by `Module.compile_devices`.

    Each run uses one thread for each device. An executable runs once at a time.
    """

    def __init__(self, module: Module, core: _core.ParsedModule, counts: tuple[int, int], shard: bool, engine: str,
                 device: str, disabled_passes: Sequence[str]) -> None:
        self._module = module
        self.replicas, self.partitions = counts
        self._shards = _core.entry_shards(core) if shard else None
        self._planned = _core.compile(core, engine, device, list(disabled_passes))
        self._entry = core.entry if self._shards is None else _Entry(
            [_Parameter(p.name, s) for p, s in zip(core.entry.parameters, self._shards.parameters)])

    @property
    def engine(self) -> str:
        """Returns the engine in use, as `Executable.engine`."""
        return self._planned.engine

    @property
    def joins_results(self) -> bool:
        """Tells whether `run` returns one result for each replica: those of its partitions, joined by their sharding."""
        return self._shards is not None and self._shards.can_join

    def _bind(self, arrays: Sequence[Any], named: dict[str, Any]) -> list[list[Value]]:
        """Returns the arguments of each device."""
        count = self.replicas if self._shards else self.replicas * self.partitions
        differ = any(isinstance(x, PerDevice) for x in [*arrays, *named.values()])
        bound: list[list[Value]] = []
        for device in range(count):
            if device == 0 or differ:
                bound.append(bind(self._entry, [_of_device(x, device, count) for x in arrays],
                                  {name: _of_device(x, device, count) for name, x in named.items()}))
            else:
                bound.append(bound[0])
        if self._shards is None:
            return bound
        return [self._shards.split(whole, partition) for whole in bound for partition in range(self.partitions)]

    def run_values(self, values: Sequence[Sequence[Value]], *, max_seconds: float = 0, max_steps: int = 0, seed: int = 0,
                   strict_match: bool = False, collective_timeout: float = 0,
                   xla_cpu_reductions: bool = False) -> list[Value]:
        """Runs the module on the values of each device and returns the result of each."""
        from hlo_run._module import can_interrupt
        results, found = _core.run_devices(self._planned, [list(own) for own in values], max_seconds, max_steps, seed,
                                           strict_match, collective_timeout, xla_cpu_reductions, can_interrupt())
        for warning in found:
            warnings.warn(warning, RuntimeWarning, stacklevel=2)
        return results

    def run(self, *arrays: Any, arguments: dict[str, Any] | None = None, max_seconds: float = 0, max_steps: int = 0,
            seed: int = 0, strict_match: bool = False, collective_timeout: float = 0, xla_cpu_reductions: bool = False,
            **named: Any) -> list[Any]:
        """Runs as `Module.run_devices` does, without compilation."""
        values = self._bind(arrays, {**(arguments or {}), **named})
        results = self.run_values(values, max_seconds=max_seconds, max_steps=max_steps, seed=seed,
                                  strict_match=strict_match, collective_timeout=collective_timeout,
                                  xla_cpu_reductions=xla_cpu_reductions)
        if self.joins_results:
            parts = [results[i:i + self.partitions] for i in range(0, len(results), self.partitions)]
            joined = [self._shards.join(own) for own in parts]
            for disagreement in [d for _, ds in joined for d in ds]:
                warnings.warn(disagreement, RuntimeWarning, stacklevel=2)
            results = [value for value, _ in joined]
        return [to_numpy(value) for value in results]

    __call__ = run


def compile_devices(module: Module, core: _core.ParsedModule, replicas: int | None, partitions: int | None, shard: bool,
                    engine: str, device: str, disabled_passes: Sequence[str]) -> DevicesExecutable:
    """Compiles a module that this executable alone uses, because its counts of devices change."""
    counts = _core.choose_counts(core, replicas, partitions, shard)
    return DevicesExecutable(module, core, counts, shard, engine, device, disabled_passes)
