#include "kernels/cpu/step_code.h"

#include <algorithm>
#include <cstring>

#include "absl/container/flat_hash_map.h"
#include "base/check.h"
#include "kernels/cpu/tile_loops.h"
#include "kernels/cpu/tile_program.h"

namespace hlo::cpu {
namespace {

// The machine's own operations: name, opcode, what computes it, element type. Those of the tile loops.
#define HLO_ARITHMETIC(X, Kind, type)                 \
  X(Add, Add, scalar::Add, Kind, type)                \
  X(Subtract, Subtract, scalar::Subtract, Kind, type) \
  X(Multiply, Multiply, scalar::Multiply, Kind, type)
#define HLO_FLOATS(X, Kind, type)               \
  HLO_ARITHMETIC(X, Kind, type)                 \
  X(Divide, Divide, scalar::Divide, Kind, type) \
  X(Maximum, Maximum, FloatMaximum, Kind, type) \
  X(Minimum, Minimum, FloatMinimum, Kind, type) \
  X(Negate, Negate, scalar::Negate, Kind, type) \
  X(Abs, Abs, scalar::Abs, Kind, type)          \
  X(Sqrt, Sqrt, scalar::Sqrt, Kind, type)
#define HLO_INTEGERS(X, Kind, type)                      \
  HLO_ARITHMETIC(X, Kind, type)                          \
  X(Maximum, Maximum, scalar::Maximum, Kind, type)       \
  X(Minimum, Minimum, scalar::Minimum, Kind, type)       \
  X(And, And, scalar::And, Kind, type)                   \
  X(Or, Or, scalar::Or, Kind, type)                      \
  X(Xor, Xor, scalar::Xor, Kind, type)                   \
  X(ShiftLeft, ShiftLeft, scalar::ShiftLeft, Kind, type) \
  X(ShiftRightLogical, ShiftRightLogical, scalar::ShiftRightLogical, Kind, type)
#define HLO_OPERATIONS(X)              \
  HLO_FLOATS(X, F32, float)            \
  HLO_FLOATS(X, F64, double)           \
  HLO_INTEGERS(X, S32, int32_t)        \
  HLO_INTEGERS(X, S64, int64_t)        \
  HLO_INTEGERS(X, U32, uint32_t)       \
  HLO_INTEGERS(X, U64, uint64_t)       \
  X(And, And, scalar::And, Pred, bool) \
  X(Or, Or, scalar::Or, Pred, bool)    \
  X(Xor, Xor, scalar::Xor, Pred, bool) \
  X(Not, Not, scalar::Not, Pred, bool)
#define HLO_COMPARISONS_OF(X, Kind, type) \
  X(Eq, Kind, type) X(Ne, Kind, type) X(Ge, Kind, type) X(Gt, Kind, type) X(Le, Kind, type) X(Lt, Kind, type)
#define HLO_COMPARISONS(X)            \
  HLO_COMPARISONS_OF(X, F32, float)   \
  HLO_COMPARISONS_OF(X, F64, double)  \
  HLO_COMPARISONS_OF(X, S32, int32_t) \
  HLO_COMPARISONS_OF(X, S64, int64_t) \
  HLO_COMPARISONS_OF(X, U32, uint32_t)
// Conversions that hold or round every value.
#define HLO_CONVERSIONS(X)       \
  X(S32, int32_t, F32, float)    \
  X(S32, int32_t, F64, double)   \
  X(S32, int32_t, S64, int64_t)  \
  X(S64, int64_t, F32, float)    \
  X(S64, int64_t, F64, double)   \
  X(S64, int64_t, S32, int32_t)  \
  X(U32, uint32_t, F32, float)   \
  X(U32, uint32_t, S32, int32_t) \
  X(S32, int32_t, U32, uint32_t) \
  X(F32, float, F64, double)     \
  X(F64, double, F32, float)     \
  X(Pred, bool, S32, int32_t)    \
  X(Pred, bool, F32, float)      \
  X(Pred, bool, F64, double)

enum Code : uint16_t {
#define HLO_ROW(name, opcode, F, Kind, type) k##name##Kind,
  HLO_OPERATIONS(HLO_ROW)
#undef HLO_ROW
#define HLO_ROW(name, Kind, type) k##name##Kind,
      HLO_COMPARISONS(HLO_ROW)
#undef HLO_ROW
#define HLO_ROW(From, from, To, to) kConvert##From##To,
          HLO_CONVERSIONS(HLO_ROW)
#undef HLO_ROW
              kSelect1,
  kSelect2,
  kSelect4,
  kSelect8,
  kCopy1,
  kCopy2,
  kCopy4,
  kCopy8,
  kCopyBytes,
  kCall,
  kAddressS32,
  kAddAddressS32,
  kAddress,
  kAddAddress,
  kCheckedAddress,
  kAddCheckedAddress,
  kLoad,  // Without an address.
  kLoadAt,
  kLoadAt4,
  kLoadAt8,
  kStore,
  kStoreAt,
  kStoreAt4,
  kStoreAt8,
  kEscape,
  kRepeat,
  kJump,
  kJumpUnless,
  kJumpTo,
  kEnd,
};

// These read where others write.
bool IsStore(uint16_t code) { return code >= kStore && code <= kStoreAt8; }

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

// Bytes of an element of an own operation's result and operands.
struct Widths {
  int32_t out, a, b, c;
};
Widths WidthsOf(Code code) {
  switch (code) {
#define HLO_ROW(name, opcode, F, Kind, type) \
  case k##name##Kind:                        \
    return {sizeof(type), sizeof(type), sizeof(type), 0};
    HLO_OPERATIONS(HLO_ROW)
#undef HLO_ROW
#define HLO_ROW(name, Kind, type) \
  case k##name##Kind:             \
    return {sizeof(bool), sizeof(type), sizeof(type), 0};
    HLO_COMPARISONS(HLO_ROW)
#undef HLO_ROW
#define HLO_ROW(From, from, To, to) \
  case kConvert##From##To:          \
    return {sizeof(to), sizeof(from), 0, 0};
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
    default:
      return {};
  }
}

template <class T>
T Get(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
template <class T>
void Put(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

template <class T>
void Move(std::byte* to, const std::byte* from) {
  Put(to, Get<T>(from));
}

// Of any number of bytes. What scalar operations have just written is read again in as small pieces: then the
// processor need not wait until it has reached the cache.
void MoveBytes(std::byte* to, const std::byte* from, int64_t byte_count) {
  if (byte_count % 4 != 0 || byte_count > 32) {
    std::memcpy(to, from, byte_count);
    return;
  }
  for (; byte_count > 0; byte_count -= 4, to += 4, from += 4) Move<uint32_t>(to, from);
}

}  // namespace

void StepCode::Call(const TileCall& call, int64_t count, FramePlace out, const FramePlace (&in)[3]) {
  // A call takes as long as some operations of the machine's own.
  constexpr int64_t kMostUnrolled = 6;
  if (const auto own = OwnCode(call.function); own.has_value() && count <= kMostUnrolled) {
    const Widths widths = WidthsOf(*own);
    for (int32_t i = 0; i < count; ++i) {
      Add({*own, out + i * widths.out, in[0] + i * widths.a, in[1] + i * widths.b, in[2] + i * widths.c});
    }
    return;
  }
  const bool copies = call.function == CopyTile(Lane::kU8).function,
             spreads = call.function == SplatTile(Lane::kU8).function;
  if (copies || (spreads && count == 1)) return Copy(out, in[0], count * call.parameter);
  Add({kCall, out, in[0], in[1], in[2], static_cast<int64_t>(tiles_.size())});
  tiles_.push_back({call, count});
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

int64_t StepCode::Reach(const Op& op) const {
  constexpr int64_t kWidest = 16;
  switch (op.code) {
    case kCopyBytes:
      return op.number;
    case kCall:
      return tiles_[op.number].count * kWidest;
    case kLoad:
    case kLoadAt:
    case kStore:
    case kStoreAt:
      return fars_[op.number].byte_count;
    default:
      return kWidest;
  }
}

bool StepCode::Retarget(int64_t first, FramePlace from, FramePlace to, int64_t byte_count) {
  const auto touches = [&](const Op& op, FramePlace place, FramePlace range) {
    return place < range + byte_count && range < place + Reach(op);
  };
  const auto writes = [&](const Op& op, FramePlace range) {
    return op.code < kStore && touches(op, op.out, range);
  };
  const auto reads = [&](const Op& op, FramePlace range) {
    if (IsStore(op.code) && touches(op, op.out, range)) return true;
    return touches(op, op.a, range) || touches(op, op.b, range) || touches(op, op.c, range);
  };
  int64_t defined = -1;
  for (int64_t k = first; k < op_count(); ++k) {
    if (!writes(ops_[k], from)) continue;
    if (defined >= 0) return false;
    defined = k;
  }
  if (defined < 0 || ops_[defined].out != from || ops_[defined].code >= kAddressS32) return false;
  for (const int64_t target : targets_) {
    if (target > defined) return false;
  }
  for (int64_t k = first; k < op_count(); ++k) {
    const Op& op = ops_[k];
    if (k <= defined) {
      if (reads(op, from)) return false;
      continue;
    }
    if (op.code >= kEscape || reads(op, to) || writes(op, to)) return false;
    for (const FramePlace place : {op.a, op.b, op.c}) {
      if (touches(op, place, from) && place != from) return false;
    }
  }
  // A call may work in place, but not on what it overlaps.
  Op& definition = ops_[defined];
  for (const FramePlace place : {definition.a, definition.b, definition.c}) {
    if (definition.code == kCall && place != to && touches(definition, place, to)) return false;
  }
  definition.out = to;
  for (int64_t k = defined + 1; k < op_count(); ++k) {
    Op& op = ops_[k];
    for (FramePlace* place : {&op.a, &op.b, &op.c}) {
      if (*place == from) *place = to;
    }
    if (IsStore(op.code) && op.out == from) op.out = to;
  }
  return true;
}

// --- Running ---------------------------------------------------------------------------------------------

struct StepCode::Context {
  static constexpr int32_t kPollEvery = 1024;

  const StepCode& code;
  void* const* arguments;
  absl::FunctionRef<bool(int32_t)> escape;
  int32_t polls = kPollEvery;
  bool stopped = false;

  const Op* at(int64_t number) const { return code.ops_.data() + number; }
  const Op* at_label(Label label) const { return at(code.targets_[label]); }
  const Range& range(const Op& op) const { return code.ranges_[op.number]; }
  const Tile& tile(const Op& op) const { return code.tiles_[op.number]; }
  int64_t byte_count(const Op& op) const { return code.fars_[op.number].byte_count; }
  const std::vector<Label>& labels(const Op& op) const { return code.tables_[op.number]; }
  std::byte* base(const Op& op) const {
    const Far& far = code.fars_[op.number];
    return static_cast<std::byte*>(arguments[far.argument]) + far.offset;
  }
  std::byte* base(const Op& op, const std::byte* frame) const {
    return base(op) + Get<int64_t>(frame + op.a);
  }
  bool Ask(int32_t number) {
    stopped = !escape(number);
    return !stopped;
  }
};

namespace {

using Op = StepCode::Op;
using Context = StepCode::Context;

// A handler calls the next one as its last deed, which compilers make a jump; instrumented code would run out
// of stack, and returns instead.
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define HLO_GO_ON(next)      \
  const Op* const on = next; \
  return on->run(on, frame, context)
#else
#define HLO_GO_ON(next) return next
#endif
#define HLO_HANDLER(name)                                                          \
  const Op* name([[maybe_unused]] const Op* op, [[maybe_unused]] std::byte* frame, \
                 [[maybe_unused]] Context& context)

template <class F, class T>
HLO_HANDLER(Own) {
  const F f = MakeOperation<F>(8 * sizeof(T));
  // A bool that is stored is 0 or 1.
  if constexpr (std::is_invocable_v<F, T, T>)
    Put(frame + op->out, f(Get<T>(frame + op->a), Get<T>(frame + op->b)));
  else
    Put(frame + op->out, f(Get<T>(frame + op->a)));
  HLO_GO_ON(op + 1);
}

template <class From, class To>
HLO_HANDLER(Convert) {
  Put(frame + op->out, static_cast<To>(Get<From>(frame + op->a)));
  HLO_GO_ON(op + 1);
}

template <class T>
HLO_HANDLER(Select) {
  Put(frame + op->out, Get<T>(frame + (Get<uint8_t>(frame + op->a) != 0 ? op->b : op->c)));
  HLO_GO_ON(op + 1);
}

template <class T>
HLO_HANDLER(CopyOne) {
  Move<T>(frame + op->out, frame + op->a);
  HLO_GO_ON(op + 1);
}

HLO_HANDLER(CopyAll) {
  MoveBytes(frame + op->out, frame + op->a, op->number);
  HLO_GO_ON(op + 1);
}

HLO_HANDLER(CallTile) {
  const auto& tile = context.tile(*op);
  const void* in[3] = {frame + op->a, frame + op->b, frame + op->c};
  tile.call.function(tile.count, frame + op->out, in, tile.call.parameter);
  return op + 1;  // What the function may see of `in` keeps this from being a jump.
}

template <class ReadIndex, bool kAdds, bool kChecks>
HLO_HANDLER(MakeAddress) {
  const auto& range = context.range(*op);
  const int64_t index = ReadIndex()(range.type, frame + op->a);
  if (kChecks && (index < 0 || index > range.max)) {
    HLO_GO_ON(context.at_label(range.outside));
  }
  const int64_t position = std::min(std::max<int64_t>(index, 0), range.max) * range.byte_stride;
  Put(frame + op->out, kAdds ? Get<int64_t>(frame + op->out) + position : position);
  HLO_GO_ON(op + 1);
}
struct ReadS32 {
  int64_t operator()(ElementType, const std::byte* at) const { return Get<int32_t>(at); }
};
struct ReadAny {
  int64_t operator()(ElementType type, const std::byte* at) const { return ReadInteger(type, at); }
};

HLO_HANDLER(LoadHere) {
  MoveBytes(frame + op->out, context.base(*op), context.byte_count(*op));
  HLO_GO_ON(op + 1);
}
HLO_HANDLER(LoadAll) {
  MoveBytes(frame + op->out, context.base(*op, frame), context.byte_count(*op));
  HLO_GO_ON(op + 1);
}
template <class T>
HLO_HANDLER(LoadOne) {
  Move<T>(frame + op->out, context.base(*op, frame));
  HLO_GO_ON(op + 1);
}
HLO_HANDLER(StoreHere) {
  MoveBytes(context.base(*op), frame + op->out, context.byte_count(*op));
  HLO_GO_ON(op + 1);
}
HLO_HANDLER(StoreAll) {
  MoveBytes(context.base(*op, frame), frame + op->out, context.byte_count(*op));
  HLO_GO_ON(op + 1);
}
template <class T>
HLO_HANDLER(StoreOne) {
  Move<T>(context.base(*op, frame), frame + op->out);
  HLO_GO_ON(op + 1);
}

HLO_HANDLER(AskOutside) { return context.Ask(static_cast<int32_t>(op->number)) ? op + 1 : nullptr; }

HLO_HANDLER(GoBack) {
  if (--context.polls == 0) {
    context.polls = Context::kPollEvery;
    if (!context.Ask(StepCode::kPolled)) return nullptr;
  }
  HLO_GO_ON(Get<uint8_t>(frame + op->a) != 0 ? context.at(op->number) : op + 1);
}

HLO_HANDLER(Go) { HLO_GO_ON(context.at(op->number)); }
HLO_HANDLER(GoUnless) { HLO_GO_ON(Get<uint8_t>(frame + op->a) != 0 ? op + 1 : context.at(op->number)); }
HLO_HANDLER(GoTo) {
  const auto& labels = context.labels(*op);
  const int32_t number = Get<int32_t>(frame + op->a), last = static_cast<int32_t>(labels.size()) - 1;
  HLO_GO_ON(context.at_label(labels[number < 0 || number > last ? last : number]));
}
HLO_HANDLER(Stop) { return nullptr; }

// In the order of the codes.
constexpr StepCode::Handler kHandlers[] = {
#define HLO_ROW(name, opcode, F, Kind, type) &Own<F, type>,
    HLO_OPERATIONS(HLO_ROW)
#undef HLO_ROW
#define HLO_ROW(name, Kind, type) &Own<scalar::name, type>,
            HLO_COMPARISONS(HLO_ROW)
#undef HLO_ROW
#define HLO_ROW(From, from, To, to) &Convert<from, to>,
                HLO_CONVERSIONS(HLO_ROW)
#undef HLO_ROW
        & Select<uint8_t>,
    &Select<uint16_t>,
    &Select<uint32_t>,
    &Select<uint64_t>,
    &CopyOne<uint8_t>,
    &CopyOne<uint16_t>,
    &CopyOne<uint32_t>,
    &CopyOne<uint64_t>,
    &CopyAll,
    &CallTile,
    &MakeAddress<ReadS32, false, false>,
    &MakeAddress<ReadS32, true, false>,
    &MakeAddress<ReadAny, false, false>,
    &MakeAddress<ReadAny, true, false>,
    &MakeAddress<ReadAny, false, true>,
    &MakeAddress<ReadAny, true, true>,
    &LoadHere,
    &LoadAll,
    &LoadOne<uint32_t>,
    &LoadOne<uint64_t>,
    &StoreHere,
    &StoreAll,
    &StoreOne<uint32_t>,
    &StoreOne<uint64_t>,
    &AskOutside,
    &GoBack,
    &Go,
    &GoUnless,
    &GoTo,
    &Stop,
};
static_assert(std::size(kHandlers) == kEnd + 1);

}  // namespace

void StepCode::Finish() {
  Add({kEnd});
  for (Op& op : ops_) {
    op.run = kHandlers[op.code];
    if (op.code == kJump || op.code == kJumpUnless || op.code == kRepeat) op.number = targets_[op.number];
  }
  for (const int64_t target : targets_) HLO_CHECK(target >= 0 && target < op_count());
}

bool StepCode::Run(std::byte* frame, void* const* arguments, absl::FunctionRef<bool(int32_t)> escape) const {
  Context context{*this, arguments, escape};
  const Op* op = ops_.data();
  while (op != nullptr) op = op->run(op, frame, context);
  return !context.stopped;
}

}  // namespace hlo::cpu
