// This file assigns the values of native loops to registers and to slots on the stack.

#include <algorithm>

#include "kernels/cpu/loops/native_emitter.h"

namespace hlo::cpu {

using loops::Value;

Value NativeEmitter::IndexOf(Value value) const {
  const Value root = nodes_[value].root;
  const int input = nodes_[root].input;
  const bool shares = input >= 0 && inputs_[input].form == NativeLoop::Form::kScalar;
  return shares ? root : root + part_ * part_stride_;
}

NativeEmitter::Xmm NativeEmitter::Register(int number, int width) const {
  const int bytes = lanes_ * width;
  if (bytes >= 64) return Xbyak::Zmm(number);
  if (bytes == 32) return Xbyak::Ymm(number);
  return Xmm(number);
}

int NativeEmitter::NewSlot() {
  if (free_slots_.empty()) return slot_count_++;
  const int slot = free_slots_.back();
  free_slots_.pop_back();
  return slot;
}

int NativeEmitter::NextUse(const Node& node) const {
  const auto next = std::lower_bound(node.uses.begin(), node.uses.end(), position_);
  return next == node.uses.end() ? kNever : *next;
}

// Returns a free register; if there is none, spills the value whose next use is furthest.
int NativeEmitter::Allocate(std::vector<Value>& owners, int first) {
  const uint32_t locked = &owners == &vectors_ ? locked_ : locked_masks_;
  int best = -1, furthest = -1;
  for (int r = first; r < static_cast<int>(owners.size()); ++r) {
    if ((locked >> r & 1) != 0) continue;
    if (owners[r] < 0) return r;
    const Node& owner = nodes_[owners[r]];
    if (owner.is_pinned) continue;
    const int next = NextUse(owner);
    if (next > furthest) best = r, furthest = next;
  }
  if (best < 0) {
    has_failed_ = true;
    return first;
  }
  Spill(owners[best]);
  return best;
}

void NativeEmitter::Spill(Value value) {
  Node& spilled = nodes_[value];
  const bool is_read_again = spilled.input >= 0 && inputs_[spilled.input].reloads;
  if (spilled.slot < 0 && !is_read_again && NextUse(spilled) != kNever) {
    spilled.slot = NewSlot();
    if (spilled.is_mask)
      kmovq(Slot(spilled.slot), Opmask(spilled.reg));
    else
      vmovups(Slot(spilled.slot), Register(spilled.reg, spilled.width));
  }
  (spilled.is_mask ? masks_ : vectors_)[spilled.reg] = -1;
  spilled.reg = -1;
}

NativeEmitter::Address NativeEmitter::Memory(int pointer, int width, int displacement) {
  displacement += part_ * lanes_ * width;
  constexpr int kLargestScale = 8;
  if (width > kLargestScale) {
    imul(rax, Index(), width);
    if (pointer < static_cast<int>(pointer_registers_.size()))
      add(rax, pointer_registers_[pointer]);
    else
      add(rax, ptr[Table() + 8 * pointer]);
    return ptr[rax + displacement];
  }
  Reg64 base = rax;
  if (pointer < static_cast<int>(pointer_registers_.size()))
    base = pointer_registers_[pointer];
  else
    mov(rax, ptr[Table() + 8 * pointer]);
  return ptr[base + Index() * width + displacement];
}

// Loads an input, or a value from its slot, to the node's register.
void NativeEmitter::LoadNode(Node& node) {
  if (node.is_mask && node.slot < 0) return LoadMaskArray(node);
  if (node.is_mask) return kmovq(Opmask(node.reg), Slot(node.slot));
  const Xmm to = Register(node.reg, node.width);
  if (node.input >= 0 && inputs_[node.input].form == NativeLoop::Form::kCount) {
    Reg64 index = Index();
    if (part_ > 0) {
      lea(rax, ptr[index + part_ * lanes_]);
      index = rax;
    }
    const Xmm lowest(node.reg);
    vmovq(lowest, index);
    node.width == 4 ? vpbroadcastd(to, lowest) : vpbroadcastq(to, lowest);
    return node.width == 4 ? vpaddd(to, to, Slot(node.slot)) : vpaddq(to, to, Slot(node.slot));
  }
  if (node.slot >= 0) return vmovups(to, Slot(node.slot));
  return node.component >= 0 ? LoadComponent(to, node) : LoadArray(to, node);
}

NativeEmitter::Xmm NativeEmitter::Use(Value value) {
  Node& used = node(value);
  if (used.reg < 0) {
    const int reg = Allocate(vectors_, 0);
    used.reg = reg;
    vectors_[reg] = IndexOf(value);
    LoadNode(used);
  }
  locked_ |= 1u << used.reg;
  return Register(used.reg, used.width);
}

const NativeEmitter::Operand& NativeEmitter::Any(Value value) {
  Node& used = node(value);
  const bool is_array = used.input >= 0 && inputs_[used.input].form == NativeLoop::Form::kArray;
  const bool is_count = used.input >= 0 && inputs_[used.input].form == NativeLoop::Form::kCount;
  if (used.reg < 0 && used.slot >= 0 && !is_count) {
    memory_ = Slot(used.slot);
    return memory_;
  }
  if (used.reg < 0 && is_array && used.component < 0 && !masked_ && used.uses.back() == position_ &&
      !IsPredicate(value) && IsStoredAsComputed(inputs_[used.input].type) && lanes_ * used.width >= 16) {
    memory_ = Memory(used.input, used.width);
    return memory_;
  }
  register_ = Use(value);
  return register_;
}

NativeEmitter::Opmask NativeEmitter::UseMask(Value value) {
  Node& used = node(value);
  if (used.reg < 0) {
    const int reg = Allocate(masks_, kFirstMask);
    used.reg = reg;
    masks_[reg] = IndexOf(value);
    LoadNode(used);
  }
  locked_masks_ |= 1u << used.reg;
  return Opmask(used.reg);
}

NativeEmitter::Xmm NativeEmitter::Define(Value value) {
  Node& defined = node(value);
  const int reg = Allocate(vectors_, 0);
  defined.reg = reg;
  vectors_[reg] = IndexOf(value);
  locked_ |= 1u << reg;
  return Register(reg, defined.width);
}

NativeEmitter::Opmask NativeEmitter::DefineMask(Value value) {
  Node& defined = node(value);
  const int reg = Allocate(masks_, kFirstMask);
  defined.reg = reg;
  masks_[reg] = IndexOf(value);
  locked_masks_ |= 1u << reg;
  return Opmask(reg);
}

// Frees the register and the slot of a value without later uses.
void NativeEmitter::Release(Value value) {
  Node& released = node(value);
  if (!released.uses.empty() && released.uses.back() > position_) return;
  const bool stays = released.input >= 0 && inputs_[released.input].form != NativeLoop::Form::kArray;
  if (stays) return;
  if (released.reg >= 0) (released.is_mask ? masks_ : vectors_)[released.reg] = -1;
  released.reg = -1;
  if (released.slot >= 0) free_slots_.push_back(released.slot);
  released.slot = -1;
}

void NativeEmitter::EndOperation(const Op& op) {
  for (int k = 0; k < op.operand_count; ++k) Release(op.in[k]);
  Release(op.out);
  if (op.imaginary >= 0) Release(op.imaginary);
  locked_ = locked_masks_ = 0;
}

}  // namespace hlo::cpu
