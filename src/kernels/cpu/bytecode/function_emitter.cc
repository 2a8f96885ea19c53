#include "kernels/cpu/bytecode/function_emitter.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/cpu/bytecode/opcodes.h"

namespace hlo::cpu {

Xbyak::Label& FunctionEmitter::ConstantOf(uint32_t bits) {
  auto found = std::find_if(constants_.begin(), constants_.end(),
                            [&](const auto& constant) { return constant.first == bits; });
  if (found == constants_.end()) {
    constants_.emplace_back(bits, Xbyak::Label());
    found = std::prev(constants_.end());
  }
  return found->second;
}

void FunctionEmitter::EmitConstants() {
  align(8);
  for (auto& [bits, label] : constants_) {
    L(label);
    dd(bits);
  }
}

void FunctionEmitter::EmitFunction(uint16_t code, int32_t size) {
  switch (code) {
    case kExponentialF32:
      return Exponential(size);
    case kLogisticF32:
      return Logistic(size);
    case kTanhF32:
      return Tanh(size);
    case kSineF32:
      return SineOrCosine(false, size);
    case kCosineF32:
      return SineOrCosine(true, size);
    default:
      HLO_CHECK(false);
  }
}

// Sets `value` to the value of a polynomial of x.
void FunctionEmitter::Polynomial(const Xbyak::Xmm& value, const Xbyak::Xmm& x,
                                 absl::Span<const float> terms) {
  Broadcast(value, terms[0]);
  for (const float term : terms.subspan(1)) vfmadd213ps(value, x, All(term));
}

void FunctionEmitter::SplitExp(int32_t size) {
  const Xbyak::Xmm x = Wide(16, size), shifted = Wide(17, size), n = Wide(18, size), r = Wide(19, size),
                   q = Wide(20, size), t = Wide(21, size), integer = Wide(22, size);
  Broadcast(integer, internal::kToInteger);
  vmovaps(shifted, x);
  vfmadd132ps(shifted, integer, All(internal::kLog2OfE));
  vsubps(n, shifted, integer);
  vmovaps(r, x);
  for (const float part : internal::kNegatedLn2) vfmadd231ps(r, n, All(part));
  Polynomial(q, r, internal::kExpTerms);
  vmulps(t, r, r);
  vfmadd213ps(t, q, r);
  vpsubd(shifted, shifted, All(static_cast<uint32_t>(internal::kBitsOfToInteger)));
}

void FunctionEmitter::PowerOfTwo(const Xbyak::Xmm& n) {
  vpaddd(n, n, All(127u));
  vpslld(n, n, 23);
}

void FunctionEmitter::Exponential(int32_t size) {
  const Xbyak::Xmm x = Wide(14, size), clamped = Wide(16, size), rest = Wide(17, size), half = Wide(18, size),
                   t = Wide(21, size);
  // The instructions return the second operand, the argument, if it is a NaN.
  Broadcast(clamped, internal::kMostExponent);
  vminps(clamped, clamped, x);
  Broadcast(half, internal::kLeastExponent);
  vmaxps(clamped, half, clamped);
  constexpr uint8_t kLess = 1;
  vcmpps(k1, clamped, All(internal::kSubnormalFrom), kLess);
  SplitExp(size);
  vpaddd(rest | k1, rest, All(static_cast<uint32_t>(internal::kSubnormalShift)));
  vpsrad(half, rest, 1);
  vpsubd(rest, rest, half);
  PowerOfTwo(half);
  PowerOfTwo(rest);
  vaddps(t, t, All(1.0f));
  vmulps(t, t, half);
  vmulps(t, t, rest);
  vcvtps2dq(t | k1, t);
  vmovaps(x, t);
}

void FunctionEmitter::Logistic(int32_t size) {
  const Xbyak::Xmm x = Wide(14, size), one = Wide(16, size);
  vxorps(x, x, All(0x80000000u));
  Exponential(size);
  Broadcast(one, 1.0f);
  vaddps(x, one, x);
  vdivps(x, one, x);
}

void FunctionEmitter::Tanh(int32_t size) {
  const Xbyak::Xmm x = Wide(14, size), magnitude = Wide(16, size), power = Wide(17, size),
                   sum = Wide(18, size), t = Wide(21, size);
  vandps(sum, x, All(0x7fffffffu));
  Broadcast(magnitude, 10.0f);
  vminps(magnitude, magnitude, sum);
  vmulps(magnitude, magnitude, All(-2.0f));
  SplitExp(size);
  PowerOfTwo(power);
  vsubps(sum, power, All(1.0f));
  vfmadd213ps(t, power, sum);
  vaddps(sum, t, All(2.0f));
  vdivps(t, t, sum);
  vandps(t, t, All(0x7fffffffu));
  vandps(x, x, All(0x80000000u));
  vorps(x, x, t);
}

void FunctionEmitter::SineOrCosine(bool is_cosine, int32_t size) {
  const Xbyak::Xmm x = Wide(14, size), shifted = Wide(16, size), halves = Wide(17, size), r = Wide(18, size),
                   square = Wide(19, size), q = Wide(20, size), result = Wide(21, size);
  Broadcast(halves, is_cosine ? 0.5f : internal::kToInteger);
  vmovaps(shifted, x);
  vfmadd132ps(shifted, halves, All(internal::kInverseOfPi));
  if (is_cosine) vaddps(shifted, shifted, All(internal::kToInteger));
  vsubps(halves, shifted, All(internal::kToInteger));
  if (is_cosine) vsubps(halves, halves, All(0.5f));
  vxorps(halves, halves, All(0x80000000u));
  vmovaps(r, x);
  for (const float part : internal::kPi) vfmadd231ps(r, halves, All(part));
  vmulps(square, r, r);
  Polynomial(q, square, internal::kSineTerms);
  vmulps(result, r, square);
  vfmadd213ps(result, q, r);
  vpslld(shifted, shifted, 31);
  vxorps(result, result, shifted);
  if (is_cosine) return vmovaps(x, result);
  // Zeros keep their sign.
  constexpr uint8_t kUnequal = 4;
  vxorps(r, r, r);
  vcmpps(k1, x, r, kUnequal);
  vmovaps(x | k1, result);
}

void FunctionEmitter::JumpIfLargeAngle(const Xbyak::Label& to) {
  vandps(xmm16, xmm14, All(0x7fffffffu));
  Broadcast(xmm17, internal::kLargestAngle);
  vucomiss(xmm16, xmm17);
  ja(to, T_NEAR);
}

}  // namespace hlo::cpu
