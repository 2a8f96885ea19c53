"""Runs on several devices. The expected values are computed by hand."""

import warnings

import numpy as np
import pytest

import hlo_run
from hlo_run import PerDevice

ENGINES = [{"engine": "reference"}, {"engine": "fast"}, {"device": "emulated-gpu"}]


@pytest.fixture
def pairs():
    """Replica r adds r; pairs of replicas sum up."""
    return hlo_run.parse("""
        f { x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = f32[] add(x, y) }
        ENTRY e {
          x = f32[2] parameter(0)
          w = f32[2] parameter(1)
          r = u32[] replica-id()
          c = f32[] convert(r)
          b = f32[2] broadcast(c), dimensions={}
          s = f32[2] add(x, b)
          t = f32[2] add(s, w)
          ROOT a = f32[2] all-reduce(t), replica_groups={{0,1},{2,3}}, to_apply=f
        }""")


@pytest.fixture
def partitioned():
    """Each partition has a row of x, and returns the sum of the others' rows."""
    return hlo_run.parse("""HloModule m, num_partitions=2
        f { x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = f32[] add(x, y) }
        ENTRY main_spmd {
          x = f32[1,2] parameter(0), sharding={devices=[2,1]<=[2]}
          s = f32[] parameter(1), sharding={replicated}
          all = f32[1,2] all-reduce(x), channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true, to_apply=f
          rest = f32[1,2] subtract(all, x)
          b = f32[1,2] broadcast(s), dimensions={}
          ROOT y = f32[1,2] multiply(rest, b), sharding={devices=[2,1]<=[2]}
        }""")


def lists(results):
    return [result.tolist() for result in results]


@pytest.mark.parametrize("options", ENGINES)
def test_replica_groups_determine_the_devices(pairs, options):
    x, w = np.float32([1, 2]), np.float32([10, 20])
    assert lists(pairs.run_devices(x, w, **options)) == 2 * [[23, 45]] + 2 * [[27, 49]]
    per_device = PerDevice([x, x, x, np.float32([5, 5])])
    assert lists(pairs.run_devices(per_device, w=w, **options)) == 2 * [[23, 45]] + 2 * [[31, 52]]
    executable = pairs.compile_devices(**options)
    assert (executable.replicas, executable.partitions, executable.joins_results) == (4, 1, False)
    assert executable is pairs.compile_devices(**options)
    assert executable.engine == options.get("engine", "fast")


@pytest.mark.parametrize("options", ENGINES)
def test_whole_arrays_are_split_and_joined(partitioned, options):
    x = np.float32([[1, 2], [3, 4]])
    assert lists(partitioned.run_devices(x, 2, shard=True, **options)) == [[[6, 8], [2, 4]]]
    assert lists(partitioned.run_devices(PerDevice([x[:1], x[1:]]), 2, **options)) == [[[6, 8]], [[2, 4]]]
    grid = hlo_run.parse(partitioned.print().replace("{{0,1}}", "{{0,1},{2,3}}"))
    joined = grid.run_devices(PerDevice([x, 10 * x]), PerDevice([1, 2]), replicas=2, shard=True, **options)
    assert lists(joined) == [[[3, 4], [1, 2]], [[60, 80], [20, 40]]]


def test_device_counts_are_arguments():
    module = hlo_run.parse("ENTRY e { r = u32[] replica-id() ROOT p = (u32[]) tuple(r) }")
    for count in 1, 3, 2:
        assert [int(r) for (r,) in module.run_devices(replicas=count)] == list(range(count))
    (result,) = module.run()
    assert result == 0


def test_values_can_be_arguments_again(pairs):
    executable = pairs.compile_devices()
    first = executable._bind([np.float32([1, 2]), np.float32([0, 0])], {})
    results = executable.run_values(first)
    again = executable.run_values([[result, arguments[1]] for result, arguments in zip(results, first)])
    assert lists(np.from_dlpack(value) for value in again[:2]) == 2 * [[7, 11]]


def test_invalid_device_arguments_are_errors(pairs, partitioned):
    x = np.float32([1, 2])
    with pytest.raises(hlo_run.InvalidInput, match="each of 4 devices, but PerDevice has 3"):
        pairs.run_devices(PerDevice([x] * 3), x)
    with pytest.raises(hlo_run.InvalidInput, match="fit --replicas 4 --partitions 1"):
        pairs.run_devices(x, x, replicas=2)
    with pytest.raises(hlo_run.InvalidInput, match=r"parameter 0 \(x\)"):
        partitioned.run_devices(np.float32([[1, 2]]), 1, shard=True)
    with pytest.raises(hlo_run.InvalidInput, match="gpu:NUMBER,NUMBER"):
        pairs.run_devices(x, x, device="gpu:0,x")


def test_deadlocks_and_limits_are_errors():
    module = hlo_run.parse("""
        f { x = s32[] parameter(0) y = s32[] parameter(1) ROOT z = s32[] add(x, y) }
        one { x = s32[] parameter(0) ROOT r = s32[] all-reduce(x), replica_groups={}, to_apply=f }
        none { x = s32[] parameter(0) ROOT r = s32[] add(x, x) }
        ENTRY e { x = s32[] parameter(0) ROOT c = s32[] conditional(x, x, x), branch_computations={one, none} }""")
    with pytest.raises(hlo_run.InvalidInput, match="device 1"):
        module.run_devices(PerDevice([0, 1]), replicas=2)
    with pytest.raises(hlo_run.LimitReached):
        module.run_devices(0, replicas=2, max_steps=1)


def test_matching_by_arrival_is_a_warning():
    module = hlo_run.parse("""
        f { x = s32[] parameter(0) y = s32[] parameter(1) ROOT z = s32[] add(x, y) }
        one { x = s32[] parameter(0) ROOT r = s32[] all-reduce(x), replica_groups={}, to_apply=f }
        two { x = s32[] parameter(0) ROOT s = s32[] all-reduce(x), replica_groups={}, to_apply=f }
        ENTRY e { x = s32[] parameter(0) ROOT c = s32[] conditional(x, x, x), branch_computations={one, two} }""")
    with pytest.warns(RuntimeWarning):
        assert [int(r) for r in module.run_devices(PerDevice([0, 1]), replicas=2)] == [1, 1]
    with warnings.catch_warnings(), pytest.raises(hlo_run.InvalidInput):
        warnings.simplefilter("error")
        module.run_devices(PerDevice([0, 1]), replicas=2, strict_match=True)
