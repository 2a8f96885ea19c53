#pragma once
// This file emits machine code for elementwise operations on arrays in the frame. Only code generators
// include it, if HLO_RUN_HAS_NATIVE_CODE is defined.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "kernels/cpu/bytecode/function_emitter.h"
#include "kernels/cpu/elementwise/small_tiles.h"

namespace hlo::cpu {

class VectorEmitter : public FunctionEmitter {
 public:
  using FunctionEmitter::FunctionEmitter;

 protected:
  // Emits a call that IsInline. Scalars that overlap its operands must be in memory.
  void EmitVector(const MicroOp& op);
  // Copies bytes; the operands do not overlap.
  void CopyVector(const Xbyak::RegExp& to, const Xbyak::RegExp& from, int64_t bytes);
  // Stores the scalar at `from` many times.
  void SplatVector(FrameOffset to, FrameOffset from, int64_t bytes, int32_t width);
  // Emits a small product with sums in f64, in the order of SumOfTerms.
  void EmitDot(const SmallDot& dot, FrameOffset out, FrameOffset a, FrameOffset b);
  // Emits one result of a product of factors and vectors.
  void EmitVectorSum(const DotOfVectors& dot, bool is_double, FrameOffset factors, FrameOffset vectors,
                     FrameOffset out);
  // Emits the product of two contiguous vectors; the result is in xmm14.
  void EmitLine(ElementType type, int64_t terms, FrameOffset a, FrameOffset b);
  // Emits the constants, after all other code.
  void EmitConstants();
  // Copies words to an array: word k is the one with this index at `from`.
  void CollectWords(absl::Span<const int64_t> words, const Xbyak::RegExp& from, const Xbyak::RegExp& to);
  static std::vector<int64_t> WordsOfRows(const RowsOfTile& tile, int64_t count);

 private:
  // Calls f(offset, size) for each part of an array of scalars: up to `widest` bytes, or one scalar.
  // Emits a call of IsConstantTile.
  void EmitConstant(const TileCall& call, int64_t count, int32_t width, FrameOffset to);
  // Emit RowsTile for elements of four bytes or more: with AVX-512, by permutations of up to two registers or
  // by gathers; else, from up to four words.
  void EmitRows(const RowsOfTile& tile, int64_t count, FrameOffset from, FrameOffset to);
  void PermuteWords(absl::Span<const int64_t> words, FrameOffset from, FrameOffset to);
  // Emits a fold by the operation, in the order of FoldLoop.
  void EmitFold(uint16_t code, int64_t count, FrameOffset from, FrameOffset to);
  // Emits the operation on v14 and v15 with the bits of MaximumOf and MinimumOf for NaNs.
  void CombineInFold(uint16_t code, int32_t size);
  void FoldScalars(uint16_t code, int32_t width, int64_t count, FrameOffset from);
  void FoldVectors(uint16_t code, int32_t width, int64_t count, FrameOffset from);
  // Combines the first `changed` of `count` lanes of v14 and v15 into v14.
  void CombineFirst(uint16_t code, int64_t changed, int64_t count);
  // Emits conversions between f32 and f64.
  void ConvertFloats(bool to_double, int64_t count, FrameOffset from, FrameOffset to);
  template <class F>
  void ForEachPart(int64_t bytes, int32_t width, int32_t widest, F&& f);
  void LoadPart(const Xbyak::Xmm& to, const Xbyak::RegExp& from, int32_t size);
  void StorePart(const Xbyak::RegExp& to, const Xbyak::Xmm& from, int32_t size);
  // Loads a part of the frame, from a register if it is in one.
  void LoadFromFrame(int number, FrameOffset from, int32_t size);
  // Stores a part of an array of `bytes` bytes, and keeps it in a register if the array is short.
  void StoreToFrame(FrameOffset to, int number, int32_t size, int64_t bytes);
  // Combines v14 and v15 into v14.
  void Combine(uint16_t code, int32_t size);
  // Each emits the operations of a family; returns false for others: arithmetic of floats, rounding and
  // conversion to floats, operations on integers of 4 and of 8 bytes, and bitwise operations.
  bool CombineFloats(uint16_t code, int32_t size);
  bool RoundFloats(uint16_t code, int32_t size);
  bool CombineWords(uint16_t code, int32_t size);
  bool CombineLongs(uint16_t code, int32_t size);
  bool CombineBits(uint16_t code, int32_t size);
  void LimitFloats(bool is_double, bool is_max, int32_t size);
  // Compares integers in v14 and v15 with AVX2. The bits of the result are in eax.
  void CompareToBits(const Comparison& comparison, int32_t size);
  // Compares v14 with v15 and stores predicates.
  void ComparePart(const Comparison& comparison, FrameOffset to, int32_t size);
  // Loads a float or double at byte `at` of the frame as a double.
  void LoadDouble(const Xbyak::Xmm& to, FrameOffset at, bool is_double);
  // Sums the products of the numbers in xmm18 + k and at offset_of(k); the result is in xmm14.
  template <class OffsetOf>
  void SumTerms(int64_t terms, bool is_double, OffsetOf&& offset_of);
  void SelectPart(FrameOffset predicates, FrameOffset on_true, FrameOffset on_false, FrameOffset to,
                  int32_t width, int32_t size, int64_t bytes);
  // Does the same without mask registers and leaves the result in v14.
  void SelectInMemory(FrameOffset predicates, FrameOffset on_true, FrameOffset on_false, int32_t width,
                      int32_t size);

  // Returns the label of a constant.
  Xbyak::Label& ConstantOf(std::vector<std::byte> bytes);
  void SetMask(const Xbyak::Opmask& mask, int64_t lanes);

  Xbyak::Label ones_;
  std::deque<std::pair<std::vector<std::byte>, Xbyak::Label>> arrays_;  // Constants and their labels.
};

}  // namespace hlo::cpu
