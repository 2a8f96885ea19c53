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
  // Emits a function of HLO_FUNCTIONS on the floats in v14, a register of `size` bytes. Sine and cosine are
  // wrong for large angles. Uses v16 to v22.
  void EmitFunction(uint16_t code, int32_t size);
  // Jumps if the float in xmm14 is a large angle.
  void JumpIfLargeAngle(const Xbyak::Label& to);
  // Emits the constants, after all other code.
  void EmitConstants();

  static Xbyak::Xmm Wide(int number, int32_t size) {
    if (size == 64) return Xbyak::Zmm(number);
    return size == 32 ? Xbyak::Ymm(number) : Xbyak::Xmm(number);
  }
  // Return an operand with copies of a constant.
  Xbyak::Address All(uint32_t bits) { return ptr_b[rip + ConstantOf(bits)]; }
  Xbyak::Address All(float value) { return All(std::bit_cast<uint32_t>(value)); }
  void Broadcast(const Xbyak::Xmm& to, float value) {
    vbroadcastss(to, ptr[rip + ConstantOf(std::bit_cast<uint32_t>(value))]);
  }

 private:
  Xbyak::Label& ConstantOf(uint32_t bits);
  void Polynomial(const Xbyak::Xmm& value, const Xbyak::Xmm& x, absl::Span<const float> terms);
  // Emits internal::SplitExp of v16: t is in v21, k in v17.
  void SplitExp(int32_t size);
  // Replaces integers n by 2^n.
  void PowerOfTwo(const Xbyak::Xmm& n);
  void Exponential(int32_t size);
  void Logistic(int32_t size);
  void Tanh(int32_t size);
  void SineOrCosine(bool is_cosine, int32_t size);

  std::deque<std::pair<uint32_t, Xbyak::Label>> constants_;
};

}  // namespace hlo::cpu
