"""JAX functions, evaluated here and compared with XLA."""

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed")

import hlo_run.jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402


def layer(parameters, x):
    return {"y": jnp.tanh(parameters["w"] @ x + parameters["b"]), "norm": jnp.sum(x * x)}


PARAMETERS = {"w": np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4), "b": np.ones(3, np.float32), "unused": 1.0}
X = np.arange(4, dtype=np.float32)


def test_evaluate_gives_the_functions_tree():
    result = hlo_run.jax.evaluate(layer)(PARAMETERS, X)
    assert set(result) == {"y", "norm"} and isinstance(result["y"], np.ndarray)
    assert np.allclose(result["y"], np.tanh(PARAMETERS["w"] @ X + 1), rtol=1e-5) and result["norm"] == 14


def test_compare_agrees_with_xla():
    comparison = hlo_run.jax.compare(layer, PARAMETERS, X)
    assert comparison and comparison.ok and set(comparison.reports) == {"['norm']", "['y']"}
    assert "agrees" in str(comparison) and "<table>" in comparison._repr_html_()
    exact = hlo_run.jax.compare(lambda x: jnp.sort(x)[::-1], X, rule="exact")
    assert exact.ok and exact.reports[""].rule == "exact"


def test_compare_reports_differing_elements():
    shape = hlo_run.parse("ENTRY e { ROOT x = f32[4] parameter(0) }").entry.root.shape
    got, want = (hlo_run.Value.from_array(x, shape) for x in (X, np.array([0, 1, 2, 3.5], np.float32)))
    report = hlo_run._core.compare(got, want)
    assert not report and (report.mismatch_count, report.worst_index, report.worst_abs) == (1, [3], 0.5)
    comparison = hlo_run.jax.Comparison(None, X, X, {"['y']": report})
    assert not comparison.ok and "result['y']: differs" in str(comparison) and "1 of 4" in comparison._repr_html_()
    assert hlo_run._core.compare(got, want, "within abs 0.5 rel 0")


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int8", "float8_e4m3fn"])
def test_types_that_numpy_lacks(dtype):
    x = jnp.arange(6).astype(dtype).reshape(2, 3)
    assert hlo_run.jax.compare(lambda x: (x.T, x + x), x)


def test_jax_features():
    def steps(x, n):
        return jax.lax.fori_loop(0, n, lambda i, v: jnp.sin(v) + i, x)
    assert hlo_run.jax.compare(jax.grad(lambda x: steps(x, 3).sum()), X)
    assert hlo_run.jax.compare(steps, X, 5, static_argnums=1)
    assert hlo_run.jax.compare(lambda key: jax.random.uniform(key, (5,)), jax.random.key(1), rule="exact")
    assert hlo_run.jax.compare(lambda key: jax.random.split(key), jax.random.key(1), rule="exact")


def test_closure_constants_are_not_elided():
    table = np.arange(1000, dtype=np.float32)
    assert hlo_run.jax.evaluate(lambda i: jnp.asarray(table)[i])(jnp.int32(77)) == 77


def test_lower_gives_the_module():
    module = hlo_run.jax.lower(layer, PARAMETERS, X)
    assert [p.shape.dims for p in module.entry.parameters] == [(3,), (), (3, 4), (4,)] and not module.verify()


def test_jax_arrays_are_arguments():
    module = hlo_run.parse("ENTRY e { x = bf16[2] parameter(0) ROOT y = bf16[2] add(x, x) }")
    assert module.run(jnp.ones(2, jnp.bfloat16)).astype(np.float32).tolist() == [2, 2]
