"""Arrays in and out: types, layouts, sharing of memory, trees."""

import numpy as np
import pytest

import hlo_run

ml_dtypes = pytest.importorskip("ml_dtypes")


def identity(shape):
    return hlo_run.parse(f"ENTRY e {{ ROOT x = {shape} parameter(0) }}")


def address(array):
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize("name", ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
                                  "float16", "float32", "float64", "complex64", "complex128"])
def test_numpy_types_round_trip(name):
    hlo = {"bool": "pred", "i": "s", "u": "u", "f": "f", "c": "c"}
    dtype = np.dtype(name)
    element_type = "pred" if name == "bool" else f"{hlo[dtype.kind]}{8 * dtype.itemsize}"
    x = np.array([[0, 1, 1], [1, 0, 1]], dtype=dtype)
    result = identity(f"{element_type}[2,3]").run(x)
    assert result.dtype == dtype and np.array_equal(result, x) and result.flags.writeable


@pytest.mark.parametrize("element_type, name", [
    ("bf16", "bfloat16"), ("f8e4m3fn", "float8_e4m3fn"), ("f8e5m2", "float8_e5m2"), ("f8e4m3b11fnuz", "float8_e4m3b11fnuz"),
    ("s4", "int4"), ("u4", "uint4"), ("s2", "int2")])
def test_ml_dtypes_types_round_trip(element_type, name):
    dtype = np.dtype(getattr(ml_dtypes, name))
    x = np.array([0, 1, 1], dtype=dtype)
    result = identity(f"{element_type}[3]").run(x)
    assert result.dtype == dtype and np.array_equal(result, x)


def test_types_that_numpy_lacks_are_passed_as_bits():
    bits = np.array([0x3F80, 0x4000], dtype=np.uint16)
    module = hlo_run.parse("ENTRY e { x = bf16[2] parameter(0) ROOT y = bf16[2] add(x, x) }")
    assert module.run(bits).astype(np.float32).tolist() == [2, 4]


def test_results_own_their_memory():
    x = np.arange(4, dtype=np.float32)
    result = identity("f32[4]").run(x)
    result[0] = 7
    assert x[0] == 0
    constant = hlo_run.parse("ENTRY e { c = f32[2] constant({1, 2}) ROOT t = (f32[2], f32[2]) tuple(c, c) }")
    first, second = constant.run()
    first[0] = 9
    assert second[0] == 1 and constant.run()[0][0] == 1


def test_row_major_arrays_are_not_copied():
    x = np.arange(1 << 16, dtype=np.float32).reshape(256, 256)
    module = identity("f32[256,256]")
    value = hlo_run.Value.from_array(x, module.entry.root.shape)
    assert address(value.view()) == address(x) and not value.view().flags.writeable
    turned = hlo_run.Value.from_array(x.T, module.entry.root.shape)
    assert address(turned.view()) != address(x) and np.array_equal(turned.view(), x.T)
    assert np.array_equal(module.run(x[::-1, ::2].repeat(2, axis=1)), x[::-1, ::2].repeat(2, axis=1))


def test_values_keep_shared_arrays_alive():
    import gc
    import weakref

    class Tracked(np.ndarray):
        pass

    x = np.arange(1024, dtype=np.float32).view(Tracked)
    gone = weakref.ref(x)
    value = hlo_run.Value.from_array(x, identity("f32[1024]").entry.root.shape)
    del x
    gc.collect()
    assert gone() is not None and value.view()[3] == 3
    del value
    gc.collect()
    assert gone() is None


def test_dlpack_shares_memory():
    class OnlyDLPack:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    module = hlo_run.parse("ENTRY e { x = f32[2,3] parameter(0) ROOT y = f32[2,3] add(x, x) }")
    assert np.array_equal(module.run(OnlyDLPack(x)), 2 * x)
    shared = hlo_run.Value.from_array(OnlyDLPack(x), module.entry.root.shape)
    assert address(shared.view()) == address(x)
    value = module.compile().run_values([shared])
    out = np.from_dlpack(value)
    assert np.array_equal(out, 2 * x) and address(out) == address(value.view())
    assert np.array_equal(module.run(value), 4 * x)


def test_wrong_types_and_sizes_are_rejected():
    module = identity("f32[2,3]")
    with pytest.raises(hlo_run.InvalidInput, match=r"parameter 0 \(x\) takes f32\[2,3\], but the argument is float64\[2,3\].*astype"):
        module.run(np.zeros((2, 3)))
    with pytest.raises(hlo_run.InvalidInput, match=r"float32\[3,2\]"):
        module.run(np.zeros((3, 2), np.float32))
    with pytest.raises(hlo_run.InvalidInput, match="takes s32"):
        identity("s32[]").run(1.5)
    with pytest.raises(hlo_run.InvalidInput, match="must be from -8 to 7"):
        identity("s4[1]").run(np.array([9], np.int8))


def test_numbers_are_converted_to_the_type_of_the_parameter():
    assert identity("f32[]").run(2) == np.float32(2)
    assert identity("bf16[2]").run([1.5, 2]).astype(np.float32).tolist() == [1.5, 2]
    assert identity("pred[]").run(True)
    assert identity("u8[2,2]").run([[1, 2], [3, 255]]).tolist() == [[1, 2], [3, 255]]


def test_predicates_are_zero_or_one():
    x = np.array([0, 2, 255], np.uint8).view(np.bool_)
    module = hlo_run.parse("ENTRY e { x = pred[3] parameter(0) ROOT y = s32[3] convert(x) }")
    assert module.run(x).tolist() == [0, 1, 1]


def test_dynamic_sizes_are_those_of_the_array():
    module = hlo_run.parse("""ENTRY e { x = f32[<=5] parameter(0)
        n = s32[] get-dimension-size(x), dimensions={0}
        ROOT t = (f32[<=5], s32[]) tuple(x, n) }""")
    array, size = module.run(np.arange(3, dtype=np.float32))
    assert array.tolist() == [0, 1, 2] and size == 3


def test_tuples_are_trees(pair):
    a, n, x = np.ones(2, np.float32), np.int32(3), np.arange(2, dtype=np.float32)
    for arguments in [((a, n), x), ([a, n], x), ({"a": a, "n": n}, x), (a, n, x), (((a,), [n, {"x": x}]),)]:
        total, (number,) = pair.run(*arguments)
        assert total.tolist() == [1, 2] and number == 3


def test_arguments_have_names(pair):
    a, n, x = np.ones(2, np.float32), np.int32(3), np.arange(2, dtype=np.float32)
    assert pair.run((a, n), x=x)[0].tolist() == [1, 2]
    assert pair.run(x, p=(a, n))[0].tolist() == [1, 2]
    assert pair.run(arguments={"p": (a, n), "x": x})[0].tolist() == [1, 2]
    with pytest.raises(hlo_run.InvalidInput, match="no parameter 'y'; there are p: .*, x: f32"):
        pair.run((a, n), y=x)
    with pytest.raises(hlo_run.InvalidInput, match="takes 2 arguments"):
        pair.run(a)
