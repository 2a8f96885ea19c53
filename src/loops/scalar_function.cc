#include "loops/scalar_function.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace hlo::loops {

Value ScalarFunction::Apply(const Operation& operation, ComputeType result,
                            absl::Span<const Value> operands) {
  HLO_CHECK(operation.kind != Operation::Kind::kNone && operands.size() <= 3);
  types_.push_back(result);
  Step step{operation, static_cast<Value>(types_.size() - 1)};
  step.in.fill(operands.empty() ? 0 : operands[0]);
  std::copy(operands.begin(), operands.end(), step.in.begin());
  steps_.push_back(step);
  return step.out;
}

Value ScalarFunction::Constant(ComputeType compute_type, const void* element) {
  types_.push_back(compute_type);
  Step step{{}, static_cast<Value>(types_.size() - 1)};
  std::memcpy(step.constant.data(), element, ComputeTypeBytes(compute_type));
  steps_.push_back(step);
  return step.out;
}

Value ScalarFunction::Repeat(Loop loop, absl::Span<const Value> state) {
  HLO_CHECK(!state.empty());
  const auto first = static_cast<Value>(types_.size());
  for (const Value value : state) types_.push_back(compute_type(value));
  steps_.push_back({.operation = {},
                    .out = first,
                    .loop = std::make_shared<const Loop>(std::move(loop)),
                    .state = {state.begin(), state.end()}});
  return first;
}

bool ScalarFunction::has_loops() const {
  return std::any_of(steps_.begin(), steps_.end(), [](const Step& step) { return step.loop != nullptr; });
}

const Operation* ScalarFunction::OnlyOperation() const {
  const bool is_one = steps_.size() == 1 && yields_.size() == 1 && yields_[0] == steps_[0].out &&
                      steps_[0].operation.kind != Operation::Kind::kNone;
  return is_one ? &steps_[0].operation : nullptr;
}

}  // namespace hlo::loops
