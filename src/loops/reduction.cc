#include "loops/reduction.h"

namespace hlo::loops {

const Operation* Reduction::BinaryOperation() const {
  const Operation* operation = combiner.OnlyOperation();
  if (operation == nullptr || operation->kind != Operation::Kind::kScalar) return nullptr;
  const auto [a, b, unused] = combiner.steps()[0].in;
  const bool takes_both = (a == 0 && b == 1) || (a == 1 && b == 0);
  return combiner.input_count() == 2 && takes_both ? operation : nullptr;
}

}  // namespace hlo::loops
