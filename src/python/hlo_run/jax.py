"""Lowers JAX functions to HLO, evaluates them without XLA's compiler, and compares results with XLA. Needs JAX."""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Sequence

import jax
import numpy as np

from hlo_run import _core
from hlo_run._arrays import to_numpy, to_value
from hlo_run._core import CompareReport, Value
from hlo_run._module import Module, parse
from hlo_run.errors import Unsupported


def _is_key(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _array(leaf: Any) -> Any:
    """Returns a leaf as HLO has it: random keys as their data, Python numbers in JAX's default type."""
    if _is_key(leaf):
        return jax.random.key_data(leaf)
    return leaf if isinstance(leaf, jax.Array) else np.asarray(jax.numpy.asarray(leaf))


class _Lowered:
    """A function in HLO with the arrays for which it was lowered."""

    def __init__(self, f: Callable, args: tuple, kwargs: dict, static_argnums: Sequence[int], static_argnames: Sequence[str]) -> None:
        lowered = jax.jit(f, keep_unused=True, static_argnums=static_argnums, static_argnames=static_argnames).lower(*args, **kwargs)
        proto = lowered.compiler_ir("hlo").as_serialized_hlo_module_proto()
        self.module = parse(proto, name=getattr(f, "__name__", "<function>"))
        self.out_tree = lowered.out_tree
        dynamic = (tuple(a for i, a in enumerate(args) if i not in static_argnums),
                   {name: a for name, a in kwargs.items() if name not in static_argnames})
        self.arrays = [_array(leaf) for leaf in jax.tree_util.tree_leaves(dynamic)]
        parameters = self.module.entry.parameters
        if len(parameters) != len(self.arrays):
            raise Unsupported(f"the function takes {len(self.arrays)} arrays, and its HLO {len(parameters)}")

    def run(self, engine: str, device: str, limits: dict[str, Any]) -> Value:
        values = [to_value(array, p.shape, p.name) for array, p in zip(self.arrays, self.module.entry.parameters)]
        return self.module.compile(engine=engine, device=device).run_values(values, **limits)

    def results(self, value: Value) -> list[Value]:
        return list(value.elements) if value.shape.kind == "tuple" else [value]


def _numbers(static: int | Sequence[int]) -> tuple[int, ...]:
    return (static,) if isinstance(static, int) else tuple(static)


def _names(static: str | Sequence[str]) -> tuple[str, ...]:
    return (static,) if isinstance(static, str) else tuple(static)


def lower(f: Callable, *args: Any, static_argnums: int | Sequence[int] = (), static_argnames: str | Sequence[str] = (),
          **kwargs: Any) -> Module:
    """Returns the unoptimised HLO module of a function for arguments like these. Its parameters are their leaves."""
    return _Lowered(f, args, kwargs, _numbers(static_argnums), _names(static_argnames)).module


def evaluate(f: Callable, *, engine: str = "fast", device: str = "cpu", static_argnums: int | Sequence[int] = (),
             static_argnames: str | Sequence[str] = (), **limits: Any) -> Callable:
    """Returns a function that lowers `f` for its arguments and evaluates it with hlo-run: `evaluate(f)(x, y)`.

    Results are those of `f`, with NumPy arrays for leaves and key data for random keys. The limits max_seconds and
    max_steps are those of `Module.run`.
    """
    def evaluated(*args: Any, **kwargs: Any) -> Any:
        lowered = _Lowered(f, args, kwargs, _numbers(static_argnums), _names(static_argnames))
        result = to_numpy(lowered.run(engine, device, limits))
        leaves = result if isinstance(result, tuple) else (result,)
        return jax.tree_util.tree_unflatten(lowered.out_tree, leaves)

    return evaluated


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Results of XLA and of this package side by side. True if all agree within their tolerances."""

    module: Module
    result: Any
    expected: Any
    reports: dict[str, CompareReport]

    @property
    def ok(self) -> bool:
        return all(report.ok for report in self.reports.values())

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        lines = []
        for path, report in self.reports.items():
            verdict = "agrees" if report.ok else "differs"
            lines.append(f"result{path}: {verdict} {report.rule}\n{report}".rstrip())
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from hlo_run._html import comparison_html
        return comparison_html(self)


def compare(f: Callable, *args: Any, rule: str | None = None, engine: str = "fast", device: str = "cpu",
            static_argnums: int | Sequence[int] = (), static_argnames: str | Sequence[str] = (), **kwargs: Any) -> Comparison:
    """Runs a function with XLA and with hlo-run, and compares the results leaf by leaf.

    rule: 'exact', 'within 2ulp' or 'within abs 1e-6 rel 1e-6'. By default integers must be equal, f64 may differ by
    1e-9, and other floats by 1e-4 or four epsilons of their type.
    """
    numbers, names = _numbers(static_argnums), _names(static_argnames)
    lowered = _Lowered(f, args, kwargs, numbers, names)
    want = jax.jit(f, static_argnums=numbers, static_argnames=names)(*args, **kwargs)
    got = lowered.results(lowered.run(engine, device, {}))
    reports = {}
    for (path, leaf), value in zip(jax.tree_util.tree_leaves_with_path(want), got, strict=True):
        where = jax.tree_util.keystr(path)
        reports[where] = _core.compare(value, to_value(np.asarray(_array(leaf)), value.shape, f"result{where}"), rule)
    result = jax.tree_util.tree_unflatten(lowered.out_tree, [to_numpy(value) for value in got])
    return Comparison(lowered.module, result, want, reports)
