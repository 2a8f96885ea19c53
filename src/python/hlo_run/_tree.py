"""Trees of arrays: tuples, lists and dicts and, with JAX, all its registered tree types."""

from __future__ import annotations

import sys
from typing import Any

from hlo_run._core import Shape, Value


def flatten(tree: Any) -> list[Any]:
    """Returns the leaves in JAX's order: dicts by sorted keys; None has no leaves."""
    if isinstance(tree, Value):
        return [leaf for element in tree.elements for leaf in flatten(element)] if tree.shape.kind == "tuple" else [tree]
    if tree is None:
        return []
    if isinstance(tree, dict):
        return [leaf for key in sorted(tree) for leaf in flatten(tree[key])]
    if isinstance(tree, (list, tuple)):
        return [leaf for item in tree for leaf in flatten(item)]
    if "jax" in sys.modules and not hasattr(tree, "shape"):
        leaves = sys.modules["jax"].tree_util.tree_leaves(tree)
        return leaves if len(leaves) != 1 or leaves[0] is tree else flatten(leaves[0])
    return [tree]


def leaf_shapes(shape: Shape) -> list[Shape]:
    """Returns the shapes of a value's leaves. Tokens are leaves without data."""
    if shape.kind != "tuple":
        return [shape]
    return [leaf for element in shape.elements for leaf in leaf_shapes(element)]


def build(shape: Shape, leaves: list[Value]) -> Value:
    """Builds the value of a shape from the first leaves of a list and removes them from it."""
    if shape.kind != "tuple":
        return leaves.pop(0)
    return Value.tuple([build(element, leaves) for element in shape.elements])
