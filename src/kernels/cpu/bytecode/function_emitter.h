#pragma once
// This file emits machine code for the functions of vector_functions.h, with the same bits. Only code
// generators include it, if HLO_RUN_HAS_NATIVE_CODE is defined.

#include <bit>
#include <cstdint>
#include <deque>
#include <utility>

#include "absl/types/span.h"
#include "kernels/cpu/bytecode/scalar_emitter.h"

namespace hlo::cpu {

class FunctionEmitter : public ScalarEmitter {
 public:
  using ScalarEmitter::ScalarEmitter;

 protected:
  // Emits a function of one operand of HLO_FUNCTIONS on the floats in v14, a register of `size` bytes. Sine
  // and cosine are wrong for large angles. Uses v16 to v22.
  void EmitFunction(uint16_t code, int32_t size);
  // Emits internal::PowerOfPositive of the floats in xmm14 and xmm15; the result is in xmm14.
  void EmitPower();
  // Jumps if the float in xmm14 is a large angle.
  void JumpIfLargeAngle(const Xbyak::Label& to);
  // Jumps if internal::PowerOfAny computes the power of the floats in xmm14 and xmm15.
  void JumpIfSpecialPower(const Xbyak::Label& to);
  // Emits the constants, after all other code.
  void EmitConstants();

  static Xbyak::Xmm Wide(int number, int32_t size) {
    if (size == 64) return Xbyak::Zmm(number);
    return size == 32 ? Xbyak::Ymm(number) : Xbyak::Xmm(number);
  }
  // Return an operand with copies of a constant.
  Xbyak::Address All(uint32_t bits) { return ptr_b[rip + ConstantOf(bits)]; }
  Xbyak::Address All(float value) { return All(std::bit_cast<uint32_t>(value)); }
  Xbyak::Address Doubles(uint64_t bits);
  void Broadcast(const Xbyak::Xmm& to, float value) {
    vbroadcastss(to, ptr[rip + ConstantOf(std::bit_cast<uint32_t>(value))]);
  }

 private:
  template <class Bits>
  using Constants = std::deque<std::pair<Bits, Xbyak::Label>>;
  template <class Bits>
  static Xbyak::Label& LabelOf(Bits bits, Constants<Bits>& constants);
  Xbyak::Label& ConstantOf(uint32_t bits);
  Xbyak::Address Double(double value);
  void Polynomial(const Xbyak::Xmm& value, const Xbyak::Xmm& x, absl::Span<const float> terms);
  // Emits internal::SplitExp of v16: t is in v21, k in v17.
  void SplitExp(int32_t size);
  // Replaces integers n by 2^n.
  void PowerOfTwo(const Xbyak::Xmm& n);
  void Exponential(int32_t size);
  void Logistic(int32_t size);
  void Tanh(int32_t size);
  void SineOrCosine(bool is_cosine, int32_t size);
  void Logarithm(bool adds_one, int32_t size);
  // Set v17 to f and v18 to -n, for v14 or its sum with 1, which is (1 + f) * 2^n.
  void SplitFloat(int32_t size);
  void SplitSumWithOne(int32_t size);
  void Polynomial(const Xbyak::Xmm& value, const Xbyak::Xmm& x, absl::Span<const double> terms);

  Constants<uint32_t> constants_;
  Constants<uint64_t> long_constants_;
};

}  // namespace hlo::cpu
