#include "kernels/cpu/bytecode/function_emitter.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/cpu/bytecode/opcodes.h"

namespace hlo::cpu {

template <class Bits>
Xbyak::Label& FunctionEmitter::LabelOf(Bits bits, Constants<Bits>& constants) {
  auto found = std::find_if(constants.begin(), constants.end(),
                            [&](const auto& constant) { return constant.first == bits; });
  if (found == constants.end()) {
    constants.emplace_back(bits, Xbyak::Label());
    found = std::prev(constants.end());
  }
  return found->second;
}
Xbyak::Label& FunctionEmitter::ConstantOf(uint32_t bits) { return LabelOf(bits, constants_); }
Xbyak::Address FunctionEmitter::Double(double value) {
  return qword[rip + LabelOf(std::bit_cast<uint64_t>(value), long_constants_)];
}
Xbyak::Address FunctionEmitter::Doubles(uint64_t bits) { return ptr_b[rip + LabelOf(bits, long_constants_)]; }

void FunctionEmitter::EmitConstants() {
  align(8);
  for (auto& [bits, label] : long_constants_) {
    L(label);
    dq(bits);
  }
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
    case kLogF32:
      return Logarithm(false, size);
    case kLogPlusOneF32:
      return Logarithm(true, size);
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

void FunctionEmitter::SplitFloat(int32_t size) {
  const Xbyak::Xmm x = Wide(14, size), f = Wide(17, size), n = Wide(18, size), zero = Wide(19, size);
  constexpr uint8_t kFromThreeQuarters = 3, kLess = 1;
  static_assert(internal::kLeastOfLog == 0.75f);
  vgetmantps(f, x, kFromThreeQuarters);
  vgetexpps(n, x);
  vxorps(zero, zero, zero);
  vsubps(n, zero, n);
  vcmpps(k1, f, All(1.0f), kLess);
  vsubps(n | k1, n, All(1.0f));
  vsubps(f, f, All(1.0f));
}

void FunctionEmitter::SplitSumWithOne(int32_t size) {
  const Xbyak::Xmm x = Wide(14, size), sum = Wide(16, size), f = Wide(17, size), n = Wide(18, size),
                   error = Wide(19, size), power = Wide(20, size);
  vaddps(sum, x, All(1.0f));
  vsubps(f, sum, All(1.0f));
  vsubps(error, x, f);
  vsubps(f, sum, f);
  vsubps(f, f, All(1.0f));
  vsubps(error, error, f);
  vpbroadcastd(n, ptr[rip + ConstantOf(internal::kBitsOfLeastOfLog + internal::kMantissaBits)]);
  vpsubd(n, n, sum);
  vpsrad(n, n, internal::kMantissaWidth);
  vpslld(power, n, internal::kMantissaWidth);
  vpaddd(sum, sum, power);
  vpaddd(power, power, All(internal::kBitsOfOne));
  vpmaxsd(power, power, All(0u));
  vmulps(error, error, power);
  vcvtdq2ps(n, n);
  Broadcast(f, 1.0f);
  vsubps(f, f, sum);
  vsubps(f, error, f);
}

void FunctionEmitter::Logarithm(bool adds_one, int32_t size) {
  const Xbyak::Xmm x = Wide(14, size), f = Wide(17, size), n = Wide(18, size), square = Wide(19, size),
                   result = Wide(20, size);
  adds_one ? SplitSumWithOne(size) : SplitFloat(size);
  Polynomial(result, f, internal::kLogTerms);
  vmulps(square, f, f);
  vfmadd213ps(result, square, f);
  for (const float part : internal::kLn2) vfmadd231ps(result, n, All(-part));
  if (adds_one) vaddps(x, x, All(1.0f));
  // The results for NaNs, zero, one, the infinities, negative and positive numbers, from the lowest digit on.
  // They are: 0, the result; 2, the operand as a quiet NaN; 3, a NaN; 4 and 5, the infinities.
  constexpr uint32_t kResults = 0x03530422;
  vfixupimmps(result, x, All(kResults), 0);
  vmovaps(x, result);
}

void FunctionEmitter::Polynomial(const Xbyak::Xmm& value, const Xbyak::Xmm& x,
                                 absl::Span<const double> terms) {
  vmovsd(value, Double(terms[0]));
  for (const double term : terms.subspan(1)) vfmadd213sd(value, x, Double(term));
}

void FunctionEmitter::EmitPower() {
  const Xbyak::Xmm x = xmm16, exponent = xmm17, s = xmm16, t = xmm18, power = xmm19, integer = xmm20;
  vcvtss2sd(x, xmm14, xmm14);
  vcvtss2sd(xmm15, xmm15, xmm15);
  vpaddq(exponent, x, Doubles(internal::kLog2Offset));
  vpandq(t, exponent, Doubles(internal::kExponentBitsF64));
  vpsrlq(exponent, exponent, internal::kMantissaWidthF64);
  vporq(exponent, exponent, Doubles(internal::kBitsOfFromIntegerF64));
  vsubsd(exponent, exponent, Double(internal::kFromIntegerF64 + internal::kExponentBiasF64));
  vpsubq(x, x, t);
  vpaddq(x, x, Doubles(internal::kBitsOfOneF64));
  vaddsd(t, x, Double(1.0));
  vsubsd(s, x, Double(1.0));
  vdivsd(s, s, t);
  vmulsd(t, s, s);
  Polynomial(power, t, internal::kLog2Terms);
  vfmadd213sd(power, s, exponent);
  vmulsd(power, power, xmm15);
  vminsd(power, power, Double(internal::kMostPower));
  vmaxsd(power, power, Double(internal::kLeastPower));
  vaddsd(integer, power, Double(internal::kToIntegerF64));
  vsubsd(t, integer, Double(internal::kToIntegerF64));
  vsubsd(t, power, t);
  Polynomial(power, t, internal::kExp2Terms);
  vfmadd213sd(power, t, Double(1.0));
  vpsllq(integer, integer, internal::kMantissaWidthF64);
  vpaddq(power, power, integer);
  vcvtsd2ss(xmm14, power, power);
}

void FunctionEmitter::JumpIfSpecialPower(const Xbyak::Label& to) {
  vmovd(eax, xmm14);
  sub(eax, 1);
  cmp(eax, internal::kLargestBitsOfBase);
  jae(to, T_NEAR);
  vmovd(eax, xmm15);
  and_(eax, internal::kExponentBits);
  cmp(eax, internal::kExponentBits);
  je(to, T_NEAR);
}

}  // namespace hlo::cpu
