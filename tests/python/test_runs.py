"""Engines, limits, threads, interruptions and profiles."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import hlo_run


def test_both_engines_agree(softmax):
    (x,) = softmax.random_inputs(seed=3)
    fast, reference = softmax.run(x), softmax.run(x, engine="reference")
    assert fast.shape == (2, 3) and np.allclose(fast, reference, rtol=1e-6) and np.allclose(fast.sum(1), 1)
    assert softmax.compile().engine == "fast"
    assert np.allclose(softmax.run(x, device="emulated-gpu"), fast, rtol=1e-6)
    with pytest.raises(hlo_run.InvalidInput, match="not one of fast, reference"):
        softmax.run(x, engine="quick")


def test_random_inputs_depend_only_on_the_seed(softmax):
    assert np.array_equal(softmax.random_inputs(1)[0], softmax.random_inputs(1)[0])
    assert not np.array_equal(softmax.random_inputs(1)[0], softmax.random_inputs(2)[0])
    assert (softmax.random_inputs(fill="ones")[0] == 1).all()


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_time_and_step_limits_end_a_run(endless, endless_arguments, engine):
    with pytest.raises(hlo_run.LimitReached, match="limit of 0.2 seconds"):
        endless.run(endless_arguments, engine=engine, max_seconds=0.2)
    with pytest.raises(hlo_run.LimitReached, match="limit of 50 steps"):
        endless.run(endless_arguments, engine=engine, max_steps=50)


def test_memory_limit():
    module = hlo_run.parse("ENTRY e { x = f32[] parameter(0) ROOT b = f32[1024,1024,64] broadcast(x), dimensions={} }")
    hlo_run.set_memory_limit(1 << 20)
    try:
        with pytest.raises(hlo_run.LimitReached):
            module.run(1)
    finally:
        hlo_run.set_memory_limit(0)


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_ctrl_c_ends_a_run(endless, endless_arguments, engine):
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        endless.run(endless_arguments, engine=engine, max_seconds=30)
    assert time.monotonic() - start < 10
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_signal_handlers_without_exceptions_cancel_the_run(endless, endless_arguments):
    seen = []
    previous = signal.signal(signal.SIGINT, lambda *_: seen.append(True))
    try:
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with pytest.raises(hlo_run.Cancelled):
            endless.run(endless_arguments, max_seconds=30)
    finally:
        signal.signal(signal.SIGINT, previous)
    assert seen == [True]


def test_runs_release_the_gil(endless, endless_arguments):
    counted = 0

    def run():
        with pytest.raises(hlo_run.LimitReached):
            endless.run(endless_arguments, max_seconds=1)

    thread = threading.Thread(target=run)
    thread.start()
    while thread.is_alive():
        counted += 1
        time.sleep(0.001)
    assert counted > 50


def test_threads_share_a_module(softmax):
    inputs = [softmax.random_inputs(seed)[0] for seed in range(8)]
    expected = [softmax.run(x) for x in inputs]
    results = [None] * len(inputs)

    def run(i):
        for _ in range(20):
            results[i] = softmax.run(inputs[i])

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(inputs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(a, b) for a, b in zip(results, expected))


def test_unsupported_modules_raise():
    module = hlo_run.parse('ENTRY e { x = f32[] parameter(0) ROOT c = f32[] custom-call(x), custom_call_target="nobody_knows" }')
    with pytest.raises(hlo_run.Unsupported, match="nobody_knows") as raised:
        module.run(1)
    assert isinstance(raised.value, NotImplementedError)


def test_profile_names_instructions(softmax, tmp_path):
    profile = softmax.profile(*softmax.random_inputs())
    assert profile.engine == "fast" and profile.seconds > 0 and profile.rows
    assert all(row.instruction.computation == softmax.entry for row in profile.rows)
    assert "GFLOP/s" in str(profile) and "<table>" in profile._repr_html_()
    assert set(profile.by_opcode()) == {row.instruction.opcode for row in profile.rows}
    profile.write_chrome_trace(tmp_path / "trace.json")
    assert (tmp_path / "trace.json").read_text().startswith("{")
