#include "kernels/cpu/loops/native_emitter.h"

#include <algorithm>
#include <utility>

namespace hlo::cpu {
namespace {

using loops::Value;
using Xbyak::Zmm;

constexpr int kMaxSlots = 512;
constexpr int kSlotBytes = 64;
// Longer code is not interleaved, because it would not fit the cache of decoded instructions.
constexpr int kMostInterleaved = 400;

}  // namespace

NativeEmitter::NativeEmitter(const loops::LoopProgram& program, const std::vector<NativeLoop::Input>& inputs,
                             const std::vector<NativeLoop::Output>& outputs)
    : program_(program), inputs_(inputs), outputs_(outputs), vectors_(kVectors, -1), masks_(kMasks, -1) {}

// --- Analysis.

bool NativeEmitter::Analyse() {
  const auto steps = program_.steps();
  bool has_complex = false;
  for (size_t s = 0; s < steps.size(); ++s) {
    if (steps[s].compute_type == ComputeType::kC128) return false;
    const bool is_complex = IsComplex(static_cast<Value>(s));
    const ComputeType compute_type = is_complex ? ComputeType::kF32 : steps[s].compute_type;
    has_complex |= is_complex;
    nodes_.push_back({compute_type, static_cast<int>(ComputeTypeBytes(compute_type)), static_cast<Value>(s)});
  }
  for (size_t s = 0; has_complex && s < steps.size(); ++s)
    nodes_.push_back({ComputeType::kF32, 4, Imaginary(static_cast<Value>(s))});
  part_stride_ = static_cast<Value>(nodes_.size());
  for (size_t k = 0; k < inputs_.size(); ++k) {
    int component = 0;
    for (const Value value : Components(inputs_[k].value)) {
      nodes_[value].input = static_cast<int>(k);
      if (IsComplex(inputs_[k].value)) nodes_[value].component = component++;
    }
  }
  std::vector<bool> needed(steps.size(), false);
  for (const NativeLoop::Output& output : outputs_) needed[output.value] = true;
  for (size_t s = steps.size(); s-- > 0;) {
    for (const Value in : steps[s].operands()) needed[in] = needed[in] || needed[s];
  }
  int widest = 1;
  for (size_t s = 0; s < steps.size(); ++s) {
    if (needed[s]) widest = std::max(widest, nodes_[s].width);
  }
  lanes_ = kSlotBytes / widest;
  if (has_complex && widest != 4) return false;
  for (size_t s = 0; s < steps.size(); ++s) {
    if (!needed[s]) continue;
    if (steps[s].IsLoad() ? nodes_[s].input < 0 : !AddOperation(s)) return false;
  }
  for (const Op& op : ops_) has_calls_ |= op.function != nullptr || op.call.function != nullptr;
  FindUses();
  return !ops_.empty();
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

// Interleaves as many iterations as the registers can hold.
void NativeEmitter::ChooseParts() {
  std::vector<int> vectors(2 * ops_.size() + outputs_.size() + 1, 0), masks = vectors;
  std::vector<int> defined(nodes_.size(), -1);
  for (size_t i = 0; i < ops_.size(); ++i) {
    defined[ops_[i].out] = static_cast<int>(2 * i);
    if (ops_[i].imaginary >= 0) defined[ops_[i].imaginary] = static_cast<int>(2 * i);
  }
  std::vector<Value> scalars;
  for (size_t v = 0; v < nodes_.size(); ++v) {
    const Node& each = nodes_[v];
    if (each.uses.empty()) continue;
    if (each.input >= 0 && inputs_[each.input].form == NativeLoop::Form::kScalar) {
      if (!each.is_mask()) scalars.push_back(static_cast<Value>(v));
      continue;
    }
    for (int p = defined[v] >= 0 ? defined[v] : each.uses.front(); p <= each.uses.back(); ++p)
      ++(each.is_mask() ? masks : vectors)[p];
  }
  const int live = *std::max_element(vectors.begin(), vectors.end());
  const int live_masks = *std::max_element(masks.begin(), masks.end());
  // Quotients of complex numbers need more registers.
  const int reserved = std::any_of(ops_.begin(), ops_.end(),
                                   [](const Op& op) { return op.emitter == &NativeEmitter::EmitQuotient; })
                           ? kOfQuotient
                           : kMostOperands;
  const auto fits = [&](int parts) {
    return live * parts <= kVectors - reserved && live_masks * parts <= kMasks - kFirstMask &&
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
      std::clamp<int64_t>(kVectors - live * parts_ - reserved, 0, static_cast<int64_t>(scalars.size()));
  for (int k = 0; k < pinned; ++k) {
    nodes_[scalars[k]].reg = kVectors - 1 - k;
    nodes_[scalars[k]].is_pinned = true;
    vectors_[kVectors - 1 - k] = scalars[k];
  }
}

// --- Registers and slots.

Value NativeEmitter::IndexOf(Value value) const {
  const Value root = nodes_[value].root;
  const int input = nodes_[root].input;
  const bool shares = input >= 0 && inputs_[input].form == NativeLoop::Form::kScalar;
  return shares ? root : root + part_ * part_stride_;
}

NativeEmitter::Xmm NativeEmitter::Register(int number, int width) const {
  const int bytes = lanes_ * width;
  if (bytes >= 64) return Zmm(number);
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
    if (spilled.is_mask())
      kmovq(Slot(spilled.slot), Opmask(spilled.reg));
    else
      vmovdqu32(Slot(spilled.slot), Register(spilled.reg, spilled.width));
  }
  (spilled.is_mask() ? masks_ : vectors_)[spilled.reg] = -1;
  spilled.reg = -1;
}

NativeEmitter::Address NativeEmitter::Memory(int pointer, int width, int displacement) {
  const Reg64 index = has_calls_ ? r12 : rcx;
  Reg64 base = rax;
  if (pointer < static_cast<int>(pointer_registers_.size()))
    base = pointer_registers_[pointer];
  else
    mov(rax, ptr[(has_calls_ ? rbx : rdi) + 8 * pointer]);
  return ptr[base + index * width + (part_ * lanes_ * width + displacement)];
}

void NativeEmitter::LoadElements(const Xmm& to, const Address& from, int width) {
  if (!masked_) {
    if (lanes_ * width == 8)
      vmovq(to, from);
    else
      vmovdqu32(to, from);
    return;
  }
  MoveMasked(to | TailMask() | T_z, from, width);
}

void NativeEmitter::StoreElements(const Address& to, const Xmm& from, int width) {
  if (!masked_) {
    if (lanes_ * width == 8)
      vmovq(to, from);
    else
      vmovdqu32(to, from);
    return;
  }
  MoveMasked(to | TailMask(), from, width);
}

template <class To, class From>
void NativeEmitter::MoveMasked(const To& to, const From& from, int width) {
  switch (width) {
    case 1:
      return vmovdqu8(to, from);
    case 2:
      return vmovdqu16(to, from);
    case 4:
      return vmovdqu32(to, from);
    default:
      return vmovdqu64(to, from);
  }
}

// Loads an input, or a value from its slot, to the node's register.
void NativeEmitter::LoadNode(Node& node) {
  using Form = NativeLoop::Form;
  const Form form = node.input >= 0 ? inputs_[node.input].form : Form::kScalar;
  if (node.is_mask()) {
    if (node.slot >= 0) return kmovq(Opmask(node.reg), Slot(node.slot));
    const Xmm bytes = Temporary(0, 1);
    LoadElements(bytes, Memory(node.input, 1), 1);
    return vptestmb(Opmask(node.reg), bytes, bytes);
  }
  const Xmm to = Register(node.reg, node.width);
  if (form == Form::kCount) {
    Reg64 index = has_calls_ ? r12 : rcx;
    if (part_ > 0) {
      lea(rax, ptr[index + part_ * lanes_]);
      index = rax;
    }
    if (node.width == 4) {
      vpbroadcastd(to, index.cvt32());
      vpaddd(to, to, Slot(node.slot));
    } else {
      vpbroadcastq(to, index);
      vpaddq(to, to, Slot(node.slot));
    }
    return;
  }
  if (node.slot >= 0) return vmovdqu32(to, Slot(node.slot));
  if (node.component >= 0) return LoadComponent(to, node);
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
      IsStoredAsComputed(inputs_[used.input].type) && lanes_ * used.width >= 16) {
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
  if (released.reg >= 0) (released.is_mask() ? masks_ : vectors_)[released.reg] = -1;
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

// --- Constants.

NativeEmitter::Address NativeEmitter::Constant(int width, uint64_t bits) {
  Xbyak::Label& label = constants_[{width, bits}];
  return width == kSlotBytes ? ptr[rip + label] : ptr_b[rip + label];
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
    for (uint32_t i = 0; i < 16; ++i) {
      // The index of an element of the second vector has the bit 16.
      const uint32_t of_both = i / 2 + i % 2 * 16;
      const uint32_t words[] = {0x01010101, 2 * i, 2 * i + 1, of_both, i, of_both + 8};
      bits == kIota64 ? dd(i % 2 == 0 ? i / 2 : 0) : dd(words[bits]);
    }
  }
  for (auto& [key, label] : constants_) {
    const auto& [width, bits] = key;
    if (width == kSlotBytes) continue;
    L(label);
    if (width == 4)
      dd(static_cast<uint32_t>(bits));
    else
      dq(bits);
  }
}

// --- Code.

// Writes a scalar to all lanes of its register or slot, or the first values of an iota to its slot.
void NativeEmitter::SplatInput(const NativeLoop::Input& input, Node& node) {
  const bool counts = input.form == NativeLoop::Form::kCount;
  const int reg = node.reg >= 0 ? node.reg : kVectors;
  if (node.reg < 0) node.slot = NewSlot();
  mov(rax, ptr[(has_calls_ ? rbx : rdi) + 8 * node.input]);
  const Zmm to(reg);
  if (node.is_mask()) {
    movzx(eax, byte[rax]);
    neg(rax);
    mov(Slot(node.slot), rax);
    return;
  }
  if (input.type == ElementType::kBF16) {
    movzx(eax, word[rax]);
    shl(eax, 16);
    vpbroadcastd(to, eax);
  } else if (input.type == ElementType::kF16) {
    movzx(eax, word[rax]);
    vmovd(Xmm(reg), eax);
    vcvtph2ps(Xmm(reg), Xmm(reg));
    vpbroadcastd(to, Xmm(reg));
  } else if (node.width == 1) {
    vpbroadcastb(to, byte[rax]);
  } else if (node.width == 2) {
    vpbroadcastw(to, word[rax]);
  } else if (node.width == 4) {
    vpbroadcastd(to, dword[rax + 4 * std::max(node.component, 0)]);
    if (counts) vpaddd(to, to, BlockAddress(kIota32));
  } else {
    vpbroadcastq(to, qword[rax]);
    if (counts) vpaddq(to, to, BlockAddress(kIota64));
  }
  if (node.slot >= 0) vmovdqu32(Slot(node.slot), to);
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
  if (IsComplex(value)) {
    StorePair(pointer, value);
  } else if (node(value).is_mask()) {
    const Opmask mask = UseMask(value);
    const Xmm bytes = Temporary(0, 1);
    vmovdqu8(bytes | mask | T_z, OnesInBytes());
    StoreElements(Memory(pointer, 1), bytes, 1);
  } else {
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
    if (!used.is_mask() && used.slot >= 0 && !is_count) {
      slots[k] = used.slot;
      continue;
    }
    own.push_back(slots[k] = NewSlot());
    if (used.is_mask()) {
      StoreMask(slots[k], op.in[k]);
    } else {
      const Xmm from = Use(op.in[k]);
      vmovdqu32(Slot(slots[k]), from);
    }
  }
  const int result = NewSlot();
  CallOnSlots(op.call, absl::MakeConstSpan(slots).first(op.operand_count), result);
  for (const int slot : own) free_slots_.push_back(slot);
  Node& out = node(op.out);
  if (!out.is_mask()) {
    out.slot = result;
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
    mov(ptr[rsp + (64 * arguments_ + 8 * static_cast<int>(k))], rax);
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
  if (masked_) SetTailMask();
}

void NativeEmitter::StoreMask(int slot, Value value) {
  vmovdqu8(Temporary(0, 1) | UseMask(value) | T_z, OnesInBytes());
  vmovdqu32(Slot(slot), Temporary(0, 1));
}

void NativeEmitter::LoadMask(Value value, int slot) {
  const Opmask mask = DefineMask(value);
  const Xmm bytes = Temporary(0, 1);
  vmovdqu32(bytes, Slot(slot));
  vptestmb(mask, bytes, bytes);
}

// Calls a function on one or two vectors, which are padded with ones.
void NativeEmitter::EmitFunction(const Op& op) {
  const int width = nodes_[op.out].width;
  const bool pads = masked_ || lanes_ * width < kSlotBytes;
  const Opmask mask = masked_ ? TailMask() : k1;
  if (pads && !masked_) {
    mov(eax, (1 << lanes_) - 1);
    kmovq(k1, rax);
  }
  std::array<Zmm, 2> in{Zmm(0), Zmm(0)};
  for (int k = 0; k < op.operand_count; ++k) in[k] = Zmm(Use(op.in[k]).getIdx());
  ++position_;
  SpillAll();
  --position_;
  // The operands are moved by way of temporary registers, because their own may be in the other order.
  const Zmm ones(kVectors + 2);
  if (pads) Splat(ones, width, width == 4 ? 0x3f800000u : 0x3ff0000000000000u);
  const auto pass = [&](const Zmm& to, const Zmm& from) {
    if (!pads)
      vmovdqa32(to, from);
    else if (width == 4)
      vpblendmd(to | mask, ones, from);
    else
      vpblendmq(to | mask, ones, from);
  };
  if (op.operand_count == 2) {
    pass(Zmm(kVectors), in[1]);
    pass(Zmm(0), in[0]);
    vmovdqa32(Zmm(1), Zmm(kVectors));
  } else if (pads || in[0].getIdx() != 0) {
    pass(Zmm(0), in[0]);
  }
  mov(rax, reinterpret_cast<uint64_t>(op.function));
  call(rax);
  if (masked_) SetTailMask();
  locked_ = 0;
  Define(op.out);  // All registers are free, so that this is the first.
}

// Loads the inputs that are stored unchanged and that another store may overwrite.
void NativeEmitter::LoadOutputs() {
  position_ = static_cast<int>(2 * ops_.size());
  for (const NativeLoop::Output& output : outputs_) {
    for (const Value value : Components(output.value)) {
      const Node& stored = node(value);
      if (stored.input < 0 || inputs_[stored.input].reloads || stored.reg >= 0 || stored.slot >= 0) continue;
      stored.is_mask() ? static_cast<void>(UseMask(value)) : static_cast<void>(Use(value));
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
  const Reg64 index = has_calls_ ? r12 : rcx, count = has_calls_ ? r13 : rsi;
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

// Sets the mask of the elements of the last iteration, which is not full.
void NativeEmitter::SetTailMask() {
  mov(rax, has_calls_ ? r13 : rsi);
  sub(rax, has_calls_ ? r12 : rcx);
  bzhi(rax, qword[rip + constants_[{8, ~uint64_t{0}}]], rax);
  kmovq(TailMask(), rax);
}

std::unique_ptr<const MachineCode> NativeEmitter::Make() {
  if (!Analyse()) return nullptr;
  ChooseParts();
  const Reg64 table = has_calls_ ? rbx : rdi, index = has_calls_ ? r12 : rcx, count = has_calls_ ? r13 : rsi;
  push(rbp);
  mov(rbp, rsp);
  for (const Reg64& saved : {rbx, r12, r13, r14, r15}) push(saved);
  const size_t frame = getSize() + 3;
  sub(rsp, 0x7fffffff);
  and_(rsp, -kSlotBytes);
  if (has_calls_) {
    mov(table, rdi);
    mov(count, rsi);
  }
  const size_t pointers = inputs_.size() + outputs_.size();
  for (const Reg64& reg : has_calls_ ? std::vector<Reg64>{r14, r15}
                                     : std::vector<Reg64>{rdx, r8, r9, r10, r11, rbx, r12, r13, r14, r15}) {
    if (pointer_registers_.size() == pointers) break;
    mov(reg, ptr[table + 8 * static_cast<int>(pointer_registers_.size())]);
    pointer_registers_.push_back(reg);
  }
  SplatInputs();
  xor_(index.cvt32(), index.cvt32());
  if (parts_ > 1) EmitLoop(parts_);
  EmitLoop(1);
  Xbyak::Label end;
  cmp(index, count);
  je(end, T_NEAR);
  SetTailMask();
  EmitBody(1, true);
  L(end);
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
