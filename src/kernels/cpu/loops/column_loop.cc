#include "kernels/cpu/loops/column_loop.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "base/arithmetic.h"
#include "ir/neutral_element.h"
#include "kernels/cpu/loops/operand_count.h"
#include "types/index.h"

namespace hlo::cpu {
namespace {

using loops::LoopProgram;
using loops::ScalarFunction;
using loops::Strides;
using loops::Value;

constexpr int64_t kMaxElements = 64 << 10;

// Returns the number of short rows to combine at a time, with the lowest estimated cost. Loads wait for
// stores of parts of vectors to the same accumulators.
int64_t BestGroupSize(const loops::Reduction& reduction, const LoopProgram& body) {
  constexpr int64_t kMaxLength = 64;
  const bool is_known = reduction.reassociation == loops::Reassociation::kAny && reduction.fold.has_value() &&
                        reduction.results.size() == 1 && !body.outer_dims().empty() &&
                        body.inner_count() > 0 && !IsComplex(reduction.results[0].init_type) &&
                        NeutralOf(*reduction.fold, reduction.results[0].init_type).has_value();
  const bool is_regular =
      std::all_of(body.accesses().begin(), body.accesses().end(),
                  [](const Access& access) { return access.IsArray() && access.IsRegular(); });
  if (!is_known || !is_regular) return 1;
  const int64_t length = body.inner_dims().back(), parts = body.inner_count() / length,
                rows = body.outer_dims().back(),
                lanes = kVectorBytes / ComputeTypeBytes(ComputeTypeOf(reduction.results[0].init_type));
  int64_t best = 1, least = std::numeric_limits<int64_t>::max();
  for (int64_t size = 1; size * length <= std::max(length, kMaxLength); ++size) {
    if (rows % size != 0) continue;
    const int64_t elements = size * length;
    const int64_t cycles_of_row = CeilDiv(elements, lanes) * 2 + (elements % lanes != 0 ? 20 : 6);
    const int64_t cycles = body.outer_count() / size * parts * cycles_of_row +
                           100 * parts * std::bit_width(static_cast<uint64_t>(size - 1));
    if (cycles >= least) continue;
    best = size;
    least = cycles;
  }
  return best;
}

// Copies the steps of a program, which keep their numbers. The last `group_size` positions of the last outer
// dimension become the inner dimension before the last.
void CopySteps(const LoopProgram& from, int64_t group_size, LoopProgram& to) {
  const auto grouped = [&](Access access) {
    access.next = -1;
    if (group_size == 1) return access;
    access.inner.insert(access.inner.end() - 1, access.outer.back());
    access.outer.back() *= group_size;
    return access;
  };
  for (const LoopProgram::Step& step : from.steps()) {
    if (!step.IsLoad()) {
      to.Apply(step.operation, step.compute_type, step.operands());
      continue;
    }
    std::vector<Access> pieces;
    for (int32_t a = step.access; a >= 0; a = from.access(a).next) pieces.push_back(grouped(from.access(a)));
    to.Load(std::move(pieces));
  }
}

// Replaces arguments by their indices in the list that it returns.
std::vector<int32_t> RenumberArguments(LoopProgram& program) {
  std::vector<int32_t> arguments;
  const auto renumber = [&](int32_t& argument) {
    if (argument < 0) return;
    auto found = std::find(arguments.begin(), arguments.end(), argument);
    if (found == arguments.end()) found = arguments.insert(found, argument);
    argument = static_cast<int32_t>(found - arguments.begin());
  };
  program.VisitAccesses([&](Access& access, bool) {
    renumber(access.argument);
    VisitOthers(access, renumber);
  });
  return arguments;
}

}  // namespace

ColumnLoop::ColumnLoop(const loops::Reduction& reduction, const LoopProgram& body, int64_t group_size)
    : group_size_(group_size), part_length_(group_size > 1 ? body.inner_dims().back() : body.inner_count()) {
  std::vector<int64_t> outer_dims(body.outer_dims().begin(), body.outer_dims().end()),
      inner_dims(body.inner_dims().begin(), body.inner_dims().end());
  if (group_size > 1) {
    outer_dims.back() /= group_size;
    inner_dims.insert(inner_dims.end() - 1, group_size);
  }
  LoopProgram program(outer_dims, inner_dims);
  CopySteps(body, group_size, program);
  arguments_ = RenumberArguments(program);
  const Strides none(outer_dims.size(), 0), scalar(inner_dims.size(), 0);
  const Index dense = RowMajorStrides(inner_dims);
  auto argument = static_cast<int32_t>(arguments_.size());
  const auto access = [&](ComputeType compute_type, int32_t number, const Strides& inner) {
    return Access{number, NativeLoop::TypeOf(compute_type), 0, none, inner, {}};
  };
  const auto accumulator = [&](size_t k) {
    return access(ComputeTypeOf(reduction.results[k].init_type), argument + static_cast<int32_t>(k),
                  Strides(dense.begin(), dense.end()));
  };
  const ScalarFunction& combiner = reduction.combiner;
  const size_t count = reduction.results.size();
  std::vector<Value> values(combiner.value_count());
  for (size_t k = 0; k < count; ++k) {
    values[k] = program.Load(accumulator(k));
    values[count + k] = body.yields()[k];
  }
  for (const ScalarFunction::Step& step : combiner.steps()) {
    const ComputeType compute_type = combiner.compute_type(step.out);
    if (step.operation.kind == loops::Operation::Kind::kNone) {
      const auto number = static_cast<int32_t>(arguments_.size() + count + constants_.size());
      values[step.out] = program.Load(access(compute_type, number, scalar));
      constants_.push_back(step.constant);
      continue;
    }
    std::array<Value, 3> in{};
    const int operands = OperandCount(step.operation);
    for (int k = 0; k < operands; ++k) in[k] = values[step.in[k]];
    values[step.out] = program.Apply(step.operation, compute_type, absl::MakeSpan(in).first(operands));
  }
  for (size_t k = 0; k < count; ++k) program.Store(values[combiner.yields()[k]], accumulator(k));
  program.Finish();
  program_ = std::make_unique<TileProgram>(std::move(program));
  program_->AllowNativeCodeOfRuns();
}

std::shared_ptr<const ColumnLoop> ColumnLoop::Make(const loops::Reduction& reduction,
                                                   const LoopProgram& body) {
  if (reduction.rows || !body.stores().empty() || body.inner_count() * body.outer_count() > kMaxElements)
    return nullptr;
  const auto make = [&](int64_t group_size) {
    return std::shared_ptr<const ColumnLoop>(new ColumnLoop(reduction, body, group_size));
  };
  std::shared_ptr<const ColumnLoop> loop = make(BestGroupSize(reduction, body));
  // Rows that are apart are not combined faster in groups.
  if (loop->group_size() > 1 && loop->program_->row() < loop->group_size() * loop->part_length())
    loop = make(1);
  return loop->program_->RunsOnRows() ? loop : nullptr;
}

bool ColumnLoop::Run(void* const* arguments, absl::InlinedVector<void*, 4> accumulators) const {
  program_->PrepareNativeCode();
  absl::InlinedVector<void*, 16> pointers;
  for (const int32_t argument : arguments_) pointers.push_back(arguments[argument]);
  pointers.insert(pointers.end(), accumulators.begin(), accumulators.end());
  for (const auto& constant : constants_) pointers.push_back(const_cast<std::byte*>(constant.data()));
  return program_->RunDirectRowsInOrder(pointers.data());
}

}  // namespace hlo::cpu
