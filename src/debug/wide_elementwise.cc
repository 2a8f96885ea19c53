#include "debug/wide_elementwise.h"

#include <algorithm>

#include "base/status.h"
#include "types/scalar_ops.h"

namespace hlo::debug {
namespace {

template <class F>
absl::StatusOr<Literal> Map(absl::Span<const Literal> operands, F function) {
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(operands[0].shape()));
  const double* x = operands[0].span<double>().data();
  double* out = result.mutable_span<double>().data();
  const int64_t count = result.element_count();
  if constexpr (std::is_invocable_v<F, double, double>) {
    const double* y = operands[1].span<double>().data();
    for (int64_t i = 0; i < count; ++i) out[i] = function(x[i], y[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) out[i] = function(x[i]);
  }
  return result;
}

bool AreEqualF64(absl::Span<const Literal> operands) {
  return std::all_of(operands.begin(), operands.end(), [&](const Literal& operand) {
    return operand.shape().IsArray(ElementType::kF64) && operand.dims() == operands[0].dims() &&
           !operand.has_dynamic_sizes();
  });
}

}  // namespace

absl::StatusOr<Literal> FastElementwise(Opcode opcode, absl::Span<const Literal> operands) {
  if (operands.empty() || operands.size() > 2 || !AreEqualF64(operands)) return Literal();
  switch (opcode) {
    case Opcode::kAdd:
      return Map(operands, scalar::Add());
    case Opcode::kSubtract:
      return Map(operands, scalar::Subtract());
    case Opcode::kMultiply:
      return Map(operands, scalar::Multiply());
    case Opcode::kDivide:
      return Map(operands, scalar::Divide());
    case Opcode::kMaximum:
      return Map(operands, scalar::Maximum());
    case Opcode::kMinimum:
      return Map(operands, scalar::Minimum());
    case Opcode::kNegate:
      return Map(operands, scalar::Negate());
    case Opcode::kAbs:
      return Map(operands, scalar::Abs());
    case Opcode::kSqrt:
      return Map(operands, scalar::Sqrt());
    case Opcode::kRsqrt:
      return Map(operands, scalar::Rsqrt());
    case Opcode::kExponential:
      return Map(operands, scalar::Exponential());
    case Opcode::kTanh:
      return Map(operands, scalar::Tanh());
    case Opcode::kConvert:
    case Opcode::kCopy:
      return operands[0];
    default:
      return Literal();
  }
}

}  // namespace hlo::debug
