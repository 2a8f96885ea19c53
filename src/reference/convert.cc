#include "reference/convert.h"

#include <cstring>

#include "types/scalar_ops.h"

namespace hlo::reference {
namespace {

// Converts a value to another type class (semantics 2.1 to 2.3). For floats `step.round` is the rounding of a
// conversion; integers are converted to floats of at most 32 bits through f32.
template <Wide To, Wide From>
To ConvertTo(const ScalarStep& step, From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value != From{};  // NaN converts to true.
  } else if constexpr (std::is_same_v<From, To>) {
    return value;
  } else if constexpr (std::is_same_v<From, std::complex<double>>) {
    return ConvertTo<To>(step, value.real());
  } else if constexpr (std::is_same_v<To, std::complex<double>>) {
    return To(ConvertTo<double>(step, value), 0);
  } else if constexpr (std::is_same_v<From, double> && std::is_same_v<To, int64_t>) {
    return scalar::ToSigned(value, step.result_bits);
  } else if constexpr (std::is_same_v<From, double> && std::is_same_v<To, uint64_t>) {
    return scalar::ToUnsigned(value, step.result_bits);
  } else if constexpr (std::is_same_v<To, double> && !std::is_same_v<From, double>) {
    const bool is_f64 = ComponentType(step.to) == ElementType::kF64;
    return is_f64 ? static_cast<double>(value) : static_cast<double>(static_cast<float>(value));
  } else {
    return static_cast<To>(value);
  }
}

template <Wide To, Wide From>
WideScalar ConvertKernel(const ScalarStep& step, const WideScalar& a, const WideScalar&, const WideScalar&) {
  return Wrap(step, ConvertTo<To>(step, Unwrap<From>(a)));
}

WideScalar Identity(const ScalarStep&, const WideScalar& a, const WideScalar&, const WideScalar&) {
  return a;
}

// Reinterprets the bits as another type of the same width.
WideScalar BitcastElement(const ScalarStep& step, const WideScalar& a, const WideScalar&, const WideScalar&) {
  alignas(16) std::byte bytes[16] = {};
  ScalarStorer(step.from)(bytes, 0, a);
  if (step.bits < 8) {
    uint64_t pattern = 0;
    std::memcpy(&pattern, bytes, sizeof pattern);
    pattern = ZeroExtend(pattern, step.bits);
    if (IsSigned(step.to))
      pattern = static_cast<uint64_t>(SignExtend(static_cast<int64_t>(pattern), step.bits));
    std::memcpy(bytes, &pattern, sizeof pattern);
  }
  if (IsPred(step.to)) bytes[0] = static_cast<std::byte>(bytes[0] != std::byte{0});
  return ScalarLoader(step.to)(bytes, 0);
}

// Types of at most 32 bits are reduced as f32.
WideScalar ReduceF32(const ScalarStep& step, const WideScalar& a, const WideScalar&, const WideScalar&) {
  return Wrap<double>(
      step, scalar::ReducePrecision(static_cast<float>(a.f), step.exponent_bits, step.mantissa_bits));
}
WideScalar ReduceF64(const ScalarStep& step, const WideScalar& a, const WideScalar&, const WideScalar&) {
  return Wrap<double>(step, scalar::ReducePrecision(a.f, step.exponent_bits, step.mantissa_bits));
}

WideScalar ConvertStochastically(const ScalarStep& step, const WideScalar& a, const WideScalar& random,
                                 const WideScalar&) {
  return Wrap<int64_t>(step, scalar::StochasticConvert(a.f, random.u, step.random_bits, step.result_bits));
}

}  // namespace

ScalarStep ConvertStep(ElementType from, ElementType to) {
  ScalarStep step{
      &Identity,          from, to, static_cast<int>(BitWidth(from)), static_cast<int>(BitWidth(to)),
      ConversionRound(to)};
  if (from == to) return step;
  step.kernel = DispatchWide(from, [&]<class From>() {
    return DispatchWide(to, []<class To>() -> ScalarKernel { return &ConvertKernel<To, From>; });
  });
  return step;
}

ScalarKernel BitcastConvertKernel(const Instruction& instruction) {
  const ElementType from = instruction.operand(0)->shape().type(), to = instruction.shape().type();
  const bool same_width = (IsPred(from) ? 8 : BitWidth(from)) == (IsPred(to) ? 8 : BitWidth(to));
  return same_width ? &BitcastElement : nullptr;
}

ScalarKernel ReducePrecisionKernel(const Instruction& instruction) {
  return instruction.shape().type() == ElementType::kF64 ? &ReduceF64 : &ReduceF32;
}

ScalarKernel StochasticConvertKernel(const Instruction&) { return &ConvertStochastically; }

// `copy` may change the element type too.
absl::StatusOr<Literal> Convert(OpContext& context) {
  if (context.operands[0].shape().IsTuple() || context.operands[0].type() == context.shape().type())
    return std::move(context.operands[0]);
  return EachElement(context);
}
absl::StatusOr<Literal> Copy(OpContext& context) { return Convert(context); }

}  // namespace hlo::reference
