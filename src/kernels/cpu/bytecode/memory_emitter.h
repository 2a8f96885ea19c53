#pragma once
// This file emits machine code for operations on arguments, and for those on many bytes of the frame. Only
// code generators include it, if HLO_RUN_HAS_NATIVE_CODE is defined.

#include <cstdint>

#include "kernels/cpu/bytecode/decode.h"
#include "kernels/cpu/bytecode/vector_emitter.h"

namespace hlo::cpu {

class MemoryEmitter : public VectorEmitter {
 public:
  using VectorEmitter::VectorEmitter;

 protected:
  // Move a scalar or many bytes between the frame and an argument.
  void EmitLoad(const MicroOp& op, const Effects& effects);
  void EmitStore(const MicroOp& op, const Effects& effects);
  // Emits an operation in memory that neither jumps nor calls the host.
  void EmitInMemory(const MicroOp& op, const Effects& effects);
  // Calls a function of a range and an index.
  template <class Result>
  void CallOnRange(const MicroOp& op, Result (*function)(const Bytecode::Range&, const std::byte*)) {
    SetInteger(rdi, reinterpret_cast<int64_t>(&BytecodeParts::Ranges(code_.code())[op.number]));
    lea(rsi, InFrame(op.a));
    CallFunction(function);
  }
  // Writes scalars that the operation reads in memory.
  void FlushOperands(const Effects& effects);

  static bool FitsS32(int64_t value) { return value == static_cast<int32_t>(value); }

  static constexpr int kStackBytes = 40;  // The operands of a tile function; calls keep the stack aligned.
  bool is_unsupported_ = false;           // The code cannot be used.

 private:
  void SetInteger(const Xbyak::Reg64& reg, int64_t value) { mov(reg, static_cast<uint64_t>(value)); }
  // Returns the address of a scalar of an argument.
  Xbyak::RegExp ArgumentAddress(const MicroOp& op, const Effects& effects);
  // Loads the address of an operand on an argument into rax.
  void LoadAddress(int32_t argument, int64_t offset, FrameOffset address);
  void MoveMany(const MicroOp& op, const Effects& effects, bool loads);
  void EmitInline(const MicroOp& op);
  // The result of a dot or of an address is in xmm15 or rax.
  void EmitCall(const MicroOp& op);
  void CallOnFrame(const MicroOp& op);
  void CallOnMemory(const MicroOp& op);
  // Calls a tile function with operands on the stack and the result at rsi.
  void CallTile(const TileCall& call, int64_t count);
  void DefineResult(const MicroOp& op, const Effects& effects, const Xbyak::Xmm& number);
};

}  // namespace hlo::cpu
