"""The example in README.md does what it says."""

import pathlib
import re

import pytest


def test_the_readmes_example_runs():
    pytest.importorskip("jax", reason="JAX is not installed")
    readme = pathlib.Path("README.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    names = {}
    for line in re.split(r"\n(?=\S)", code):
        checked = re.match(r"(.*?)  # -> (.*)$", line)
        if checked:
            assert repr(eval(checked[1], names)) == checked[2].strip(), line
        else:
            exec(line, names)
