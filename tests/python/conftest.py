"""Tests of the Python module: PYTHONPATH is where it was built, or it is installed."""

import numpy as np
import pytest

import hlo_run


@pytest.fixture
def softmax():
    return hlo_run.load("examples/softmax.hlo")


@pytest.fixture
def pair():
    """Takes a tuple and an array, and gives a tuple within a tuple."""
    return hlo_run.parse("""
        ENTRY e {
          p = (f32[2], s32[]) parameter(0)
          x = f32[2] parameter(1)
          a = f32[2] get-tuple-element(p), index=0
          n = s32[] get-tuple-element(p), index=1
          sum = f32[2] add(a, x)
          inner = (s32[]) tuple(n)
          ROOT r = (f32[2], (s32[])) tuple(sum, inner)
        }""")


@pytest.fixture
def endless():
    return hlo_run.parse("""
        body { s = (s32[], f32[64,64]) parameter(0)
          i = s32[] get-tuple-element(s), index=0
          x = f32[64,64] get-tuple-element(s), index=1
          y = f32[64,64] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
          ROOT t = (s32[], f32[64,64]) tuple(i, y) }
        condition { s = (s32[], f32[64,64]) parameter(0)
          i = s32[] get-tuple-element(s), index=0
          zero = s32[] constant(0)
          ROOT c = pred[] compare(i, zero), direction=EQ }
        ENTRY e { s = (s32[], f32[64,64]) parameter(0)
          ROOT w = (s32[], f32[64,64]) while(s), condition=condition, body=body }""")


@pytest.fixture
def endless_arguments():
    return (np.int32(0), np.zeros((64, 64), np.float32))
