// This file emits loads and stores of native loops with AVX2.

#include "kernels/cpu/loops/avx2_emitter.h"

namespace hlo::cpu {

using Xbyak::Ymm;

// Copies the elements of the last iteration, of one or two bytes, from the array to the slot, or back.
void Avx2Emitter::CopyTail(const Address& array, int width, bool stores) {
  const auto in_slot = [&](const Xbyak::AddressFrame& frame) {
    return frame[rsp + rdi * width + (kSlotBytes * copies_ - width)];
  };
  const auto in_array = [&](const Xbyak::AddressFrame& frame) { return frame[rax + rdi * width - width]; };
  const Xbyak::AddressFrame& frame = width == 1 ? byte : word;
  Xbyak::Label loop;
  lea(rax, array);
  mov(Slot(saved_), rdx);
  mov(Slot(saved_, 8), rdi);
  mov(rdi, Count());
  sub(rdi, Index());
  L(loop);
  movzx(edx, stores ? in_slot(frame) : in_array(frame));
  const Address to = stores ? in_array(frame) : in_slot(frame);
  width == 1 ? mov(to, dl) : mov(to, dx);
  dec(rdi);
  jnz(loop);
  mov(rdx, Slot(saved_));
  mov(rdi, Slot(saved_, 8));
}

void Avx2Emitter::LoadElements(const Xmm& to, const Address& from, int width) {
  Address source = from;
  if (masked_ && width >= 4) {
    const Xmm mask = Temporary(2, width);
    vmovups(mask, TailMask(width));
    return width == 4 ? vmaskmovps(to, mask, from) : vmaskmovpd(to, mask, from);
  }
  if (masked_) {
    CopyTail(from, width, false);
    source = Slot(copies_);
  }
  if (lanes_ * width == 4) return vmovd(to, source);
  lanes_* width == 8 ? vmovq(to, source) : vmovups(to, source);
}

void Avx2Emitter::StoreElements(const Address& to, const Xmm& from, int width) {
  if (masked_ && width >= 4) {
    const Xmm mask = Temporary(2, width);
    vmovups(mask, TailMask(width));
    return width == 4 ? vmaskmovps(to, mask, from) : vmaskmovpd(to, mask, from);
  }
  if (masked_) {
    vmovups(Slot(copies_), from);
    return CopyTail(to, width, true);
  }
  if (lanes_ * width == 4) return vmovd(to, from);
  lanes_* width == 8 ? vmovq(to, from) : vmovups(to, from);
}

// Replaces bytes by the predicate that they are not zero.
void Avx2Emitter::PredicateOfBytes(const Xmm& to) {
  const int width = PredicateWidth();
  const Xmm wide = Register(to.getIdx(), width), zero = Temporary(1, width);
  if (width > 1) Resize(wide, width, Register(to.getIdx(), 1), 1, false);
  vpxor(zero, zero, zero);
  Compare(wide, wide, zero, width, true, ComparisonDirection::kNe);
}

// Returns a predicate as bytes in temporary register 0.
NativeEmitter::Xmm Avx2Emitter::BytesOfPredicate(Value value) {
  const Xmm bytes = Temporary(0, 1);
  Resize(bytes, 1, Use(value), PredicateWidth(), false);
  vandps(bytes, bytes, Constant(4, 0x01010101));
  return bytes;
}

void Avx2Emitter::LoadArray(const Xmm& to, const Node& node) {
  const auto load = [&](int width) {
    LoadElements(Register(node.reg, width), Memory(node.input, width), width);
  };
  const ElementType type = inputs_[node.input].type;
  if (node.compute_type == ComputeType::kPred) {
    load(1);
    return PredicateOfBytes(to);
  }
  if (type != ElementType::kBF16 && type != ElementType::kF16) return load(node.width);
  load(2);
  if (type == ElementType::kF16) return vcvtph2ps(to, Register(node.reg, 2));
  vpmovzxwd(to, Register(node.reg, 2));
  vpslld(to, to, 16);
}

// Sets all lanes to the predicate at rax.
void Avx2Emitter::SplatPredicate(const Node& /*node*/, int reg) {
  movzx(eax, byte[rax]);
  neg(eax);
  sbb(eax, eax);
  vmovd(Xmm(reg), eax);
  vpbroadcastd(Ymm(reg), Xmm(reg));
}

void Avx2Emitter::StoreArray(int pointer, ElementType type, Value value) {
  const Xmm from = Use(value), narrow = Temporary(0, 2);
  if (IsPredicate(value)) return StoreElements(Memory(pointer, 1), BytesOfPredicate(value), 1);
  if (type == ElementType::kBF16) {
    vpsrld(Temporary(0, 4), from, 16);
    Resize(narrow, 2, Temporary(0, 4), 4, false);
    StoreElements(Memory(pointer, 2), narrow, 2);
  } else if (type == ElementType::kF16) {
    vcvtps2ph(narrow, from, 0);
    StoreElements(Memory(pointer, 2), narrow, 2);
  } else {
    StoreElements(Memory(pointer, node(value).width), from, node(value).width);
  }
}

void Avx2Emitter::StoreMask(int slot, Value value) { vmovups(Slot(slot), BytesOfPredicate(value)); }

void Avx2Emitter::LoadMask(Value value, int slot) {
  const Xmm to = Define(value);
  vmovups(Register(to.getIdx(), 1), Slot(slot));
  PredicateOfBytes(to);
}

void Avx2Emitter::BeginTail() {
  copies_ = slot_count_++;
  saved_ = slot_count_++;
  tail_ = slot_count_;
  slot_count_ += 2;
  const Ymm count(kVectors), mask(kVectors + 1);
  mov(rax, Count());
  sub(rax, Index());
  vmovd(Xmm(kVectors), eax);
  vpbroadcastd(count, Xmm(kVectors));
  vpcmpgtd(mask, count, BlockAddress(kIota32));
  vmovups(TailMask(4), mask);
  vpaddd(count, count, count);
  vpcmpgtd(mask, count, BlockAddress(kIota32));
  vmovups(TailMask(8), mask);
  if (!has_complex_) return;
  if (component_bytes_ == 8) vpaddd(count, count, count);
  vpcmpgtd(mask, count, BlockAddress(kIota32));
  vmovups(PairMask(false), mask);
  vpaddd(count, count, Constant(4, static_cast<uint32_t>(-kBytes / 4)));
  vpcmpgtd(mask, count, BlockAddress(kIota32));
  vmovups(PairMask(true), mask);
}

void Avx2Emitter::PadOperand(int to, int from, ComputeType compute_type) {
  const int width = static_cast<int>(ComputeTypeBytes(compute_type));
  const Ymm ones(kVectors + 2), mask(kVectors + 1);
  vmovaps(ones, Constant(width, native::BitsOfOne(compute_type)));
  if (!masked_) return vblendps(Ymm(to), ones, Ymm(from), 0x0f);
  vmovups(mask, TailMask(width));
  vblendvps(Ymm(to), ones, Ymm(from), mask);
}

}  // namespace hlo::cpu
