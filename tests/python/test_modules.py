"""Reading, checking, printing and walking over modules."""

import os
import subprocess

import pytest

import hlo_run

BROKEN = """ENTRY e {
  a = f32[2,3] parameter(0)
  ROOT t = f32[2,3] transpose(a), dimensions={1,0}
}"""


def test_parse_errors_have_locations():
    with pytest.raises(hlo_run.InvalidModule, match="m.hlo:2:") as raised:
        hlo_run.parse("ENTRY e {\n  ROOT a = f32[2] nonsense()\n}", name="m.hlo")
    (error,) = raised.value.diagnostics
    assert (error.severity, error.line, error.file) == ("error", 2, "m.hlo")
    assert "nonsense" in error.message and "^" in error.text
    assert isinstance(raised.value, ValueError)


def test_verify_lists_errors_as_objects():
    module = hlo_run.parse(BROKEN)
    (error,) = module.verify()
    assert (error.line, error.severity) == (3, "error")
    assert error.column == 12 and error.end_column == 20
    assert "f32[3,2]" in error.message and error.rule
    assert hlo_run.load("examples/softmax.hlo").verify() == []


def test_invalid_modules_do_not_run():
    with pytest.raises(hlo_run.InvalidModule) as raised:
        hlo_run.parse(BROKEN).run([[1, 2, 3], [4, 5, 6]])
    assert raised.value.diagnostics[0].line == 3


def test_print_is_a_fixed_point(softmax):
    text = softmax.print()
    assert hlo_run.parse(text).print() == text
    assert "metadata" not in softmax.print(metadata=False)
    with pytest.raises(hlo_run.InvalidInput, match="not one of long, short"):
        softmax.print(form="wide")


def test_computations_and_instructions_can_be_traversed(softmax):
    entry = softmax.entry
    assert entry.is_entry and entry in softmax.computations and softmax.computation(entry.name) == entry
    assert len(entry) == len(list(entry)) == len(entry.instructions)
    root = entry.root
    assert root.is_root and root.opcode == "divide" and root.computation == entry
    assert all(root in operand.users for operand in root.operands)
    assert [i.index for i in entry] == list(range(len(entry)))
    reduce = next(i for i in entry if i.opcode == "reduce")
    assert reduce.attributes["dimensions"] == [1]
    assert reduce.attributes["to_apply"] == reduce.called_computations[0]
    assert str(root).startswith("%") or root.name in str(root)
    assert entry.parameters[0].shape.dims == (2, 3) and entry.parameters[0].shape.element_type == "f32"
    assert root.line is not None and root.line > 1


def test_instructions_keep_their_module_alive():
    instruction = hlo_run.parse("ENTRY e { ROOT c = f32[2] constant({1, 2}) }").entry.root
    assert instruction.name == "c" and "1, 2" in str(instruction.value)


def test_stats_count(softmax):
    stats = softmax.stats()
    assert stats["opcodes"]["reduce"] == 2 and stats["parameter_bytes"] == 24 and stats["flops"] > 0


def test_shapes_of_tuples(pair):
    shape = pair.entry.parameters[0].shape
    assert shape.kind == "tuple" and [s.element_type for s in shape.elements] == ["f32", "s32"]
    assert shape == pair.entry.parameters[0].shape and hash(shape) == hash(pair.entry.parameters[0].shape)
    assert str(shape) == "(f32[2], s32[])"


def test_parser_limits():
    nested = "(" * 50 + "f32[]" + ")" * 50
    with pytest.raises(hlo_run.InvalidModule, match="nest"):
        hlo_run.parse(f"ENTRY e {{ ROOT p = {nested} parameter(0) }}", max_nesting=10)


def test_notebooks_show_tables(softmax):
    assert "<table>" in softmax._repr_html_() and "&lt;" not in softmax.name
    assert "divide" in softmax._repr_html_()


def test_elided_constants_can_be_given_values():
    text = "ENTRY e { ROOT c = f32[4] constant({...}) }"
    assert hlo_run.parse(text, elided="zeros").run().tolist() == [0, 0, 0, 0]


def test_version_equals_that_of_the_command():
    assert hlo_run.__version__ in hlo_run.build_info()
    command = os.environ.get("HLO_RUN", "hlo-run")
    shown = subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout
    assert shown.splitlines()[0] == f"hlo-run {hlo_run.__version__}"


def test_everything_public_has_a_docstring():
    for name in hlo_run.__all__:
        thing = getattr(hlo_run, name)
        assert thing.__doc__, name
        members = vars(thing).items() if isinstance(thing, type) else ()
        for member, value in members:
            if not member.startswith("_") and callable(value):
                assert value.__doc__, f"{name}.{member}"
