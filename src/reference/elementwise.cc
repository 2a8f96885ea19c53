#include "reference/elementwise.h"

#include <algorithm>
#include <array>

#include "base/deadline.h"
#include "base/status.h"
#include "ir/comparators.h"
#include "reference/convert.h"
#include "types/scalar_ops.h"

namespace hlo::reference {

#define HLO_ELEMENTWISE(name) \
  absl::StatusOr<Literal> name(OpContext& context) { return EachElement(context); }
#define HLO_SCALAR_OP(name, ...) HLO_ELEMENTWISE(name)
#include "hlo_run/opcodes.def"
HLO_ELEMENTWISE(Compare)
HLO_ELEMENTWISE(ReducePrecision)
HLO_ELEMENTWISE(Select)
HLO_ELEMENTWISE(StochasticConvert)
#undef HLO_ELEMENTWISE

namespace {

// In c64, products and differences are rounded to f32 individually.
struct MultiplyC64 {
  std::complex<double> operator()(std::complex<double> a, std::complex<double> b) const {
    return std::complex<double>(scalar::Multiply()(std::complex<float>(a), std::complex<float>(b)));
  }
};

ScalarKernel MultiplyKernel(ElementType type) {
  return type == ElementType::kC64 ? KernelOf<MultiplyC64>(type) : KernelOf<scalar::Multiply>(type);
}

template <class Direction>
struct InTotalOrder {
  bool operator()(double a, double b) const {
    return Direction()(scalar::TotalOrderKey(a), scalar::TotalOrderKey(b));
  }
};

// NaN makes every comparison false except NE. The total order, which integers always use, orders NaN.
template <class Direction>
ScalarKernel DirectionKernel(ElementType type, bool total) {
  return total && IsFloat(type) ? KernelOf<InTotalOrder<Direction>>(type) : KernelOf<Direction>(type);
}

ScalarKernel CompareKernel(const Instruction& instruction) {
  const ElementType type = instruction.operand(0)->shape().type();
  const bool total = IsTotalOrder(instruction);
  switch (instruction.Get<attr::direction>()) {
    case ComparisonDirection::kEq:
      return DirectionKernel<scalar::Eq>(type, total);
    case ComparisonDirection::kNe:
      return DirectionKernel<scalar::Ne>(type, total);
    case ComparisonDirection::kGe:
      return DirectionKernel<scalar::Ge>(type, total);
    case ComparisonDirection::kGt:
      return DirectionKernel<scalar::Gt>(type, total);
    case ComparisonDirection::kLe:
      return DirectionKernel<scalar::Le>(type, total);
    case ComparisonDirection::kLt:
      return DirectionKernel<scalar::Lt>(type, total);
  }
  return nullptr;
}

WideScalar SelectKernel(const ScalarStep&, const WideScalar& predicate, const WideScalar& on_true,
                        const WideScalar& on_false) {
  return predicate.u != 0 ? on_true : on_false;
}

using FindKernel = ScalarKernel (*)(const Instruction& instruction);

template <class F>
ScalarKernel OfFirstOperand(const Instruction& instruction) {
  return KernelOf<F>(instruction.operand(0)->shape().type());
}

constexpr std::array<FindKernel, kOpcodeCount> kKernels = [] {
  std::array<FindKernel, kOpcodeCount> table{};
  auto at = [&](Opcode opcode) -> FindKernel& { return table[static_cast<size_t>(opcode)]; };
#define HLO_SCALAR_OP(name, ...) at(Opcode::k##name) = &OfFirstOperand<scalar::name>;
#include "hlo_run/opcodes.def"
  at(Opcode::kMultiply) = [](const Instruction& i) { return MultiplyKernel(i.operand(0)->shape().type()); };
  at(Opcode::kCompare) = &CompareKernel;
  at(Opcode::kSelect) = [](const Instruction&) -> ScalarKernel { return &SelectKernel; };
  at(Opcode::kBitcastConvert) = &BitcastConvertKernel;
  at(Opcode::kConvert) = at(Opcode::kCopy) = [](const Instruction& i) {
    return ConvertStep(i.operand(0)->shape().type(), i.shape().type()).kernel;
  };
  at(Opcode::kReducePrecision) = &ReducePrecisionKernel;
  at(Opcode::kStochasticConvert) = &StochasticConvertKernel;
  return table;
}();

}  // namespace

bool IsElementwise(Opcode opcode) { return kKernels[static_cast<size_t>(opcode)] != nullptr; }

namespace {
// Shift counts beyond the width of every type are equivalent.
int BitCount(int64_t count) { return static_cast<int>(std::min<int64_t>(count, 64)); }
}  // namespace

namespace {
std::optional<ScalarStep> StepOf(const Instruction& instruction, ScalarKernel kernel) {
  if (kernel == nullptr) return std::nullopt;
  const ElementType from = instruction.operand(0)->shape().type(), to = instruction.shape().type();
  const bool converts = instruction.opcode() == Opcode::kConvert || instruction.opcode() == Opcode::kCopy;
  return ScalarStep{kernel,
                    from,
                    to,
                    static_cast<int>(BitWidth(from)),
                    static_cast<int>(BitWidth(to)),
                    converts ? ConversionRound(to) : ArithmeticRound(to)};
}
}  // namespace

std::optional<ScalarStep> BitcastStep(const Instruction& bitcast) {
  return StepOf(bitcast, BitcastConvertKernel(bitcast));
}

std::optional<ScalarStep> FindScalarStep(const Instruction& instruction) {
  const FindKernel find = kKernels[static_cast<size_t>(instruction.opcode())];
  if (find == nullptr) return std::nullopt;
  std::optional<ScalarStep> found = StepOf(instruction, find(instruction));
  if (!found) return std::nullopt;
  ScalarStep& step = *found;
  step.exponent_bits = BitCount(instruction.Get<attr::exponent_bits>());
  step.mantissa_bits = BitCount(instruction.Get<attr::mantissa_bits>());
  if (instruction.operand_count() > 1)
    step.random_bits = static_cast<int>(BitWidth(instruction.operand(1)->shape().type()));
  return found;
}

ScalarStep TotalOrderLess(ElementType type) {
  return {DirectionKernel<scalar::Lt>(type, true), type, ElementType::kPred,
          static_cast<int>(BitWidth(type)),        1,    ArithmeticRound(ElementType::kPred)};
}

absl::StatusOr<Literal> EachElement(OpContext& context) {
  const std::optional<ScalarStep> step = FindScalarStep(context.instruction);
  HLO_CHECK(step);
  struct Input {
    ScalarLoad load;
    const void* data;
    int64_t stride;
  };
  std::array<Input, 3> inputs;
  const size_t count = context.operands.size();
  HLO_CHECK(count >= 1 && count <= inputs.size());
  for (size_t k = 0; k < count; ++k) {
    const Literal& operand = context.operands[k];
    inputs[k] = {ScalarLoader(operand.type()), operand.data(), operand.rank() == 0 ? 0 : 1};
  }
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(context.shape()));
  const ScalarStore store = ScalarStorer(result.type());
  std::array<WideScalar, 3> x;
  constexpr int64_t kNanosecondsAnElement = 8;
  Pace pace;
  for (int64_t i = 0; i < result.element_count(); ++i) {
    HLO_RETURN_IF_ERROR(pace.Spend(kNanosecondsAnElement));
    for (size_t k = 0; k < count; ++k) x[k] = inputs[k].load(inputs[k].data, i * inputs[k].stride);
    store(result.mutable_data(), i, (*step)(x[0], x[1], x[2]));
  }
  return result;
}

}  // namespace hlo::reference
