#include "kernels/cpu/bytecode/memory_emitter.h"

#include <cstring>

#include "kernels/cpu/bytecode/native_functions.h"
#include "kernels/cpu/bytecode/opcodes.h"

namespace hlo::cpu {
namespace {

constexpr int64_t kMaxRowsInline = 128;  // Bytes. A call takes less code.

}  // namespace

// --- Arguments.

Xbyak::RegExp MemoryEmitter::ArgumentAddress(const MicroOp& op, const Effects& effects) {
  if (!FitsS32(op.number) || op.b > (1 << 24)) is_unsupported_ = true;
  const auto offset = static_cast<size_t>(op.number);
  if (effects.in[0].bytes == 0) {
    mov(rax, ptr[r12 + 8 * op.b]);
    return rax + offset;
  }
  const Register address = Use(effects.in[0], Bank::kGeneral);
  mov(rax, ptr[r12 + 8 * op.b]);
  return rax + Long(address) + offset;
}

void MemoryEmitter::LoadAddress(int32_t argument, int64_t offset, FrameOffset address) {
  if (!FitsS32(offset) || argument > (1 << 24)) is_unsupported_ = true;
  mov(rax, ptr[r12 + 8 * argument]);
  if (address != Bytecode::kNoAddress) add(rax, InFrame(address));
  if (offset != 0) add(rax, static_cast<uint32_t>(offset));
}

void MemoryEmitter::EmitLoad(const MicroOp& op, const Effects& effects) {
  if (effects.out.bytes == 0) return MoveMany(op, effects, true);
  Flush(effects.reads[1]);
  const Xbyak::RegExp from = ArgumentAddress(op, effects);
  ReleaseDying(op, effects);
  const Register out = Define(effects.out, PreferredBank(effects.out));
  if (out.bank == Bank::kVector) {
    op.c == 8 ? vmovsd(Vector(out), ptr[from]) : vmovss(Vector(out), ptr[from]);
  } else if (op.c >= 4) {
    mov(General(out, op.c), ptr[from]);
  } else {
    op.c == 1 ? movzx(Word(out), byte[from]) : movzx(Word(out), word[from]);
  }
}

void MemoryEmitter::EmitStore(const MicroOp& op, const Effects& effects) {
  const FrameScalar& scalar = effects.in[1];
  if (scalar.bytes == 0) return MoveMany(op, effects, false);
  const Register value = Use(scalar, IsCached(scalar) ? BankOfCached(scalar) : PreferredBank(scalar));
  const Xbyak::RegExp to = ArgumentAddress(op, effects);
  ReleaseDying(op, effects);
  BeforeWrite(effects.writes);
  if (value.bank == Bank::kVector) {
    op.c == 8 ? vmovsd(ptr[to], Vector(value)) : vmovss(ptr[to], Vector(value));
  } else if (op.c >= 4) {
    mov(ptr[to], General(value, op.c));
  } else {
    op.c == 1 ? mov(ptr[to], Long(value).cvt8()) : mov(ptr[to], Long(value).cvt16());
  }
  AfterWrite(effects.writes);
}

void MemoryEmitter::MoveMany(const MicroOp& op, const Effects& effects, bool loads) {
  FlushOperands(effects);
  BeforeWrite(effects.writes);
  if (!effects.calls) {
    LoadAddress(op.b, op.number, effects.in[0].bytes > 0 ? op.a : Bytecode::kNoAddress);
    const Xbyak::RegExp in_frame = rbx + op.out;
    loads ? CopyVector(in_frame, rax, op.c) : CopyVector(rax, in_frame, op.c);
    return AfterWrite(effects.writes);
  }
  BeforeCall();
  LoadAddress(op.b, op.number, effects.in[0].bytes > 0 ? op.a : Bytecode::kNoAddress);
  mov(loads ? rsi : rdi, rax);
  lea(loads ? rdi : rsi, InFrame(op.out));
  SetInteger(rdx, op.c);
  CallFunction(&std::memcpy);
  AfterCall();
  AfterWrite(effects.writes);
}

// --- The frame.

void MemoryEmitter::FlushOperands(const Effects& effects) {
  for (const Bytecode::Bytes& range : effects.reads) {
    if (range.count > 0) Flush(range);
  }
  for (const FrameScalar& scalar : effects.in) {
    if (scalar.bytes > 0) Flush({scalar.at, scalar.bytes});
  }
}

void MemoryEmitter::EmitInMemory(const MicroOp& op, const Effects& effects) {
  FlushOperands(effects);
  if (effects.writes.count > 0) BeforeWrite(effects.writes, effects.calls || op.code != kCall);
  if (effects.calls) {
    BeforeCall();
    EmitCall(op);
    AfterCall();
  } else {
    EmitInline(op);
  }
  if (effects.writes.count > 0) AfterWrite(effects.writes);
  DefineResult(op, effects, effects.calls ? xmm15 : xmm14);
}

void MemoryEmitter::EmitInline(const MicroOp& op) {
  switch (op.code) {
    case kCopyBytes:
      return CopyVector(rbx + op.out, rbx + op.a, op.number);
    case kSplat4:
      return SplatVector(op.out, op.a, 4 * op.number, 4);
    case kSplat8:
      return SplatVector(op.out, op.a, 8 * op.number, 8);
    case kCall:
      return EmitVector(op);
    case kDot:
      return EmitDot(BytecodeParts::Products(code_.code())[op.number].dot, op.out, op.a, op.b);
    case kDotF32:
    case kDotF64:
      return EmitLine(op.code == kDotF32 ? ElementType::kF32 : ElementType::kF64, op.number, op.a, op.b);
    default:
      is_unsupported_ = true;
  }
}

void MemoryEmitter::EmitCall(const MicroOp& op) {
  switch (op.code) {
    case kCopyBytes:
    case kSplat4:
    case kSplat8:
      lea(rdi, InFrame(op.out));
      lea(rsi, InFrame(op.a));
      SetInteger(rdx, op.number);
      if (op.code == kCopyBytes) return CallFunction(&std::memcpy);
      return CallFunction(op.code == kSplat4 ? &native::Splat4 : &native::Splat8);
    case kDotF32:
    case kDotF64:
      lea(rdi, InFrame(op.a));
      lea(rsi, InFrame(op.b));
      SetInteger(rdx, op.number);
      if (op.code == kDotF32)
        CallFunction(&native::DotF32);
      else
        CallFunction(&native::DotF64);
      return vmovaps(xmm15, xmm0);
    case kDot:
      SetInteger(rdi, reinterpret_cast<int64_t>(&BytecodeParts::Products(code_.code())[op.number].dot));
      lea(rsi, InFrame(op.a));
      lea(rdx, InFrame(op.b));
      lea(rcx, InFrame(op.out));
      return CallFunction(&native::RunDot);
    case kCall:
      return CallOnFrame(op);
    case kCallOnMemory:
      return CallOnMemory(op);
    case kAddress:
    case kAddAddress:
      return CallOnRange(op, &native::ClampedAddress);
    default:
      is_unsupported_ = true;
  }
}

void MemoryEmitter::CallOnFrame(const MicroOp& op) {
  const auto& [call, count, widths] = BytecodeParts::Tiles(code_.code())[op.number];
  const FrameOffset in[] = {op.a, op.b, op.c};
  for (int k = 0; k < 3; ++k) {
    lea(rax, InFrame(in[k]));
    mov(ptr[rsp + 8 * k], rax);
  }
  lea(rsi, InFrame(op.out));
  CallTile(call, count);
}

void MemoryEmitter::CallOnMemory(const MicroOp& op) {
  const Bytecode::MemoryCall& call = BytecodeParts::MemoryCalls(code_.code())[op.number];
  const auto load = [&](const Bytecode::MemoryOperand& operand) {
    operand.argument < 0 ? mov(rax, rbx) : LoadAddress(operand.argument, operand.offset, operand.address);
  };
  const std::optional<RowsOfTile> rows = FindRowsOfTile(call.call);
  if (rows.has_value() && rows->width >= 4 && call.count * rows->width <= kMaxRowsInline) {
    load(call.in[0]);
    mov(rsi, rax);
    load(call.out);
    return CollectWords(WordsOfRows(*rows, call.count), rsi, rax);
  }
  for (int k = 0; k < 3; ++k) {
    load(call.in[k]);
    mov(ptr[rsp + 8 * k], rax);
  }
  load(call.out);
  mov(rsi, rax);
  CallTile(call.call, call.count);
}

void MemoryEmitter::CallTile(const TileCall& call, int64_t count) {
  SetInteger(rdi, count);
  mov(rdx, rsp);
  SetInteger(rcx, call.parameter);
  CallFunction(call.function);
}

void MemoryEmitter::DefineResult(const MicroOp& op, const Effects& effects, const Xbyak::Xmm& number) {
  switch (op.code) {
    case kDotF32:
    case kDotF64:
      return vmovaps(Vector(Define(effects.out, Bank::kVector)), number);
    case kAddress:
      return mov(Long(Define(effects.out, Bank::kGeneral)), rax);
    case kAddAddress: {
      const Register base = Use(effects.in[1], Bank::kGeneral);
      ReleaseDying(op, effects);
      return lea(Long(Define(effects.out, Bank::kGeneral)), ptr[Long(base) + rax]);
    }
    default:
      return;
  }
}

}  // namespace hlo::cpu
