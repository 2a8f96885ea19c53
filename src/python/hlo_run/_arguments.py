"""Binds arguments to the parameters of the entry computation: by position, by name, and as trees."""

from __future__ import annotations

from typing import Any, Sequence

from hlo_run import _tree
from hlo_run._arrays import to_value
from hlo_run._core import Computation, Instruction, Value
from hlo_run.errors import InvalidInput


def _describe(parameters: Sequence[Instruction]) -> str:
    return ", ".join(f"{p.name}: {p.shape}" for p in parameters) or "none"


def _what(index: int, parameter: Instruction) -> str:
    return f"parameter {index} ({parameter.name})"


def _one(x: Any, index: int, parameter: Instruction) -> Value:
    """Returns the value of an argument for a single parameter."""
    shape = parameter.shape
    if shape.kind != "tuple" and not isinstance(x, dict):
        return to_value(x, shape, _what(index, parameter))
    shapes, leaves = _tree.leaf_shapes(shape), _tree.flatten(x)
    leaves = _with_tokens(leaves, shapes)
    if len(leaves) != len(shapes):
        raise InvalidInput(f"{_what(index, parameter)} takes {shape}, a tree of {len(shapes)} arrays, but the argument has {len(leaves)}")
    return _tree.build(shape, [to_value(leaf, s, _what(index, parameter)) for leaf, s in zip(leaves, shapes)])


def _with_tokens(leaves: list[Any], shapes: Sequence[Any]) -> list[Any]:
    """Inserts tokens, which need no argument."""
    if len(leaves) == len(shapes):
        return leaves
    rest = iter(leaves)
    filled = [None if shape.kind == "token" else next(rest, None) for shape in shapes]
    return filled if len(leaves) == sum(shape.kind != "token" for shape in shapes) else leaves


def bind(entry: Computation, arrays: Sequence[Any], named: dict[str, Any]) -> list[Value]:
    """Returns one value per parameter of the entry computation."""
    parameters = entry.parameters
    by_name = {p.name: i for i, p in enumerate(parameters)}
    for name in named:
        if name not in by_name:
            raise InvalidInput(f"there is no parameter '{name}'; there are {_describe(parameters)}")
    left = [i for i, p in enumerate(parameters) if p.name not in named]
    values = {by_name[name]: _one(x, by_name[name], parameters[by_name[name]]) for name, x in named.items()}
    if len(arrays) == len(left):
        values.update((i, _one(x, i, parameters[i])) for i, x in zip(left, arrays))
    else:
        values.update(_spread(arrays, left, parameters))
    return [values[i] for i in range(len(parameters))]


def _spread(arrays: Sequence[Any], left: Sequence[int], parameters: Sequence[Instruction]) -> dict[int, Value]:
    """Flattens trees whose leaves are the leaves of several parameters."""
    shapes = [(i, shape) for i in left for shape in _tree.leaf_shapes(parameters[i].shape)]
    leaves = _with_tokens(_tree.flatten(list(arrays)), [shape for _, shape in shapes])
    if len(leaves) != len(shapes):
        raise InvalidInput(f"the module takes {len(left)} arguments ({_describe([parameters[i] for i in left])}), "
                           f"but there are {len(arrays)} with {len(leaves)} arrays")
    values = [to_value(leaf, shape, _what(i, parameters[i])) for leaf, (i, shape) in zip(leaves, shapes)]
    return {i: _tree.build(parameters[i].shape, values) for i in left}
