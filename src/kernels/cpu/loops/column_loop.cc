#include "kernels/cpu/loops/column_loop.h"

#include <algorithm>
#include <utility>

#include "kernels/cpu/loops/operand_count.h"
#include "types/index.h"

namespace hlo::cpu {
namespace {

using loops::LoopProgram;
using loops::ScalarFunction;
using loops::Strides;
using loops::Value;

constexpr int64_t kMaxElements = 64 << 10;

// Copies the steps of a program, which keep their numbers.
void CopySteps(const LoopProgram& from, LoopProgram& to) {
  for (const LoopProgram::Step& step : from.steps()) {
    if (!step.IsLoad()) {
      to.Apply(step.operation, step.compute_type, step.operands());
      continue;
    }
    std::vector<Access> pieces;
    for (int32_t a = step.access; a >= 0; a = from.access(a).next) {
      pieces.push_back(from.access(a));
      pieces.back().next = -1;
    }
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

ColumnLoop::ColumnLoop(const loops::Reduction& reduction, const LoopProgram& body) {
  LoopProgram program(body.outer_dims(), body.inner_dims());
  CopySteps(body, program);
  arguments_ = RenumberArguments(program);
  const Strides none(body.outer_dims().size(), 0), scalar(body.inner_dims().size(), 0);
  const Index dense = RowMajorStrides(body.inner_dims());
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
  std::shared_ptr<const ColumnLoop> loop(new ColumnLoop(reduction, body));
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
