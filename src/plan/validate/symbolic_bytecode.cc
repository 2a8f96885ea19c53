#include "plan/validate/symbolic_bytecode.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "plan/cpu/plan_bytecode.h"
#include "plan/visit.h"

namespace hlo::plan {

SymbolicCode::SymbolicCode(const Plan& plan, const SlotLayout& layout, Terms& terms, SmallDots& dots)
    : plan_(plan),
      code_(*plan.bytecode),
      layout_(layout),
      terms_(terms),
      dots_(dots),
      state_(plan, layout, terms, dots) {
  ops_.reserve(code_.code.op_count());
  for (int64_t k = 0; k < code_.code.op_count(); ++k) {
    ops_.push_back(cpu::Decode(code_.code, k));
    if (ops_.back().kind == Kind::kInvalid) FailAt(k, std::string(ops_.back().name));
  }
  if (ops_.empty() || ops_.back().kind != Kind::kEnd) FailAt(op_count(), "the code does not end");
}

void SymbolicCode::FailAt(int64_t op, const std::string& what) {
  const std::string_view name = op < op_count() ? ops_[op].name : "";
  if (error_.empty()) error_ = fmt::format("operation {} ({}): {}", op, name, what);
}

void SymbolicCode::Import() {
  for (const PlanBytecode::Import& import : code_.imports) {
    const bool is_inside = import.slot >= 0 && import.slot < static_cast<Slot>(plan_.buffers.size()) &&
                           import.offset >= 0 && import.byte_count >= 0 &&
                           import.offset + import.byte_count <= layout_.of(import.slot).bytes &&
                           IsInFrame({import.to, import.byte_count});
    if (!is_inside) return FailAt(0, fmt::format("an import of b{} is out of bounds", import.slot));
    state_.WriteFrame(import.to, state_.ReadSlot(import.slot, import.offset, import.byte_count));
  }
}

void SymbolicCode::VisitWrittenSlots(int64_t first, int64_t last, absl::FunctionRef<void(Slot)> visit) const {
  const auto moved = [&](const std::vector<Move>& moves) {
    for (const Move& move : moves) {
      visit(move.to);
      if (move.swaps) visit(move.from);
    }
  };
  for (int64_t k = first; k <= last; ++k) {
    const DecodedOp& op = ops_[k];
    if (op.kind == Kind::kStore && IsSlot(op.argument)) visit(op.argument);
    if (op.kind == Kind::kMemoryCall && IsSlot(op.memory_call->out.argument))
      visit(op.memory_call->out.argument);
    if (op.kind != Kind::kEscape || !IsEscape(op.escape)) continue;
    const auto& escape = code_.escapes[op.escape];
    if (const auto* moves = std::get_if<std::vector<Move>>(&escape)) {
      moved(*moves);
    } else {
      VisitSlots(*std::get<const Step*>(escape), [&](const Slot& slot, bool is_write) {
        if (is_write) visit(slot);
      });
    }
  }
}

void SymbolicCode::EraseWrites(int64_t first, int64_t last) {
  VisitWrittenSlots(first, last, [&](Slot slot) { state_.EraseSlot(slot); });
  for (int64_t k = first; k <= last; ++k) {
    const DecodedOp& op = ops_[k];
    if (op.out.bytes > 0 && IsInFrame(op.out))
      state_.WriteFrame(op.out.offset, {{kUndefined, 0, op.out.bytes}});
  }
}

bool SymbolicCode::IsSlot(int32_t argument) const {
  return argument >= 0 && argument < static_cast<int32_t>(plan_.buffers.size());
}

bool SymbolicCode::IsEscape(int64_t number) const {
  return number >= 0 && number < static_cast<int64_t>(code_.escapes.size());
}

bool SymbolicCode::IsInFrame(const DecodedOp::FrameRange& range) const {
  return range.offset >= 0 && range.bytes >= 0 && range.offset + range.bytes <= plan_.arena_bytes;
}

bool SymbolicCode::Check(const DecodedOp::FrameRange& range) {
  if (!IsInFrame(range)) FailAt(pc_, fmt::format("frame offset {} is out of bounds", range.offset));
  return ok();
}

Term SymbolicCode::Value(const DecodedOp::FrameRange& range) {
  if (!Check(range)) return kUndefined;
  const Pieces pieces = state_.ReadFrame(range.offset, range.bytes);
  if (HasUndefined(pieces))
    FailAt(pc_, fmt::format("frame offset {} is read before it is written", range.offset));
  return Combine(terms_, pieces);
}

const cpu::DecodedOp* SymbolicCode::RunTo(Kind kind, int64_t stop) {
  if (!ok() || !RunStraight(stop)) return nullptr;
  if (pc_ < op_count() && ops_[pc_].kind == kind) return &ops_[pc_];
  FailAt(std::min(pc_, op_count() - 1), "the steps have no such control flow here");
  return nullptr;
}

bool SymbolicCode::RunStraight(int64_t stop) {
  while (ok() && pc_ < stop && ops_[pc_].kind < Kind::kRepeat) RunOp(ops_[pc_]);
  return ok();
}

void SymbolicCode::RunOp(const DecodedOp& op) {
  state_.SetWriter(static_cast<int32_t>(pc_));
  switch (op.kind) {
    case Kind::kApply:
      Apply(op);
      break;
    case Kind::kCopy:
      if (Check(op.in[0]) && Check(op.out)) {
        CheckOverlap(op, op.in[0], /*may_be_same=*/true);
        state_.WriteFrame(op.out.offset, state_.ReadFrame(op.in[0].offset, op.in[0].bytes));
      }
      break;
    case Kind::kDot:
      Dot(op);
      break;
    case Kind::kAddress:
      Address(op);
      break;
    case Kind::kCheckedAddress:
      return CheckedAddress(op);
    case Kind::kLoad:
    case Kind::kStore:
      Transfer(op);
      break;
    case Kind::kMemoryCall:
      MemoryCall(op);
      break;
    case Kind::kEscape:
      Escape(op);
      break;
    default:
      FailAt(pc_, "control flow is out of place");
  }
  if (!state_.error().empty()) FailAt(pc_, state_.error());
  ++pc_;
}

void SymbolicCode::Put(const DecodedOp& op, Term term) {
  if (Check(op.out)) state_.WriteFrame(op.out.offset, {{term, 0, op.out.bytes}});
}

void SymbolicCode::CheckOverlap(const DecodedOp& op, const DecodedOp::FrameRange& in, bool may_be_same) {
  const bool overlaps =
      in.bytes > 0 && in.offset < op.out.offset + op.out.bytes && op.out.offset < in.offset + in.bytes;
  const bool is_same = in.offset == op.out.offset && in.bytes == op.out.bytes;
  if (overlaps && !(may_be_same && is_same))
    FailAt(pc_, fmt::format("frame offsets {} and {} overlap", op.out.offset, in.offset));
}

void SymbolicCode::Apply(const DecodedOp& op) {
  absl::InlinedVector<Term, 3> operands;
  for (const DecodedOp::FrameRange& in : op.in) {
    if (in.bytes == 0) continue;
    operands.push_back(Value(in));
    if (op.count > 1 || op.is_apart) CheckOverlap(op, in, !op.is_apart);
  }
  if (ok()) Put(op, ApplyTerm(terms_, op.call, op.count, operands, op.out.bytes));
}

void SymbolicCode::Dot(const DecodedOp& op) {
  for (const DecodedOp::FrameRange& in : {op.in[0], op.in[1]}) CheckOverlap(op, in, op.dot == nullptr);
  const int64_t a = Value(op.in[0]), b = Value(op.in[1]);
  if (!ok()) return;
  const int64_t length = op.in[0].bytes / ByteCount(op.type);
  const Term line =
      op.dot == nullptr
          ? terms_.Make(Terms::Op::kDotLine, {static_cast<int64_t>(op.type), length, a, b}, op.out.bytes)
          : terms_.Make(Terms::Op::kDot, {dots_.NumberOf(*op.dot), a, b}, op.out.bytes);
  Put(op, line);
}

Term SymbolicCode::AddressBefore(const DecodedOp& op) {
  if (!op.adds) return kUndefined;
  const Term before = Value(op.out);
  if (ok() && terms_.FindRange(before) == nullptr)
    FailAt(pc_, fmt::format("frame offset {} does not hold an address", op.out.offset));
  return before;
}

void SymbolicCode::Address(const DecodedOp& op) {
  const Term index = Value(op.in[0]), before = AddressBefore(op);
  if (ok()) Put(op, AddressTerm(terms_, index, op.type, op.max, op.stride, /*is_checked=*/false, before));
}

void SymbolicCode::CheckedAddress(const DecodedOp& op) {
  const Term index = Value(op.in[0]), before = AddressBefore(op);
  const int64_t end = op.targets[0];
  if (end <= pc_) FailAt(pc_, "a jump backwards");
  if (!ok()) return;
  const size_t mark = state_.memory().Begin();
  Put(op, AddressTerm(terms_, index, op.type, op.max, op.stride, /*is_checked=*/true, before));
  ++pc_;
  if (!RunStraight(end)) return;
  if (pc_ != end) return FailAt(pc_, "control flow within what is skipped");
  state_.ChooseSince(mark, InRangeTerm(terms_, index, op.type, op.max));
}

Term SymbolicCode::AddressAt(const DecodedOp::FrameRange& range) {
  return range.bytes == 0 ? kUndefined : Value(range);
}

void SymbolicCode::Transfer(const DecodedOp& op) {
  if (!IsSlot(op.argument)) return FailAt(pc_, "there is no such buffer");
  const Term address = AddressAt(op.address);
  const bool is_load = op.kind == Kind::kLoad;
  if (!ok() || !Check(is_load ? op.out : op.in[0])) return;
  const Buffer::Kind kind = plan_.buffers[op.argument].kind;
  if (kind == Buffer::Kind::kLiteral || (!is_load && kind == Buffer::Kind::kConstant))
    return FailAt(pc_, fmt::format("b{} cannot be accessed", op.argument));
  if (!is_load)
    return state_.Store(op.argument, address, op.offset, state_.ReadFrame(op.in[0].offset, op.in[0].bytes));
  const Term value = state_.Load(op.argument, address, op.offset, op.out.bytes);
  if (!state_.error().empty()) return;
  if (address == kUndefined)
    state_.WriteFrame(op.out.offset, state_.ReadSlot(op.argument, op.offset, op.out.bytes));
  else
    Put(op, value);
}

void SymbolicCode::MemoryCall(const DecodedOp& op) {
  const auto address = [&](const cpu::Bytecode::MemoryOperand& operand) {
    return operand.address == cpu::Bytecode::kNoAddress ? kUndefined
                                                        : Value({operand.address, sizeof(int64_t)});
  };
  const bool is_copy = cpu::IsCopyTile(op.call.function), spreads = cpu::IsSplatTile(op.call.function);
  absl::InlinedVector<Term, 3> operands;
  for (const auto& in : op.memory_call->in) {
    if (in.argument < 0) continue;
    if (!IsSlot(in.argument)) return FailAt(pc_, "there is no such buffer");
    operands.push_back(state_.Load(in.argument, address(in), in.offset, (spreads ? 1 : op.count) * in.width));
  }
  const auto& out = op.memory_call->out;
  if (!IsSlot(out.argument) || plan_.buffers[out.argument].kind == Buffer::Kind::kConstant)
    return FailAt(pc_, "the result has no buffer");
  const Term to = address(out);
  if (!ok() || !state_.error().empty()) return;
  const int64_t bytes = op.count * out.width;
  Pieces value;
  if (!is_copy || operands.size() != 1) {
    value = {{ApplyTerm(terms_, op.call, op.count, operands, bytes), 0, bytes}};
  } else if (const auto& in = op.memory_call->in[0]; in.address == cpu::Bytecode::kNoAddress) {
    // A part of a copy equals the part of its source.
    value = state_.ReadSlot(in.argument, in.offset, bytes);
  } else {
    value = {{operands[0], 0, bytes}};
  }
  state_.Store(out.argument, to, out.offset, std::move(value));
}

void SymbolicCode::Escape(const DecodedOp& op) {
  if (!IsEscape(op.escape)) return FailAt(pc_, "there is no such step");
  const auto& escape = code_.escapes[op.escape];
  if (const auto* moves = std::get_if<std::vector<Move>>(&escape)) return state_.Run(*moves);
  const Step& step = *std::get<const Step*>(escape);
  if (std::holds_alternative<LoopStep>(step.what) || std::holds_alternative<BranchStep>(step.what))
    return FailAt(pc_, "an escape runs a step of control flow");
  state_.Run(step);
}

}  // namespace hlo::plan
