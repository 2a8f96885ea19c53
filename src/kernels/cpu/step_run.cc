// How the machine of step_code.h runs.

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "base/check.h"
#include "kernels/cpu/step_code.h"
#include "kernels/cpu/step_codes.h"
#include "kernels/cpu/tile_program.h"

namespace hlo::cpu {

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
  const SmallDot& dot(const Op& op) const { return code.products_[op.number].dot; }
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

// --- What operations do that go on to the next one

template <class F, class T>
struct Own {
  using Value = T;
  static T Of(T a, T b) { return MakeOperation<F>(8 * sizeof(T))(a, b); }
  static void Do(const Op* op, std::byte* frame, Context&) {
    const F f = MakeOperation<F>(8 * sizeof(T));
    // A bool that is stored is 0 or 1.
    if constexpr (std::is_invocable_v<F, T, T>)
      Put(frame + op->out, f(Get<T>(frame + op->a), Get<T>(frame + op->b)));
    else
      Put(frame + op->out, f(Get<T>(frame + op->a)));
  }
};

template <class From, class To>
struct Convert {
  static void Do(const Op* op, std::byte* frame, Context&) {
    Put(frame + op->out, static_cast<To>(Get<From>(frame + op->a)));
  }
};

template <class T>
struct Select {
  static void Do(const Op* op, std::byte* frame, Context&) {
    Put(frame + op->out, Get<T>(frame + (Get<uint8_t>(frame + op->a) != 0 ? op->b : op->c)));
  }
};

template <class T>
struct CopyOne {
  static void Do(const Op* op, std::byte* frame, Context&) { Move<T>(frame + op->out, frame + op->a); }
};

struct CopyAll {
  static void Do(const Op* op, std::byte* frame, Context&) {
    MoveBytes(frame + op->out, frame + op->a, op->number);
  }
};

struct Multiply {
  static void Do(const Op* op, std::byte* frame, Context& context) {
    context.dot(*op).Run(frame + op->a, frame + op->b, frame + op->out);
  }
};

struct ReadS32 {
  int64_t operator()(ElementType, const std::byte* at) const { return Get<int32_t>(at); }
};
struct ReadAny {
  int64_t operator()(ElementType type, const std::byte* at) const { return ReadInteger(type, at); }
};

template <class ReadIndex, bool kAdds>
struct MakeAddress {
  static void Do(const Op* op, std::byte* frame, Context& context) {
    const auto& range = context.range(*op);
    const int64_t index = ReadIndex()(range.type, frame + op->a);
    const int64_t position = std::min(std::max<int64_t>(index, 0), range.max) * range.byte_stride;
    Put(frame + op->out, kAdds ? Get<int64_t>(frame + op->out) + position : position);
  }
};

// From memory, and to it; `T` void: any number of bytes.
template <class T, bool kAddressed>
struct Load {
  static void Do(const Op* op, std::byte* frame, Context& context) {
    const std::byte* from = kAddressed ? context.base(*op, frame) : context.base(*op);
    if constexpr (std::is_void_v<T>)
      MoveBytes(frame + op->out, from, context.byte_count(*op));
    else
      Move<T>(frame + op->out, from);
  }
};
template <class T, bool kAddressed>
struct Store {
  static void Do(const Op* op, std::byte* frame, Context& context) {
    std::byte* to = kAddressed ? context.base(*op, frame) : context.base(*op);
    if constexpr (std::is_void_v<T>)
      MoveBytes(to, frame + op->out, context.byte_count(*op));
    else
      Move<T>(to, frame + op->out);
  }
};

// --- Handlers

// Of operations in a row. Whoever jumps into the middle finds the handler of what is left.
template <class... Steps>
HLO_HANDLER(InTurn) {
  const Op* at = op;
  (Steps::Do(at++, frame, context), ...);
  HLO_GO_ON(op + sizeof...(Steps));
}

// Of two, the second of which takes what the first has left as its first operand, or as its second: past the
// memory, where it would wait for it.
template <class First, class Second, bool kIsFirst>
HLO_HANDLER(Chained) {
  using T = typename First::Value;
  const T value = First::Of(Get<T>(frame + op->a), Get<T>(frame + op->b));
  Put(frame + op->out, value);
  const T other = Get<T>(frame + (kIsFirst ? op[1].b : op[1].a));
  Put(frame + op[1].out, kIsFirst ? Second::Of(value, other) : Second::Of(other, value));
  HLO_GO_ON(op + 2);
}

HLO_HANDLER(CallTile) {
  const auto& tile = context.tile(*op);
  const void* in[3] = {frame + op->a, frame + op->b, frame + op->c};
  tile.call.function(tile.count, frame + op->out, in, tile.call.parameter);
  return op + 1;  // What the function may see of `in` keeps this from being a jump.
}

template <bool kAdds>
HLO_HANDLER(MakeCheckedAddress) {
  const auto& range = context.range(*op);
  const int64_t index = ReadInteger(range.type, frame + op->a);
  if (index < 0 || index > range.max) {
    HLO_GO_ON(context.at_label(range.outside));
  }
  const int64_t position = index * range.byte_stride;
  Put(frame + op->out, kAdds ? Get<int64_t>(frame + op->out) + position : position);
  HLO_GO_ON(op + 1);
}

HLO_HANDLER(AskOutside) { return context.Ask(static_cast<int32_t>(op->number)) ? op + 1 : nullptr; }

template <class... Steps>
HLO_HANDLER(GoBack) {
  (Steps::Do(op++, frame, context), ...);
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

// The step of a code; void where it may go elsewhere.
template <uint16_t kCode>
struct StepOf {
  using type = void;
};
#define HLO_STEP(code, ...)   \
  template <>                 \
  struct StepOf<code> {       \
    using type = __VA_ARGS__; \
  };
#define HLO_ROW(name, opcode, F, Kind, type) HLO_STEP(k##name##Kind, Own<F, type>)
HLO_OPERATIONS(HLO_ROW)
#undef HLO_ROW
#define HLO_ROW(name, Kind, type) HLO_STEP(k##name##Kind, Own<scalar::name, type>)
HLO_COMPARISONS(HLO_ROW)
#undef HLO_ROW
#define HLO_ROW(From, from, To, to) HLO_STEP(kConvert##From##To, Convert<from, to>)
HLO_CONVERSIONS(HLO_ROW)
#undef HLO_ROW
HLO_STEP(kSelect1, Select<uint8_t>)
HLO_STEP(kSelect2, Select<uint16_t>)
HLO_STEP(kSelect4, Select<uint32_t>)
HLO_STEP(kSelect8, Select<uint64_t>)
HLO_STEP(kCopy1, CopyOne<uint8_t>)
HLO_STEP(kCopy2, CopyOne<uint16_t>)
HLO_STEP(kCopy4, CopyOne<uint32_t>)
HLO_STEP(kCopy8, CopyOne<uint64_t>)
HLO_STEP(kCopyBytes, CopyAll)
HLO_STEP(kDot, Multiply)
HLO_STEP(kAddressS32, MakeAddress<ReadS32, false>)
HLO_STEP(kAddAddressS32, MakeAddress<ReadS32, true>)
HLO_STEP(kAddress, MakeAddress<ReadAny, false>)
HLO_STEP(kAddAddress, MakeAddress<ReadAny, true>)
HLO_STEP(kLoad, Load<void, false>)
HLO_STEP(kLoadAt, Load<void, true>)
HLO_STEP(kLoadAt4, Load<uint32_t, true>)
HLO_STEP(kLoadAt8, Load<uint64_t, true>)
HLO_STEP(kStore, Store<void, false>)
HLO_STEP(kStoreAt, Store<void, true>)
HLO_STEP(kStoreAt4, Store<uint32_t, true>)
HLO_STEP(kStoreAt8, Store<uint64_t, true>)

template <uint16_t kCode>
constexpr StepCode::Handler HandlerOf() {
  if constexpr (!std::is_void_v<typename StepOf<kCode>::type>) return &InTurn<typename StepOf<kCode>::type>;
  switch (kCode) {
    case kCall:
      return &CallTile;
    case kCheckedAddress:
      return &MakeCheckedAddress<false>;
    case kAddCheckedAddress:
      return &MakeCheckedAddress<true>;
    case kEscape:
      return &AskOutside;
    case kRepeat:
      return &GoBack<>;
    case kJump:
      return &Go;
    case kJumpUnless:
      return &GoUnless;
    case kJumpTo:
      return &GoTo;
    default:
      return &Stop;
  }
}
template <size_t... kCode>
constexpr std::array<StepCode::Handler, sizeof...(kCode)> MakeHandlers(std::index_sequence<kCode...>) {
  return {HandlerOf<kCode>()...};
}
constexpr auto kHandlers = MakeHandlers(std::make_index_sequence<kEnd + 1>());

// --- Operations that often follow each other are one handler

constexpr uint16_t kCommon[] = {kAddF32, kSubtractF32, kMultiplyF32, kAddF64,  kSubtractF64, kMultiplyF64,
                                kAddS32, kLtS32,       kAndPred,     kSelect4, kCopy1,       kCopy4,
                                kCopy8,  kAddressS32,  kLoadAt4,     kStoreAt4};
constexpr size_t kCommonCount = std::size(kCommon);
template <size_t kNumber>
using CommonStep = typename StepOf<kCommon[kNumber]>::type;

template <class Step>
concept FloatStep = std::is_floating_point_v<typename Step::Value> && requires(typename Step::Value x) {
  { Step::Of(x, x) } -> std::same_as<typename Step::Value>;
};

// Unchained, chained by the first operand, by the second.
using Pair = std::array<StepCode::Handler, 3>;
template <class First, class Second>
constexpr Pair MakePair() {
  const StepCode::Handler in_turn = &InTurn<First, Second>;
  if constexpr (FloatStep<First> && FloatStep<Second>) {
    if constexpr (std::is_same_v<typename First::Value, typename Second::Value>)
      return {in_turn, &Chained<First, Second, true>, &Chained<First, Second, false>};
  }
  return {in_turn, in_turn, in_turn};
}
template <size_t... kNumber>
constexpr std::array<Pair, sizeof...(kNumber)> MakePairs(std::index_sequence<kNumber...>) {
  return {MakePair<CommonStep<kNumber / kCommonCount>, CommonStep<kNumber % kCommonCount>>()...};
}
constexpr auto kPairs = MakePairs(std::make_index_sequence<kCommonCount * kCommonCount>());

std::optional<size_t> CommonNumber(uint16_t code) {
  const auto* found = std::find(std::begin(kCommon), std::end(kCommon), code);
  return found == std::end(kCommon) ? std::nullopt : std::optional<size_t>(found - std::begin(kCommon));
}

// Which of a pair's handlers, if there are some for the two.
std::optional<StepCode::Handler> FindPair(const Op& first, const Op& second, bool* is_chain) {
  const std::optional<size_t> a = CommonNumber(first.code), b = CommonNumber(second.code);
  if (!a.has_value() || !b.has_value()) return std::nullopt;
  const Pair& pair = kPairs[*a * kCommonCount + *b];
  const bool by_first = second.a == first.out, by_second = second.b == first.out;
  const StepCode::Handler found = pair[by_first == by_second ? 0 : by_first ? 1 : 2];
  *is_chain = found != pair[0];
  return found;
}

// Of the operation and as many of those after it as one handler does; `left` follow.
StepCode::Handler FindHandler(const Op* op, int64_t left) {
  const auto is = [&](std::initializer_list<uint16_t> codes) {
    return left + 1 >= static_cast<int64_t>(codes.size()) &&
           std::equal(codes.begin(), codes.end(), op,
                      [](uint16_t code, const Op& each) { return code == each.code; });
  };
  if (is({kLtS32, kLtS32, kAndPred, kRepeat}))
    return &GoBack<Own<scalar::Lt, int32_t>, Own<scalar::Lt, int32_t>, Own<scalar::And, bool>>;
  if (is({kLtS32, kRepeat})) return &GoBack<Own<scalar::Lt, int32_t>>;
  if (is({kAndPred, kRepeat})) return &GoBack<Own<scalar::And, bool>>;
  // An index from the end becomes one from the beginning.
  if (is({kLtS32, kAddS32, kSelect4}))
    return &InTurn<Own<scalar::Lt, int32_t>, Own<scalar::Add, int32_t>, Select<uint32_t>>;
  bool is_chain = false, next_is_chain = false;
  const auto pair = left > 0 ? FindPair(op[0], op[1], &is_chain) : std::nullopt;
  if (left > 1) FindPair(op[1], op[2], &next_is_chain);
  const bool is_best = is_chain || !next_is_chain;
  return pair.has_value() && is_best ? *pair : kHandlers[op->code];
}

}  // namespace

void StepCode::Finish() {
  Add({kEnd});
  for (Op& op : ops_) {
    op.run = FindHandler(&op, &ops_.back() - &op);
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
