// This file determines the operands and results of each bytecode instruction, and redirects results.

#include <algorithm>

#include "absl/algorithm/container.h"
#include "kernels/cpu/bytecode/bytecode.h"
#include "kernels/cpu/bytecode/opcodes.h"

namespace hlo::cpu {
namespace {

// Returns true if the operation reads the frame at `out`, which other operations write.
bool IsStore(uint16_t code) { return code >= kStore && code <= kCallOnMemory; }
// Returns true for loads and stores.
bool IsLoadOrStore(uint16_t code) { return code >= kLoad && code <= kStoreAt8; }

constexpr FrameOffset Bytecode::Op::*kFields[] = {&Bytecode::Op::a, &Bytecode::Op::b, &Bytecode::Op::c,
                                                  &Bytecode::Op::out};
// Returns the fields of the operands in the frame, among which is `out` for stores.
absl::Span<FrameOffset Bytecode::Op::*const> OperandsOf(const Bytecode::Op& op) {
  return absl::MakeConstSpan(kFields).first(IsStore(op.code) ? 4 : 3);
}

// The bytes that an operation of fixed size reads or writes at its operands, per element.
struct Widths {
  int64_t out = 0, a = 0, b = 0, c = 0;
};
Widths WidthsOf(uint16_t code) {
  switch (code) {
#define HLO_ROW(name, opcode, F, Kind, type) \
  case k##name##Kind:                        \
    return {sizeof(type), sizeof(type), sizeof(type)};
    HLO_OPERATIONS(HLO_ROW)
    HLO_FUNCTIONS(HLO_ROW)
#undef HLO_ROW
#define HLO_ROW(name, Kind, type) \
  case k##name##Kind:             \
    return {sizeof(bool), sizeof(type), sizeof(type)};
    HLO_COMPARISONS(HLO_ROW)
#undef HLO_ROW
#define HLO_ROW(From, from, To, to) \
  case kConvert##From##To:          \
    return {sizeof(to), sizeof(from)};
    HLO_CONVERSIONS(HLO_ROW)
#undef HLO_ROW
#define HLO_ROW(name, operands) \
  case k##name##BF16:           \
    return {4, 4, operands == 2 ? 4 : 0};
    HLO_ROUNDED_OPERATIONS(HLO_ROW)
#undef HLO_ROW
#define HLO_ROW(Kind, type) \
  case kWiden##Kind:        \
    return {4, 2};          \
  case kRound##Kind:        \
    return {4, 4};          \
  case kNarrow##Kind:       \
    return {2, 4};
    HLO_HALVES(HLO_ROW)
#undef HLO_ROW
    case kSelect1:
      return {1, 1, 1, 1};
    case kSelect2:
      return {2, 1, 2, 2};
    case kSelect4:
      return {4, 1, 4, 4};
    case kSelect8:
      return {8, 1, 8, 8};
    case kCopy1:
      return {1, 1};
    case kCopy2:
      return {2, 2};
    case kCopy4:
      return {4, 4};
    case kAddressS32:
    case kAddAddressS32:
    case kCheckedAddressS32:
      return {8, 4};
    case kCopy8:
    case kAddress:
    case kAddAddress:
    case kCheckedAddress:
    case kAddCheckedAddress:
      return {8, 8};
    case kRepeat:
    case kJumpUnless:
      return {.a = 1};
    case kJumpTo:
      return {.a = 4};
    default:
      return {};
  }
}

}  // namespace

int64_t Bytecode::Reach(const Op& op, FrameOffset Op::*field) const {
  const auto at = [&](int64_t out, int64_t a, int64_t b, int64_t c) {
    return field == &Op::out ? out : field == &Op::a ? a : field == &Op::b ? b : c;
  };
  switch (op.code) {
    case kCopyBytes:
      return at(op.number, op.number, 0, 0);
    case kSplat4:
      return at(op.number * sizeof(uint32_t), sizeof(uint32_t), 0, 0);
    case kSplat8:
      return at(op.number * sizeof(uint64_t), sizeof(uint64_t), 0, 0);
    case kDotF32:
      return at(sizeof(float), op.number * sizeof(float), op.number * sizeof(float), 0);
    case kDotF64:
      return at(sizeof(double), op.number * sizeof(double), op.number * sizeof(double), 0);
    case kDot: {
      const DotBytes& bytes = products_[op.number].bytes;
      return at(bytes.out, bytes.a, bytes.b, bytes.b);
    }
    case kCall: {
      const auto& [call, count, widths] = tiles_[op.number];
      return at(count * widths.out, widths.BytesOf(0, count), widths.BytesOf(1, count),
                widths.BytesOf(2, count));
    }
    case kCallOnMemory:
      return op.*field == kNoAddress ? 0 : sizeof(int64_t);
    default:
      break;
  }
  if (IsLoadOrStore(op.code)) return at(op.byte_count(), sizeof(int64_t), 0, 0);
  const Widths widths = WidthsOf(op.code);
  return op.count * at(widths.out, widths.a, widths.b, widths.c);
}

bool Bytecode::UsesArgument(int64_t first, int32_t argument) const {
  const auto is_one = [&](const MemoryOperand& operand) { return operand.argument == argument; };
  return std::any_of(ops_.begin() + first, ops_.end(), [&](const Op& op) {
    if (op.code != kCallOnMemory) return IsLoadOrStore(op.code) && op.argument() == argument;
    const MemoryCall& call = memory_calls_[op.number];
    return is_one(call.out) || absl::c_any_of(call.in, is_one);
  });
}

bool Bytecode::JumpsBeyond(int64_t first, int64_t number) const {
  const auto is_beyond = [&](Label label) { return targets_[label] < 0 || targets_[label] > number; };
  for (int64_t k = first; k < number; ++k) {
    const Op& op = ops_[k];
    switch (op.code) {
      case kCheckedAddressS32:
        if (is_beyond(op.outside())) return true;
        break;
      case kCheckedAddress:
      case kAddCheckedAddress:
        if (is_beyond(ranges_[op.number].outside)) return true;
        break;
      case kJumpTo:
        if (absl::c_any_of(tables_[op.number], is_beyond)) return true;
        break;
      case kRepeat:
      case kJump:
      case kJumpUnless:
        if (is_beyond(static_cast<Label>(op.number))) return true;
        break;
      default:
        break;
    }
  }
  return false;
}

bool Bytecode::Touches(const Op& op, FrameOffset Op::*field, const Bytes& bytes) const {
  const int64_t reach = Reach(op, field);
  return reach > 0 && op.*field < bytes.begin + bytes.count && bytes.begin < op.*field + reach;
}
bool Bytecode::Writes(const Op& op, const Bytes& bytes) const {
  return op.code < kStore && Touches(op, &Op::out, bytes);
}
bool Bytecode::Reads(const Op& op, const Bytes& bytes) const {
  return absl::c_any_of(OperandsOf(op), [&](FrameOffset Op::*field) { return Touches(op, field, bytes); });
}

bool Bytecode::Sink(int64_t number, Extent extent) {
  const Op op = ops_[number];
  const Bytes out = {op.out, Reach(op, &Op::out)};
  const auto stored = [&](const Op& later) {
    if (!IsStore(later.code)) return Bytes{0, 0};
    return extent(later.code == kCallOnMemory ? memory_calls_[later.number].out.argument : later.argument());
  };
  for (int64_t k = number + 1; k < op_count(); ++k) {
    const Op& later = ops_[k];
    if (later.code >= kEscape || Reads(later, out) || Writes(later, out)) return false;
    for (const auto field : OperandsOf(op)) {
      const int64_t reach = Reach(op, field);
      if (reach > 0 && (Writes(later, {op.*field, reach}) || Touches(op, field, stored(later)))) return false;
    }
  }
  ops_.erase(ops_.begin() + number);
  ops_.push_back(op);
  for (int64_t& target : targets_) target -= target > number ? 1 : 0;
  return true;
}

bool Bytecode::Retarget(int64_t first, FrameOffset from, FrameOffset to, int64_t byte_count, Extent extent) {
  const Bytes source = {from, byte_count}, target = {to, byte_count};
  int64_t defined = -1;
  for (int64_t k = first; k < op_count(); ++k) {
    if (!Writes(ops_[k], source)) continue;
    if (defined >= 0) return false;
    defined = k;
  }
  if (defined < 0 || ops_[defined].out != from || ops_[defined].code >= kAddressS32) return false;
  if (JumpsBeyond(first, defined)) return false;
  // Sinks the definition behind uses of the previous value.
  if (Sink(defined, extent)) defined = op_count() - 1;
  for (int64_t k = first; k < op_count(); ++k) {
    const Op& op = ops_[k];
    if (k <= defined) {
      if (Reads(op, source)) return false;
      continue;
    }
    if (op.code >= kEscape || Reads(op, target) || Writes(op, target)) return false;
    for (const auto field : OperandsOf(op)) {
      if (Touches(op, field, source) && op.*field != from) return false;
    }
  }
  // A call may work in place but must not overlap otherwise. Products and calls that read another number of
  // elements must not work in place.
  Op& definition = ops_[defined];
  const bool is_apart =
      definition.code == kDot ||
      (definition.code == kCall && tiles_[definition.number].widths.reads != CallWidths::kAll);
  for (const auto field : OperandsOf(definition)) {
    if (!Touches(definition, field, target)) continue;
    if (is_apart || definition.*field != to) return false;
  }
  definition.out = to;
  for (int64_t k = defined + 1; k < op_count(); ++k) {
    Op& op = ops_[k];
    for (const auto field : OperandsOf(op)) {
      if (op.*field == from && Reach(op, field) > 0) op.*field = to;
    }
  }
  return true;
}

}  // namespace hlo::cpu
