#pragma once
// This file emits native loops for AVX2. Predicates are vectors whose lanes, which are as wide as those of
// the widest compute type, are all ones or zero.

#include <cstdint>
#include <vector>

#include "kernels/cpu/loops/native_emitter.h"

namespace hlo::cpu {

class Avx2Emitter final : public NativeEmitter {
 public:
  Avx2Emitter(const loops::LoopProgram& program, const std::vector<NativeLoop::Input>& inputs,
              const std::vector<NativeLoop::Output>& outputs)
      : NativeEmitter(program, inputs, outputs, kBytes, kVectors) {}

 private:
  static constexpr int kBytes = 32, kVectors = 13;

  // --- avx2_memory.cc
  void LoadArray(const Xmm& to, const Node& node) override;
  void LoadMaskArray(const Node& /*node*/) override {}
  void SplatPredicate(const Node& node, int reg) override;
  void StoreArray(int pointer, ElementType type, Value value) override;
  void StoreMask(int slot, Value value) override;
  void LoadMask(Value value, int slot) override;
  void PrepareTail() override;
  void BeginTail() override {}
  void PadOperand(int to, int from, ComputeType compute_type) override;
  void LoadElements(const Xmm& to, const Address& from, int width);
  void StoreElements(const Address& to, const Xmm& from, int width);
  void LoadTail(const Xmm& to, const Address& from, int width);
  void StoreTail(const Address& to, const Xmm& from, int width);
  void PredicateOfBytes(const Xmm& to);
  Xmm BytesOfPredicate(Value value);
  // The masks of lanes of 4 and 8 bytes in the last iteration, and those of the two vectors of its pairs.
  Address TailMask(int width) { return Slot(tail_, width == 8 ? kBytes : 0); }
  Address TailCount() { return byte[rsp + kSlotBytes * counts_]; }
  Address PairMask(bool upper) { return Slot(tail_ + 1, upper ? kBytes : 0); }

  // --- avx2_complex.cc
  void LoadComponent(const Xmm& to, const Node& node) override;
  void StorePair(int pointer, Value value) override;
  void Interleave(const Xmm& to, const Xmm& real, const Xmm& imaginary, bool upper) override;
  void Deinterleave(const Xmm& to, const Address& lower, const Address& upper, bool imaginary) override;
  void EmitQuotient(const Op& op) override;
  void DivideHalf(const Op& op, const Xmm& signs, const Xmm (&scratch)[3], bool upper);
  void JumpUnlessRecoverable(Recovery& recovery) override;

  // --- avx2_arithmetic.cc
  native::Simple InstructionOf(Opcode opcode, ComputeType compute_type) const override;
  void EmitMask(const Op& op) override;
  void EmitCompare(const Op& op) override;
  void EmitSelect(const Op& op) override;
  void EmitMultiply(const Op& op) override;
  void EmitShift(const Op& op) override;
  void EmitDivide(const Op& op) override;
  void EmitSigns(const Op& op) override;
  void EmitSignsOfIntegers(const Op& op);
  void EmitIntegral(const Op& op) override;
  void EmitIsFinite(const Op& op) override;
  void Not(const Xmm& value) { vxorps(value, value, Constant(4, ~0u)); }
  // Compares integers of `width` bytes. The mask may be an operand.
  void Compare(const Xmm& mask, Xmm a, Xmm b, int width, bool is_signed, ComparisonDirection direction);
  void CompareTotally(const Xmm& mask, const Xmm& a, const Xmm& b, int width, ComparisonDirection direction);
  void Extreme(const Xmm& out, const Xmm& a, const Xmm& b, bool is_maximum,
               ComputeType compute_type) override;
  void DivideNarrow(const Xmm& out, const Xmm& a, const Xmm& b, int width, bool is_signed, bool is_remainder);
  void DivideWords(const Xmm& out, const Xmm& a, const Xmm& b, bool is_signed);

  // --- avx2_conversion.cc
  void EmitConvert(const Op& op) override;
  void EmitFloatToInteger(const Op& op) override;
  void EmitToPred(const Op& op) override;
  void EmitFromPred(const Op& op) override;
  void ConvertWords(const Xmm& out, const Xmm& a, bool to_double);
  void ConvertWideIntegers(const Op& op);
  void FloatToUnsignedWord(const Op& op);
  void FloatToWideInteger(const Op& op);
  void Resize(const Xmm& out, int to_width, const Xmm& from, int from_width, bool is_signed) override;
  void RoundToBF16(const Xmm& value, bool keeps_nans) override;
  int PredicateWidth() const { return kBytes / lanes_; }
  // Returns a predicate in lanes of this width, which is in temporary register 0 if it is narrower.
  Xmm PredicateOf(Value value, int width);
  // Makes a predicate of a mask with lanes of this width, in the same register.
  void WidenPredicate(const Xmm& mask, int width);

  // --- avx2_exponential.cc
  void EmitExponential(const Op& op) override;
  void SplitFloat(const Xmm& spare, const Xmm& x) override;
  void FinishLogarithm(const Xmm& result, const Xmm& x) override;
  void EmitTanh(const Xmm& out, const Xmm& a);

  // Slots of masks, of elements, and of the number of elements of the last iteration and their bytes.
  int tail_ = -1, copies_ = -1, counts_ = -1;
};

}  // namespace hlo::cpu
