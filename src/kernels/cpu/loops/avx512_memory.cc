// This file emits loads and stores of native loops with AVX-512.

#include "kernels/cpu/loops/avx512_emitter.h"

namespace hlo::cpu {

void Avx512Emitter::LoadElements(const Xmm& to, const Address& from, int width) {
  if (masked_) return MoveMasked(to | TailMask() | T_z, from, width);
  lanes_* width == 8 ? vmovq(to, from) : vmovdqu32(to, from);
}

void Avx512Emitter::StoreElements(const Address& to, const Xmm& from, int width) {
  if (masked_) return MoveMasked(to | TailMask(), from, width);
  lanes_* width == 8 ? vmovq(to, from) : vmovdqu32(to, from);
}

void Avx512Emitter::LoadArray(const Xmm& to, const Node& node) {
  const ElementType type = inputs_[node.input].type;
  const Xmm loaded = masked_ ? to | TailMask() | T_z : to;
  if (type == ElementType::kBF16) {
    vpmovzxwd(loaded, Memory(node.input, 2));
    vpslld(to, to, 16);
  } else if (type == ElementType::kF16) {
    vcvtph2ps(loaded, Memory(node.input, 2));
  } else {
    LoadElements(to, Memory(node.input, node.width), node.width);
  }
}

void Avx512Emitter::LoadMaskArray(const Node& node) {
  const Xmm bytes = Temporary(0, 1);
  LoadElements(bytes, Memory(node.input, 1), 1);
  vptestmb(Opmask(node.reg), bytes, bytes);
}

void Avx512Emitter::SplatPredicate(const Node& node, int /*reg*/) {
  movzx(eax, byte[rax]);
  neg(rax);
  mov(Slot(node.slot), rax);
}

void Avx512Emitter::StoreArray(int pointer, ElementType type, Value value) {
  if (node(value).is_mask) {
    const Opmask mask = UseMask(value);
    const Xmm bytes = Temporary(0, 1);
    vmovdqu8(bytes | mask | T_z, BlockAddress(kOnes));
    return StoreElements(Memory(pointer, 1), bytes, 1);
  }
  const Xmm from = Use(value);
  if (type == ElementType::kBF16) {
    vpsrld(Temporary(0, 4), from, 16);
    vpmovdw(Temporary(1, 2), Temporary(0, 4));
    StoreElements(Memory(pointer, 2), Temporary(1, 2), 2);
  } else if (type == ElementType::kF16) {
    vcvtps2ph(Temporary(0, 2), from, 0);
    StoreElements(Memory(pointer, 2), Temporary(0, 2), 2);
  } else {
    StoreElements(Memory(pointer, node(value).width), from, node(value).width);
  }
}

void Avx512Emitter::StoreMask(int slot, Value value) {
  vmovdqu8(Temporary(0, 1) | UseMask(value) | T_z, BlockAddress(kOnes));
  vmovdqu32(Slot(slot), Temporary(0, 1));
}

void Avx512Emitter::LoadMask(Value value, int slot) {
  const Opmask mask = DefineMask(value);
  const Xmm bytes = Temporary(0, 1);
  vmovdqu32(bytes, Slot(slot));
  vptestmb(mask, bytes, bytes);
}

void Avx512Emitter::BeginTail() {
  CountTail();
  bzhi(rax, qword[rip + constants_[{8, ~uint64_t{0}}]], rax);
  kmovq(TailMask(), rax);
}

void Avx512Emitter::PadOperand(int to, int from, ComputeType compute_type) {
  const int width = static_cast<int>(ComputeTypeBytes(compute_type));
  const Xmm ones = FullRegister(kVectors + 2);
  Splat(ones, width, native::BitsOfOne(compute_type));
  if (!masked_) {
    mov(eax, (1 << lanes_) - 1);
    kmovq(k1, rax);
  }
  const Xmm padded = FullRegister(to) | (masked_ ? TailMask() : k1);
  width == 4 ? vpblendmd(padded, ones, FullRegister(from)) : vpblendmq(padded, ones, FullRegister(from));
}

}  // namespace hlo::cpu
