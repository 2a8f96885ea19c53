#include "plan/fusion/row_tiling_cse.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/cpu/loops/reduce_program.h"

namespace hlo::plan {
namespace {

using loops::Access;
using loops::LoopProgram;
using loops::ReduceProgram;

constexpr int64_t kMinRowLength = 128;

bool HasLongRows(const LoopProgram& program, int64_t rows) {
  return program.outer_dims().size() == 1 && program.outer_count() == rows &&
         program.inner_dims().size() == 1 && program.inner_count() >= kMinRowLength;
}

bool IsPlain(const Access& access) {
  return access.IsArray() && access.starts.empty() && access.edges.empty();
}
bool IsSameAccess(const Access& a, const Access& b) {
  return IsPlain(a) && IsPlain(b) && a.argument == b.argument && a.type == b.type && a.offset == b.offset &&
         a.outer == b.outer && a.inner == b.inner;
}

// Value numbering across several programs.
class ValueNumbering {
 public:
  // Returns the number of each value; equal computations have equal numbers.
  std::vector<int32_t> Of(const LoopProgram& program) {
    std::vector<int32_t> numbers;
    for (const LoopProgram::Step& step : program.steps()) {
      Entry value{&program, &step, {-1, -1, -1}};
      for (int k = 0; k < step.operand_count; ++k) value.in[k] = numbers[step.in[k]];
      const auto found = std::find_if(entries_.begin(), entries_.end(),
                                      [&](const Entry& known) { return AreSame(known, value); });
      numbers.push_back(static_cast<int32_t>(found - entries_.begin()));
      if (found == entries_.end()) entries_.push_back(value);
    }
    return numbers;
  }

 private:
  struct Entry {
    const LoopProgram* program;
    const LoopProgram::Step* step;
    std::array<int32_t, 3> in;
  };
  static bool AreSame(const Entry& a, const Entry& b) {
    const int32_t x = a.step->access, y = b.step->access;
    if (x >= 0 || y >= 0) return x >= 0 && y >= 0 && IsSameAccess(a.program->access(x), b.program->access(y));
    return a.step->operation == b.step->operation && a.in == b.in;
  }

