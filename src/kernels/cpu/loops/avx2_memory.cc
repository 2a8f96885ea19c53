// This file emits loads and stores of native loops with AVX2.

#include "kernels/cpu/loops/avx2_emitter.h"

namespace hlo::cpu {

using Xbyak::Ymm;

// Loads the elements of the last iteration, of one or two bytes, from the end: one if their number is odd,
// then two if the next bit of the number is set, and so on.
void Avx2Emitter::LoadTail(const Xmm& to, const Address& from, int width) {
  const Xmm loaded(to.getIdx()), next(Temporary(2, width).getIdx());
  lea(rax, from);
  add(rax, qword[rsp + (kSlotBytes * counts_ + 8 * width)]);
  vpxor(loaded, loaded, loaded);
  for (int count = 1; count < lanes_; count *= 2) {
    const int bytes = count * width;
    Xbyak::Label skip;
    test(TailCount(), count);
    jz(skip);
    sub(rax, bytes);
    if (bytes <= 2) vpxor(next, next, next);
    bytes == 16  ? vmovups(next, ptr[rax])
    : bytes == 8 ? vmovq(next, ptr[rax])
    : bytes == 4 ? vmovd(next, ptr[rax])
    : bytes == 2 ? vpinsrw(next, next, ptr[rax], 0)
                 : vpinsrb(next, next, ptr[rax], 0);
    if (bytes == 16) {
      vinserti128(Ymm(loaded.getIdx()), Ymm(next.getIdx()), loaded, 1);
    } else {
      vpslldq(loaded, loaded, bytes);
      vpor(loaded, loaded, next);
    }
    L(skip);
  }
}

// Stores the elements of the last iteration. Masked stores take longer on some processors.
void Avx2Emitter::StoreTail(const Address& to, const Xmm& from, int width) {
  const Xmm rest(Temporary(2, width).getIdx());
  lea(rax, to);
  vmovaps(Ymm(rest.getIdx()), Ymm(from.getIdx()));
  for (int count = lanes_ / 2; count > 0; count /= 2) {
    const int bytes = count * width;
    Xbyak::Label skip;
    test(TailCount(), count);
    jz(skip);
    bytes == 16  ? vmovups(ptr[rax], rest)
    : bytes == 8 ? vmovq(ptr[rax], rest)
    : bytes == 4 ? vmovd(ptr[rax], rest)
    : bytes == 2 ? vpextrw(ptr[rax], rest, 0)
                 : vpextrb(ptr[rax], rest, 0);
    if (count > 1) {
      bytes == 16 ? vextracti128(rest, Ymm(rest.getIdx()), 1) : vpsrldq(rest, rest, bytes);
      add(rax, bytes);
    }
    L(skip);
  }
}

void Avx2Emitter::LoadElements(const Xmm& to, const Address& from, int width) {
  if (masked_ && width < 4) return LoadTail(to, from, width);
  if (masked_) {
    const Xmm mask = Temporary(2, width);
    vmovups(mask, TailMask(width));
    return width == 4 ? vmaskmovps(to, mask, from) : vmaskmovpd(to, mask, from);
  }
  if (lanes_ * width == 4) return vmovd(to, from);
  lanes_* width == 8 ? vmovq(to, from) : vmovups(to, from);
}

void Avx2Emitter::StoreElements(const Address& to, const Xmm& from, int width) {
  if (masked_) return StoreTail(to, from, width);
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

void Avx2Emitter::PrepareTail() {
  copies_ = slot_count_++;
  counts_ = slot_count_++;
  tail_ = slot_count_;
  slot_count_ += 2;
  const Ymm count(kVectors), mask(kVectors + 1);
  vmovd(Xmm(kVectors), eax);
  mov(Slot(counts_), rax);
  mov(Slot(counts_, 8), rax);
  add(rax, rax);
  mov(Slot(counts_, 16), rax);
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
