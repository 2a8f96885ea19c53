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

// The kernels of scalar opcodes, which depend on the type of the first operand alone.
using KernelOfType = ScalarKernel (*)(ElementType type);
constexpr std::array<KernelOfType, kOpcodeCount> kScalarKernels = [] {
  std::array<KernelOfType, kOpcodeCount> table{};
  auto at = [&](Opcode opcode) -> KernelOfType& { return table[static_cast<size_t>(opcode)]; };
#define HLO_SCALAR_OP(name, ...) at(Opcode::k##name) = &KernelOf<scalar::name>;
#include "hlo_run/opcodes.def"
  at(Opcode::kMultiply) = &MultiplyKernel;
  return table;
}();

// The kernels of the other elementwise opcodes.
using KernelOfInstruction = ScalarKernel (*)(const Instruction& instruction);
constexpr std::array<KernelOfInstruction, kOpcodeCount> kOtherKernels = [] {
  std::array<KernelOfInstruction, kOpcodeCount> table{};
  auto at = [&](Opcode opcode) -> KernelOfInstruction& { return table[static_cast<size_t>(opcode)]; };
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

ScalarKernel KernelOfOpcode(const Instruction& instruction) {
  const auto opcode = static_cast<size_t>(instruction.opcode());
  if (kScalarKernels[opcode] != nullptr)
    return kScalarKernels[opcode](instruction.operand(0)->shape().type());
  return kOtherKernels[opcode] != nullptr ? kOtherKernels[opcode](instruction) : nullptr;
}

std::optional<ScalarStep> MakeStep(ScalarKernel kernel, ElementType from, ElementType to, ScalarRound round) {
  if (kernel == nullptr) return std::nullopt;
  return ScalarStep{kernel, from, to, static_cast<int>(BitWidth(from)), static_cast<int>(BitWidth(to)),
                    round};
}
std::optional<ScalarStep> MakeStep(ScalarKernel kernel, const Instruction& instruction) {
  const ElementType to = instruction.shape().type();
  const bool converts = instruction.opcode() == Opcode::kConvert || instruction.opcode() == Opcode::kCopy;
  return MakeStep(kernel, instruction.operand(0)->shape().type(), to,
                  converts ? ConversionRound(to) : ArithmeticRound(to));
}

// Shift counts beyond the width of every type are equivalent.
int BitCount(int64_t count) { return static_cast<int>(std::min<int64_t>(count, 64)); }

}  // namespace

bool IsElementwise(Opcode opcode) {
  const auto i = static_cast<size_t>(opcode);
  return kScalarKernels[i] != nullptr || kOtherKernels[i] != nullptr;
}

std::optional<ScalarStep> BitcastStep(const Instruction& bitcast) {
  return MakeStep(BitcastConvertKernel(bitcast), bitcast);
}

std::optional<ScalarStep> FindScalarStep(const Instruction& instruction) {
  std::optional<ScalarStep> found = MakeStep(KernelOfOpcode(instruction), instruction);
  if (!found) return std::nullopt;
  ScalarStep& step = *found;
  step.exponent_bits = BitCount(instruction.Get<attr::exponent_bits>());
  step.mantissa_bits = BitCount(instruction.Get<attr::mantissa_bits>());
  if (instruction.operand_count() > 1)
    step.random_bits = static_cast<int>(BitWidth(instruction.operand(1)->shape().type()));
  return found;
}

std::optional<ScalarStep> FindScalarStep(Opcode opcode, ElementType type) {
  const KernelOfType find = kScalarKernels[static_cast<size_t>(opcode)];
  return find == nullptr ? std::nullopt : MakeStep(find(type), type, type, ArithmeticRound(type));
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
  DeadlineChecker deadline;
  for (int64_t i = 0; i < result.element_count(); ++i) {
    HLO_RETURN_IF_ERROR(deadline.Spend(kNanosecondsAnElement));
    for (size_t k = 0; k < count; ++k) x[k] = inputs[k].load(inputs[k].data, i * inputs[k].stride);
    store(result.mutable_data(), i, (*step)(x[0], x[1], x[2]));
  }
  return result;
}

}  // namespace hlo::reference
