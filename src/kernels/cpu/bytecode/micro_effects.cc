// This file finds what micro-operations read and write, and where they jump.

#include <algorithm>
#include <limits>

#include "kernels/cpu/bytecode/decode.h"
#include "kernels/cpu/bytecode/micro_ops.h"
#include "kernels/cpu/bytecode/opcodes.h"

namespace hlo::cpu {
namespace {

bool IsScalarWidth(int64_t bytes) { return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8; }

bool IsAddress(uint16_t code) { return code == kAddress || code == kAddAddress; }

}  // namespace

Effects MicroCode::EffectsOf(const MicroOp& op) const {
  Effects effects;
  const OperandKinds kinds = KindsOf(op.code);
  effects.out = {op.out, kinds.out.bytes};
  effects.in = {FrameScalar{op.a, kinds.in[0].bytes}, {op.b, kinds.in[1].bytes}, {op.c, kinds.in[2].bytes}};
  effects.is_removable = kinds.out.bytes > 0;
  effects.calls = IsFunction(op.code) && !IsInline(op.code);
  switch (op.code) {
    case kCopyBytes:
    case kSplat4:
    case kSplat8:
      FindEffectsOfCopy(op, effects);
      break;
    case kDotF32:
    case kDotF64:
    case kDot:
    case kCall:
      FindEffectsOnArrays(op, effects);
      break;
    case kAddAddressS32:
      effects.in[1] = {op.out, 8};
      break;
    case kAddress:
    case kAddAddress:
    case kCheckedAddress:
    case kAddCheckedAddress:
      if (IsAddress(op.code)) {
        effects.out = {op.out, 8};
        effects.is_removable = true;
      }
      if (op.code == kAddAddress) effects.in[1] = {op.out, 8};
      effects.reads[0] = {op.a, 8};
      effects.calls = true;
      break;
    case kLoad:
    case kLoadAt:
    case kStore:
    case kStoreAt:
      FindEffectsOfTransfer(op, effects);
      break;
    case kCallOnMemory:
      FindEffectsOfMemoryCall(op, effects);
      break;
    case kEscape:
      effects.escapes = effects.calls = true;
      effects.reads[0] = effects.writes = {
          0, std::min<int64_t>(frame_.private_begin, std::numeric_limits<FrameOffset>::max())};
      break;
    default:
      break;
  }
  return effects;
}

void MicroCode::FindEffectsOfCopy(const MicroOp& op, Effects& effects) {
  const int64_t element_bytes = op.code == kCopyBytes ? 1 : op.code == kSplat4 ? 4 : 8;
  const int64_t written_bytes = op.number * element_bytes;
  effects.reads[0] = {op.a, op.code == kCopyBytes ? op.number : element_bytes};
  effects.writes = {op.out, written_bytes};
  effects.calls = written_bytes > kMaxVectorBytes;
}

void MicroCode::FindEffectsOnArrays(const MicroOp& op, Effects& effects) const {
  switch (op.code) {
    case kDot: {
      const auto& [dot, bytes] = BytecodeParts::Products(code_)[op.number];
      effects.reads[0] = {op.a, bytes.a};
      effects.reads[1] = {op.b, bytes.b};
      effects.writes = {op.out, bytes.out};
      effects.calls = !IsInline(dot);
      return;
    }
    case kCall: {
      const auto& [call, count, widths] = BytecodeParts::Tiles(code_)[op.number];
      effects.reads[0] = {op.a, widths.BytesOf(0, count)};
      effects.reads[1] = {op.b, widths.BytesOf(1, count)};
      effects.reads[2] = {op.c, widths.BytesOf(2, count)};
      effects.writes = {op.out, count * widths.out};
      effects.calls = !IsInline(call, count, widths.out);
      return;
    }
    default: {  // kDotF32, kDotF64
      const int64_t bytes = op.number * effects.out.bytes;
      effects.reads[0] = {op.a, bytes};
      effects.reads[1] = {op.b, bytes};
      effects.calls = op.number > kMaxInlineTerms || FindNativeIsa() != NativeIsa::kAvx512;
    }
  }
}

void MicroCode::FindEffectsOfTransfer(const MicroOp& op, Effects& effects) const {
  const bool loads = op.code == kLoad || op.code == kLoadAt;
  if (op.code == kLoadAt || op.code == kStoreAt) effects.in[0] = {op.a, 8};
  (loads ? effects.reads[1] : effects.writes) = ExtentOf(op.b);
  if (IsScalarWidth(op.c)) {
    (loads ? effects.out : effects.in[1]) = {op.out, op.c};
    effects.is_removable = loads;
  } else {
    effects.calls = op.c > kMaxVectorBytes;
    (loads ? effects.writes : effects.reads[0]) = {op.out, op.c};
  }
}

void MicroCode::FindEffectsOfMemoryCall(const MicroOp& op, Effects& effects) const {
  const Bytecode::MemoryCall& call = BytecodeParts::MemoryCalls(code_)[op.number];
  const auto address = [](FrameOffset at) {
    return at == Bytecode::kNoAddress ? FrameScalar{} : FrameScalar{at, 8};
  };
  // The addresses are read from memory.
  for (int k = 0; k < 3; ++k) {
    if (call.in[k].argument >= 0) effects.reads[k] = ExtentOf(call.in[k].argument);
    effects.in[k] = address(call.in[k].argument < 0 ? Bytecode::kNoAddress : call.in[k].address);
  }
  if (const FrameScalar out = address(call.out.address); out.bytes > 0) effects.reads[3] = {out.at, 8};
  effects.writes = ExtentOf(call.out.argument);
  effects.calls = true;
}

Bytecode::Bytes MicroCode::ExtentOf(int32_t argument) const {
  if (!frame_.arguments.has_value() || argument >= static_cast<int32_t>(frame_.arguments->size()))
    return kWholeFrame;
  return (*frame_.arguments)[argument];
}

std::vector<int64_t> MicroCode::TargetsOf(const MicroOp& op) const {
  const std::vector<int64_t>& targets = BytecodeParts::Targets(code_);
  switch (op.code) {
    case kCheckedAddressS32:
      return {op.op + op.c};
    case kCheckedAddress:
    case kAddCheckedAddress:
      return {targets[BytecodeParts::Ranges(code_)[op.number].outside]};
    case kRepeat:
    case kJump:
    case kJumpUnless:
      return {op.op + op.number};
    case kJumpTo: {
      std::vector<int64_t> all;
      for (const Bytecode::Label label : BytecodeParts::Tables(code_)[op.number])
        all.push_back(targets[label]);
      return all;
    }
    default:
      return {};
  }
}

}  // namespace hlo::cpu
