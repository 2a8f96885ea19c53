#include "kernels/cpu/bytecode/micro_ops.h"

#include <algorithm>
#include <type_traits>

#include "base/arithmetic.h"
#include "kernels/cpu/bytecode/decode.h"
#include "kernels/cpu/bytecode/opcodes.h"
#include "kernels/cpu/elementwise/small_tiles.h"

namespace hlo::cpu {
namespace {

// Operations on more than six elements are on vectors, which cannot be read from stores of scalars without a
// delay.
constexpr int64_t kMaxMovedBytes = 24, kMaxMovedBytesOfDoubles = 32;
constexpr int64_t kMaxSplat = 6;

template <class T>
constexpr OperandKind KindOf() {
  return {static_cast<int32_t>(sizeof(T)),
          std::is_floating_point_v<T> ? std::optional(Bank::kVector) : std::optional(Bank::kGeneral)};
}

template <class F, class T>
constexpr OperandKind SecondOperand() {
  return std::is_invocable_v<F, T, T> ? KindOf<T>() : OperandKind{};
}

}  // namespace

OperandKinds KindsOf(uint16_t code) {
  constexpr OperandKind kFlag = {1, Bank::kGeneral}, kShort = {2, Bank::kGeneral}, kInt = {4, Bank::kGeneral},
                        kLong = {8, Bank::kGeneral}, kWord = {4}, kDouble = {8};
  switch (code) {
#define HLO_ROW(name, opcode, F, Kind, type) \
  case k##name##Kind:                        \
    return {KindOf<type>(), {KindOf<type>(), SecondOperand<F, type>()}};
    HLO_OPERATIONS(HLO_ROW)
    HLO_FUNCTIONS(HLO_ROW)
#undef HLO_ROW
#define HLO_ROW(name, Kind, type) \
  case k##name##Kind:             \
    return {kFlag, {KindOf<type>(), KindOf<type>()}};
    HLO_COMPARISONS(HLO_ROW)
#undef HLO_ROW
#define HLO_ROW(From, from, To, to) \
  case kConvert##From##To:          \
    return {KindOf<to>(), {KindOf<from>()}};
    HLO_CONVERSIONS(HLO_ROW)
#undef HLO_ROW
#define HLO_ROW(name, operands) \
  case k##name##BF16:           \
    return {KindOf<float>(), {KindOf<float>(), operands == 2 ? KindOf<float>() : OperandKind{}}};
    HLO_ROUNDED_OPERATIONS(HLO_ROW)
#undef HLO_ROW
#define HLO_ROW(Kind, type)                      \
  case kWiden##Kind:                             \
    return {KindOf<float>(), {kShort}};          \
  case kRound##Kind:                             \
    return {KindOf<float>(), {KindOf<float>()}}; \
  case kNarrow##Kind:                            \
    return {kShort, {KindOf<float>()}};
    HLO_HALVES(HLO_ROW)
#undef HLO_ROW
    case kSelect1:
      return {kFlag, {kFlag, kFlag, kFlag}};
    case kSelect2:
      return {kShort, {kFlag, kShort, kShort}};
    case kSelect4:
      return {kWord, {kFlag, kWord, kWord}};
    case kSelect8:
      return {kDouble, {kFlag, kDouble, kDouble}};
    case kCopy1:
      return {kFlag, {kFlag}};
    case kCopy2:
      return {kShort, {kShort}};
    case kCopy4:
      return {kWord, {kWord}};
    case kCopy8:
      return {kDouble, {kDouble}};
    case kDotF32:
      return {{4, Bank::kVector}, {}};
    case kDotF64:
      return {{8, Bank::kVector}, {}};
    case kAddressS32:
      return {kLong, {kInt}};
    case kAddAddressS32:
      return {kLong, {kInt, kLong}};
    case kCheckedAddressS32:
      return {{}, {kInt}};
    case kRepeat:
    case kJumpUnless:
      return {{}, {kFlag}};
    case kJumpTo:
      return {{}, {kInt}};
    default:
      return {};
  }
}

bool IsInline(uint16_t code) {
  // Their bits depend on fused multiply-add.
  return IsFunction(code) && kFusesMulAdd && FindNativeIsa() == NativeIsa::kAvx512;
}

std::optional<DotOfVectors> FindVectors(const SmallDot& dot) {
  constexpr int64_t kMaxInstructions = 320, kMaxLength = 32;
  const SmallDot::Offsets offsets = dot.offsets();
  const bool in_rows = offsets.n == 1;
  const int64_t length = in_rows ? offsets.m : offsets.n, count = std::ssize(offsets.rows);
  const std::vector<int32_t>& vectors = in_rows ? offsets.rows : offsets.columns;
  const int64_t terms = std::ssize(offsets.row_terms), results = in_rows ? count / length : count;
  if (FindNativeIsa() != NativeIsa::kAvx512 || terms >= kMinFloatTerms || length < 2 || length > kMaxLength ||
      terms < 2 || results * terms * (2 + 2 * CeilDiv(length, 8)) > kMaxInstructions)
    return std::nullopt;
  for (size_t k = 0; k < vectors.size(); ++k) {
    if (k % length != 0 && vectors[k] != vectors[k - 1] + 1) return std::nullopt;
  }
  DotOfVectors found{.has_factors_in_b = in_rows,
                     .length = length,
                     .results = {},
                     .factor_terms = in_rows ? offsets.column_terms : offsets.row_terms,
                     .vector_terms = in_rows ? offsets.row_terms : offsets.column_terms};
  for (int64_t k = 0; k < results; ++k) {
    const int64_t matrix = in_rows ? k : k / offsets.m;
    found.results.push_back({in_rows ? offsets.columns[matrix] : offsets.rows[k], vectors[matrix * length],
                             static_cast<int32_t>(k * length)});
  }
  return found;
}

bool IsInline(const SmallDot& dot) {
  if (FindVectors(dot).has_value()) return true;
  constexpr int64_t kMaxProducts = 64;
  const SmallDot::Offsets offsets = dot.offsets();
  const auto terms = static_cast<int64_t>(offsets.row_terms.size());
  const int64_t results = static_cast<int64_t>(offsets.rows.size()) * offsets.n;
  return terms <= kMaxInlineTerms && results * std::max<int64_t>(terms, 1) <= kMaxProducts &&
         FindNativeIsa() == NativeIsa::kAvx512;
}

std::optional<uint16_t> VectorCodeOf(TileFn function, int64_t count) {
  constexpr int64_t kMaxCount = 128;
  const std::optional<Code> code = count <= kMaxCount ? CodeOfTile(function) : std::nullopt;
  if (!code.has_value()) return std::nullopt;
  switch (*code) {
    case kAddF32:
    case kSubtractF32:
    case kMultiplyF32:
    case kDivideF32:
    case kNegateF32:
    case kAbsF32:
    case kSqrtF32:
    case kAddF64:
    case kSubtractF64:
    case kMultiplyF64:
    case kDivideF64:
    case kNegateF64:
    case kAbsF64:
    case kSqrtF64:
    case kConvertS32F32:
      return code;
#define HLO_INTEGER_CASES(Kind) \
  case kAdd##Kind:              \
  case kSubtract##Kind:         \
  case kAnd##Kind:              \
  case kOr##Kind:               \
  case kXor##Kind:              \
  case kShiftLeft##Kind:        \
  case kShiftRightLogical##Kind:
      HLO_INTEGER_CASES(S32)
      HLO_INTEGER_CASES(U32)
      HLO_INTEGER_CASES(S64)
      HLO_INTEGER_CASES(U64)
#undef HLO_INTEGER_CASES
    case kMultiplyS32:
    case kMultiplyU32:
    case kMaximumS32:
    case kMaximumU32:
    case kMinimumS32:
    case kMinimumU32:
    case kAbsS32:
    case kNegateS32:
    case kSignS32:
    case kShiftRightArithmeticS32:
    case kNotS32:
    case kNotU32:
    case kFloorF32:
    case kFloorF64:
    case kCeilF32:
    case kCeilF64:
    case kRoundNearestEvenF32:
    case kRoundNearestEvenF64:
    case kSelect4:
    case kSelect8:
    case kConvertF32F64:
    case kConvertF64F32:
    case kMaximumF32:
    case kMinimumF32:
    case kMaximumF64:
    case kMinimumF64:
#define HLO_ROW(name, Kind, type) case k##name##Kind:
      HLO_COMPARISONS_OF_WORDS(HLO_ROW)
#undef HLO_ROW
      return code;
    case kLogF32:
    case kLogPlusOneF32:
    case kExponentialF32:
    case kLogisticF32:
    case kTanhF32:
      return IsInline(*code) ? std::optional<uint16_t>(*code) : std::nullopt;
    default:
      return std::nullopt;
  }
}

bool IsInline(const TileCall& call, int64_t count, int64_t width) {
  if (IsConstantTile(call.function)) return count * width <= kMaxVectorBytes;
  if (const std::optional<Code> fold = CodeOfFold(call.function)) {
    // FoldLoop and VectorFold have two vectors of partial results at most, and first add one half to the
    // other.
    constexpr int64_t kMaxBytes = 128, kMaxRows = 8;
    return call.parameter >= 2 && count <= kMaxRows && call.parameter * width <= kMaxBytes &&
           FindNativeIsa() == NativeIsa::kAvx512;
  }
  const std::optional<RowsOfTile> rows = FindRowsOfTile(call);
  if (rows.has_value()) return rows->width >= 4 && count * width <= kMaxVectorBytes;
  return VectorCodeOf(call.function, count).has_value();
}

MicroCode::MicroCode(const Bytecode& code, const FrameUse& frame) : code_(code), frame_(frame) {
  const std::vector<Bytecode::Op>& ops = BytecodeParts::Ops(code);
  for (const Bytecode::Op& op : ops) {
    const OperandKinds kinds = KindsOf(op.code);
    const auto note = [&](FrameOffset at, const OperandKind& kind) {
      for (int k = 0; kind.bytes == 8 && k < op.count; ++k) wide_.insert(at + 8 * k);
      for (int k = 0; kind.bytes == 4 && k < op.count; ++k) narrow_.insert(at + 4 * k);
    };
    note(op.out, kinds.out);
    note(op.a, kinds.in[0]);
    note(op.b, kinds.in[1]);
    note(op.c, kinds.in[2]);
  }
  for (size_t k = 0; k < ops.size(); ++k) {
    first_.push_back(static_cast<int64_t>(ops_.size()));
    Expand(static_cast<int64_t>(k));
  }
  FindBlocks();
  FindBounds();
  CountBanks();
  FindLiveness();
}

int64_t MicroCode::MaxMovedBytes(const Bytecode::Op& op) const {
  return wide_.contains(op.out) ? kMaxMovedBytesOfDoubles : kMaxMovedBytes;
}

void MicroCode::ExpandMove(const Bytecode::Op& op, int64_t number, int64_t bytes) {
  // A load that overwrites its own address has no parts, because later ones would need the address.
  if (op.code == kLoadAt && op.a < op.out + bytes && op.out < op.a + int64_t{sizeof(int64_t)}) {
    ops_.push_back({.code = op.code,
                    .out = op.out,
                    .a = op.a,
                    .b = op.b,
                    .c = static_cast<FrameOffset>(bytes),
                    .number = op.number,
                    .op = number});
    return;
  }
  for (int64_t done = 0; done < bytes;) {
    const int64_t left = bytes - done;
    const auto at = static_cast<FrameOffset>(done);
    const bool copies = op.code == kCopyBytes;
    const FrameOffset source = (copies ? op.a : op.out) + at;
    const bool is_wide = left >= 8 && (wide_.contains(op.out + at) || wide_.contains(source)) &&
                         !(narrow_.contains(source) && narrow_.contains(source + 4));
    const int32_t step = is_wide ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
    MicroOp part{.code = op.code, .out = op.out + at, .a = op.a, .b = op.b, .c = step, .op = number};
    if (copies) {
      part.a += at;
      part.code = step == 8 ? kCopy8 : step == 4 ? kCopy4 : step == 2 ? kCopy2 : kCopy1;
    } else {
      part.number = op.number + done;
    }
    ops_.push_back(part);
    done += step;
  }
}

void MicroCode::Expand(int64_t number) {
  Bytecode::Op op = BytecodeParts::Ops(code_)[number];
  const MicroOp whole{
      .code = op.code, .out = op.out, .a = op.a, .b = op.b, .c = op.c, .number = op.number, .op = number};
  switch (op.code) {
    case kCopyBytes:
      if (op.number <= MaxMovedBytes(op)) return ExpandMove(op, number, op.number);
      break;
    case kLoadAt4:
    case kLoadAt8:
    case kStoreAt4:
    case kStoreAt8:
      op.c = op.code == kLoadAt4 || op.code == kStoreAt4 ? 4 : 8;
      op.code = op.code == kLoadAt4 || op.code == kLoadAt8 ? kLoadAt : kStoreAt;
      return ExpandMove(op, number, op.c);
    case kLoad:
    case kLoadAt:
    case kStore:
    case kStoreAt:
      if (op.byte_count() <= MaxMovedBytes(op)) return ExpandMove(op, number, op.byte_count());
      break;
    case kSplat4:
    case kSplat8: {
      if (op.number > kMaxSplat) break;
      const int32_t width = op.code == kSplat4 ? 4 : 8;
      for (int32_t k = 0; k < op.number; ++k) {
        const FrameOffset to = op.out + k * width;
        if (to == op.a) continue;
        ops_.push_back({.code = op.code == kSplat4 ? kCopy4 : kCopy8, .out = to, .a = op.a, .op = number});
      }
      return;
    }
    case kCheckedAddressS32:
    case kCheckedAddress:
    case kAddCheckedAddress:
      ops_.push_back(whole);
      ops_.push_back(whole);
      ops_.back().code = op.code == kCheckedAddressS32 ? kAddressS32
                         : op.code == kCheckedAddress  ? kAddress
                                                       : kAddAddress;
      return;
    default:
      break;
  }
  const OperandKinds kinds = KindsOf(op.code);
  for (int32_t k = 0; k < op.count; ++k) {
    MicroOp part = whole;
    if (op.count > 1) {
      part.out += k * kinds.out.bytes;
      part.a += k * kinds.in[0].bytes;
      part.b += k * kinds.in[1].bytes;
      part.c += k * kinds.in[2].bytes;
    }
    ops_.push_back(part);
  }
}

std::optional<int64_t> MicroCode::ConstantAt(const FrameScalar& scalar) const {
  for (const FrameUse::Constant& constant : frame_.constants) {
    if (scalar.at < constant.at ||
        scalar.at + scalar.bytes > constant.at + static_cast<int64_t>(constant.value.size()))
      continue;
    const std::byte* from = constant.value.data() + (scalar.at - constant.at);
    switch (scalar.bytes) {
      case 1:
        return Get<uint8_t>(from);
      case 2:
        return Get<int16_t>(from);
      case 4:
        return Get<int32_t>(from);
      default:
        return Get<int64_t>(from);
    }
  }
  return std::nullopt;
}

}  // namespace hlo::cpu