  std::vector<Entry> entries_;
};

// Changes that Copy applies to a program.
struct CopyChanges {
  std::optional<std::pair<loops::Value, Access>> load, store;  // Replaces a value by a load; adds a store.
  bool yields_stored = false;
};
LoopProgram Copy(const LoopProgram& from, const CopyChanges& changes) {
  std::vector<bool> needed(from.steps().size(), false);  // Indexed by value.
  for (const LoopProgram::Stored& stored : from.stores()) needed[stored.value] = true;
  for (const loops::Value value : from.yields()) needed[value] = true;
  const auto is_loaded = [&](size_t value) {
    return changes.load.has_value() && static_cast<size_t>(changes.load->first) == value;
  };
  for (size_t v = from.steps().size(); v-- > 0;) {
    if (!needed[v] || is_loaded(v)) continue;
    for (const loops::Value operand : from.steps()[v].operands()) needed[operand] = true;
  }
  LoopProgram to(from.outer_dims(), from.inner_dims());
  std::vector<loops::Value> values(needed.size(), -1);
  for (size_t v = 0; v < needed.size(); ++v) {
    if (!needed[v]) continue;
    const LoopProgram::Step& step = from.steps()[v];
    std::vector<loops::Value> operands;
    for (const loops::Value operand : step.operands()) operands.push_back(values[operand]);
    values[v] = is_loaded(v)    ? to.Load(changes.load->second)
                : step.IsLoad() ? to.Load(from.access(step.access))
                                : to.Apply(step.operation, step.compute_type, operands);
  }
  for (const LoopProgram::Stored& stored : from.stores())
    to.Store(values[stored.value], from.access(stored.access));
  if (changes.store.has_value()) to.Store(values[changes.store->first], changes.store->second);
  if (changes.yields_stored) to.Yield(values[from.stores()[0].value]);
  for (const loops::Value value : from.yields()) to.Yield(values[value]);
  to.Finish();
  return to;
}

bool IsPlain(const LoopProgram& program) {
  bool plain = true;
  program.VisitAccesses([&](const Access& access, bool) { plain &= IsPlain(access) && access.next < 0; });
  return plain;
}

// Returns the loop that also reduces what it stores, as `reduce` does; nullopt if `reduce` reads anything
// else.
std::optional<LoopProgram> FusedReduction(LoopProgram loop, const ReduceProgram& reduce, int64_t rows) {
  if (loop.outer_count() == 1) {
    std::optional<LoopProgram> by_rows = loop.ByRows(loop.inner_count() / rows);
    if (by_rows.has_value()) loop = *std::move(by_rows);
  }
  if (!HasLongRows(loop, rows) || loop.inner_count() != reduce.reduced_count() || loop.stores().size() != 1 ||
      !IsPlain(loop) || !reduce.body.YieldedAsStored().has_value() ||
      reduce.arg_min_max != loops::Reduction::ArgMinMax::kNone)
    return std::nullopt;
  if (!HasLongRows(reduce.body, rows) ||
      !IsSameAccess(loop.access(loop.stores()[0].access), reduce.body.access(0)))
    return std::nullopt;
  ReduceProgram joined{reduce, Copy(loop, {.yields_stored = true})};
  if (!cpu::ReducesInChain(joined)) return std::nullopt;
  return std::move(joined.body);
}

// Finds a value that both programs compute and round to bf16: storing it is cheaper than computing it again.
std::optional<std::pair<loops::Value, loops::Value>> SharedValue(const LoopProgram& program,
                                                                 const LoopProgram& other) {
  ValueNumbering numbers;
  const std::vector<int32_t> own = numbers.Of(program), others = numbers.Of(other);
  std::optional<std::pair<loops::Value, loops::Value>> found;
  for (size_t v = 0; v < own.size(); ++v) {
    const LoopProgram::Step& step = program.steps()[v];
    const loops::Operation& operation = step.operation;
    const bool is_bf16 = !step.IsLoad() && operation.to == ElementType::kBF16 &&
                         (operation.kind == loops::Operation::Kind::kRoundedScalar ||
                          operation.kind == loops::Operation::Kind::kRound);
    const auto same = std::find(others.begin(), others.end(), own[v]);
    if (is_bf16 && same != others.end())
      found.emplace(static_cast<loops::Value>(v), static_cast<loops::Value>(same - others.begin()));
  }
  return found;
}

// Makes long rows the outer loop, where operands are invariant along rows.
void MakeRowsOuter(RowsStep& rows) {
  for (auto& part : rows.program.parts) {
    auto* loop = std::get_if<LoopProgram>(&part);
    if (loop == nullptr || loop->inner_dims().size() < 2) continue;
    const int64_t length = loop->inner_count() / rows.program.rows;
    std::optional<LoopProgram> by_rows = length < kMinRowLength ? std::nullopt : loop->ByRows(length);
    if (by_rows.has_value()) part = *std::move(by_rows);
  }
}

// Fuses a reduction into the loop that stores its operand.
void FuseReductions(RowsStep& rows) {
  auto& parts = rows.program.parts;
  for (size_t p = 0; p + 1 < parts.size(); ++p) {
    const auto* loop = std::get_if<LoopProgram>(&parts[p]);
    auto* reduce = std::get_if<ReduceProgram>(&parts[p + 1]);
    if (loop == nullptr || reduce == nullptr) continue;
    std::optional<LoopProgram> body = FusedReduction(*loop, *reduce, rows.program.rows);
    if (!body.has_value()) continue;
    reduce->body = *std::move(body);
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(p));
    rows.instructions.erase(rows.instructions.begin() + static_cast<std::ptrdiff_t>(p));
  }
}

// Stores a value that a reduction computes for the next loop that needs it.
void ReuseReductionValue(RowsStep& rows, size_t p, ChangeCounter& changes) {
  loops::RowProgram& program = rows.program;
  auto* reduce = std::get_if<ReduceProgram>(&program.parts[p]);
  if (reduce == nullptr || !HasLongRows(reduce->body, program.rows) || !IsPlain(reduce->body) ||
      !reduce->body.stores().empty())
    return;
  for (size_t q = p + 1; q < program.parts.size(); ++q) {
    auto* loop = std::get_if<LoopProgram>(&program.parts[q]);
    if (loop == nullptr || !HasLongRows(*loop, program.rows) || !IsPlain(*loop) ||
        loop->inner_count() != reduce->body.inner_count())
      continue;
    const auto shared = SharedValue(reduce->body, *loop);
    if (!shared.has_value()) continue;
    if (!cpu::YieldsFromChain(reduce->body)) return;
    const int64_t length = loop->inner_count();
    const auto number = static_cast<int32_t>(program.argument_count + program.kept_bytes.size());
    const Access kept{number, ElementType::kBF16, 0, {length}, {1}, {}};
    LoopProgram body = Copy(reduce->body, {.store = std::pair(shared->first, kept)});
    if (!cpu::YieldsFromChain(body) || !changes.Allow("row_tiling_cse", rows.instructions[q]->name())) return;
    *loop = Copy(*loop, {.load = std::pair(shared->second, kept)});
    reduce->body = std::move(body);
    program.kept_bytes.push_back(length * ByteCount(kept.type));
    return;
  }
}

}  // namespace

void OptimizeRowProgram(RowsStep& rows, bool cse, ChangeCounter& changes) {
  MakeRowsOuter(rows);
  FuseReductions(rows);
  for (size_t p = 0; cse && p < rows.program.parts.size(); ++p) ReuseReductionValue(rows, p, changes);
}

}  // namespace hlo::plan
