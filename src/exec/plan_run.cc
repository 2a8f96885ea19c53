#include "exec/plan_run.h"

#include "base/counted.h"
#include "base/deadline.h"
#include "fmt/format.h"
#include "plan/analysis/counted_loops.h"

namespace hlo::exec {
namespace {

void Collect(const Literal& value, std::vector<const Literal*>* leaves) {
  if (!value.shape().IsTuple()) {
    leaves->push_back(&value);
    return;
  }
  for (const Literal& element : value.elements()) Collect(element, leaves);
}

}  // namespace

std::vector<const Literal*> Leaves(absl::Span<const Literal> values) {
  std::vector<const Literal*> leaves;
  for (const Literal& value : values) Collect(value, &leaves);
  return leaves;
}

absl::Status StepLimits::CountStep() {
  if (max_steps_ > 0 && ++taken_ > max_steps_) {
    return absl::ResourceExhaustedError(
        fmt::format("the limit of {} is reached (see --max-steps)", Counted(max_steps_, "step")));
  }
  return Deadline::Check();
}

std::optional<int64_t> TripCount(
    const plan::LoopStep& loop,
    absl::FunctionRef<std::optional<int64_t>(plan::Slot slot, ElementType type)> value) {
  if (!loop.counted.has_value()) return std::nullopt;
  const plan::CountedLoop& counted = *loop.counted;
  const auto find = [&](const std::optional<int64_t>& constant, plan::Slot slot) {
    return constant.has_value() ? constant : value(slot, counted.type);
  };
  const std::optional<int64_t> first = find(counted.first_value, counted.counter),
                               limit = find(counted.limit_value, counted.limit);
  return first.has_value() && limit.has_value() ? plan::TripCount(counted, *first, *limit) : std::nullopt;
}

const plan::BranchStep::Branch& TakenBranch(const plan::BranchStep& branch, int32_t choice) {
  const auto last = static_cast<int64_t>(branch.branches.size()) - 1;
  int64_t number = branch.choice_type == ElementType::kPred ? 1 - choice : choice;
  if (number < 0 || number > last) number = last;
  return branch.branches[number];
}

absl::Status CheckSize(const Literal& value, const plan::Buffer& buffer) {
  if (value.byte_count() == buffer.byte_count) return absl::OkStatus();
  return absl::InternalError(
      fmt::format("the value is {}, which is not the declared shape", ToString(value.shape())));
}

}  // namespace hlo::exec
