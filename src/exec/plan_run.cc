#include "exec/plan_run.h"

#include "base/deadline.h"
#include "fmt/format.h"

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

absl::Status StepLimits::Count() {
  if (max_steps_ > 0 && ++taken_ > max_steps_) {
    return absl::ResourceExhaustedError(
        fmt::format("the limit of {} steps is reached (see --max-steps)", max_steps_));
  }
  return Deadline::Check();
}

const plan::BranchStep::Branch& TakenBranch(const plan::BranchStep& branch, int32_t choice) {
  const auto last = static_cast<int64_t>(branch.branches.size()) - 1;
  int64_t number = branch.choice_type == ElementType::kPred ? 1 - choice : choice;
  if (number < 0 || number > last) number = last;
  return branch.branches[number];
}

}  // namespace hlo::exec
