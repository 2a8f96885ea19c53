#include "kernels/cpu/bytecode/decode.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "kernels/cpu/bytecode/opcodes.h"

namespace hlo::cpu {
namespace {

using Kind = DecodedOp::Kind;

// A native elementwise operation.
struct NativeOperation {
  std::string_view name;
  TileCall call;
  int32_t out = 0, in[3] = {};  // Element sizes in bytes; 0 for no operand.
};

NativeOperation Elementwise(std::string_view name, Opcode opcode, ElementType type, int32_t width) {
  const bool is_unary = Info(opcode).max_operands == 1;
  return {name, FindTileOp(opcode, type), width, {width, is_unary ? 0 : width, 0}};
}

const std::vector<NativeOperation>& NativeOperations() {
  static const auto& operations = *[] {
    auto* all = new std::vector<NativeOperation>(kSelect8 + 1);
#define HLO_ROW(name, opcode, F, Kind, type) \
  (*all)[k##name##Kind] = Elementwise(#name #Kind, Opcode::k##opcode, ElementType::k##Kind, sizeof(type));
    HLO_OPERATIONS(HLO_ROW)
    HLO_FUNCTIONS(HLO_ROW)
#undef HLO_ROW
#define HLO_ROW(name, Kind, type)                                                                      \
  (*all)[k##name##Kind] = {#name #Kind,                                                                \
                           FindTileCompare(ComparisonDirection::k##name, false, ElementType::k##Kind), \
                           sizeof(bool),                                                               \
                           {sizeof(type), sizeof(type), 0}};
    HLO_COMPARISONS(HLO_ROW)
#undef HLO_ROW
#define HLO_ROW(From, from, To, to)                                                        \
  (*all)[kConvert##From##To] = {"Convert" #From #To,                                       \
                                FindTileConvert(ElementType::k##From, ElementType::k##To), \
                                sizeof(to),                                                \
                                {sizeof(from), 0, 0}};
    HLO_CONVERSIONS(HLO_ROW)
#undef HLO_ROW
#define HLO_ROW(name, operands) \
  (*all)[k##name##BF16] = {     \
      #name "BF16", FindRoundedTileOp(Opcode::k##name, ElementType::kBF16), 4, {4, operands == 2 ? 4 : 0}};
    HLO_ROUNDED_OPERATIONS(HLO_ROW)
#undef HLO_ROW
#define HLO_ROW(Kind, type)                                                        \
  (*all)[kWiden##Kind] = {"Widen" #Kind, LoadTile(ElementType::k##Kind), 4, {2}};  \
  (*all)[kRound##Kind] = {"Round" #Kind, RoundTile(ElementType::k##Kind), 4, {4}}; \
  (*all)[kNarrow##Kind] = {"Narrow" #Kind, StoreRoundedTile(ElementType::k##Kind), 2, {4}};
    HLO_HALVES(HLO_ROW)
#undef HLO_ROW
    (*all)[kSelect1] = {"Select1", FindTileSelect(ElementType::kU8), 1, {1, 1, 1}};
    (*all)[kSelect2] = {"Select2", FindTileSelect(ElementType::kU16), 2, {1, 2, 2}};
    (*all)[kSelect4] = {"Select4", FindTileSelect(ElementType::kU32), 4, {1, 4, 4}};
    (*all)[kSelect8] = {"Select8", FindTileSelect(ElementType::kU64), 8, {1, 8, 8}};
    return all;
  }();
  return operations;
}

}  // namespace

bool HasNativeOperation(TileFn function) {
  static const auto& functions = *[] {
    auto* all = new absl::flat_hash_set<TileFn>;
    for (const NativeOperation& each : NativeOperations()) all->insert(each.call.function);
    return all;
  }();
  return functions.contains(function);
}
// All types share one copy function and one splat function.
bool IsCopyTile(TileFn function) { return function == CopyTile(ComputeType::kF32).function; }
bool IsSplatTile(TileFn function) { return function == SplatTile(ComputeType::kF32).function; }

class OpDecoder {
 public:
  OpDecoder(const Bytecode& code, int64_t number)
      : code_(code), number_(number), op_(BytecodeParts::Ops(code)[number]) {}

  DecodedOp Run() {
    // Only native elementwise operations support several elements.
    if (op_.count < 1 || (op_.count > 1 && op_.code > kSelect8)) return Invalid("a wrong count");
    if (op_.code <= kSelect8) return Native();
    switch (op_.code) {
      case kCopy1:
        return Copy(1);
      case kCopy2:
        return Copy(2);
      case kCopy4:
        return Copy(4);
      case kCopy8:
        return Copy(8);
      case kCopyBytes:
        return Copy(op_.number);
      case kSplat4:
        return Splat(ComputeType::kU32);
      case kSplat8:
        return Splat(ComputeType::kU64);
      case kCall:
        return Call();
      case kDot:
      case kDotF32:
      case kDotF64:
        return Dot();
      case kAddressS32:
      case kAddAddressS32:
      case kAddress:
      case kAddAddress:
      case kCheckedAddressS32:
      case kCheckedAddress:
      case kAddCheckedAddress:
        return Address();
      case kLoad:
      case kLoadAt:
      case kLoadAt4:
      case kLoadAt8:
        return Transfer(Kind::kLoad, "load");
      case kStore:
      case kStoreAt:
      case kStoreAt4:
      case kStoreAt8:
        return Transfer(Kind::kStore, "store");
      case kCallOnMemory:
        return CallOnMemory();
      default:
        return Control();
    }
  }

 private:
  static DecodedOp Invalid(std::string_view why) {
    DecodedOp invalid;
    invalid.name = why;
    return invalid;
  }
  template <class Table>
  bool IsRow(const Table& table) const {
    return op_.number >= 0 && op_.number < static_cast<int64_t>(table.size());
  }
  static bool IsLabel(const Bytecode& code, int64_t label) {
    const std::vector<int64_t>& targets = BytecodeParts::Targets(code);
    return label >= 0 && label < static_cast<int64_t>(targets.size());
  }
  // Returns false if the target is outside the code.
  bool AddTarget(DecodedOp& decoded, int64_t target) const {
    decoded.targets.push_back(target);
    return target >= 0 && target < code_.op_count();
  }

  DecodedOp Native() const {
    const NativeOperation& own = NativeOperations()[op_.code];
    DecodedOp decoded{.kind = Kind::kApply, .name = own.name, .call = own.call, .count = op_.count};
    decoded.is_native = true;
    decoded.out = {op_.out, op_.count * int64_t{own.out}};
    const FrameOffset offsets[] = {op_.a, op_.b, op_.c};
    for (int k = 0; k < 3; ++k) decoded.in[k] = {offsets[k], op_.count * int64_t{own.in[k]}};
    return decoded;
  }
  DecodedOp Copy(int64_t bytes) const {
    DecodedOp decoded{.kind = Kind::kCopy, .name = "copy", .out = {op_.out, bytes}};
    decoded.in[0] = {op_.a, bytes};
    return decoded;
  }
  DecodedOp Splat(ComputeType compute_type) const {
    if (op_.number < 0) return Invalid("a splat of a negative size");
    DecodedOp decoded{.kind = Kind::kApply,
                      .name = "splat",
                      .out = {op_.out, op_.number * ComputeTypeBytes(compute_type)},
                      .call = SplatTile(compute_type),
                      .count = op_.number};
    decoded.in[0] = {op_.a, ComputeTypeBytes(compute_type)};
    return decoded;
  }
  DecodedOp Call() const {
    const auto& tiles = BytecodeParts::Tiles(code_);
    if (!IsRow(tiles)) return Invalid("a call of no row of the table");
    const auto& [call, count, widths] = tiles[op_.number];
    if (count < 0 || widths.out < 0) return Invalid("a call of a negative size");
    DecodedOp decoded{.kind = Kind::kApply,
                      .name = "call",
                      .out = {op_.out, count * widths.out},
                      .call = call,
                      .count = count};
    const FrameOffset offsets[] = {op_.a, op_.b, op_.c};
    const int64_t read = IsSplatTile(call.function) ? 1 : count;
    for (size_t k = 0; k < 3; ++k) decoded.in[k] = {offsets[k], widths.BytesOf(k, read)};
    decoded.is_apart = widths.reads != Bytecode::CallWidths::kAll;
    decoded.is_native = HasNativeOperation(call.function);
    return decoded;
  }
  DecodedOp Dot() const {
    DecodedOp decoded{.kind = Kind::kDot, .name = "dot"};
    if (op_.code == kDot) {
      const auto& products = BytecodeParts::Products(code_);
      if (!IsRow(products)) return Invalid("a dot of no row of the table");
      const auto& [dot, bytes] = products[op_.number];
      decoded.dot = &dot;
      decoded.type = dot.type();
      decoded.out = {op_.out, bytes.out};
      decoded.in[0] = {op_.a, bytes.a};
      decoded.in[1] = {op_.b, bytes.b};
      return decoded;
    }
    decoded.type = op_.code == kDotF32 ? ElementType::kF32 : ElementType::kF64;
    const int64_t width = ByteCount(decoded.type);
    decoded.out = {op_.out, width};
    decoded.in[0] = {op_.a, op_.number * width};
    decoded.in[1] = {op_.b, op_.number * width};
    return decoded;
  }
  DecodedOp Address() const {
    const bool is_short =
        op_.code == kAddressS32 || op_.code == kAddAddressS32 || op_.code == kCheckedAddressS32;
    const bool is_checked =
        op_.code == kCheckedAddressS32 || op_.code == kCheckedAddress || op_.code == kAddCheckedAddress;
    DecodedOp decoded{.kind = is_checked ? Kind::kCheckedAddress : Kind::kAddress, .name = "address"};
    decoded.adds = op_.code == kAddAddressS32 || op_.code == kAddAddress || op_.code == kAddCheckedAddress;
    decoded.out = {op_.out, sizeof(int64_t)};
    decoded.type = ElementType::kS32;
    if (is_short) {
      decoded.max = op_.max();
      decoded.stride = op_.number;
      if (is_checked && !AddTarget(decoded, number_ + op_.outside()))
        return Invalid("a jump out of the code");
    } else {
      const auto& ranges = BytecodeParts::Ranges(code_);
      if (!IsRow(ranges)) return Invalid("an address of no row of the table");
      const auto& [type, max, stride, outside] = ranges[op_.number];
      decoded.type = type;
      decoded.max = max;
      decoded.stride = stride;
      if (is_checked &&
          (!IsLabel(code_, outside) || !AddTarget(decoded, BytecodeParts::Targets(code_)[outside])))
        return Invalid("a jump out of the code");
    }
    decoded.in[0] = {op_.a, ByteCount(decoded.type)};
    return decoded;
  }
  DecodedOp Transfer(Kind kind, std::string_view name) const {
    const bool is_at = op_.code != kLoad && op_.code != kStore;
    const bool is_4 = op_.code == kLoadAt4 || op_.code == kStoreAt4,
               is_8 = op_.code == kLoadAt8 || op_.code == kStoreAt8;
    const int64_t bytes = is_4 ? 4 : is_8 ? 8 : op_.byte_count();
    if (bytes < 0) return Invalid("a transfer of a negative size");
    DecodedOp decoded{.kind = kind, .name = name, .argument = op_.argument(), .offset = op_.number};
    if (is_at) decoded.address = {op_.a, sizeof(int64_t)};
    (kind == Kind::kLoad ? decoded.out : decoded.in[0]) = {op_.out, bytes};
    return decoded;
  }
  DecodedOp CallOnMemory() const {
    const auto& calls = BytecodeParts::MemoryCalls(code_);
    if (!IsRow(calls)) return Invalid("a call of no row of the table");
    DecodedOp decoded{.kind = Kind::kMemoryCall, .name = "call on memory", .memory_call = &calls[op_.number]};
    decoded.call = decoded.memory_call->call;
    decoded.count = decoded.memory_call->count;
    decoded.is_native = HasNativeOperation(decoded.call.function);
    return decoded;
  }
  DecodedOp Control() const {
    DecodedOp decoded{.name = "control"};
    const auto jump = [&](Kind kind, std::string_view name, int64_t read) {
      decoded.kind = kind;
      decoded.name = name;
      decoded.in[0] = {op_.a, read};
      return AddTarget(decoded, number_ + op_.number) ? decoded : Invalid("a jump out of the code");
    };
    switch (op_.code) {
      case kEscape:
        decoded.kind = Kind::kEscape;
        decoded.name = "escape";
        decoded.escape = op_.number;
        return decoded;
      case kRepeat:
        return jump(Kind::kRepeat, "repeat", 1);
      case kJump:
        return jump(Kind::kJump, "jump", 0);
      case kJumpUnless:
        return jump(Kind::kJumpUnless, "jump unless", 1);
      case kJumpTo: {
        const auto& tables = BytecodeParts::Tables(code_);
        if (!IsRow(tables) || tables[op_.number].empty()) return Invalid("a jump by no row of the table");
        decoded.kind = Kind::kJumpTo;
        decoded.name = "jump to";
        decoded.in[0] = {op_.a, sizeof(int32_t)};
        for (const Bytecode::Label label : tables[op_.number]) {
          if (!IsLabel(code_, label) || !AddTarget(decoded, BytecodeParts::Targets(code_)[label]))
            return Invalid("a jump out of the code");
        }
        return decoded;
      }
      case kEnd:
        decoded.kind = Kind::kEnd;
        decoded.name = "end";
        return decoded;
      default:
        return Invalid("no operation of the machine");
    }
  }

  const Bytecode& code_;
  const int64_t number_;
  const Bytecode::Op& op_;
};

DecodedOp Decode(const Bytecode& code, int64_t number) { return OpDecoder(code, number).Run(); }

}  // namespace hlo::cpu
