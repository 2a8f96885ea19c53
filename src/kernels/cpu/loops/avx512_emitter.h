#pragma once
// This file emits native loops for AVX-512: predicates are in mask registers, and masks select the elements
// of the last iteration.

#include <cstdint>
#include <vector>

#include "kernels/cpu/loops/native_emitter.h"

namespace hlo::cpu {

class Avx512Emitter final : public NativeEmitter {
 public:
  Avx512Emitter(const loops::LoopProgram& program, const std::vector<NativeLoop::Input>& inputs,
                const std::vector<NativeLoop::Output>& outputs)
      : NativeEmitter(program, inputs, outputs, native::kRegisterBytes, kVectors) {}

 private:
  static constexpr int kVectors = 29;

  // --- avx512_memory.cc
  void LoadArray(const Xmm& to, const Node& node) override;
  void LoadMaskArray(const Node& node) override;
  void SplatPredicate(const Node& node, int reg) override;
  void StoreArray(int pointer, ElementType type, Value value) override;
  void StoreMask(int slot, Value value) override;
  void LoadMask(Value value, int slot) override;
  void PrepareTail() override {}
  void BeginTail() override;
  void PadOperand(int to, int from, ComputeType compute_type) override;
  static Opmask TailMask() { return Opmask(7); }
  void LoadElements(const Xmm& to, const Address& from, int width);
  void StoreElements(const Address& to, const Xmm& from, int width);
  // Moves elements of `width` bytes; one of the operands has a mask.
  template <class To, class From>
  void MoveMasked(const To& to, const From& from, int width) {
    switch (width) {
      case 1:
        return vmovdqu8(to, from);
      case 2:
        return vmovdqu16(to, from);
      case 4:
        return vmovdqu32(to, from);
      default:
        return vmovdqu64(to, from);
    }
  }

  // --- avx512_complex.cc
  void LoadComponent(const Xmm& to, const Node& node) override;
  void StorePair(int pointer, Value value) override;
  void Interleave(const Xmm& to, const Xmm& real, const Xmm& imaginary, bool upper) override;
  void Deinterleave(const Xmm& to, const Address& lower, const Address& upper, bool imaginary) override;
  void EmitQuotient(const Op& op) override;
  void JumpUnlessRecoverable(Recovery& recovery) override;
  void SetPairMasks();
  // Returns where the elements of two vectors are, for Permute.
  Address SourcesOf(Block block) { return BlockAddress(component_bytes_ == 8 ? kWide + block : block); }
  // Sets `sources` to these elements of two vectors.
  void Permute(const Xmm& sources, const Xmm& first, const Operand& second);
  void DivideHalf(const Op& op, const Xmm (&scratch)[3], bool upper);
  void AddRecovery(const Op& op);

  // --- avx512_arithmetic.cc
  native::Simple InstructionOf(Opcode opcode, ComputeType compute_type) const override;
  void EmitMask(const Op& op) override;
  void EmitCompare(const Op& op) override;
  void CompareTotally(const Op& op);
  void EmitSelect(const Op& op) override;
  void EmitMultiply(const Op& /*op*/) override {}  // An instruction.
  void EmitShift(const Op& /*op*/) override {}     // An instruction.
  void EmitDivide(const Op& op) override;
  void EmitSigns(const Op& op) override;
  void EmitSignsOfIntegers(const Op& op);
  void EmitIntegral(const Op& op) override;
  void EmitIsFinite(const Op& op) override;
  void Extreme(const Xmm& out, const Xmm& a, const Xmm& b, bool is_maximum,
               ComputeType compute_type) override;
  void DivideNarrow(const Xmm& out, const Xmm& a, const Xmm& b, int width, bool is_signed, bool is_remainder);
  void DivideWords(const Xmm& out, const Xmm& a, const Xmm& b, bool is_signed);

  // --- avx512_conversion.cc
  void EmitConvert(const Op& op) override;
  void EmitFloatToInteger(const Op& op) override;
  void EmitToPred(const Op& op) override;
  void EmitFromPred(const Op& op) override;
  void Resize(const Xmm& out, int to_width, const Xmm& from, int from_width, bool is_signed) override;
  void RoundToBF16(const Xmm& value, bool keeps_nans) override;

  // --- avx512_exponential.cc
  void EmitExponential(const Op& op) override;
  void SplitFloat(const Xmm& spare, const Xmm& x) override;
  void FinishLogarithm(const Xmm& result, const Xmm& x) override;
};

}  // namespace hlo::cpu
