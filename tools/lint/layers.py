#!/usr/bin/env python3
"""Checks every #include in src/ and include/ against the order of the layers: a file may include headers of its own
folder and of lower levels, but not of other folders on its own level. Prints one line per violation; the exit status is
then 1."""

import pathlib
import re
import sys

# A row is a folder of src/, with those of its subfolders that have no row of their own, or a file without its extension.
LEVELS = {
    "base": 0, "types": 1, "ir": 2,
    "loops": 2.5,
    "text": 3, "check": 3, "device": 3,
    "spmd": 3.5, "mpi": 3.6,
    "reference/lapack": 3.9, "reference": 4, "build": 4, "io": 4,
    "kernels/kernels": 4.05,
    "kernels/cpu/native": 4.06,
    "kernels/cpu/memory": 4.1, "kernels/cpu/simd": 4.1,
    "kernels/cpu/elementwise": 4.2, "kernels/cpu/gemm": 4.2,
    "kernels/cpu/chains": 4.3, "kernels/cpu/convolution": 4.3, "kernels/cpu/fft": 4.3, "kernels/lapack": 4.3,
    "kernels/cpu/loops": 4.4,
    "kernels/cpu/sort": 4.5, "kernels/cpu/window": 4.5, "kernels/cpu/gather_scatter": 4.5, "kernels/cpu/bytecode": 4.5,
    "kernels/cuda/intrinsics": 4.6, "kernels/cuda/emulator": 4.61, "kernels/cuda/launch": 4.62,
    "kernels/cuda/memory": 4.63, "kernels/cuda/copy": 4.64, "kernels/cuda/vm": 4.65, "kernels/cuda/gemm": 4.66,
    "kernels/cuda/convolution": 4.67, "kernels/cuda/reduce": 4.67, "kernels/cuda/fft": 4.67, "kernels/cuda/random": 4.67,
    "kernels/cuda/sort": 4.67, "kernels/cuda/lapack": 4.67, "kernels/cuda/movement": 4.67,
    "kernels/cuda/scan": 4.68, "kernels/cuda/steps": 4.68, "kernels/cuda/gather_scatter": 4.69, "kernels/cuda/window": 4.69,
    "kernels/cuda/combiner": 4.7, "kernels/cuda": 4.71,
    "plan/graph": 4.9, "plan/plan": 4.95, "plan": 5, "plan/codegen": 5.1, "plan/analysis": 5.2, "plan/calls": 5.2,
    "plan/select": 5.3, "plan/cpu": 5.35,
    "plan/rewrite": 5.4, "plan/fusion": 5.4, "plan/memory": 5.4, "plan/validate": 5.4, "plan/gpu": 5.4,
    "plan/lower": 5.5, "plan/bytecode": 5.5,
    "plan/passes": 5.6, "plan/make_plan": 5.7,
    "exec": 6, "observe": 7, "conform": 7.5,
    "debug": 8, "debug/trace": 8.1, "debug/shadow": 8.1, "debug/extract": 8.1, "debug/explain": 8.1, "debug/profile": 8.1,
    "debug/diff": 8.2, "debug/against": 8.3, "debug/minimize": 8.3, "debug/graph": 8.3,
    "cli": 9, "python": 9,
}
# Layers that a folder never uses, whatever their levels, including the subfolders of both. Kernels are compared with the
# reference, each device compiles the loops of src/loops by itself, and plans are plain data.
APART = {"kernels": ("reference", "build", "io"), "kernels/cuda": ("kernels/cpu", "kernels/lapack"),
         "plan/graph": ("kernels",), "plan/plan": ("kernels",), "plan/codegen": ("kernels",), "plan/rewrite": ("kernels",), "plan/calls": ("kernels",),
         "plan/lower": ("kernels",)}
# A public header belongs to the layer that implements it.
PUBLIC = {
    "source_text": "base", "diagnostic": "base", "version": "base",
    "element_type": "types", "shape": "types", "literal": "types", "compare": "types",
    "attribute": "ir", "opcode": "ir", "module": "ir", "print": "ir", "observer": "ir", "cost": "ir",
    "parse": "text", "check": "check", "builder": "build", "builder_core": "build", "run": "reference",
    "custom_calls": "reference", "plan_options": "plan", "execute": "exec", "io": "io", "module_file": "io", "conform": "conform",
}
# Libraries that only some folders may use.
LIBRARIES = {"CLI/": {"cli"}, "nanobind/": {"python"}, "cuda": {"device", "kernels/cuda"},
             "mpi.h": {"mpi"}, "xbyak/": {"kernels/cpu/native"}}
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)


def layer_of_path(path):
    """Returns the row of a path below src/, without an extension: its own, or that of the nearest enclosing folder; None if there is none."""
    while path:
        if path in LEVELS:
            return path
        path = path.rpartition("/")[0]
    return None


def layer_of_header(header):
    """Returns the layer of a header in an #include; None if it is not a header of this project."""
    if header.startswith("hlo_run/"):
        name = header.removeprefix("hlo_run/")
        if name.endswith(".def"):
            return "types" if name == "element_types.def" else "ir"
        return PUBLIC.get(name.removesuffix(".h"), "unknown public header")
    return layer_of_path(header.rpartition(".")[0]) if "/" in header else None


def is_within(layer, folder):
    return (layer + "/").startswith(folder + "/")


def are_apart(layer, target):
    return any(is_within(target, other) for folder, others in APART.items() if is_within(layer, folder) for other in others)


def violations(root):
    files = [(p, p.relative_to(root / "src").with_suffix("").as_posix()) for p in (root / "src").rglob("*")]
    files = [(p, layer_of_path(path) or path) for p, path in files]
    files += [(p, layer_of_header("hlo_run/" + p.name)) for p in (root / "include/hlo_run").glob("*.h")]
    for path, layer in sorted(files):
        if path.suffix not in {".h", ".cc", ".cu", ".cuh"}:
            continue
        where = path.relative_to(root)
        if layer not in LEVELS:
            yield f"{where}: '{layer}' is not a layer"
            continue
        for quoted, angled in INCLUDE.findall(path.read_text()):
            header = quoted or angled
            for prefix, allowed in LIBRARIES.items():
                if header.startswith(prefix) and not any(is_within(layer, a) for a in allowed):
                    yield f"{where}: <{header}> belongs to {' and '.join(sorted(allowed))} alone"
            target = layer_of_header(header) if quoted else None
            if target is None or target == layer:
                continue
            if target not in LEVELS:
                yield f"{where}: \"{header}\": '{target}' is not a layer"
            elif LEVELS[target] >= LEVELS[layer] or are_apart(layer, target):
                yield f"{where}: {layer} (level {LEVELS[layer]}) includes {target} (level {LEVELS[target]}): \"{header}\""


def folders_without_row(root):
    """Returns the libraries (folders with a CMakeLists.txt) without a row, which would count as part of an enclosing folder."""
    for lists in sorted((root / "src").rglob("CMakeLists.txt")):
        folder = lists.parent.relative_to(root / "src").as_posix()
        if folder not in LEVELS and folder not in (".", "kernels"):
            yield f"src/{folder}: this library has no row"


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    found = [*violations(root), *folders_without_row(root)]
    print("\n".join(found) if found else "the layers are in order")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
