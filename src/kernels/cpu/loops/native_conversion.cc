// This file emits the conversions of native loops that instruction sets share.

#include "kernels/cpu/loops/native_emitter.h"

namespace hlo::cpu {

void NativeEmitter::EmitRound(const Op& op) {
  const Xmm a = Use(op.in[0]);
  const Xmm out = Define(op.out);
  if (op.operation->to == ElementType::kF16) {
    vcvtps2ph(Temporary(0, 2), a, 0);
    return vcvtph2ps(out, Temporary(0, 2));
  }
  vmovaps(out, a);
  RoundToBF16(out, false);
}

void NativeEmitter::EmitBitsOfBF16(const Op& op) {
  const Xmm a = Use(op.in[0]);
  const Xmm out = Define(op.out);
  if (op.operation->from == ElementType::kBF16) {
    vpsrld(Temporary(0, 4), a, 16);
    return Resize(out, 2, Temporary(0, 4), 4, false);
  }
  vpmovzxwd(out, a);
  vpslld(out, out, 16);
}

void NativeEmitter::Extend(const Xmm& out, int to_width, const Xmm& from, int from_width, bool is_signed) {
  switch (from_width * 16 + to_width) {
    case 0x12:
      return is_signed ? vpmovsxbw(out, from) : vpmovzxbw(out, from);
    case 0x14:
      return is_signed ? vpmovsxbd(out, from) : vpmovzxbd(out, from);
    case 0x18:
      return is_signed ? vpmovsxbq(out, from) : vpmovzxbq(out, from);
    case 0x24:
      return is_signed ? vpmovsxwd(out, from) : vpmovzxwd(out, from);
    case 0x28:
      return is_signed ? vpmovsxwq(out, from) : vpmovzxwq(out, from);
    default:  // 0x48.
      return is_signed ? vpmovsxdq(out, from) : vpmovzxdq(out, from);
  }
}

}  // namespace hlo::cpu
