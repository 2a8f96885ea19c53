"""Perfetto's trace_processor loads the trace of a profile. The package `perfetto` finds or fetches its program."""

import json
import os
import shutil

import pytest

import hlo_run

PROGRAMS = (os.environ.get("TRACE_PROCESSOR"), shutil.which("trace_processor_shell"), shutil.which("trace_processor"))


def test_trace_processor_reads_the_steps(tmp_path):
    perfetto = pytest.importorskip("perfetto.trace_processor")
    program = next((path for path in PROGRAMS if path), None)
    module = hlo_run.parse("""ENTRY e {
      a = f32[64,64] parameter(0)
      d = f32[64,64] dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="model/dot"}
      ROOT t = f32[64,64] tanh(d)
    }""")
    trace = tmp_path / "trace.json"
    module.profile(*module.random_inputs(seed=1)).write_chrome_trace(trace)
    try:
        processor = perfetto.TraceProcessor(trace=str(trace), config=perfetto.TraceProcessorConfig(bin_path=program))
    except Exception as error:
        if program:
            raise
        pytest.skip(f"there is no program trace_processor, and it cannot be fetched: {error}")
    with processor:
        slices = list(processor.query("select name, dur from slice order by ts"))
        steps = {event["name"] for event in json.loads(trace.read_text())["traceEvents"] if event["ph"] == "X"}
        assert steps and steps <= {slice_.name for slice_ in slices}
        assert all(slice_.dur >= 0 for slice_ in slices)
