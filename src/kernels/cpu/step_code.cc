#include "kernels/cpu/step_code.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "base/check.h"
#include "kernels/cpu/step_codes.h"
#include "kernels/cpu/tile_program.h"

namespace hlo::cpu {
namespace {

// These read where others write.
bool IsStore(uint16_t code) { return code >= kStore && code <= kStoreAt8; }
// Loads and stores.
bool IsFar(uint16_t code) { return code >= kLoad && code <= kStoreAt8; }

// Which of them a tile operation is.
std::optional<Code> OwnCode(TileFn function) {
  static const auto& codes = *[] {
    auto* all = new absl::flat_hash_map<TileFn, Code>;
#define HLO_ROW(name, opcode, F, Kind, type) \
  all->emplace(FindTileOp(Opcode::k##opcode, ElementType::k##Kind).function, k##name##Kind);
    HLO_OPERATIONS(HLO_ROW)
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
    return all;
  }();
  const auto found = codes.find(function);
  return found == codes.end() ? std::nullopt : std::optional(found->second);
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
    case kCopy8:
    case kAddressS32:
    case kAddAddressS32:
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
  constexpr int64_t kMostUnrolled = 6;
  if (const auto own = OwnCode(call.function); own.has_value() && count <= kMostUnrolled) {
    const Widths widths = WidthsOf(*own);
    const auto place = [](FramePlace first, int64_t distance) {
      return static_cast<FramePlace>(first + distance);
    };
    for (int32_t i = 0; i < count; ++i) {
      Add({*own, place(out, i * widths.out), place(in[0], i * widths.a), place(in[1], i * widths.b),
           place(in[2], i * widths.c)});
    }
    return;
  }
  const bool copies = call.function == CopyTile(Lane::kU8).function,
             spreads = call.function == SplatTile(Lane::kU8).function;
  if (copies || (spreads && count == 1)) return Copy(out, in[0], count * call.parameter);
  Add({kCall, out, in[0], in[1], in[2], static_cast<int64_t>(tiles_.size())});
  tiles_.push_back({call, count, call_widths});
}

void StepCode::Dot(const SmallDot& dot, const DotBytes& bytes, FramePlace out, FramePlace a, FramePlace b) {
  Add({kDot, out, a, b, b, static_cast<int64_t>(products_.size())});
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
  Add({code, to, from, 0, 0, byte_count});
}

void StepCode::Address(FramePlace out, bool adds, FramePlace index, ElementType type, int64_t max,
                       int64_t byte_stride) {
  const bool is_s32 = type == ElementType::kS32;
  const Code code = adds ? (is_s32 ? kAddAddressS32 : kAddAddress) : (is_s32 ? kAddressS32 : kAddress);
  Add({code, out, index, 0, 0, static_cast<int64_t>(ranges_.size())});
  ranges_.push_back({type, max, byte_stride, 0});
}

void StepCode::CheckedAddress(FramePlace out, bool adds, FramePlace index, ElementType type, int64_t max,
                              int64_t byte_stride, Label outside) {
  Add({adds ? kAddCheckedAddress : kCheckedAddress, out, index, 0, 0, static_cast<int64_t>(ranges_.size())});
  ranges_.push_back({type, max, byte_stride, outside});
}

void StepCode::Load(FramePlace to, int32_t argument, int64_t offset, FramePlace address, int64_t byte_count) {
  const Code at = byte_count == 4 ? kLoadAt4 : byte_count == 8 ? kLoadAt8 : kLoadAt;
  const bool here = address == kNoAddress;
  Add({here ? kLoad : at, to, here ? 0 : address, 0, 0, static_cast<int64_t>(fars_.size())});
  fars_.push_back({argument, offset, byte_count});
}

void StepCode::Store(FramePlace from, int32_t argument, int64_t offset, FramePlace address,
                     int64_t byte_count) {
  const Code at = byte_count == 4 ? kStoreAt4 : byte_count == 8 ? kStoreAt8 : kStoreAt;
  const bool here = address == kNoAddress;
  Add({here ? kStore : at, from, here ? 0 : address, 0, 0, static_cast<int64_t>(fars_.size())});
  fars_.push_back({argument, offset, byte_count});
}

void StepCode::Escape(int32_t number) { Add({kEscape, 0, 0, 0, 0, number}); }

StepCode::Label StepCode::NewLabel() {
  targets_.push_back(-1);
  return static_cast<Label>(targets_.size()) - 1;
}

void StepCode::Bind(Label label) { targets_[label] = op_count(); }
void StepCode::Jump(Label label) { Add({kJump, 0, 0, 0, 0, label}); }
void StepCode::JumpUnless(FramePlace predicate, Label label) {
  Add({kJumpUnless, 0, predicate, 0, 0, label});
}
void StepCode::JumpTo(FramePlace number, const std::vector<Label>& labels) {
  Add({kJumpTo, 0, number, 0, 0, static_cast<int64_t>(tables_.size())});
  tables_.push_back(labels);
}
void StepCode::Repeat(FramePlace predicate, Label label) { Add({kRepeat, 0, predicate, 0, 0, label}); }

int64_t StepCode::Reach(const Op& op, FramePlace Op::*place) const {
  const auto at = [&](int64_t out, int64_t a, int64_t b, int64_t c) {
    return place == &Op::out ? out : place == &Op::a ? a : place == &Op::b ? b : c;
  };
  if (op.code == kCopyBytes) return at(op.number, op.number, 0, 0);
  if (op.code == kDot) {
    const DotBytes& bytes = products_[op.number].bytes;
    return at(bytes.out, bytes.a, bytes.b, bytes.b);
  }
  if (op.code == kCall) {
    const Tile& tile = tiles_[op.number];
    const auto& [out, in] = tile.widths;
    return tile.count * at(out, in[0], in[1], in[2]);
  }
  if (IsFar(op.code)) return at(fars_[op.number].byte_count, sizeof(int64_t), 0, 0);
  const Widths widths = WidthsOf(op.code);
  return at(widths.out, widths.a, widths.b, widths.c);
}

bool StepCode::UsesArgument(int64_t first, int32_t argument) const {
  return std::any_of(ops_.begin() + first, ops_.end(),
                     [&](const Op& op) { return IsFar(op.code) && fars_[op.number].argument == argument; });
}

bool StepCode::JumpsBeyond(int64_t first, int64_t number) const {
  const auto is_beyond = [&](Label label) { return targets_[label] < 0 || targets_[label] > number; };
  for (int64_t k = first; k < number; ++k) {
    const Op& op = ops_[k];
    switch (op.code) {
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

bool StepCode::Retarget(int64_t first, FramePlace from, FramePlace to, int64_t byte_count) {
  const auto touches = [&](const Op& op, FramePlace Op::*place, FramePlace range) {
    const int64_t reach = Reach(op, place);
    return reach > 0 && op.*place < range + byte_count && range < op.*place + reach;
  };
  const auto writes = [&](const Op& op, FramePlace range) {
    return op.code < kStore && touches(op, &Op::out, range);
  };
  constexpr FramePlace Op::*kOperands[] = {&Op::a, &Op::b, &Op::c};
  const auto reads = [&](const Op& op, FramePlace range) {
    if (IsStore(op.code) && touches(op, &Op::out, range)) return true;
    return absl::c_any_of(kOperands, [&](FramePlace Op::*place) { return touches(op, place, range); });
  };
  int64_t defined = -1;
  for (int64_t k = first; k < op_count(); ++k) {
    if (!writes(ops_[k], from)) continue;
    if (defined >= 0) return false;
    defined = k;
  }
  if (defined < 0 || ops_[defined].out != from || ops_[defined].code >= kAddressS32) return false;
  if (JumpsBeyond(first, defined)) return false;
  for (int64_t k = first; k < op_count(); ++k) {
    const Op& op = ops_[k];
    if (k <= defined) {
      if (reads(op, from)) return false;
      continue;
    }
    if (op.code >= kEscape || reads(op, to) || writes(op, to)) return false;
    for (const auto place : kOperands) {
      if (touches(op, place, from) && op.*place != from) return false;
    }
  }
  // A call may work in place, but not on what it overlaps; a product must not.
  Op& definition = ops_[defined];
  for (const auto place : kOperands) {
    if (definition.code == kCall && definition.*place != to && touches(definition, place, to)) return false;
    if (definition.code == kDot && touches(definition, place, to)) return false;
  }
  definition.out = to;
  for (int64_t k = defined + 1; k < op_count(); ++k) {
    Op& op = ops_[k];
    for (const auto place : kOperands) {
      if (op.*place == from) op.*place = to;
    }
    if (IsStore(op.code) && op.out == from) op.out = to;
  }
  return true;
}

}  // namespace hlo::cpu
