// This file emits calls of native loops: of functions on tiles, with operands and results on the stack, and
// of functions on vectors.

#include <array>

#include "kernels/cpu/loops/native_emitter.h"

namespace hlo::cpu {

using loops::Value;

// Moves all values that are needed later to slots, because functions may change every vector register.
void NativeEmitter::SpillAll() {
  for (const Value value : vectors_) {
    if (value >= 0) Spill(value);
  }
  for (const Value value : masks_) {
    if (value >= 0) Spill(value);
  }
}

// Calls a function on tiles, with operands and results on the stack.
void NativeEmitter::EmitCall(const Op& op) {
  std::vector<int> own;
  std::array<int, 3> slots{};
  for (int k = 0; k < op.operand_count; ++k) {
    Node& used = node(op.in[k]);
    const bool is_count = used.input >= 0 && inputs_[used.input].form == NativeLoop::Form::kCount;
    if (!IsPredicate(op.in[k]) && used.slot >= 0 && !is_count) {
      slots[k] = used.slot;
      continue;
    }
    own.push_back(slots[k] = NewSlot());
    if (IsPredicate(op.in[k])) {
      StoreMask(slots[k], op.in[k]);
    } else {
      const Xmm from = Use(op.in[k]);
      vmovups(Slot(slots[k]), from);
    }
  }
  const int result = NewSlot();
  CallOnSlots(op.call, absl::MakeConstSpan(slots).first(op.operand_count), result);
  for (const int slot : own) free_slots_.push_back(slot);
  if (!IsPredicate(op.out)) {
    node(op.out).slot = result;
    return;
  }
  LoadMask(op.out, result);
  free_slots_.push_back(result);
}

void NativeEmitter::CallOnSlots(const TileCall& call, absl::Span<const int> operands, int result) {
  ++position_;  // Operands without later uses need no slot.
  SpillAll();
  --position_;
  if (arguments_ < 0) arguments_ = slot_count_++;
  for (size_t k = 0; k < operands.size(); ++k) {
    lea(rax, Slot(operands[k]));
    mov(Slot(arguments_, 8 * static_cast<int>(k)), rax);
  }
  if (masked_) {
    mov(rdi, r13);
    sub(rdi, r12);
  } else {
    mov(edi, lanes_);
  }
  lea(rsi, Slot(result));
  lea(rdx, Slot(arguments_));
  mov(rcx, call.parameter);
  vzeroupper();  // Functions of the C library may have instructions that are slow otherwise.
  CallFunction(call.function);
  if (masked_) BeginTail();
}

// Calls a function on one or two vectors, which are padded with ones.
void NativeEmitter::EmitFunction(const Op& op) {
  const int width = nodes_[op.out].width;
  const bool pads = masked_ || lanes_ * width < vector_bytes_;
  std::array<int, 2> in{};
  for (int k = 0; k < op.operand_count; ++k) in[k] = Use(op.in[k]).getIdx();
  ++position_;
  SpillAll();
  --position_;
  // The operands are moved by way of a temporary register, because their own may be in the other order.
  const auto pass = [&](int to, int from) {
    pads ? PadOperand(to, from, compute_type(op.in[0])) : vmovaps(FullRegister(to), FullRegister(from));
  };
  if (op.operand_count == 2) {
    pass(vector_count_, in[1]);
    pass(0, in[0]);
    vmovaps(FullRegister(1), FullRegister(vector_count_));
  } else if (pads || in[0] != 0) {
    pass(0, in[0]);
  }
  mov(rax, reinterpret_cast<uint64_t>(op.function));
  call(rax);
  if (masked_) BeginTail();
  locked_ = 0;
  Define(op.out);  // All registers are free, so that this is the first.
}

// Calls a function on tiles with complex operands or a complex result.
void NativeEmitter::EmitPairCall(const Op& op) {
  constexpr int kOperands = 3;
  if (pairs_ < 0) pairs_ = slot_count_, slot_count_ += 2 * (kOperands + 1);
  std::array<int, kOperands + 1> slots{};
  for (int k = 0; k <= kOperands; ++k) slots[k] = pairs_ + 2 * k;
  const auto half = [&](int slot, bool upper) { return Slot(slot, upper ? vector_bytes_ : 0); };
  for (int k = 0; k < op.step->operand_count; ++k) {
    const Value operand = op.step->in[k];
    if (IsComplex(operand)) {
      const Xmm real = Use(operand), imaginary = Use(Imaginary(operand)),
                vector = Temporary(0, component_bytes_);
      for (const bool upper : {false, true}) {
        Interleave(vector, real, imaginary, upper);
        vmovups(half(slots[k], upper), vector);
      }
    } else if (IsPredicate(operand)) {
      StoreMask(slots[k], operand);
    } else {
      vmovups(Slot(slots[k]), Use(operand));
    }
  }
  const int result = slots[kOperands];
  CallOnSlots(op.call, absl::MakeConstSpan(slots).first(op.step->operand_count), result);
  locked_ = locked_masks_ = 0;
  if (IsPredicate(op.out)) return LoadMask(op.out, result);
  const Xmm out = Define(op.out);
  if (op.imaginary < 0) return vmovups(out, Slot(result));
  const Xmm imaginary = Define(op.imaginary);
  Deinterleave(out, half(result, false), half(result, true), false);
  Deinterleave(imaginary, half(result, false), half(result, true), true);
}

}  // namespace hlo::cpu
