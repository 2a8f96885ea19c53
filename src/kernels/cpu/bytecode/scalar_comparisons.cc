// This file emits machine code for comparisons of scalars, and instructions that depend on their results.

#include <array>
#include <type_traits>

#include "kernels/cpu/bytecode/opcodes.h"
#include "kernels/cpu/bytecode/scalar_emitter.h"

namespace hlo::cpu {

std::optional<Comparison> ComparisonOf(uint16_t code) {
  switch (code) {
#define HLO_ROW(name, Kind, type)                                                         \
  case k##name##Kind:                                                                     \
    return Comparison{Comparison::Direction::k##name, static_cast<int32_t>(sizeof(type)), \
                      std::is_floating_point_v<type>, std::is_signed_v<type>};
    HLO_COMPARISONS(HLO_ROW)
#undef HLO_ROW
    default:
      return std::nullopt;
  }
}

void ScalarEmitter::JumpIf(Condition condition, const Xbyak::Label& to) {
  switch (condition) {
    case Condition::kEqual:
      return je(to, T_NEAR);
    case Condition::kNotEqual:
      return jne(to, T_NEAR);
    case Condition::kLess:
      return jl(to, T_NEAR);
    case Condition::kGreaterOrEqual:
      return jge(to, T_NEAR);
    case Condition::kLessOrEqual:
      return jle(to, T_NEAR);
    case Condition::kGreater:
      return jg(to, T_NEAR);
    case Condition::kBelow:
      return jb(to, T_NEAR);
    case Condition::kAboveOrEqual:
      return jae(to, T_NEAR);
    case Condition::kBelowOrEqual:
      return jbe(to, T_NEAR);
    case Condition::kAbove:
      return ja(to, T_NEAR);
  }
}

void ScalarEmitter::SetIf(Condition condition, const Xbyak::Reg8& to) {
  switch (condition) {
    case Condition::kEqual:
      return sete(to);
    case Condition::kNotEqual:
      return setne(to);
    case Condition::kLess:
      return setl(to);
    case Condition::kGreaterOrEqual:
      return setge(to);
    case Condition::kLessOrEqual:
      return setle(to);
    case Condition::kGreater:
      return setg(to);
    case Condition::kBelow:
      return setb(to);
    case Condition::kAboveOrEqual:
      return setae(to);
    case Condition::kBelowOrEqual:
      return setbe(to);
    case Condition::kAbove:
      return seta(to);
  }
}

void ScalarEmitter::MoveIf(Condition condition, const Xbyak::Reg& to, const Xbyak::Operand& from) {
  switch (condition) {
    case Condition::kEqual:
      return cmove(to, from);
    case Condition::kNotEqual:
      return cmovne(to, from);
    case Condition::kLess:
      return cmovl(to, from);
    case Condition::kGreaterOrEqual:
      return cmovge(to, from);
    case Condition::kLessOrEqual:
      return cmovle(to, from);
    case Condition::kGreater:
      return cmovg(to, from);
    case Condition::kBelow:
      return cmovb(to, from);
    case Condition::kAboveOrEqual:
      return cmovae(to, from);
    case Condition::kBelowOrEqual:
      return cmovbe(to, from);
    case Condition::kAbove:
      return cmova(to, from);
  }
}

Condition ScalarEmitter::CompareFlags(const MicroOp& op, const Effects& effects) {
  const Comparison comparison = *ComparisonOf(op.code);
  using Direction = Comparison::Direction;
  const Direction direction = comparison.direction;
  if (comparison.is_float) {
    const Xbyak::Xmm a = Vector(Use(effects.in[0], Bank::kVector));
    const Xbyak::Xmm b = Vector(Use(effects.in[1], Bank::kVector));
    ReleaseDying(op, effects);
    const bool is_double = comparison.bytes == 8;
    const auto compare = [&](const Xbyak::Xmm& x, const Xbyak::Xmm& y) {
      is_double ? vucomisd(x, y) : vucomiss(x, y);
    };
    switch (direction) {
      case Direction::kEq:
      case Direction::kNe:
        CompareToMask(comparison, xmm15, a, b);
        vmovd(eax, xmm15);
        test(eax, eax);
        return Condition::kNotEqual;
      case Direction::kGe:
        compare(a, b);
        return Condition::kAboveOrEqual;
      case Direction::kGt:
        compare(a, b);
        return Condition::kAbove;
      case Direction::kLe:
        compare(b, a);
        return Condition::kAboveOrEqual;
      case Direction::kLt:
        compare(b, a);
        return Condition::kAbove;
    }
  }
  const Register a = Use(effects.in[0], Bank::kGeneral);
  if (const auto immediate = Immediate(effects.in[1])) {
    cmp(General(a, comparison.bytes), static_cast<uint32_t>(*immediate));
  } else {
    const Source b = UseSource(effects.in[1], Bank::kGeneral);
    With(b, comparison.bytes, [&](const auto& from) { cmp(General(a, comparison.bytes), from); });
  }
  ReleaseDying(op, effects);
  switch (direction) {
    case Direction::kEq:
      return Condition::kEqual;
    case Direction::kNe:
      return Condition::kNotEqual;
    case Direction::kGe:
      return comparison.is_signed ? Condition::kGreaterOrEqual : Condition::kAboveOrEqual;
    case Direction::kGt:
      return comparison.is_signed ? Condition::kGreater : Condition::kAbove;
    case Direction::kLe:
      return comparison.is_signed ? Condition::kLessOrEqual : Condition::kBelowOrEqual;
    case Direction::kLt:
      return comparison.is_signed ? Condition::kLess : Condition::kBelow;
  }
  return Condition::kEqual;
}

void ScalarEmitter::CompareToMask(const Comparison& comparison, const Xbyak::Xmm& to, const Xbyak::Xmm& a,
                                  const Xbyak::Xmm& b) {
  constexpr std::array<uint8_t, 6> kPredicates = {0, 4, 0x1d, 0x1e, 0x12, 0x11};  // By direction.
  const uint8_t predicate = kPredicates[static_cast<size_t>(comparison.direction)];
  comparison.bytes == 8 ? vcmpsd(to, a, b, predicate) : vcmpss(to, a, b, predicate);
}

}  // namespace hlo::cpu
