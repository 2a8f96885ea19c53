// This file is the interpreter of bytecode.

#include <algorithm>
#include <array>
#include <concepts>
#include <optional>
#include <utility>

#include "base/check.h"
#include "kernels/cpu/bytecode/handlers.h"

namespace hlo::cpu {
namespace {

using namespace step;  // NOLINT: this file uses most handlers.

// Handlers tail-call the next one. Instrumented and unoptimised code, in which this would exhaust the stack,
// returns to a dispatch loop instead.
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define HLO_CONTINUE_AT(next) \
  const Op* const on = next;  \
  return on->run(on, frame, context)
#else
#define HLO_CONTINUE_AT(next) return next
#endif
#define HLO_HANDLER(name)                                                          \
  const Op* name([[maybe_unused]] const Op* op, [[maybe_unused]] std::byte* frame, \
                 [[maybe_unused]] Context& context)

// Executes consecutive instructions as a superinstruction. Jumps into the middle find the handler of the
// remaining ones.
template <class... Steps>
HLO_HANDLER(Sequence) {
  const Op* at = op;
  (Steps::Do(at++, frame, context), ...);
  HLO_CONTINUE_AT(op + sizeof...(Steps));
}

// Executes an instruction on several elements.
template <class Step>
HLO_HANDLER(OneByOne) {
  for (int64_t k = 0; k < op->count; ++k) Step::DoAt(op, frame, k);
  HLO_CONTINUE_AT(op + 1);
}

// Executes two instructions. The second one reads the result of the first as its first or second operand,
// from a register instead of memory.
template <class First, class Second, bool kIsFirst>
HLO_HANDLER(Chained) {
  using T = typename Second::Value;
  const T value = First::Make(op, frame, context);
  Put(frame + op->out, value);
  if constexpr (Second::kIsBinary) {
    const T other = Get<T>(frame + (kIsFirst ? op[1].b : op[1].a));
    Put(frame + op[1].out, kIsFirst ? Second::Of(value, other) : Second::Of(other, value));
  } else {
    Put(frame + op[1].out, Second::Of(value));
  }
  HLO_CONTINUE_AT(op + 2);
}

HLO_HANDLER(CallTile) {
  const auto& tile = context.tile(*op);
  const void* in[3] = {frame + op->a, frame + op->b, frame + op->c};
  tile.call.function(tile.count, frame + op->out, in, tile.call.parameter);
  return op + 1;  // The address of `in` escapes, which prevents a tail call.
}

HLO_HANDLER(CallTileOnMemory) {
  const auto& [call, count, out, in] = context.memory_call(*op);
  const auto at = [&](const Bytecode::MemoryOperand& operand) {
    if (operand.argument < 0) return frame;
    std::byte* base = static_cast<std::byte*>(context.arguments[operand.argument]) + operand.offset;
    return operand.address == Bytecode::kNoAddress ? base : base + Get<int64_t>(frame + operand.address);
  };
  const void* operands[3] = {at(in[0]), at(in[1]), at(in[2])};
  call.function(count, at(out), operands, call.parameter);
  return op + 1;
}

template <bool kAdds>
HLO_HANDLER(MakeCheckedAddress) {
  const auto& range = context.range(*op);
  const int64_t index = ReadInteger(range.type, frame + op->a);
  if (index < 0 || index > range.max) {
    HLO_CONTINUE_AT(context.at_label(range.outside));
  }
  const int64_t position = index * range.byte_stride;
  Put(frame + op->out, kAdds ? Get<int64_t>(frame + op->out) + position : position);
  HLO_CONTINUE_AT(op + 1);
}

// Executes the following instructions too if the index is in range.
template <class... Steps>
HLO_HANDLER(MakeCheckedAddressS32) {
  const int32_t index = Get<int32_t>(frame + op->a);
  if (index < 0 || index > op->max()) {
    HLO_CONTINUE_AT(op + op->outside());
  }
  Put(frame + op->out, index * op->number);
  const Op* at = op + 1;
  (Steps::Do(at++, frame, context), ...);
  HLO_CONTINUE_AT(at);
}

HLO_HANDLER(EscapeHandler) { return context.RunEscape(static_cast<int32_t>(op->number)) ? op + 1 : nullptr; }

// Not inlined, so that callers need not save caller-saved registers.
[[gnu::noinline]] HLO_HANDLER(Poll) {
  context.polls = Context::kPollEvery;
  if (!context.RunEscape(Bytecode::kPolled)) return nullptr;
  return Get<uint8_t>(frame + op->a) != 0 ? op + op->number : op + 1;
}

template <bool kCounts, class... Steps>
HLO_HANDLER(BackEdge) {
  (Steps::Do(op++, frame, context), ...);
  if constexpr (kCounts) {
    int64_t& iteration = context.iterations[op->c];
    iteration = Get<uint8_t>(frame + op->a) != 0 ? iteration + 1 : 0;
  }
  if (--context.polls == 0) return Poll(op, frame, context);
  HLO_CONTINUE_AT(Get<uint8_t>(frame + op->a) != 0 ? op + op->number : op + 1);
}

HLO_HANDLER(JumpHandler) { HLO_CONTINUE_AT(op + op->number); }
HLO_HANDLER(JumpUnlessHandler) {
  HLO_CONTINUE_AT(Get<uint8_t>(frame + op->a) != 0 ? op + 1 : op + op->number);
}
HLO_HANDLER(JumpTable) {
  const auto& labels = context.labels(*op);
  const int32_t number = Get<int32_t>(frame + op->a), last = static_cast<int32_t>(labels.size()) - 1;
  HLO_CONTINUE_AT(context.at_label(labels[number < 0 || number > last ? last : number]));
}
HLO_HANDLER(Stop) { return nullptr; }

template <uint16_t kCode>
constexpr Bytecode::Handler HandlerOf() {
  if constexpr (!std::is_void_v<typename StepOf<kCode>::type>) return &Sequence<typename StepOf<kCode>::type>;
  switch (kCode) {
    case kCall:
      return &CallTile;
    case kCallOnMemory:
      return &CallTileOnMemory;
    case kCheckedAddressS32:
      return &MakeCheckedAddressS32<>;
    case kCheckedAddress:
      return &MakeCheckedAddress<false>;
    case kAddCheckedAddress:
      return &MakeCheckedAddress<true>;
    case kEscape:
      return &EscapeHandler;
    case kRepeat:
      return &BackEdge<false>;
    case kJump:
      return &JumpHandler;
    case kJumpUnless:
      return &JumpUnlessHandler;
    case kJumpTo:
      return &JumpTable;
    default:
      return &Stop;
  }
}
// Returns the handler for several elements.
template <uint16_t kCode>
constexpr Bytecode::Handler OneByOneOf() {
  using Step = typename StepOf<kCode>::type;
  if constexpr (requires(const Op* op, std::byte* frame) { Step::DoAt(op, frame, 0); })
    return &OneByOne<Step>;
  else
    return nullptr;
}
using Handlers = std::array<Bytecode::Handler, kEnd + 1>;
template <size_t... kCode>
constexpr Handlers MakeHandlers(std::index_sequence<kCode...>) {
  return {HandlerOf<kCode>()...};
}
template <size_t... kCode>
constexpr Handlers MakeOneByOne(std::index_sequence<kCode...>) {
  return {OneByOneOf<kCode>()...};
}
constexpr Handlers kHandlers = MakeHandlers(std::make_index_sequence<kEnd + 1>()),
                   kOneByOne = MakeOneByOne(std::make_index_sequence<kEnd + 1>());

// Handlers for moves of a few words, by their number.
template <template <class> class Step>
constexpr Bytecode::Handler kWords[] = {
    nullptr,
    &Sequence<Step<MoveWords<1>>>,
    &Sequence<Step<MoveWords<2>>>,
    &Sequence<Step<MoveWords<3>>>,
    &Sequence<Step<MoveWords<4>>>,
    &Sequence<Step<MoveWords<5>>>,
    &Sequence<Step<MoveWords<6>>>,
    &Sequence<Step<MoveWords<7>>>,
    &Sequence<Step<MoveWords<8>>>,
};
template <class Mover>
using LoadDirect = Load<Mover, false>;
template <class Mover>
using LoadIndirect = Load<Mover, true>;
template <class Mover>
using StoreDirect = Store<Mover, false>;
template <class Mover>
using StoreIndirect = Store<Mover, true>;

Bytecode::Handler FindMove(const Op& op) {
  constexpr int64_t kMaxWords = 8;
  const int64_t byte_count = op.code == kCopyBytes ? op.number : op.byte_count();
  if (byte_count <= 0 || byte_count % 4 != 0 || byte_count > 4 * kMaxWords) return kHandlers[op.code];
  const int64_t words = byte_count / 4;
  switch (op.code) {
    case kCopyBytes:
      return kWords<Copy>[words];
    case kLoad:
      return kWords<LoadDirect>[words];
    case kLoadAt:
      return kWords<LoadIndirect>[words];
    case kStore:
      return kWords<StoreDirect>[words];
    case kStoreAt:
      return kWords<StoreIndirect>[words];
    default:
      return kHandlers[op.code];
  }
}

// --- Superinstructions for frequent sequences

constexpr uint16_t kCommon[] = {kAddF32,      kSubtractF32, kMultiplyF32, kAddF64,     kSubtractF64,
                                kMultiplyF64, kAddS32,      kLtS32,       kAndPred,    kSelect4,
                                kCopy1,       kCopy4,       kCopy8,       kAddressS32, kLoadAt4,
                                kStoreAt4,    kDotF32,      kCosineF32,   kSineF32,    kExponentialF32};
constexpr size_t kCommonCount = std::size(kCommon);
template <size_t kNumber>
using CommonStep = typename StepOf<kCommon[kNumber]>::type;

// Satisfied if the second instruction can take the result of the first in a register.
template <class First, class Second>
concept Chains = requires(const Op* op, std::byte* frame, Context& context, typename Second::Value x) {
  { First::Make(op, frame, context) } -> std::same_as<typename Second::Value>;
  Second::kIsBinary;
}
&&std::is_floating_point_v<typename Second::Value>;

// Handlers for a pair: independent, chained by the first operand, chained by the second operand.
using Pair = std::array<Bytecode::Handler, 3>;
template <class First, class Second>
constexpr Pair MakePair() {
  const Bytecode::Handler sequence = &Sequence<First, Second>;
  if constexpr (Chains<First, Second>) {
    const Bytecode::Handler by_first = &Chained<First, Second, true>;
    if constexpr (Second::kIsBinary) return {sequence, by_first, &Chained<First, Second, false>};
    return {sequence, by_first, sequence};
  }
  return {sequence, sequence, sequence};
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

// Returns the handler for a pair of instructions, if there is one.
std::optional<Bytecode::Handler> FindPair(const Op& first, const Op& second, bool* is_chain) {
  const std::optional<size_t> a = CommonNumber(first.code), b = CommonNumber(second.code);
  if (!a.has_value() || !b.has_value() || first.count > 1 || second.count > 1) return std::nullopt;
  const Pair& pair = kPairs[*a * kCommonCount + *b];
  const bool by_first = second.a == first.out, by_second = second.b == first.out;
  const Bytecode::Handler found = pair[by_first == by_second ? 0 : by_first ? 1 : 2];
  *is_chain = found != pair[0];
  return found;
}

using AddCount = Native<scalar::Add, int32_t>;
using IsBelow = Native<scalar::Lt, int32_t>;
using AreBoth = Native<scalar::And, bool>;

// Returns true if the instruction and the following ones have these codes; `left` instructions follow.
bool IsSequence(const Op* op, int64_t left, std::initializer_list<uint16_t> codes) {
  return left + 1 >= static_cast<int64_t>(codes.size()) &&
         std::equal(codes.begin(), codes.end(), op,
                    [](uint16_t code, const Op& each) { return code == each.code && each.count == 1; });
}

// Returns the handler of a loop's back edge with its condition, or nullptr.
template <bool kCounts>
Bytecode::Handler FindBackEdge(const Op* op, int64_t left) {
  const auto is = [&](std::initializer_list<uint16_t> codes) { return IsSequence(op, left, codes); };
  if (is({kAddS32, kAddS32, kLtS32, kLtS32, kAndPred, kRepeat}))
    return &BackEdge<kCounts, AddCount, AddCount, IsBelow, IsBelow, AreBoth>;
  if (is({kAddS32, kLtS32, kLtS32, kAndPred, kRepeat}))
    return &BackEdge<kCounts, AddCount, IsBelow, IsBelow, AreBoth>;
  if (is({kLtS32, kLtS32, kAndPred, kRepeat})) return &BackEdge<kCounts, IsBelow, IsBelow, AreBoth>;
  if (is({kAddS32, kLtS32, kRepeat})) return &BackEdge<kCounts, AddCount, IsBelow>;
  if (is({kLtS32, kRepeat})) return &BackEdge<kCounts, IsBelow>;
  if (is({kAndPred, kRepeat})) return &BackEdge<kCounts, AreBoth>;
  return is({kRepeat}) ? &BackEdge<kCounts> : nullptr;
}

// Returns the handler for the instruction and as many of the `left` following ones as it covers.
Bytecode::Handler FindHandler(const Op* op, int64_t left, bool counts) {
  if (op->count > 1) return kOneByOne[op->code];
  const auto is = [&](std::initializer_list<uint16_t> codes) { return IsSequence(op, left, codes); };
  const Bytecode::Handler back_edge = counts ? FindBackEdge<true>(op, left) : FindBackEdge<false>(op, left);
  if (back_edge != nullptr) return back_edge;
  // This sequence normalises negative indices.
  if (is({kLtS32, kAddS32, kSelect4})) return &Sequence<IsBelow, AddCount, Select<uint32_t>>;
  if (is({kCheckedAddressS32, kStoreAt4})) return &MakeCheckedAddressS32<Store<MoveOne<uint32_t>, true>>;
  bool is_chain = false, next_is_chain = false;
  const auto pair = left > 0 ? FindPair(op[0], op[1], &is_chain) : std::nullopt;
  if (left > 1) FindPair(op[1], op[2], &next_is_chain);
  const bool is_best = is_chain || !next_is_chain;
  return pair.has_value() && is_best ? *pair : FindMove(*op);
}

}  // namespace

void Bytecode::Finish() {
  Add({.code = kEnd});
  for (const int64_t target : targets_) HLO_CHECK(target >= 0 && target < op_count());
  for (int64_t k = 0; k < op_count(); ++k) {
    Op& op = ops_[k];
    if (op.code == kJump || op.code == kJumpUnless || op.code == kRepeat)
      op.number = targets_[op.number] - k;
    else if (op.code == kCheckedAddressS32)
      op.c = static_cast<int32_t>(targets_[op.outside()] - k);
  }
  ChooseHandlers();
}

void Bytecode::ChooseHandlers() {
  for (int64_t k = 0; k < op_count(); ++k) ops_[k].run = FindHandler(&ops_[k], op_count() - 1 - k, counts_);
}

Bytecode Bytecode::WithCounts() const {
  Bytecode code = *this;
  code.counts_ = true;
  code.ChooseHandlers();
  return code;
}

bool Bytecode::Run(std::byte* frame, void* const* arguments, absl::FunctionRef<bool(int32_t)> escape) const {
  HLO_CHECK(!counts_);
  return Run(frame, arguments, escape, nullptr);
}

bool Bytecode::Run(std::byte* frame, void* const* arguments, absl::FunctionRef<bool(int32_t)> escape,
                   int64_t* iterations) const {
  Context context{.code = *this, .arguments = arguments, .escape = escape, .iterations = iterations};
  const Op* op = ops_.data();
  while (op != nullptr) op = op->run(op, frame, context);
  return !context.stopped;
}

}  // namespace hlo::cpu
