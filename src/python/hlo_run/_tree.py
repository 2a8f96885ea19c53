"""Trees of arrays: tuples, lists and dicts, and with JAX whatever it knows as a tree."""

from __future__ import annotations

import sys
from typing import Any

from hlo_run._core import Shape, Value


def flatten(tree: Any) -> list[Any]:
    """The leaves in JAX's order: dicts by their sorted keys, None as nothing."""
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
    """The shapes of a value's leaves. Tokens are leaves that take nothing."""
    if shape.kind != "tuple":
        return [shape]
    return [leaf for element in shape.elements for leaf in leaf_shapes(element)]


def build(shape: Shape, leaves: list[Value]) -> Value:
    """The value of a shape from the front of a list of leaves, which are removed."""
    if shape.kind != "tuple":
        return leaves.pop(0)
    return Value.tuple([build(element, leaves) for element in shape.elements])
