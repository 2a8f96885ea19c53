#include "plan/validate/symbolic_steps.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "fmt/format.h"
#include "kernels/cpu/bytecode/decode.h"
#include "kernels/cpu/elementwise/small_tiles.h"
#include "kernels/cpu/loops/small_program.h"
#include "plan/analysis/window_update.h"
#include "plan/select/library_kernels.h"
#include "plan/select/window_moves.h"
#include "plan/visit.h"

namespace hlo::plan {
namespace {

using cpu::SmallProgram;
using Op = Terms::Op;

// Constants of at most this size are numbered by their bytes.
constexpr int64_t kMaxConstantBytes = 4096;

int64_t Number(const void* pointer) { return static_cast<int64_t>(reinterpret_cast<intptr_t>(pointer)); }

template <class Visit>
void VisitMoves(const std::vector<Step>& steps, Visit&& visit) {
  const auto all = [&](const std::vector<Move>& moves) {
    for (const Move& move : moves) visit(move);
  };
  for (const Step& step : steps) {
    if (const auto* loop = std::get_if<LoopStep>(&step.what)) {
      all(loop->initial);
      all(loop->next);
      VisitMoves(loop->condition, visit);
      VisitMoves(loop->body, visit);
    } else if (const auto* branch = std::get_if<BranchStep>(&step.what)) {
      for (const BranchStep::Branch& each : branch->branches) {
        all(each.results);
        VisitMoves(each.steps, visit);
      }
    }
  }
}

}  // namespace

SlotLayout::SlotLayout(const Plan& plan) {
  const auto count = static_cast<int32_t>(plan.buffers.size());
  std::vector<Slot> group(count);
  for (Slot slot = 0; slot < count; ++slot) group[slot] = slot;
  const auto root = [&](Slot slot) {
    while (group[slot] != slot) slot = group[slot] = group[group[slot]];
    return slot;
  };
  std::vector<bool> is_swapped(count);
  VisitMoves(plan.steps, [&](const Move& move) {
    if (!move.swaps) return;
    is_swapped[move.to] = is_swapped[move.from] = true;
    group[root(move.to)] = root(move.from);
  });
  for (Slot slot = 0; slot < count; ++slot) {
    const Buffer& buffer = plan.buffers[slot];
    const bool is_arena = buffer.kind == Buffer::Kind::kArena;
    // A literal counts as one byte: its size is known at run time.
    const int64_t bytes = buffer.kind == Buffer::Kind::kLiteral ? 1 : buffer.byte_count;
    if (is_arena && !is_swapped[slot])
      storages_.push_back({kFrame, buffer.offset, bytes});
    else
      storages_.push_back({slot + 1, 0, bytes});
    if (is_arena && is_swapped[slot])
      swapped_.push_back({slot, buffer.offset, buffer.offset + buffer.byte_count, root(slot)});
  }
}

int64_t SmallDots::NumberOf(const cpu::SmallDot& dot) {
  const auto found = std::find(dots_.begin(), dots_.end(), dot);
  if (found != dots_.end()) return found - dots_.begin();
  dots_.push_back(dot);
  return static_cast<int64_t>(dots_.size()) - 1;
}

Term ApplyTerm(Terms& terms, const cpu::TileCall& call, int64_t count, absl::Span<const Term> operands,
               int64_t bytes) {
  absl::InlinedVector<int64_t, 12> arguments = {Number(reinterpret_cast<const void*>(call.function)),
                                                cpu::HasNativeOperation(call.function) ? 0 : call.parameter,
                                                count};
  arguments.insert(arguments.end(), operands.begin(), operands.end());
  return terms.Make(Op::kApply, arguments, bytes);
}

Term AddressTerm(Terms& terms, Term index, ElementType type, int64_t max, int64_t stride, bool is_checked,
                 Term before) {
  // No s32 is larger.
  if (type == ElementType::kS32) max = std::min<int64_t>(max, std::numeric_limits<int32_t>::max());
  const Term address =
      terms.Make(Op::kAddress, {index, static_cast<int64_t>(type), max, stride, is_checked ? 1 : 0, before},
                 sizeof(int64_t));
  Terms::Range range = {std::min<int64_t>(0, max * stride), std::max<int64_t>(0, max * stride)};
  if (const Terms::Range* other = before == kUndefined ? nullptr : terms.FindRange(before)) {
    range.smallest += other->smallest;
    range.largest += other->largest;
  }
  terms.SetRange(address, range);
  return address;
}

Term InRangeTerm(Terms& terms, Term index, ElementType type, int64_t max) {
  if (type == ElementType::kS32) max = std::min<int64_t>(max, std::numeric_limits<int32_t>::max());
  return terms.Make(Op::kInRange, {index, static_cast<int64_t>(type), max}, 1);
}

bool WritesWhole(const Plan& plan, const Step& step, Slot slot) {
  const auto* tiles = std::get_if<TileStep>(&step.what);
  if (tiles == nullptr) return true;
  int64_t bytes = 0;
  for (const loops::LoopProgram& program : tiles->programs) {
    program.VisitAccesses([&](const loops::Access& access, bool is_store) {
      if (is_store && access.argument == slot && !access.drops && access.edges.empty())
        bytes += program.outer_count() * program.inner_count() * ByteCount(access.type);
    });
  }
  return bytes >= plan.buffers[slot].byte_count;
}

SymbolicState::SymbolicState(const Plan& plan, const SlotLayout& layout, Terms& terms, SmallDots& dots)
    : plan_(plan), layout_(layout), terms_(terms), dots_(dots), memory_(layout.object_count()) {
  for (Slot slot = 0; slot < static_cast<Slot>(plan.buffers.size()); ++slot) {
    const Buffer& buffer = plan.buffers[slot];
    const bool is_given =
        buffer.kind == Buffer::Kind::kParameter || buffer.kind == Buffer::Kind::kConstant ||
        (buffer.kind == Buffer::Kind::kLiteral && (buffer.parameter >= 0 || buffer.constant != nullptr));
    const int64_t bytes = layout.of(slot).bytes;
    if (!is_given || bytes == 0) continue;
    memory_.Write(layout.of(slot).object, 0, One(terms.Make(Op::kInitial, {slot}, bytes), bytes));
  }
  SetEffects(terms.Make(Op::kInitial, {-1}, 1));
}

void SymbolicState::Fail(std::string error) {
  if (error_.empty()) error_ = std::move(error);
}

void SymbolicState::SetEffects(Term effects) { memory_.Write(layout_.effects(), 0, One(effects, 1)); }

Pieces SymbolicState::ReadSlot(Slot slot, int64_t offset, int64_t bytes) {
  const auto& [object, base, whole] = layout_.of(slot);
  Pieces pieces = memory_.Read(object, base + offset, bytes);
  const Literal* constant = plan_.buffers[slot].constant;
  // Equal constants share one copy in the bytecode.
  const bool is_small = constant != nullptr && plan_.buffers[slot].kind == Buffer::Kind::kConstant &&
                        bytes <= kMaxConstantBytes && pieces.size() == 1 &&
                        pieces[0].term == terms_.Make(Op::kInitial, {slot}, whole);
  if (is_small) pieces[0] = {terms_.Constant(constant->data() + offset, bytes), 0, bytes};
  return pieces;
}

// Swapped slots may be stored at each other's offsets: a write to the frame invalidates the slots that
// overlap it, and vice versa.
void SymbolicState::Touch(const SlotLayout::Storage& storage, int64_t begin, int64_t bytes) {
  const auto& swapped = layout_.swapped();
  if (swapped.empty()) return;
  if (storage.object == SlotLayout::kFrame) {
    for (const auto& hit : swapped) {
      if (begin >= hit.end || hit.begin >= begin + bytes) continue;
      for (const auto& each : swapped) {
        if (each.group == hit.group)
          memory_.Erase(layout_.of(each.slot).object, 0, layout_.of(each.slot).bytes);
      }
    }
    return;
  }
  for (const auto& own : swapped) {
    if (layout_.of(own.slot).object != storage.object) continue;
    for (const auto& each : swapped) {
      if (each.group == own.group) memory_.Erase(SlotLayout::kFrame, each.begin, each.end - each.begin);
    }
  }
}

void SymbolicState::WriteSlot(Slot slot, int64_t offset, Pieces pieces) {
  const SlotLayout::Storage& storage = layout_.of(slot);
  for (Piece& piece : pieces) piece.writer = writer_;
  int64_t bytes = 0;
  for (const Piece& piece : pieces) bytes += piece.bytes;
  Touch(storage, storage.offset + offset, bytes);
  memory_.Write(storage.object, storage.offset + offset, pieces);
}

void SymbolicState::WriteFrame(int64_t begin, Pieces pieces) {
  int64_t bytes = 0;
  for (Piece& piece : pieces) {
    piece.writer = writer_;
    bytes += piece.bytes;
  }
  Touch({}, begin, bytes);
  memory_.Write(SlotLayout::kFrame, begin, pieces);
}

bool SymbolicState::IsWithin(Slot slot, Term address, int64_t offset, int64_t bytes) {
  Terms::Range range = {0, 0};
  if (address != kUndefined) {
    const Terms::Range* found = terms_.FindRange(address);
    if (found == nullptr) {
      Fail(fmt::format("the address of an access to b{} is not a valid address", slot));
      return false;
    }
    range = *found;
  }
  if (offset + range.smallest >= 0 && offset + range.largest + bytes <= layout_.of(slot).bytes) return true;
  Fail(fmt::format("bytes {} to {} are accessed in b{}, which has {}", offset + range.smallest,
                   offset + range.largest + bytes, slot, layout_.of(slot).bytes));
  return false;
}

Term SymbolicState::Load(Slot slot, Term address, int64_t offset, int64_t bytes) {
  if (!IsWithin(slot, address, offset, bytes)) return kUndefined;
  if (address == kUndefined) return Combine(terms_, ReadSlot(slot, offset, bytes));
  return terms_.Make(Op::kLoadAt, {Snapshot(slot), address, offset, bytes}, bytes);
}

void SymbolicState::Store(Slot slot, Term address, int64_t offset, Pieces pieces) {
  int64_t bytes = 0;
  for (const Piece& piece : pieces) bytes += piece.bytes;
  if (!IsWithin(slot, address, offset, bytes)) return;
  if (address == kUndefined) return WriteSlot(slot, offset, std::move(pieces));
  const int64_t whole = layout_.of(slot).bytes;
  const Term value = Combine(terms_, pieces), before = Snapshot(slot);
  WriteSlot(slot, 0, One(terms_.Make(Op::kStoreAt, {before, address, offset, bytes, value}, whole), whole));
}

void SymbolicState::ChooseSince(size_t mark, Term condition) {
  const std::vector<SymbolicMemory::Change> changes = memory_.Changes(mark);
  std::vector<Pieces> after;
  for (const auto& change : changes) after.push_back(memory_.Read(change.object, change.begin, change.bytes));
  memory_.Rollback(mark);
  for (size_t k = 0; k < changes.size(); ++k) {
    const auto& [object, begin, bytes] = changes[k];
    const Pieces before = memory_.Read(object, begin, bytes);
    const bool is_known = !HasUndefined(before) && !HasUndefined(after[k]);
    const Term chosen =
        is_known
            ? terms_.Make(Op::kSelect, {condition, Combine(terms_, after[k]), Combine(terms_, before)}, bytes)
            : kUndefined;
    memory_.Write(object, begin, One(chosen, bytes));
  }
}

void SymbolicState::Run(const std::vector<Move>& moves) {
  std::vector<Pieces> sources;
  for (const Move& move : moves) {
    sources.push_back(move.swaps ? Pieces() : ReadSlot(move.from));
    if (move.swaps || layout_.of(move.from).bytes == layout_.of(move.to).bytes) continue;
    const int64_t bytes = layout_.of(move.to).bytes;
    sources.back() = One(terms_.Make(Op::kConverted, {Combine(terms_, sources.back())}, bytes), bytes);
  }
  for (const Move& move : moves) {
    if (!move.swaps) continue;
    const Pieces to = ReadSlot(move.to), from = ReadSlot(move.from);
    memory_.Write(layout_.of(move.to).object, 0, from);
    memory_.Write(layout_.of(move.from).object, 0, to);
  }
  for (size_t k = 0; k < moves.size(); ++k) {
    if (!moves[k].swaps) WriteSlot(moves[k].to, 0, std::move(sources[k]));
  }
}

void SymbolicState::Run(const Step& step) {
  if (const auto* tiles = std::get_if<TileStep>(&step.what)) {
    std::vector<SmallProgram> small;
    for (const loops::LoopProgram& program : tiles->programs) {
      std::optional<SmallProgram> compiled = cpu::CompileSmall(program);
      if (!compiled.has_value()) return RunOpaque(step);
      small.push_back(*std::move(compiled));
    }
    for (const SmallProgram& program : small) RunSmall(program);
    return;
  }
  if (const auto* reduce = std::get_if<ReduceStep>(&step.what)) {
    const std::optional<SmallProgram> compiled = cpu::CompileSmall(reduce->program);
    return compiled.has_value() ? RunSmall(*compiled) : RunOpaque(step);
  }
  const auto* kernel = std::get_if<KernelStep>(&step.what);
  if (kernel != nullptr && (RunScatter(step, *kernel) || RunWindows(step, *kernel) ||
                            RunGather(step, *kernel) || RunDot(step, *kernel)))
    return;
  RunOpaque(step);
}

SymbolicState::Addresses SymbolicState::AddressesOf(const SmallProgram& program) {
  // The numbers ascend.
  Addresses addresses(program.starts.empty() ? 1 : program.starts.back().number + 1);
  for (const SmallProgram::Start& start : program.starts) {
    auto& [address, offset] = addresses[start.number];
    if (const Literal* constant = plan_.buffers[start.argument].constant) {
      const std::byte* data = constant->data() + start.byte_offset;
      const int64_t index = loops::ReadInteger(start.type, data);
      offset += std::clamp<int64_t>(index, 0, start.max) * start.byte_stride;
    } else {
      const Term index = Load(start.argument, kUndefined, start.byte_offset, ByteCount(start.type));
      address =
          AddressTerm(terms_, index, start.type, start.max, start.byte_stride, /*is_checked=*/false, address);
    }
  }
  return addresses;
}

void SymbolicState::RunSmall(const SmallProgram& program) {
  const Addresses addresses = AddressesOf(program);
  SymbolicMemory scratch(1);  // The registers.
  const auto read = [&](const SmallProgram::Operand& operand, int64_t bytes) -> Pieces {
    if (operand.argument < 0) return scratch.Read(0, operand.offset, bytes);
    const auto& [address, offset] = addresses[operand.start];
    if (address == kUndefined && IsWithin(operand.argument, address, operand.offset + offset, bytes))
      return ReadSlot(operand.argument, operand.offset + offset, bytes);
    return One(Load(operand.argument, address, operand.offset + offset, bytes), bytes);
  };
  for (const SmallProgram::Call& call : program.calls) {
    const cpu::TileFn function = call.call.function;
    const bool spreads = cpu::IsSplatTile(function);
    const int64_t bytes = call.count * call.out.width;
    Pieces value;
    if (cpu::IsCopyTile(function) || (spreads && call.count == 1)) {
      value = read(call.in[0], call.count * call.call.parameter);
    } else {
      absl::InlinedVector<Term, 3> operands;
      for (size_t k = 0; k < call.in.size(); ++k) {
        const SmallProgram::Operand& in = call.in[k];
        if (in.width > 0)
          operands.push_back(Combine(terms_, read(in, (spreads ? 1 : call.ElementsOf(k)) * in.width)));
      }
      value = One(ApplyTerm(terms_, call.call, call.count, operands, bytes), bytes);
    }
    if (call.out.argument < 0) {
      scratch.Write(0, call.out.offset, value);
    } else {
      const auto& [address, offset] = addresses[call.out.start];
      Store(call.out.argument, address, call.out.offset + offset, std::move(value));
    }
  }
}

bool SymbolicState::RunScatter(const Step& step, const KernelStep& kernel) {
  if (step.instruction->opcode() != Opcode::kScatter) return false;
  const std::optional<WindowUpdate> update = FindWindowUpdate(*step.instruction);
  if (!update.has_value() || kernel.operands.size() != 3) return false;
  const Slot operand = kernel.operands[0], result = kernel.results[0];
  if (operand != result) WriteSlot(result, 0, ReadSlot(operand));
  const int64_t bytes = update->count * ByteCount(update->type), index_bytes = ByteCount(update->index_type);
  Term address = kUndefined;
  std::vector<std::pair<size_t, Term>> conditions;
  for (size_t k = 0; k < update->starts.size(); ++k) {
    const auto& [max, stride] = update->starts[k];
    const Term index =
        Load(kernel.operands[1], kUndefined, static_cast<int64_t>(k) * index_bytes, index_bytes);
    conditions.emplace_back(memory_.Begin(), InRangeTerm(terms_, index, update->index_type, max));
    address = AddressTerm(terms_, index, update->index_type, max, stride * ByteCount(update->type),
                          /*is_checked=*/true, address);
  }
  Pieces value = ReadSlot(kernel.operands[2], 0, bytes);
  if (update->combine.has_value()) {
    const Term old = Load(result, address, 0, bytes);
    value = One(ApplyTerm(terms_, cpu::FindTileCall(*update->combine), update->count,
                          {old, Combine(terms_, value)}, bytes),
                bytes);
  }
  Store(result, address, 0, std::move(value));
  for (auto condition = conditions.rbegin(); condition != conditions.rend(); ++condition)
    ChooseSince(condition->first, condition->second);
  return true;
}

bool SymbolicState::RunWindows(const Step& step, const KernelStep& kernel) {
  const bool is_scatter = step.instruction->opcode() == Opcode::kScatter;
  if (!is_scatter && step.instruction->opcode() != Opcode::kGather) return false;
  const Slot operand = kernel.operands[0], indices = kernel.operands[1], result = kernel.results[0];
  const std::optional<WindowMoves> moves =
      FindWindowMoves(*step.instruction, plan_.buffers[indices].constant);
  if (!moves.has_value()) return false;
  if (is_scatter && operand != result) WriteSlot(result, 0, ReadSlot(operand));
  const int64_t bytes = moves->length * moves->width, index_bytes = ByteCount(moves->index_type);
  for (const WindowMoves::Window& window : moves->windows) {
    Term address = kUndefined;
    std::vector<std::pair<size_t, Term>> conditions;
    for (const auto& [number, max, stride] : window.starts) {
      const Term index = Load(indices, kUndefined, number * index_bytes, index_bytes);
      if (is_scatter)
        conditions.emplace_back(memory_.Begin(), InRangeTerm(terms_, index, moves->index_type, max));
      address =
          AddressTerm(terms_, index, moves->index_type, max, stride * moves->width, is_scatter, address);
    }
    for (const WindowMoves::Move& move : window.moves) {
      const int64_t at = move.operand * moves->width, other = move.other * moves->width;
      if (!is_scatter) {
        WriteSlot(result, other,
                  address == kUndefined ? ReadSlot(operand, at, bytes)
                                        : One(Load(operand, address, at, bytes), bytes));
        continue;
      }
      Pieces value = ReadSlot(kernel.operands[2], other, bytes);
      if (moves->combine.has_value()) {
        const Term old = Load(result, address, at, bytes);
        value = One(ApplyTerm(terms_, cpu::FindTileCall(*moves->combine), moves->length,
                              {old, Combine(terms_, value)}, bytes),
                    bytes);
      }
      Store(result, address, at, std::move(value));
    }
    for (auto condition = conditions.rbegin(); condition != conditions.rend(); ++condition)
      ChooseSince(condition->first, condition->second);
  }
  return true;
}

bool SymbolicState::RunGather(const Step& step, const KernelStep& kernel) {
  if (step.instruction->opcode() != Opcode::kGather) return false;
  const std::optional<LineGather> gather = FindLineGather(*step.instruction);
  if (!gather.has_value()) return false;
  const cpu::TileCall call = cpu::GatherTile(gather->width, gather->index_type, gather->most);
  if (call.function == nullptr || gather->count == 0) return false;
  const int64_t bytes = gather->count * gather->width;
  const Term from = Combine(terms_, ReadSlot(kernel.operands[0], 0, (gather->most + 1) * gather->width)),
             at = Combine(terms_,
                          ReadSlot(kernel.operands[1], 0, gather->count * ByteCount(gather->index_type)));
  WriteSlot(kernel.results[0], 0, One(ApplyTerm(terms_, call, gather->count, {from, at}, bytes), bytes));
  return true;
}

bool SymbolicState::RunDot(const Step& step, const KernelStep& kernel) {
  if (kernel.kernel.name != "small dot") return false;
  const std::optional<cpu::SmallDot> dot = FindSmallDot(*step.instruction);
  if (!dot.has_value()) return false;
  const Term a = Snapshot(kernel.operands[0]), b = Snapshot(kernel.operands[1]);
  const int64_t bytes = layout_.of(kernel.results[0]).bytes;
  const Term product =
      dot->line() > 0
          ? terms_.Make(Op::kDotLine, {static_cast<int64_t>(dot->type()), dot->line(), a, b}, bytes)
          : terms_.Make(Op::kDot, {dots_.NumberOf(*dot), a, b}, bytes);
  WriteSlot(kernel.results[0], 0, One(product, bytes));
  return true;
}

void SymbolicState::RunOpaque(const Step& step) {
  std::vector<Slot> reads, writes;
  VisitSlots(step, [&](const Slot& slot, bool is_write) {
    std::vector<Slot>& list = is_write ? writes : reads;
    if (std::find(list.begin(), list.end(), slot) == list.end()) list.push_back(slot);
  });
  for (const Slot slot : writes) {
    if (!WritesWhole(plan_, step, slot)) reads.push_back(slot);
  }
  absl::InlinedVector<int64_t, 12> arguments = {Number(&step)};
  for (const Slot slot : reads) arguments.push_back(Snapshot(slot));
  const bool has_effects =
      std::holds_alternative<KernelStep>(step.what) || std::holds_alternative<ReferenceStep>(step.what);
  if (has_effects) arguments.push_back(effects());
  const Term done = terms_.Make(Op::kStep, arguments, 1);
  for (size_t k = 0; k < writes.size(); ++k) {
    const int64_t bytes = layout_.of(writes[k]).bytes;
    WriteSlot(writes[k], 0, One(terms_.Make(Op::kResult, {done, static_cast<int64_t>(k)}, bytes), bytes));
  }
  if (has_effects) SetEffects(terms_.Make(Op::kResult, {done, -1}, 1));
}

}  // namespace hlo::plan
