#pragma once
// This file emits machine code for operations on scalars. Only code generators include it, if
// HLO_RUN_HAS_NATIVE_CODE is defined.

#include <cstdint>
#include <optional>
#include <utility>

#include "kernels/cpu/bytecode/frame_cache.h"
#include "kernels/cpu/bytecode/micro_ops.h"

namespace hlo::cpu {

// The condition of a jump, by the flags of a comparison.
enum class Condition : uint8_t {
  kEqual,
  kNotEqual,
  kLess,
  kGreaterOrEqual,
  kLessOrEqual,
  kGreater,
  kBelow,
  kAboveOrEqual,
  kBelowOrEqual,
  kAbove,
};
inline Condition Negated(Condition condition) {
  return static_cast<Condition>(static_cast<int>(condition) ^ 1);
}

// The operation and the types of a comparison.
struct Comparison {
  enum class Direction : uint8_t { kEq, kNe, kGe, kGt, kLe, kLt };
  Direction direction;
  int32_t bytes;
  bool is_float, is_signed;
};
// Returns nullopt for other operations.
std::optional<Comparison> ComparisonOf(uint16_t code);

class ScalarEmitter : public FrameCache {
 public:
  explicit ScalarEmitter(const MicroCode& code) : code_(code) {}

 protected:
  // Emits an operation. Returns false if it is a comparison or not on scalars.
  bool EmitScalar(const MicroOp& op, const Effects& effects);
  // Emits a comparison and returns the condition under which it is true. Releases dying operands.
  Condition CompareFlags(const MicroOp& op, const Effects& effects);
  // Emits a select, possibly by the result of this comparison.
  void EmitSelect(const MicroOp& op, const Effects& effects,
                  const std::optional<std::pair<MicroOp, Effects>>& comparison);
  void JumpIf(Condition condition, const Xbyak::Label& to);
  void SetIf(Condition condition, const Xbyak::Reg8& to);

  // Return the general register, or rax, of this size.
  Xbyak::Reg General(Register reg, int32_t bytes) const;
  Xbyak::Reg Temporary(int32_t bytes) const;
  void ReleaseDying(const MicroOp& op, const Effects& effects);
  // Returns the registers for a scalar that is not in one.
  Bank PreferredBank(const FrameScalar& scalar) const;

  // The immediate operands of instructions that round floats, without exceptions.
  static constexpr uint8_t kNearest = 8, kDown = 9, kUp = 10;
  static constexpr uint8_t kNearestHalf = 0;  // Of vcvtps2ph.

  const MicroCode& code_;

 private:
  // A scalar in a register or in memory.
  struct Source {
    bool is_in_memory;
    Register reg;
    FrameOffset at;
  };
  Source UseSource(const FrameScalar& scalar, Bank bank);
  // Calls f with the operand.
  template <class F>
  void With(const Source& source, int32_t bytes, F&& f) {
    if (source.is_in_memory) return f(InFrame(source.at));
    if (source.reg.bank == Bank::kVector) return f(Vector(source.reg));
    if (bytes == 8) return f(Long(source.reg));
    f(Word(source.reg));
  }
  std::optional<int32_t> Immediate(const FrameScalar& scalar) const;
  void MoveIf(Condition condition, const Xbyak::Reg& to, const Xbyak::Operand& from);

  // --- scalar_integers.cc
  // Emits an operation on integers; returns false for other operations.
  bool EmitInteger(const MicroOp& op, const Effects& effects);
  // Sums, differences, products and bitwise operations.
  void EmitIntegerArithmetic(const MicroOp& op, const Effects& effects, int32_t bytes);
  void EmitIntegerMinMax(const MicroOp& op, const Effects& effects, int32_t bytes);
  void EmitShift(const MicroOp& op, const Effects& effects, int32_t bytes);
  // Negate, Not, Abs and Sign.
  void EmitIntegerUnary(const MicroOp& op, const Effects& effects);
  void EmitShiftRightArithmetic(const MicroOp& op, const Effects& effects);
  // Divide and Remainder.
  void EmitDivision(const MicroOp& op, const Effects& effects, bool is_signed);
  // Divides by `divisor`, or by its negative if `negates`, by a multiplication and a shift.
  void EmitDivisionByConstant(const MicroOp& op, const Effects& effects, uint32_t divisor, bool negates);

  // --- scalar_floats.cc
  // Emits an operation on floats; returns false for other operations.
  bool EmitFloat(const MicroOp& op, const Effects& effects);
  void EmitFloatArithmetic(const MicroOp& op, const Effects& effects, bool is_double);
  void EmitFloatMinMax(const MicroOp& op, const Effects& effects, bool is_double, bool is_max);
  // Sets the result to 1 with the sign of the operand, unless that is a zero or a NaN.
  void EmitFloatSign(const Xbyak::Xmm& to, const Xbyak::Xmm& from, bool is_double);
  void EmitFloatUnary(const MicroOp& op, const Effects& effects, bool is_double);
  // Emits the operations of HLO_ROUNDED_OPERATIONS and HLO_HALVES.
  void EmitHalf(const MicroOp& op, const Effects& effects);
  // Widens the f16 in the lower half of a register, with the bits of F16ToFloat.
  void EmitWidenF16(const Xbyak::Xmm& to, const Xbyak::Reg32& from);
  // Rounds the float in xmm14 to bf16, with the bits of RoundToBF16.
  void EmitRoundToBF16(const Xbyak::Xmm& to);
  // Emits a conversion; returns false for other operations.
  bool EmitConversion(const MicroOp& op, const Effects& effects);
  void Convert(const MicroOp& op, const Effects& effects);
  void ConvertFloatToInteger(const Xbyak::Reg32& to, const Xbyak::Xmm& from);

  // --- scalar_comparisons.cc
  // Sets the lanes of a vector register in which the comparison holds to ones, the others to zeros.
  void CompareToMask(const Comparison& comparison, const Xbyak::Xmm& to, const Xbyak::Xmm& a,
                     const Xbyak::Xmm& b);

  void EmitCopy(const MicroOp& op, const Effects& effects);
};

}  // namespace hlo::cpu
