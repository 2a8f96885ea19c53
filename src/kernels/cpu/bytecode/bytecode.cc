#include "kernels/cpu/bytecode/bytecode.h"

#include <algorithm>
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "kernels/cpu/bytecode/opcodes.h"
#include "kernels/cpu/loops/tile_program.h"

namespace hlo::cpu {

std::optional<Code> CodeOfTile(TileFn function) {
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
#define HLO_ROW(name, operands) \
  all->emplace(FindRoundedTileOp(Opcode::k##name, ElementType::kBF16).function, k##name##BF16);
    HLO_ROUNDED_OPERATIONS(HLO_ROW)
#undef HLO_ROW
#define HLO_ROW(Kind, type)                                             \
  all->emplace(LoadTile(ElementType::k##Kind).function, kWiden##Kind);  \
  all->emplace(RoundTile(ElementType::k##Kind).function, kRound##Kind); \
  all->emplace(StoreRoundedTile(ElementType::k##Kind).function, kNarrow##Kind);
    HLO_HALVES(HLO_ROW)
#undef HLO_ROW
    all->emplace(FindTileSelect(ElementType::kU8).function, kSelect1);
    all->emplace(FindTileSelect(ElementType::kU16).function, kSelect2);
    all->emplace(FindTileSelect(ElementType::kU32).function, kSelect4);
    all->emplace(FindTileSelect(ElementType::kU64).function, kSelect8);
    all->erase(nullptr);
    if constexpr (!kFusesMulAdd) {
#define HLO_ROW(name, opcode, F, Kind, type) \
  all->erase(FindTileOp(Opcode::k##opcode, ElementType::k##Kind).function);
      HLO_FUNCTIONS_WITH_FMA(HLO_ROW)
#undef HLO_ROW
    }
    return all;
  }();
  const auto found = codes.find(function);
  return found == codes.end() ? std::nullopt : std::optional(found->second);
}

std::optional<Code> CodeOfFold(TileFn function) {
  static const auto& codes = *[] {
    auto* all = new absl::flat_hash_map<TileFn, Code>;
#define HLO_ROW(name, Kind) \
  all->emplace(FindRowsFold(Opcode::k##name, ElementType::k##Kind, 0).function, k##name##Kind);
#define HLO_FOLDS(Kind)  \
  HLO_ROW(Add, Kind)     \
  HLO_ROW(Maximum, Kind) \
  HLO_ROW(Minimum, Kind)
    HLO_FOLDS(F32)
    HLO_FOLDS(F64)
    HLO_FOLDS(S32)
    HLO_FOLDS(U32)
#undef HLO_FOLDS
#undef HLO_ROW
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

namespace {

// Builds a move between the frame and an argument, indirect through `address` unless that is kNoAddress.
Bytecode::Op Transfer(Code code, FrameOffset in_frame, int32_t argument, int64_t offset, FrameOffset address,
                      int64_t byte_count) {
  return {.code = code,
          .out = in_frame,
          .a = address == Bytecode::kNoAddress ? 0 : address,
          .b = argument,
          .c = static_cast<int32_t>(byte_count),
          .number = offset};
}

}  // namespace

void Bytecode::Call(const TileCall& call, int64_t count, const CallWidths& call_widths, FrameOffset out,
                    const FrameOffset (&in)[3]) {
  // A call costs as much as several instructions.
  constexpr int64_t kMaxUnrolled = 6;
  const std::optional<Code> own = CodeOfTile(call.function);
  if (own.has_value() && count <= (IsFunction(*own) ? 1 : kMaxUnrolled)) {
    Add({.code = *own,
         .count = static_cast<uint16_t>(count),
         .out = out,
         .a = in[0],
         .b = in[1],
         .c = in[2]});
    return;
  }
  const bool copies = call.function == CopyTile(ComputeType::kU8).function,
             spreads = call.function == SplatTile(ComputeType::kU8).function;
  if (copies || (spreads && count == 1)) return Copy(out, in[0], count * call.parameter);
  if (spreads && (call.parameter == 4 || call.parameter == 8)) {
    const Code code = call.parameter == 4 ? kSplat4 : kSplat8;
    return Add({.code = code, .out = out, .a = in[0], .b = in[0], .c = in[0], .number = count});
  }
  Add({.code = kCall,
       .out = out,
       .a = in[0],
       .b = in[1],
       .c = in[2],
       .number = static_cast<int64_t>(tiles_.size())});
  tiles_.push_back({call, count, call_widths});
}

void Bytecode::Dot(const SmallDot& dot, const DotBytes& bytes, FrameOffset out, FrameOffset a,
                   FrameOffset b) {
  if (dot.line() > 0) {
    const Code code = dot.type() == ElementType::kF32 ? kDotF32 : kDotF64;
    return Add({.code = code, .out = out, .a = a, .b = b, .number = dot.line()});
  }
  Add({.code = kDot, .out = out, .a = a, .b = b, .c = b, .number = static_cast<int64_t>(products_.size())});
  products_.push_back({dot, bytes});
}

void Bytecode::Copy(FrameOffset to, FrameOffset from, int64_t byte_count) {
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
// Returns the limit, saturated to s32.
int32_t LargestS32(int64_t max) {
  return static_cast<int32_t>(std::min<int64_t>(max, std::numeric_limits<int32_t>::max()));
}
}  // namespace

void Bytecode::Address(FrameOffset out, bool adds, FrameOffset index, ElementType type, int64_t max,
                       int64_t byte_stride) {
  if (type == ElementType::kS32) {
    const Code code = adds ? kAddAddressS32 : kAddressS32;
    return Add({.code = code, .out = out, .a = index, .b = LargestS32(max), .number = byte_stride});
  }
  const Code code = adds ? kAddAddress : kAddress;
  Add({.code = code, .out = out, .a = index, .number = static_cast<int64_t>(ranges_.size())});
  ranges_.push_back({type, max, byte_stride, 0});
}

void Bytecode::CheckedAddress(FrameOffset out, bool adds, FrameOffset index, ElementType type, int64_t max,
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

void Bytecode::Load(FrameOffset to, int32_t argument, int64_t offset, FrameOffset address,
                    int64_t byte_count) {
  const bool here = address == kNoAddress;
  const Code code = here ? kLoad : byte_count == 4 ? kLoadAt4 : byte_count == 8 ? kLoadAt8 : kLoadAt;
  Add(Transfer(code, to, argument, offset, address, byte_count));
}

void Bytecode::Store(FrameOffset from, int32_t argument, int64_t offset, FrameOffset address,
                     int64_t byte_count) {
  const bool here = address == kNoAddress;
  const Code code = here ? kStore : byte_count == 4 ? kStoreAt4 : byte_count == 8 ? kStoreAt8 : kStoreAt;
  Add(Transfer(code, from, argument, offset, address, byte_count));
}

void Bytecode::CallOnMemory(const MemoryCall& call) {
  Add({.code = kCallOnMemory,
       .out = call.out.address,
       .a = call.in[0].address,
       .b = call.in[1].address,
       .c = call.in[2].address,
       .number = static_cast<int64_t>(memory_calls_.size())});
  memory_calls_.push_back(call);
}

void Bytecode::Escape(int32_t number) { Add({.code = kEscape, .number = number}); }

Bytecode::Label Bytecode::NewLabel() {
  targets_.push_back(-1);
  return static_cast<Label>(targets_.size()) - 1;
}

void Bytecode::Bind(Label label) { targets_[label] = op_count(); }
void Bytecode::Jump(Label label) { Add({.code = kJump, .number = label}); }
void Bytecode::JumpUnless(FrameOffset predicate, Label label) {
  Add({.code = kJumpUnless, .a = predicate, .number = label});
}
void Bytecode::JumpTo(FrameOffset number, const std::vector<Label>& labels) {
  Add({.code = kJumpTo, .a = number, .number = static_cast<int64_t>(tables_.size())});
  tables_.push_back(labels);
}
void Bytecode::Repeat(FrameOffset predicate, Label label) {
  Add({.code = kRepeat, .a = predicate, .c = repeats_++, .number = label});
}

}  // namespace hlo::cpu
