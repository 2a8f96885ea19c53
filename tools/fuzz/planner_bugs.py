#!/usr/bin/env python3
"""Mutation testing of the planner: seeds one bug at a time into a copy of the tree, builds it, and reports what finds it.

  planner_bugs.py --tree DIR --build DIR [--only REGEX] [--seconds 600] [--table FILE]
  planner_bugs.py --check

DIR is a checkout that the script may change (a git worktree, say), configured for Ninja in the build folder. A bug is
found by `validation` if the plan or bytecode of a case or of a module of the fuzzer is rejected, by `cases` if a case or
a golden module gives another result, and by `fuzz` if only hlo-fuzz finds it within the given time. The table in
tests/README.md is this script's output. --check builds nothing: it reports bugs whose text is not in the source.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import time

# Each row contains the name of a bug, its file, and a text of the file with its replacement.
BUGS = [
    # Live ranges.
    ("a value that a loop reads dies at its last use inside", "memory/liveness.cc",
     "until = loops_[loop].end;", "until = use.position;"),
    ("results are not live at the end", "memory/liveness.cc",
     "for (ValueId v : plan.graph.results) Use(v, -1);", ""),
    ("the predicate of a loop is not live", "memory/liveness.cc",
     "      Use(l->predicate, id);\n", ""),
    ("states are not live where a loop ends", "memory/liveness.cc",
     "      for (const Move& move : l->next) Use(move.to, id);\n", ""),
    ("next states are not live at the back edge", "memory/liveness.cc",
     "for (const Move& move : l->next) Use(move.from, id);", ""),
    ("results of branches are not live", "memory/liveness.cc",
     "          Use(move.from, loop);\n", ""),
    ("unused results of conditionals have no memory when branches end", "memory/liveness.cc",
     "if (move.to != kNoValue) values_[Resolve(move.to)].last_write = position_;", ""),
    ("a joined live range keeps its own end", "memory/liveness.cc",
     "to.end = std::max(to.end, from.end);", ""),
    ("a joined live range keeps its own begin", "memory/liveness.cc",
     "to.begin = std::min(to.begin, from.begin);", ""),
    # Aliasing.
    ("every value dies at every step", "memory/aliasing.cc",
     "storages_[storage].last_use == position_ &&", "storages_[storage].last_use >= position_ - 1 &&"),
    ("in-place loops ignore offsets", "memory/aliasing.cc",
     "return load.IsRegular() && load.offset == store.offset && load.inner", "return load.IsRegular() && load.inner"),
    ("in-place loops ignore strides", "memory/aliasing.cc",
     "load.inner == store.inner &&\n", "\n"),
    ("in-place windows ignore their start indices", "memory/aliasing.cc",
     "return Resolve(a.argument) == Resolve(b.argument) && a.element", "return a.element"),
    ("in-place loops ignore the order of reads and writes", "memory/aliasing.cc",
     "other) { return other.IsArray() && is_same(other); }) <=\n              program.StoredFrom(k);",
     "other) { return other.IsArray() && is_same(other); }) <=\n              program.StoredFrom(k) + 99;"),
    ("in-place loops overwrite the start indices of their reads", "memory/aliasing.cc",
     "if (storages_[storage].byte_count != byte_count || loads.others.contains(storage)) continue;",
     "if (storages_[storage].byte_count != byte_count) continue;"),
    ("a joined live range keeps its own last use", "memory/liveness.cc",
     "  to.last_use = from.last_use;\n", ""),
    ("updates in place ignore other reads of the array", "memory/aliasing.cc",
     "if (reads != safe_reads || !CanReuse", "if (!CanReuse"),
    ("kernels update operands that they read twice", "memory/aliasing.cc",
     "if (reads == 1 && storages_[storage].byte_count == storages_[StorageOf(step.results[k])].byte_count &&",
     "if (reads > 0 && storages_[storage].byte_count == storages_[StorageOf(step.results[k])].byte_count &&"),
    ("every kernel may work in place", "memory/aliasing.cc",
     "for (int32_t k = 0; k < step.kernel.in_place_results; ++k) {",
     "for (int32_t k = 0; k < std::min<int32_t>(step.operands.size(), step.results.size()); ++k) {"),
    ("two states begin in the same place", "memory/aliasing.cc",
     "!taken.contains(from) && CanReuse(from, move.to)", "CanReuse(from, move.to)"),
    ("a state lives no longer than its last use", "memory/aliasing.cc",
     "      state.end = std::max(state.end, scope.end);\n", ""),
    ("buffers that are read later are swapped", "memory/aliasing.cc",
     "move.swaps = first && DiesHere(from) &&", "move.swaps = first &&"),
    ("buffers that receive another value are swapped", "memory/aliasing.cc",
     "!targets.contains(from) && is_inside", "is_inside"),
    ("swapped buffers keep their own live ranges", "memory/aliasing.cc",
     "    a.begin = b.begin = begin;\n        a.end = b.end = end;".replace("    a.begin", "        a.begin"), ""),
    ("branches overwrite what other branches read", "memory/aliasing.cc",
     "if (!inside && (storages_[to].begin < conditional ||", "if (false && !inside && (storages_[to].begin < conditional ||"),
    ("results take arguments that are read later", "memory/buffer_assignment.cc",
     "if (to.slot < 0 || to.begin < from.last_use || to.byte_count", "if (to.slot < 0 || to.byte_count"),
    ("results of reference functions are in the arena", "memory/buffer_assignment.cc",
     "    AssignReferenceValues(plan_.steps);\n", ""),
    # Buffer assignment.
    ("free blocks overlap by their alignment", "memory/offset_assignment.cc",
     "if (begin - offset_ >= bytes_) return false;", "if (begin - offset_ >= bytes_ - 32) return false;"),
    ("blocks are freed one step early", "memory/offset_assignment.cc",
     "frees.begin()->first < live_ranges[i].begin", "frees.begin()->first <= live_ranges[i].begin"),
    ("live ranges that touch may overlap", "memory/offset_assignment.cc",
     "each.live_range->begin <= live_range.end && live_range.begin <= each.live_range->end",
     "each.live_range->begin < live_range.end && live_range.begin < each.live_range->end"),
    # Scheduling.
    ("steps move before the steps that compute their operands", "memory/schedule.cc",
     "(node.missing > 0 || Freed(i) <= 0)", "(Freed(i) <= 0)"),
    ("steps move once their first operand is ready", "memory/schedule.cc",
     "--nodes_[reader].missing;", "nodes_[reader].missing = 0;"),
    ("steps with side effects move", "memory/schedule.cc",
     "(std::holds_alternative<TileStep>(what) ||", "(std::holds_alternative<ReferenceStep>(what) || std::holds_alternative<TileStep>(what) ||"),
    # Fusion.
    ("loop-variant steps are hoisted", "lower/make_steps.cc",
     "for (const Move& move : loop.next) varying.insert(graph_.Resolve(move.to));", ""),
    ("hoisting ignores the buffers that the body writes", "lower/make_steps.cc",
     "    CollectWrites(loop.body, &varying);\n", ""),
    ("reshapes of other loops' values are aliases", "lower/make_steps.cc",
     "if (producer != nullptr && fusion_.IsFused(*producer)) return false;",
     "if (producer == nullptr && fusion_.IsDead(node)) return false;"),
    ("slices ignore their start", "lower/loop_builder.cc",
     "mapped.offset[d] = ranges[d].start + mapped.offset[d] * ranges[d].stride;",
     "mapped.offset[d] = mapped.offset[d] * ranges[d].stride;"),
    ("slices ignore their stride", "lower/loop_builder.cc",
     "for (int64_t& c : mapped.coefficients[d]) c *= ranges[d].stride;", ""),
    ("transposes are inverted", "lower/loop_builder.cc",
     "take(std::find(permutation.begin(), permutation.end(), d) - permutation.begin());", "take(permutation[d]);"),
    ("reversed dimensions are off by one", "lower/loop_builder.cc",
     "mapped.offset[d] = operand.dim(d) - 1 - mapped.offset[d];", "mapped.offset[d] = operand.dim(d) - mapped.offset[d];"),
    ("a scalar operand of a concatenation has no edges", "lower/loop_builder.cc",
     "  AddEdges(map, &access);\n  return access;", "  if (!map.offset.empty()) AddEdges(map, &access);\n  return access;"),
    ("all operands of a concatenation begin at 0", "lower/loop_builder.cc",
     "    shifted.offset[dimension] -= size;\n", ""),
    ("start indices of windows are clamped off by one", "lower/loop_builder.cc",
     "shape.dim(d) - window.dim(d),\n", "shape.dim(d) - window.dim(d) + 1,\n"),
    ("start indices move by the strides of row-major order", "lower/loop_builder.cc",
     "const Index strides = StoredStrides(graph_.values[whole]);", "const Index strides = RowMajorStrides(shape.dims());"),
    ("reductions store rotated results in row-major order", "lower/reduce_steps.cc",
     "StoredOrder(kept_rank, RotationOf(node.results[0]))", "StoredOrder(kept_rank, 0)"),
    ("a reduction sums dimensions that are kept", "lower/reduce_steps.cc",
     "LoopBuilder builder = YieldingLoop(node, dims.kept, dims.reduced);",
     "LoopBuilder builder = dims.reduced.size() == 1 ? YieldingLoop(node, dims.kept, dims.reduced) : YieldingLoop(node, dims.reduced, dims.kept);"),
    ("values with two users are fused into one", "fusion/loop_fusion.cc",
     "if (!computes || use.node == nullptr || use.node->block != node.block ||", "if (!computes || use.node == nullptr ||"),
    ("updates read the array outside their own window", "fusion/loop_fusion.cc",
     "if (ReadsOutsideWindow(node, update)) fused_.erase", "if (false && ReadsOutsideWindow(node, update)) fused_.erase"),
    ("merged loops read their results at other indices", "fusion/sibling_fusion.cc",
     "      if (!stays) return false;\n", ""),
    ("merged results that other steps need are not stored", "fusion/sibling_fusion.cc",
     "if (use.node == nullptr) return true;", "if (use.node == nullptr) return false;"),
    ("a reader may come before the loop that it reads", "fusion/sibling_fusion.cc",
     "return each.loop != joined &&\n", "return false && each.loop != joined &&\n"),
    ("rows read values of other rows", "fusion/row_tiling.cc",
     "fits &= stays || !(is_store || group->written.contains(v));", ""),
    ("rows overwrite operands that later parts read", "fusion/row_tiling.cc",
     "if (last_read[v] == p && ReadsWhereItStores", "if (ReadsWhereItStores"),
    ("rows do not store values that other steps need", "fusion/row_tiling.cc",
     "(found == reads_inside.end() ? 0 : found->second) == read_count_[Resolve(v)]", "found != reads_inside.end()"),
    ("products do not store results that other steps read", "fusion/gemm_fusion.cc",
     "return reads > 0 && reads == read_count_[product];", "return reads > 0;"),
    # Rewrites.
    ("dead states are those without direct readers", "rewrite/loop_state_dce.cc",
     "        Add(node.next[i]);\n", ""),
    ("the predicate of a conditional is dead", "rewrite/loop_state_dce.cc",
     "if (node.kind == Node::Kind::kConditional || node.has_effect) AddAll(node.operands);",
     "if (node.has_effect) AddAll(node.operands);"),
    ("an inclusive limit is treated as exclusive", "rewrite/range_analysis.cc",
     "high - (excludes ? 1 : 0);", "high - (excludes ? 1 : 1);"),
    ("sums do not wrap", "rewrite/integer_range.cc",
     "  if (!range.IsSingle()) return all;\n", "  if (!range.IsSingle()) return range;\n"),
    ("arithmetic shifts of unsigned numbers are logical ones", "rewrite/integer_range.cc",
     "if (of(0).high >= Wide{1} << static_cast<int>(bits - 1)) return all;", ""),
    ("remainders return dividends that equal the divisor", "rewrite/range_analysis.cc",
     "of(0).low >= 0 && of(0).high < of(1).low", "of(0).low >= 0 && of(0).high <= of(1).low"),
    ("dead loops are removed although loops in them may not end", "rewrite/loop_state_dce.cc",
     "finite.erase(block->owner);", "static_cast<void>(finite);"),
    ("instructions with other attributes are equal", "analysis/equality.cc",
     "|| !HaveSameAttributes(x, y)) return false;", ") return false;"),
    ("custom calls with other configurations are equal", "analysis/equality.cc",
     "return a.opcode() != Opcode::kCustomCall ||", "return true ||"),
    ("reductions by another operation are equal", "analysis/equality.cc",
     "if (x.opcode() != y.opcode() || x.operand_count() != 2", "if (x.operand_count() != 2"),
    ("equal loops may have other next states", "analysis/equality.cc",
     " && AreSame(a.next, b.next);", ";"),
    ("bitcasts of other layouts are equal", "analysis/equality.cc",
     "if (x.opcode() != Opcode::kBitcast) return true;", "return true;"),
    ("folded transposes keep the dimensions of the dot", "rewrite/contraction_folding.cc",
     "Permuted(permutation, side->batch),\n             Permuted(permutation, side->contracting)};",
     "side->batch,\n             Permuted(permutation, side->contracting)};"),
    ("updates in place mix layouts", "rewrite/layout_assignment.cc",
     "if (updates) visit(node.results[0], node.operands[0]);", "static_cast<void>(updates);"),
    ("values that share memory have orders of their own", "rewrite/layout_assignment.cc",
     "    KeepOrderTogether();\n", ""),
    ("kernels read rotated values", "rewrite/layout_assignment.cc",
     "operand = InOrder(operand, block, nodes);", "static_cast<void>(operand);"),
    ("first states keep their layout", "rewrite/layout_assignment.cc",
     "        visit(node.results[i], node.operands[i]);\n", ""),
    ("results keep the layout of a loop", "rewrite/layout_assignment.cc",
     "v = InOrder(v, *graph_.entry, graph_.entry->nodes);", "static_cast<void>(v);"),
    ("index vectors of gathers are rotated", "rewrite/layout_assignment.cc",
     "    rotations_[v] = 0;\n", ""),
    ("rounding errors of means are ignored", "rewrite/batch_norm.cc", "(mean - Wide(rounded)) * factor",
     "(mean - mean) * factor"),
    ("a limit that varies is accepted", "analysis/counted_loops.cc",
     " || !IsInvariant(graph, counted.limit, loop)) return", ") return"),
    # Bytecode.
    ("cyclic moves lose a value", "bytecode/compiler.cc",
     "          left[k].second = saved;\n", ""),
    ("loads from other offsets are reused", "bytecode/load_cse.cc",
     "return Find(loads_, range); }", "return Find(loads_, {range.slot, range.address, 0, range.byte_count}); }"),
    ("cached loads survive a label", "bytecode/compiler.cc",
     "  void Bind(cpu::Bytecode::Label label) {\n    cse_.InvalidateAll();", "  void Bind(cpu::Bytecode::Label label) {"),
    ("next states are computed where other states are read", "bytecode/compiler.cc",
     "const bool alone = sources == 1 && stable_", "const bool alone = sources >= 1 && stable_"),
    ("machine code ignores that arguments alias its frame", "bytecode/frame_access.cc",
     "arguments.push_back(ExtentOf(static_cast<Slot>(slot)));", "arguments.push_back({0, 0});"),
    ("machine code ignores that the host accesses its frame", "bytecode/frame_access.cc",
     "cpu::FrameUse use{.private_begin = plan_.arena_bytes};", "cpu::FrameUse use{.private_begin = 0};"),
]


def run(command, seconds=1200, **options):
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=seconds, **options)
    except subprocess.TimeoutExpired as error:
        out = error.stdout or b""
        return subprocess.CompletedProcess(command, 124, out.decode(errors="replace") if isinstance(out, bytes) else out, "")


def is_rejected(text):
    return re.search(r"the (plan|bytecode) is wrong|bytecode.*(wrong|invalid)", text) is not None


def judge(tree, build, seconds, folders):
    """Returns (the check that finds the bug, a detail)."""
    check = run([build / "src/cli/hlo-run", "check", "tests/cases", "golden"], 90, cwd=tree)
    text = check.stdout + check.stderr
    if check.returncode != 0:
        failures = len(re.findall(r"^(?:failed|error):", text, re.M))
        detail = f"{failures} case{'s' if failures > 1 else ''}" if failures else f"exit {check.returncode}"
        return ("validation" if is_rejected(text) else "cases"), detail
    plans = run([build / "tests/cases/run_cases", "--gtest_brief=1", "tests/cases/plan"], 90, cwd=tree)
    if plans.returncode != 0:
        return "cases", "printed plans"
    emulated = run([build / "tests/cases/run_cases", "--gtest_brief=1", "--engine=fast", "--device=emulated",
                    "tests/cases/semantics", "tests/cases/ops"], 120, cwd=tree)
    if emulated.returncode != 0:
        return ("validation" if is_rejected(emulated.stdout) else "cases"), "on the emulated GPU"
    start = time.time()
    fuzz = run([build / "tools/fuzz/hlo-fuzz", f"--seconds={seconds}", "--seed=1", "--first",
                f"--finds={build}/finds", *[f"--folder={f}" for f in folders]], seconds + 300, cwd=tree)
    text = fuzz.stdout + fuzz.stderr
    if fuzz.returncode != 0:
        return ("fuzz, validation" if is_rejected(text) else "fuzz"), f"{time.time() - start:.0f} s"
    return "nothing", f"{seconds} s"


def misplaced_bugs(tree):
    """Returns the bugs whose text is not in their file exactly once."""
    return [(name, file) for name, file, old, _ in BUGS if (tree / "src/plan" / file).read_text().count(old) != 1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--tree", default=pathlib.Path(__file__).parents[2], type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--table", type=pathlib.Path)
    options = parser.parse_args()
    tree = options.tree.resolve()
    misplaced = misplaced_bugs(tree)
    for name, file in misplaced:
        print(f"{file}: the text of the bug '{name}' is not there exactly once")
    if options.check or misplaced:
        return 1 if misplaced else 0
    if options.build is None:
        parser.error("--build is required")
    build = options.build.resolve()
    rows = []
    for name, file, old, new in BUGS:
        if not re.search(options.only, f"{file}: {name}"):
            continue
        path = tree / "src/plan" / file
        text = path.read_text()
        path.write_text(text.replace(old, new))
        try:
            made = run(["ninja", "-C", build, "hlo-run", "run_cases", "hlo-fuzz"])
            if made.returncode != 0:
                error = re.search(r"error: (.*)", made.stdout)
                rows.append((name, file, "not built", error.group(1)[:80] if error else ""))
            else:
                rows.append((name, file, *judge(tree, build, options.seconds, ["golden", "tests/cases"])))
        finally:
            path.write_text(text)
        print(" | ".join(rows[-1]), flush=True)
    if options.table:
        lines = ["| bug | in | found by | evidence |", "|---|---|---|---|"]
        lines += [f"| {name} | `{file}` | {found} | {detail} |" for name, file, found, detail in rows]
        options.table.write_text("\n".join(lines) + "\n")
    missed = [row for row in rows if row[2] in ("nothing", "not built")]
    print(f"{len(rows)} bugs, {len(rows) - len(missed)} found")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
