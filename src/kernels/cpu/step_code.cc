#include "kernels/cpu/step_code.h"

#include <algorithm>
#include <limits>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "base/check.h"
#include "kernels/cpu/step_codes.h"
#include "kernels/cpu/tile_program.h"

namespace hlo::cpu {
namespace {

// These read where others write.
bool IsStore(uint16_t code) { return code >= kStore && code <= kCallFar; }
// Loads and stores.
bool IsFar(uint16_t code) { return code >= kLoad && code <= kStoreAt8; }

// Which of them a tile operation is.
std::optional<Code> OwnCode(TileFn function) {
  static const auto& codes = *[] {
    auto* all = new absl::flat_hash_map<TileFn, Code>;
#define HLO_ROW(name, opcode, F, Kind, type) \
  all->emplace(FindTileOp(Opcode::k##opcode, ElementType::k##Kind).function, k##name##Kind);
    HLO_OPERATIONS(HLO_ROW)
    HLO_FUNCTIONS(HLO_ROW)
#undef HLO_ROW
#define HLO_ROW(name, Kind, type)                                                                   \
  all->emplace(FindTileCompare(ComparisonDirection::k##name, false, ElementType::k##Kind).function, \
               k##name##Kind);
    HLO_COMPARISONS(HLO_ROW)
#undef HLO_ROW
#define HLO_ROW(From, from, To, to) \
  all->emplace(FindTileConvert(ElementType::k##From, ElementType::k##To).function, kConvert##From##To);
    HLO_CONVERSIONS(HLO_ROW)
#undef HLO_ROW
    all->emplace(FindTileSelect(ElementType::kU8).function, kSelect1);
    all->emplace(FindTileSelect(ElementType::kU16).function, kSelect2);
    all->emplace(FindTileSelect(ElementType::kU32).function, kSelect4);
    all->emplace(FindTileSelect(ElementType::kU64).function, kSelect8);
    all->erase(nullptr);
    if constexpr (!kFusesMulAdd) {
      for (const Opcode opcode : {Opcode::kCosine, Opcode::kSine})
        all->erase(FindTileOp(opcode, ElementType::kF32).function);
    }
    return all;
  }();
  const auto found = codes.find(function);
  return found == codes.end() ? std::nullopt : std::optional(found->second);
}

bool IsFunction(uint16_t code) {
  switch (code) {
#define HLO_ROW(name, opcode, F, Kind, type) case k##name##Kind:
    HLO_FUNCTIONS(HLO_ROW)
#undef HLO_ROW
    return true;
    default:
      return false;
  }
}

// Bytes that an operation of a fixed size reads or writes at its places; those of an element where a call is
// of several.
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

void StepCode::Call(const TileCall& call, int64_t count, const CallWidths& call_widths, FramePlace out,
                    const FramePlace (&in)[3]) {
  // A call takes as long as some operations of the machine's own.
  constexpr int64_t kMostOneByOne = 6;
  const std::optional<Code> own = OwnCode(call.function);
  if (own.has_value() && count <= (IsFunction(*own) ? 1 : kMostOneByOne)) {
    Add({.code = *own,
         .count = static_cast<uint16_t>(count),
         .out = out,
         .a = in[0],
         .b = in[1],
         .c = in[2]});
    return;
  }
  const bool copies = call.function == CopyTile(Lane::kU8).function,
             spreads = call.function == SplatTile(Lane::kU8).function;
  if (copies || (spreads && count == 1)) return Copy(out, in[0], count * call.parameter);
  Add({.code = kCall,
       .out = out,
       .a = in[0],
       .b = in[1],
       .c = in[2],
       .number = static_cast<int64_t>(tiles_.size())});
  tiles_.push_back({call, count, call_widths});
}

void StepCode::Dot(const SmallDot& dot, const DotBytes& bytes, FramePlace out, FramePlace a, FramePlace b) {
  if (dot.line() > 0) {
    const Code code = dot.type() == ElementType::kF32 ? kDotF32 : kDotF64;
    return Add({.code = code, .out = out, .a = a, .b = b, .number = dot.line()});
  }
  Add({.code = kDot, .out = out, .a = a, .b = b, .c = b, .number = static_cast<int64_t>(products_.size())});
  products_.push_back({dot, bytes});
}

void StepCode::Copy(FramePlace to, FramePlace from, int64_t byte_count) {
  if (to == from || byte_count == 0) return;
  uint16_t code = kCopyBytes;
  switch (byte_count) {
    case 1:
      code = kCopy1;
      break;
    case 2:
      code = kCopy2;
      break;
    case 4:
      code = kCopy4;
      break;
    case 8:
      code = kCopy8;
      break;
    default:
      break;
  }
  Add({.code = code, .out = to, .a = from, .number = byte_count});
}

namespace {
// No s32 is larger than that.
int32_t LargestS32(int64_t max) {
  return static_cast<int32_t>(std::min<int64_t>(max, std::numeric_limits<int32_t>::max()));
}
}  // namespace

void StepCode::Address(FramePlace out, bool adds, FramePlace index, ElementType type, int64_t max,
                       int64_t byte_stride) {
  if (type == ElementType::kS32) {
    const Code code = adds ? kAddAddressS32 : kAddressS32;
    return Add({.code = code, .out = out, .a = index, .b = LargestS32(max), .number = byte_stride});
  }
  const Code code = adds ? kAddAddress : kAddress;
  Add({.code = code, .out = out, .a = index, .number = static_cast<int64_t>(ranges_.size())});
  ranges_.push_back({type, max, byte_stride, 0});
}

void StepCode::CheckedAddress(FramePlace out, bool adds, FramePlace index, ElementType type, int64_t max,
                              int64_t byte_stride, Label outside) {
  if (type == ElementType::kS32 && !adds) {
    return Add({.code = kCheckedAddressS32,
                .out = out,
                .a = index,
                .b = LargestS32(max),
                .c = outside,
                .number = byte_stride});
  }
  const Code code = adds ? kAddCheckedAddress : kCheckedAddress;
  Add({.code = code, .out = out, .a = index, .number = static_cast<int64_t>(ranges_.size())});
  ranges_.push_back({type, max, byte_stride, outside});
}

void StepCode::Load(FramePlace to, int32_t argument, int64_t offset, FramePlace address, int64_t byte_count) {
  const bool here = address == kNoAddress;
  const Code code = here ? kLoad : byte_count == 4 ? kLoadAt4 : byte_count == 8 ? kLoadAt8 : kLoadAt;
  Add({.code = code,
       .out = to,
       .a = here ? 0 : address,
       .b = argument,
       .c = static_cast<int32_t>(byte_count),
       .number = offset});
}

void StepCode::Store(FramePlace from, int32_t argument, int64_t offset, FramePlace address,
                     int64_t byte_count) {
  const bool here = address == kNoAddress;
  const Code code = here ? kStore : byte_count == 4 ? kStoreAt4 : byte_count == 8 ? kStoreAt8 : kStoreAt;
  Add({.code = code,
       .out = from,
       .a = here ? 0 : address,
       .b = argument,
       .c = static_cast<int32_t>(byte_count),
       .number = offset});
}

void StepCode::CallFar(const FarCall& call) {
  Add({.code = kCallFar,
       .out = call.out.address,
       .a = call.in[0].address,
       .b = call.in[1].address,
       .c = call.in[2].address,
       .number = static_cast<int64_t>(far_calls_.size())});
  far_calls_.push_back(call);
}

void StepCode::Escape(int32_t number) { Add({.code = kEscape, .number = number}); }

StepCode::Label StepCode::NewLabel() {
  targets_.push_back(-1);
  return static_cast<Label>(targets_.size()) - 1;
}

void StepCode::Bind(Label label) { targets_[label] = op_count(); }
void StepCode::Jump(Label label) { Add({.code = kJump, .number = label}); }
void StepCode::JumpUnless(FramePlace predicate, Label label) {
  Add({.code = kJumpUnless, .a = predicate, .number = label});
}
void StepCode::JumpTo(FramePlace number, const std::vector<Label>& labels) {
  Add({.code = kJumpTo, .a = number, .number = static_cast<int64_t>(tables_.size())});
  tables_.push_back(labels);
}
void StepCode::Repeat(FramePlace predicate, Label label) {
  Add({.code = kRepeat, .a = predicate, .number = label});
}

int64_t StepCode::Reach(const Op& op, FramePlace Op::*place) const {
  const auto at = [&](int64_t out, int64_t a, int64_t b, int64_t c) {
    return place == &Op::out ? out : place == &Op::a ? a : place == &Op::b ? b : c;
  };
  switch (op.code) {
    case kCopyBytes:
      return at(op.number, op.number, 0, 0);
    case kDotF32:
      return at(sizeof(float), op.number * sizeof(float), op.number * sizeof(float), 0);
    case kDotF64:
      return at(sizeof(double), op.number * sizeof(double), op.number * sizeof(double), 0);
    case kDot: {
      const DotBytes& bytes = products_[op.number].bytes;
      return at(bytes.out, bytes.a, bytes.b, bytes.b);
    }
    case kCall: {
      const Tile& tile = tiles_[op.number];
      const auto& [out, in] = tile.widths;
      return tile.count * at(out, in[0], in[1], in[2]);
    }
    case kCallFar:
      return op.*place == kNoAddress ? 0 : sizeof(int64_t);
    default:
      break;
  }
  if (IsFar(op.code)) return at(op.byte_count(), sizeof(int64_t), 0, 0);
  const Widths widths = WidthsOf(op.code);
  return op.count * at(widths.out, widths.a, widths.b, widths.c);
}

bool StepCode::UsesArgument(int64_t first, int32_t argument) const {
  const auto is_one = [&](const FarPlace& place) { return place.argument == argument; };
  return std::any_of(ops_.begin() + first, ops_.end(), [&](const Op& op) {
    if (op.code != kCallFar) return IsFar(op.code) && op.argument() == argument;
    const FarCall& call = far_calls_[op.number];
    return is_one(call.out) || absl::c_any_of(call.in, is_one);
  });
}

bool StepCode::JumpsBeyond(int64_t first, int64_t number) const {
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

namespace {
constexpr FramePlace StepCode::Op::*kOperands[] = {&StepCode::Op::a, &StepCode::Op::b, &StepCode::Op::c};
}  // namespace

bool StepCode::Touches(const Op& op, FramePlace Op::*place, const Bytes& bytes) const {
  const int64_t reach = Reach(op, place);
  return reach > 0 && op.*place < bytes.begin + bytes.count && bytes.begin < op.*place + reach;
}
bool StepCode::Writes(const Op& op, const Bytes& bytes) const {
  return op.code < kStore && Touches(op, &Op::out, bytes);
}
bool StepCode::Reads(const Op& op, const Bytes& bytes) const {
  if (IsStore(op.code) && Touches(op, &Op::out, bytes)) return true;
  return absl::c_any_of(kOperands, [&](FramePlace Op::*place) { return Touches(op, place, bytes); });
}

bool StepCode::Sink(int64_t number, Extent extent) {
  const Op op = ops_[number];
  const Bytes out = {op.out, Reach(op, &Op::out)};
  const auto stored = [&](const Op& later) {
    if (!IsStore(later.code)) return Bytes{0, 0};
    return extent(later.code == kCallFar ? far_calls_[later.number].out.argument : later.argument());
  };
  for (int64_t k = number + 1; k < op_count(); ++k) {
    const Op& later = ops_[k];
    if (later.code >= kEscape || Reads(later, out) || Writes(later, out)) return false;
    for (const auto place : kOperands) {
      const int64_t reach = Reach(op, place);
      if (reach > 0 && (Writes(later, {op.*place, reach}) || Touches(op, place, stored(later)))) return false;
    }
  }
  ops_.erase(ops_.begin() + number);
  ops_.push_back(op);
  for (int64_t& target : targets_) target -= target > number ? 1 : 0;
  return true;
}

bool StepCode::Retarget(int64_t first, FramePlace from, FramePlace to, int64_t byte_count, Extent extent) {
  const Bytes source = {from, byte_count}, target = {to, byte_count};
  int64_t defined = -1;
  for (int64_t k = first; k < op_count(); ++k) {
    if (!Writes(ops_[k], source)) continue;
    if (defined >= 0) return false;
    defined = k;
  }
  if (defined < 0 || ops_[defined].out != from || ops_[defined].code >= kAddressS32) return false;
  if (JumpsBeyond(first, defined)) return false;
  // Behind what still needs the value before.
  if (Sink(defined, extent)) defined = op_count() - 1;
  for (int64_t k = first; k < op_count(); ++k) {
    const Op& op = ops_[k];
    if (k <= defined) {
      if (Reads(op, source)) return false;
      continue;
    }
    if (op.code >= kEscape || Reads(op, target) || Writes(op, target)) return false;
    for (const auto place : kOperands) {
      if (Touches(op, place, source) && op.*place != from) return false;
    }
  }
  // A call may work in place, but not on what it overlaps; a product must not.
  Op& definition = ops_[defined];
  for (const auto place : kOperands) {
    if (!Touches(definition, place, target)) continue;
    if (definition.code == kDot || definition.*place != to) return false;
  }
  definition.out = to;
  for (int64_t k = defined + 1; k < op_count(); ++k) {
    Op& op = ops_[k];
    for (const auto place : kOperands) {
      if (op.*place == from && Reach(op, place) > 0) op.*place = to;
    }
    if (IsStore(op.code) && op.out == from) op.out = to;
  }
  return true;
}

}  // namespace hlo::cpu
