"""The table of all kinds of random instructions with their weights."""
from . import contraction, control, devices, elementwise, movement, reductions, uncommon


def table(*groups):
    rows = [row for group in groups for row in group]
    return [maker for maker, _ in rows], [weight for _, weight in rows]


SIMPLE = table(elementwise.OPERATIONS, movement.OPERATIONS)
ALL = table(elementwise.OPERATIONS, movement.OPERATIONS, reductions.OPERATIONS, contraction.OPERATIONS, control.OPERATIONS, devices.OPERATIONS,
            uncommon.OPERATIONS)
