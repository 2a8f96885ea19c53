#include "kernels/cpu/loops/native_emitter.h"

#include <algorithm>
#include <utility>

namespace hlo::cpu {
namespace {

using loops::Value;

constexpr int kMaxSlots = 512;
// Longer code is not interleaved, because it would not fit the cache of decoded instructions.
constexpr int kMostInterleaved = 400;

}  // namespace

NativeEmitter::NativeEmitter(const loops::LoopProgram& program, const std::vector<NativeLoop::Input>& inputs,
                             const std::vector<NativeLoop::Output>& outputs, int vector_bytes, int vectors)
    : vector_bytes_(vector_bytes),
      vector_count_(vectors),
      program_(program),
      inputs_(inputs),
      outputs_(outputs),
      vectors_(vectors, -1),
      masks_(kMasks, -1) {}

// --- Analysis.

bool NativeEmitter::Analyse() {
  const auto steps = program_.steps();
  std::vector<bool> needed(steps.size(), false);
  for (const NativeLoop::Output& output : outputs_) needed[output.value] = true;
  for (size_t s = steps.size(); s-- > 0;) {
    for (const Value in : steps[s].operands()) needed[in] = needed[in] || needed[s];
  }
  if (!FindComponentType(needed)) return false;
  int widest = has_complex_ ? component_bytes_ : 1;
  for (size_t s = 0; s < steps.size(); ++s) {
    if (needed[s] && !IsComplex(static_cast<Value>(s)))
      widest = std::max(widest, static_cast<int>(ComputeTypeBytes(steps[s].compute_type)));
  }
  if (has_complex_ && widest != component_bytes_) return false;
  lanes_ = vector_bytes_ / widest;
  AddNodes();
  for (size_t s = 0; s < steps.size(); ++s) {
    if (!needed[s]) continue;
    if (steps[s].IsLoad() ? nodes_[s].input < 0 : !AddOperation(s)) return false;
  }
  for (const Op& op : ops_) has_calls_ |= op.function != nullptr || op.call.function != nullptr;
  FindUses();
  return !ops_.empty() && (!CallsOften() || NativeCodeDelay() == 0);
}

// Returns true if calls on single vectors take more time than passes over memory, which tile programs need.
bool NativeEmitter::CallsOften() const {
  // With AVX-512, there are half as many calls.
  if (has_masks_) return false;
  // The time of calls in operations. Registers are spilled around them.
  constexpr int kTileCall = 8, kFunctionCall = 3;
  int calls = 0, others = 0;
  for (const Op& op : ops_) {
    if (op.call.function != nullptr)
      calls += kTileCall;
    else if (op.function != nullptr)
      calls += kFunctionCall;
    else
      ++others;
  }
  return calls > others;
}

void NativeEmitter::AddNodes() {
  const auto steps = program_.steps();
  for (size_t s = 0; s < steps.size(); ++s) {
    const auto value = static_cast<Value>(s);
    const ComputeType compute_type = IsComplex(value) ? component_type_ : steps[s].compute_type;
    Node& node =
        nodes_.emplace_back(Node{compute_type, static_cast<int>(ComputeTypeBytes(compute_type)), value});
    if (compute_type != ComputeType::kPred) continue;
    node.is_mask = has_masks_;
    if (!has_masks_) node.width = vector_bytes_ / lanes_;
  }
  for (size_t s = 0; has_complex_ && s < steps.size(); ++s)
    nodes_.push_back({component_type_, component_bytes_, Imaginary(static_cast<Value>(s))});
  part_stride_ = static_cast<Value>(nodes_.size());
  for (size_t k = 0; k < inputs_.size(); ++k) {
    int component = 0;
    for (const Value value : Components(inputs_[k].value)) {
      nodes_[value].input = static_cast<int>(k);
      if (IsComplex(inputs_[k].value)) nodes_[value].component = component++;
    }
  }
}

bool NativeEmitter::AddOperation(size_t number) {
  const auto value = static_cast<Value>(number);
  const Step& step = program_.steps()[number];
  const auto operands = step.operands();
  if (IsComplex(value) ||
      std::any_of(operands.begin(), operands.end(), [&](Value in) { return IsComplex(in); }))
    return AddComplexOperation(value, step);
  Op op{&step, &step.operation, value};
  op.operand_count = step.operand_count;
  std::copy(operands.begin(), operands.end(), op.in.begin());
  if (!Choose(op)) return false;
  if (nodes_[value].root == value) ops_.push_back(op);
  return true;
}

absl::InlinedVector<Value, 2> NativeEmitter::Components(Value value) const {
  if (IsComplex(value)) return {value, Imaginary(value)};
  return {value};
}

void NativeEmitter::FindUses() {
  ready_.assign(outputs_.size(), -1);
  for (size_t i = 0; i < ops_.size(); ++i) {
    for (int k = 0; k < ops_[i].operand_count; ++k)
      node(ops_[i].in[k]).uses.push_back(static_cast<int>(2 * i));
    for (size_t k = 0; k < outputs_.size(); ++k) {
      for (const Value value : Components(outputs_[k].value)) {
        const Value root = nodes_[value].root;
        if (root == ops_[i].out || root == ops_[i].imaginary) ready_[k] = static_cast<int>(i);
      }
    }
  }
  for (size_t k = 0; k < outputs_.size(); ++k) {
    if (!outputs_[k].early) ready_[k] = -1;
    const int at = ready_[k] >= 0 ? 2 * ready_[k] + 1 : static_cast<int>(2 * ops_.size() + k);
    for (const Value value : Components(outputs_[k].value)) node(value).uses.push_back(at);
  }
  for (Node& each : nodes_) std::sort(each.uses.begin(), each.uses.end());
}

// Counts the vectors and masks that are live at each position, and finds the scalars that are used.
void NativeEmitter::FindLive(std::vector<int>& vectors, std::vector<int>& masks,
                             std::vector<Value>& scalars) const {
  std::vector<int> defined(nodes_.size(), -1);
  for (size_t i = 0; i < ops_.size(); ++i) {
    defined[ops_[i].out] = static_cast<int>(2 * i);
    if (ops_[i].imaginary >= 0) defined[ops_[i].imaginary] = static_cast<int>(2 * i);
  }
  for (size_t v = 0; v < nodes_.size(); ++v) {
    const Node& each = nodes_[v];
    if (each.uses.empty()) continue;
    if (each.input >= 0 && inputs_[each.input].form == NativeLoop::Form::kScalar) {
      if (!each.is_mask) scalars.push_back(static_cast<Value>(v));
      continue;
    }
    for (int p = defined[v] >= 0 ? defined[v] : each.uses.front(); p <= each.uses.back(); ++p)
      ++(each.is_mask ? masks : vectors)[p];
  }
}

// Interleaves as many iterations as the registers can hold.
void NativeEmitter::ChooseParts() {
  std::vector<int> vectors(2 * ops_.size() + outputs_.size() + 1, 0), masks = vectors;
  std::vector<Value> scalars;
  FindLive(vectors, masks, scalars);
  const int live = *std::max_element(vectors.begin(), vectors.end());
  const int live_masks = *std::max_element(masks.begin(), masks.end());
  // Quotients of complex numbers need more registers.
  const bool has_quotients =
      std::any_of(ops_.begin(), ops_.end(), [](const Op& op) { return op.is_quotient; });
  const int reserved = has_quotients ? kOfQuotient : kMostOperands;
  const auto fits = [&](int parts) {
    return live * parts <= vector_count_ - reserved && live_masks * parts <= kMasks - kFirstMask &&
           parts * static_cast<int>(ops_.size()) <= kMostInterleaved;
  };
  parts_ = has_calls_ ? 1 : fits(4) ? 4 : fits(2) ? 2 : 1;
  const size_t count = nodes_.size();
  for (int part = 1; part < parts_; ++part) {
    for (size_t v = 0; v < count; ++v) nodes_.push_back(nodes_[v]);
  }
  // The scalars with the most uses stay in the other registers.
  if (has_calls_) return;
  std::stable_sort(scalars.begin(), scalars.end(),
                   [&](Value a, Value b) { return nodes_[a].uses.size() > nodes_[b].uses.size(); });
  const auto pinned =
      std::clamp<int64_t>(vector_count_ - live * parts_ - reserved, 0, static_cast<int64_t>(scalars.size()));
  for (int k = 0; k < pinned; ++k) {
    nodes_[scalars[k]].reg = vector_count_ - 1 - k;
    nodes_[scalars[k]].is_pinned = true;
    vectors_[vector_count_ - 1 - k] = scalars[k];
  }
}

// --- Constants.

NativeEmitter::Address NativeEmitter::Constant(int width, uint64_t bits) {
  Xbyak::Label& label = constants_[{width, bits}];
  return width == kSlotBytes || !has_masks_ ? ptr[rip + label] : ptr_b[rip + label];
}

void NativeEmitter::Splat(const Xmm& to, int width, uint64_t bits) {
  Xbyak::Label& label = constants_[{width, bits}];
  width == 4 ? vpbroadcastd(to, dword[rip + label]) : vpbroadcastq(to, qword[rip + label]);
}

void NativeEmitter::EmitConstants() {
  align(kSlotBytes);
  for (auto& [key, label] : constants_) {
    const auto& [width, bits] = key;
    if (width != kSlotBytes) continue;
    L(label);
    const bool is_wide = bits >= kIota64;
    const uint64_t block = bits == kIota64 ? kIota32 : bits % kWide;
    const uint32_t count = is_wide ? 8 : 16;
    for (uint32_t i = 0; i < count; ++i) {
      // The index of an element of the second vector has the bit `count`.
      const uint32_t of_both = i / 2 + i % 2 * count;
      const uint32_t elements[] = {0x01010101, 2 * i, 2 * i + 1, of_both, i, of_both + count / 2};
      is_wide ? dq(elements[block]) : dd(elements[block]);
    }
  }
  for (auto& [key, label] : constants_) {
    const auto& [width, bits] = key;
    if (width == kSlotBytes) continue;
    L(label);
    // Without embedded broadcasts, operands in memory are vectors.
    for (int k = 0; k < (has_masks_ ? 1 : vector_bytes_ / width); ++k)
      width == 4 ? dd(static_cast<uint32_t>(bits)) : dq(bits);
  }
}

// --- Code.

// Writes a scalar to all lanes of its register or slot, or the first values of an iota to its slot.
void NativeEmitter::SplatInput(const NativeLoop::Input& input, Node& node) {
  const bool counts = input.form == NativeLoop::Form::kCount;
  const int reg = node.reg >= 0 ? node.reg : vector_count_;
  if (node.reg < 0) node.slot = NewSlot();
  if (node.input < std::ssize(pointer_registers_))
    mov(rax, pointer_registers_[node.input]);
  else
    mov(rax, ptr[Table() + 8 * node.input]);
  const Xmm to = FullRegister(reg);
  if (node.compute_type == ComputeType::kPred) {
    SplatPredicate(node, reg);
    if (node.is_mask) return;
  } else if (input.type == ElementType::kBF16 || input.type == ElementType::kF16) {
    movzx(eax, word[rax]);
    if (input.type == ElementType::kBF16) shl(eax, 16);
    vmovd(Xmm(reg), eax);
    if (input.type == ElementType::kF16) vcvtph2ps(Xmm(reg), Xmm(reg));
    vpbroadcastd(to, Xmm(reg));
  } else if (node.width == 1) {
    vpbroadcastb(to, byte[rax]);
  } else if (node.width == 2) {
    vpbroadcastw(to, word[rax]);
  } else if (node.width == 4) {
    vpbroadcastd(to, dword[rax + 4 * std::max(node.component, 0)]);
    if (counts) vpaddd(to, to, BlockAddress(kIota32));
  } else {
    vpbroadcastq(to, qword[rax + 8 * std::max(node.component, 0)]);
    if (counts) vpaddq(to, to, BlockAddress(kIota64));
  }
  if (node.slot >= 0) vmovups(Slot(node.slot), to);
}

void NativeEmitter::SplatInputs() {
  for (const NativeLoop::Input& input : inputs_) {
    for (const Value value : Components(input.value)) {
      if (input.form != NativeLoop::Form::kArray && !nodes_[value].uses.empty())
        SplatInput(input, nodes_[value]);
      for (int part = 1; part < parts_; ++part) nodes_[value + part * part_stride_].slot = nodes_[value].slot;
    }
  }
}

void NativeEmitter::StoreOutput(size_t output) {
  const auto& [value, type, early] = outputs_[output];
  const int pointer = static_cast<int>(inputs_.size() + output);
  IsComplex(value) ? StorePair(pointer, value) : StoreArray(pointer, type, value);
  locked_ = locked_masks_ = 0;
}

void NativeEmitter::Emit(const Op& op) {
  if (op.function != nullptr)
    EmitFunction(op);
  else if (op.call.function != nullptr && op.emitter == nullptr)
    EmitCall(op);
  else
    (this->*op.emitter)(op);
  EndOperation(op);
}

// Loads the inputs that are stored unchanged and that another store may overwrite.
void NativeEmitter::LoadOutputs() {
  position_ = static_cast<int>(2 * ops_.size());
  for (const NativeLoop::Output& output : outputs_) {
    for (const Value value : Components(output.value)) {
      const Node& stored = node(value);
      if (stored.input < 0 || inputs_[stored.input].reloads || stored.reg >= 0 || stored.slot >= 0) continue;
      stored.is_mask ? static_cast<void>(UseMask(value)) : static_cast<void>(Use(value));
      locked_ = locked_masks_ = 0;
    }
  }
}

void NativeEmitter::EmitBody(int parts, bool masked) {
  masked_ = masked;
  for (size_t i = 0; i < ops_.size(); ++i) {
    for (part_ = 0; part_ < parts; ++part_) {
      position_ = static_cast<int>(2 * i);
      Emit(ops_[i]);
      ++position_;
      for (size_t k = 0; k < outputs_.size(); ++k) {
        if (ready_[k] == static_cast<int>(i)) StoreOutput(k);
      }
      // Several outputs may have stored a value.
      for (size_t k = 0; k < outputs_.size(); ++k) {
        if (ready_[k] != static_cast<int>(i)) continue;
        for (const Value value : Components(outputs_[k].value)) Release(value);
      }
    }
  }
  for (part_ = 0; part_ < parts; ++part_) LoadOutputs();
  for (size_t k = 0; k < outputs_.size(); ++k) {
    position_ = static_cast<int>(2 * ops_.size() + k);
    if (ready_[k] >= 0) continue;
    for (part_ = 0; part_ < parts; ++part_) {
      StoreOutput(k);
      for (const Value value : Components(outputs_[k].value)) Release(value);
    }
  }
  part_ = 0;
  // Scalars may be in registers that are not theirs in the next iteration.
  for (size_t r = 0; r < vectors_.size(); ++r) {
    if (vectors_[r] < 0 || nodes_[vectors_[r]].slot < 0) continue;
    nodes_[vectors_[r]].reg = -1;
    vectors_[r] = -1;
  }
  for (Value& value : masks_) {
    if (value >= 0) nodes_[value].reg = -1;
    value = -1;
  }
}

// Emits a loop over full vectors.
void NativeEmitter::EmitLoop(int parts) {
  const Reg64 index = Index(), count = Count();
  Xbyak::Label loop, end;
  lea(rax, ptr[index + parts * lanes_]);
  cmp(rax, count);
  jg(end, T_NEAR);
  align(32);
  L(loop);
  EmitBody(parts, false);
  add(index, parts * lanes_);
  lea(rax, ptr[index + parts * lanes_]);
  cmp(rax, count);
  jle(loop, T_NEAR);
  L(end);
}

// Loads pointers to registers.
void NativeEmitter::LoadPointers() {
  const size_t pointers = inputs_.size() + outputs_.size();
  for (const Reg64& reg : has_calls_ ? std::vector<Reg64>{r14, r15}
                                     : std::vector<Reg64>{rdx, r8, r9, r10, r11, rbx, r12, r13, r14, r15}) {
    if (pointer_registers_.size() == pointers) break;
    mov(reg, ptr[Table() + 8 * static_cast<int>(pointer_registers_.size())]);
    pointer_registers_.push_back(reg);
  }
}

// Moves the pointers to the next row.
void NativeEmitter::MovePointers() {
  const auto pointers = static_cast<int>(inputs_.size() + outputs_.size());
  const auto in_registers = static_cast<int>(pointer_registers_.size());
  mov(rax, Distances());
  for (int k = 0; k < in_registers; ++k) add(pointer_registers_[k], ptr[rax + 8 * k]);
  for (int k = in_registers; k < pointers; ++k) {
    mov(Index(), ptr[rax + 8 * k]);
    add(ptr[Table() + 8 * k], Index());
  }
}

// Sets rax to the number of elements of the last iteration, if it is not full, and the flag that it is zero.
void NativeEmitter::CountTail() {
  mov(rax, Count());
  and_(rax, lanes_ - 1);
}

std::unique_ptr<const MachineCode> NativeEmitter::Make() {
  if (!Analyse()) return nullptr;
  ChooseParts();
  push(rbp);
  mov(rbp, rsp);
  for (const Reg64& saved : {rbx, r12, r13, r14, r15}) push(saved);
  push(rdx);  // RowsLeft() and Distances()
  push(rcx);
  const size_t frame = getSize() + 3;
  sub(rsp, 0x7fffffff);
  and_(rsp, -kSlotBytes);
  if (has_calls_) {
    mov(Table(), rdi);
    mov(Count(), rsi);
  }
  LoadPointers();
  Xbyak::Label is_full;
  CountTail();
  jz(is_full, T_NEAR);
  PrepareTail();
  L(is_full);
  Xbyak::Label row;
  L(row);
  SplatInputs();
  xor_(Index().cvt32(), Index().cvt32());
  if (parts_ > 1) EmitLoop(parts_);
  EmitLoop(1);
  Xbyak::Label end;
  cmp(Index(), Count());
  je(end, T_NEAR);
  BeginTail();
  EmitBody(1, true);
  L(end);
  Xbyak::Label last;
  dec(RowsLeft());
  jz(last, T_NEAR);
  MovePointers();
  jmp(row, T_NEAR);
  L(last);
  vzeroupper();
  lea(rsp, ptr[rbp - 40]);
  for (const Reg64& saved : {r15, r14, r13, r12, rbx}) pop(saved);
  pop(rbp);
  ret();
  EmitRecoveries();
  EmitConstants();
  if (slot_count_ > kMaxSlots || has_failed_) return nullptr;
  rewrite(frame, static_cast<uint64_t>(slot_count_) * kSlotBytes, 4);
  return Assembler::Finish();
}

}  // namespace hlo::cpu
