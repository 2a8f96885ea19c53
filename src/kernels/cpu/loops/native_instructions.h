#pragma once
// This file has properties of lanes and of vector instructions that several parts of NativeEmitter use.

#include <bit>
#include <cstdint>

#include "absl/types/span.h"
#include "kernels/cpu/elementwise/tile_ops.h"
#include "kernels/cpu/native/assembler.h"

namespace hlo::cpu::native {

// Comparison predicates of floats; they are false for NaNs unless the name says otherwise.
inline constexpr int kEqual = 0x00, kUnordered = 0x03, kNotEqualOrUnordered = 0x04, kOrdered = 0x07,
                     kNotEqual = 0x0c, kLess = 0x11;
// Rounding modes of vroundps and vrndscaleps, without exceptions for inexact results.
inline constexpr uint8_t kToNearestEven = 8, kDown = 9, kUp = 10, kTowardZero = 11;
inline constexpr int kRegisterBytes = 64, kRegisterBits = 5;  // Bytes of a vector, bits of its number.

inline bool IsFloatComputeType(ComputeType compute_type) {
  return compute_type == ComputeType::kF32 || compute_type == ComputeType::kF64;
}
inline bool IsSignedComputeType(ComputeType compute_type) {
  return compute_type == ComputeType::kS8 || compute_type == ComputeType::kS16 ||
         compute_type == ComputeType::kS32 || compute_type == ComputeType::kS64;
}

// Returns the bits of the number one; `compute_type` has at least 4 bytes.
inline uint64_t BitsOfOne(ComputeType compute_type) {
  if (compute_type == ComputeType::kF32) return std::bit_cast<uint32_t>(1.0f);
  return compute_type == ComputeType::kF64 ? std::bit_cast<uint64_t>(1.0) : 1;
}

// Emits an instruction whose last operand may be in memory.
using Simple = void (*)(Xbyak::CodeGenerator& to, const Xbyak::Xmm& out, const Xbyak::Xmm& a,
                        const Xbyak::Operand& b);
#define HLO_THREE(name)                                                                             \
  [](Xbyak::CodeGenerator& to, const Xbyak::Xmm& o, const Xbyak::Xmm& a, const Xbyak::Operand& b) { \
    to.name(o, a, b);                                                                               \
  }
#define HLO_TWO(name)                                                                             \
  [](Xbyak::CodeGenerator& to, const Xbyak::Xmm& o, const Xbyak::Xmm&, const Xbyak::Operand& a) { \
    to.name(o, a);                                                                                \
  }

// Instructions for unsigned and signed integers of 8, 16, 32 and 64 bits.
inline constexpr Simple kMaximum[2][4] = {
    {HLO_THREE(vpmaxub), HLO_THREE(vpmaxuw), HLO_THREE(vpmaxud), HLO_THREE(vpmaxuq)},
    {HLO_THREE(vpmaxsb), HLO_THREE(vpmaxsw), HLO_THREE(vpmaxsd), HLO_THREE(vpmaxsq)}};
inline constexpr Simple kMinimum[2][4] = {
    {HLO_THREE(vpminub), HLO_THREE(vpminuw), HLO_THREE(vpminud), HLO_THREE(vpminuq)},
    {HLO_THREE(vpminsb), HLO_THREE(vpminsw), HLO_THREE(vpminsd), HLO_THREE(vpminsq)}};

// The comparison predicates of floats, ordered except for kNe.
inline int FloatPredicate(ComparisonDirection direction) {
  constexpr int kPredicates[] = {0x00, 0x04, 0x1d, 0x1e, 0x12, 0x11};
  return kPredicates[static_cast<int>(direction)];
}
// Returns the rounding mode of an opcode that instructions implement.
inline uint8_t RoundingModeOf(Opcode opcode) {
  return opcode == Opcode::kFloor ? kDown : opcode == Opcode::kCeil ? kUp : kToNearestEven;
}
static_assert(static_cast<int>(ComparisonDirection::kEq) == 0 &&
              static_cast<int>(ComparisonDirection::kNe) == 1 &&
              static_cast<int>(ComparisonDirection::kGe) == 2 &&
              static_cast<int>(ComparisonDirection::kGt) == 3 &&
              static_cast<int>(ComparisonDirection::kLe) == 4 &&
              static_cast<int>(ComparisonDirection::kLt) == 5);

// An operation on predicates a and b, as bitwise instructions on masks.
struct MaskOperation {
  enum class Kind : uint8_t { kAnd, kAndNot, kOr, kXor, kNot };  // kAndNot: ~a & b.
  Kind kind;
  bool swaps = false;    // The operands are exchanged first.
  bool inverts = false;  // The result is inverted.
};
MaskOperation MaskOperationOf(const loops::Operation& operation);

// Returns the column of a compute type in tables of instructions: integers of 8, 16, 32 and 64 bits, f32 and
// f64.
inline int ColumnOf(ComputeType compute_type) {
  if (compute_type == ComputeType::kF32) return 4;
  if (compute_type == ComputeType::kF64) return 5;
  return std::countr_zero(static_cast<uint64_t>(ComputeTypeBytes(compute_type)));
}

// The instructions of an opcode, by ColumnOf.
struct Instructions {
  Opcode opcode;
  Simple of[6];
};
// The instructions that AVX2 and AVX-512 share.
inline constexpr Instructions kSharedInstructions[] = {
    {Opcode::kAdd,
     {HLO_THREE(vpaddb), HLO_THREE(vpaddw), HLO_THREE(vpaddd), HLO_THREE(vpaddq), HLO_THREE(vaddps),
      HLO_THREE(vaddpd)}},
    {Opcode::kSubtract,
     {HLO_THREE(vpsubb), HLO_THREE(vpsubw), HLO_THREE(vpsubd), HLO_THREE(vpsubq), HLO_THREE(vsubps),
      HLO_THREE(vsubpd)}},
    {Opcode::kDivide, {nullptr, nullptr, nullptr, nullptr, HLO_THREE(vdivps), HLO_THREE(vdivpd)}},
    {Opcode::kSqrt, {nullptr, nullptr, nullptr, nullptr, HLO_TWO(vsqrtps), HLO_TWO(vsqrtpd)}},
};
// Returns the instruction of an opcode from the table of an instruction set, or a shared one; null if there
// is none.
inline Simple FindInstruction(absl::Span<const Instructions> table, Opcode opcode, ComputeType compute_type) {
  for (const absl::Span<const Instructions> instructions :
       {table, absl::MakeConstSpan(kSharedInstructions)}) {
    for (const Instructions& each : instructions) {
      if (each.opcode == opcode) return each.of[ColumnOf(compute_type)];
    }
  }
  return nullptr;
}

}  // namespace hlo::cpu::native
