#include "kernels/cpu/bytecode/scalar_emitter.h"

#include "kernels/cpu/bytecode/opcodes.h"

namespace hlo::cpu {

bool ScalarEmitter::EmitScalar(const MicroOp& op, const Effects& effects) {
  switch (op.code) {
    case kSelect1:
    case kSelect2:
    case kSelect4:
    case kSelect8:
      EmitSelect(op, effects, std::nullopt);
      return true;
    case kCopy1:
    case kCopy2:
    case kCopy4:
    case kCopy8:
      EmitCopy(op, effects);
      return true;
    default:
      return EmitInteger(op, effects) || EmitFloat(op, effects) || EmitConversion(op, effects);
  }
}

ScalarEmitter::Source ScalarEmitter::UseSource(const FrameScalar& scalar, Bank bank) {
  if (scalar.bytes >= 4 && !IsCached(scalar)) {
    Flush({scalar.at, scalar.bytes});
    return {true, {}, scalar.at};
  }
  return {false, Use(scalar, bank), 0};
}

Xbyak::Reg ScalarEmitter::General(Register reg, int32_t bytes) const {
  if (bytes == 8) return Long(reg);
  return Word(reg);
}

Xbyak::Reg ScalarEmitter::Temporary(int32_t bytes) const {
  if (bytes == 8) return rax;
  return eax;
}

std::optional<int32_t> ScalarEmitter::Immediate(const FrameScalar& scalar) const {
  const std::optional<int64_t> value = code_.ConstantAt(scalar);
  return value.has_value() && *value == static_cast<int32_t>(*value)
             ? std::optional(static_cast<int32_t>(*value))
             : std::nullopt;
}

void ScalarEmitter::ReleaseDying(const MicroOp& op, const Effects& effects) {
  for (size_t k = 0; k < 3; ++k) {
    if (op.dies[k]) Release(effects.in[k]);
  }
}

Bank ScalarEmitter::PreferredBank(const FrameScalar& scalar) const {
  for (const auto& entry : entries()) {
    if (entry.is_pinned && entry.scalar == scalar) return entry.reg.bank;
  }
  return code_.BankOf(scalar);
}

void ScalarEmitter::EmitSelect(const MicroOp& op, const Effects& effects,
                               const std::optional<std::pair<MicroOp, Effects>>& comparison) {
  const int32_t bytes = effects.out.bytes;
  Bank bank = PreferredBank(effects.out);
  if (bank == Bank::kGeneral) {
    // The operands are in registers before the flags are set.
    const Register b = Use(effects.in[1], bank);
    const Register c = Use(effects.in[2], bank);
    Condition condition = Condition::kNotEqual;
    if (comparison.has_value()) {
      condition = CompareFlags(comparison->first, comparison->second);
    } else {
      const Register flag = Use(effects.in[0], Bank::kGeneral);
      test(Word(flag), Word(flag));
    }
    ReleaseDying(op, effects);
    const Register out = Define(effects.out, bank);
    const int32_t width = bytes == 8 ? 8 : 4;
    mov(Temporary(width), General(b, width));
    MoveIf(Negated(condition), Temporary(width), General(c, width));
    mov(General(out, width), Temporary(width));
    return;
  }
  const auto compared = comparison.has_value() ? ComparisonOf(comparison->first.code) : std::nullopt;
  if (compared.has_value() && compared->is_float && compared->bytes == bytes) {
    const Xbyak::Xmm x = Vector(Use(comparison->second.in[0], Bank::kVector));
    const Xbyak::Xmm y = Vector(Use(comparison->second.in[1], Bank::kVector));
    CompareToMask(*compared, xmm15, x, y);
    ReleaseDying(comparison->first, comparison->second);
    EndOperation();
  } else {
    if (comparison.has_value()) {
      const Condition condition = CompareFlags(comparison->first, comparison->second);
      SetIf(condition, al);
      movzx(eax, al);
      EndOperation();
    } else {
      mov(eax, Word(Use(effects.in[0], Bank::kGeneral)));
    }
    neg(rax);
    vmovq(xmm15, rax);
  }
  const Xbyak::Xmm b = Vector(Use(effects.in[1], bank));
  const Xbyak::Xmm c = Vector(Use(effects.in[2], bank));
  ReleaseDying(op, effects);
  const Xbyak::Xmm to = Vector(Define(effects.out, bank));
  bytes == 8 ? vblendvpd(to, c, b, xmm15) : vblendvps(to, c, b, xmm15);
}

void ScalarEmitter::EmitCopy(const MicroOp& op, const Effects& effects) {
  const FrameScalar& from = effects.in[0];
  const Bank bank = IsCached(from) ? BankOfCached(from) : PreferredBank(effects.out);
  const Register reg = Use(from, bank);
  ReleaseDying(op, effects);
  DefineCopy(effects.out, reg);
}

}  // namespace hlo::cpu
