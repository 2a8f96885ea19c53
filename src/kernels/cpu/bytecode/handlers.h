#pragma once
// This file implements the interpreter's handlers, one per opcode of opcodes.h. Only run.cc includes it.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/cpu/bytecode/bytecode.h"
#include "kernels/cpu/bytecode/opcodes.h"
#include "kernels/cpu/loops/tile_program.h"

namespace hlo::cpu {

struct Bytecode::Context {
  static constexpr int32_t kPollEvery = 1024;

  const Bytecode& code;
  void* const* arguments;
  absl::FunctionRef<bool(int32_t)> escape;
  int32_t polls = kPollEvery;
  bool stopped = false;
  int64_t* iterations = nullptr;  // Indexed by loop number.

  const Op* at_label(Label label) const { return code.ops_.data() + code.targets_[label]; }
  const Range& range(const Op& op) const { return code.ranges_[op.number]; }
  const Tile& tile(const Op& op) const { return code.tiles_[op.number]; }
  const MemoryCall& memory_call(const Op& op) const { return code.memory_calls_[op.number]; }
  const SmallDot& dot(const Op& op) const { return code.products_[op.number].dot; }
  const std::vector<Label>& labels(const Op& op) const { return code.tables_[op.number]; }
  std::byte* base(const Op& op) const {
    return static_cast<std::byte*>(arguments[op.argument()]) + op.number;
  }
  std::byte* base(const Op& op, const std::byte* frame) const {
    return base(op) + Get<int64_t>(frame + op.a);
  }
  bool RunEscape(int32_t number) {
    stopped = !escape(number);
    return !stopped;
  }
};

namespace step {

using Op = Bytecode::Op;
using Context = Bytecode::Context;

template <class T>
void Move(std::byte* to, const std::byte* from) {
  Put(to, Get<T>(from));
}

// Copies in words of the size that scalar operations write, so that store-to-load forwarding succeeds.
template <int kWords>
struct MoveWords {
  static void Do(std::byte* to, const std::byte* from, int64_t) {
    for (int k = 0; k < 4 * kWords; k += 4) Move<uint32_t>(to + k, from + k);
  }
};
template <class T>
struct MoveOne {
  static void Do(std::byte* to, const std::byte* from, int64_t) { Move<T>(to, from); }
};
struct MoveAny {
  static void Do(std::byte* to, const std::byte* from, int64_t byte_count) {
    std::memcpy(to, from, byte_count);
  }
};

// A handler has a function Do. If its result is a number, Make returns it without storing it. If it has one
// or two operands, Of computes the result from them.
template <class F, class T>
struct Native {
  using Value = T;
  static constexpr bool kIsBinary = std::is_invocable_v<F, T, T>;
  static auto Of(T a, T b) { return scalar::ForBits<F>(8 * sizeof(T))(a, b); }
  static auto Of(T a) { return scalar::ForBits<F>(8 * sizeof(T))(a); }
  static auto Make(const Op* op, std::byte* frame, Context&) { return At(op, frame, 0); }
  static void Do(const Op* op, std::byte* frame, Context&) { Put(frame + op->out, At(op, frame, 0)); }
  // Computes the k-th of several elements. Stored predicates are 0 or 1.
  static void DoAt(const Op* op, std::byte* frame, int64_t k) {
    const auto value = At(op, frame, k);
    Put(frame + op->out + k * static_cast<int64_t>(sizeof value), value);
  }

 private:
  static auto At(const Op* op, const std::byte* frame, int64_t k) {
    const int64_t at = k * static_cast<int64_t>(sizeof(T));
    if constexpr (kIsBinary)
      return Of(Get<T>(frame + op->a + at), Get<T>(frame + op->b + at));
    else
      return Of(Get<T>(frame + op->a + at));
  }
};

// Converts in range; f32 to s32 saturates, and a NaN becomes 0.
template <class To, class From>
To ConvertedTo(From from) {
  if constexpr (std::is_same_v<From, float> && std::is_same_v<To, int32_t>) {
    if (from != from) return 0;
    return static_cast<To>(
        std::clamp<double>(from, std::numeric_limits<To>::min(), std::numeric_limits<To>::max()));
  } else {
    return static_cast<To>(from);
  }
}
// Conversions between a 16-bit float and f32.
template <class T>
struct Half {
  static float Widen(uint16_t bits) { return T{bits}.ToFloat(); }
  static float Round(float x) { return T::FromFloat(x).ToFloat(); }
  // The value is exact in the type.
  static uint16_t Narrow(float x) {
    if constexpr (std::is_same_v<T, bfloat16>) return static_cast<uint16_t>(std::bit_cast<uint32_t>(x) >> 16);
    return T::FromFloat(x).bits;
  }
};
// Applies a function of one number.
template <auto kFunction>
struct Apply;
template <class To, class From, To (*kFunction)(From)>
struct Apply<kFunction> {
  static void DoAt(const Op* op, std::byte* frame, int64_t k) {
    Put(frame + op->out + k * static_cast<int64_t>(sizeof(To)),
        kFunction(Get<From>(frame + op->a + k * static_cast<int64_t>(sizeof(From)))));
  }
  static void Do(const Op* op, std::byte* frame, Context&) { DoAt(op, frame, 0); }
};

template <class T>
struct Select {
  static void DoAt(const Op* op, std::byte* frame, int64_t k) {
    const int64_t at = k * static_cast<int64_t>(sizeof(T));
    Put(frame + op->out + at, Get<T>(frame + (Get<uint8_t>(frame + op->a + k) != 0 ? op->b : op->c) + at));
  }
  static void Do(const Op* op, std::byte* frame, Context&) { DoAt(op, frame, 0); }
};

template <class Mover>
struct Copy {
  static void Do(const Op* op, std::byte* frame, Context&) {
    Mover::Do(frame + op->out, frame + op->a, op->number);
  }
};

template <class T>
struct Splat {
  static void Do(const Op* op, std::byte* frame, Context&) {
    const T value = Get<T>(frame + op->a);
    for (int64_t k = 0; k < op->number; ++k)
      Put(frame + op->out + k * static_cast<int64_t>(sizeof(T)), value);
  }
};

struct Multiply {
  static void Do(const Op* op, std::byte* frame, Context& context) {
    context.dot(*op).Run(frame + op->a, frame + op->b, frame + op->out);
  }
};
// Computes the dot product of two contiguous vectors.
template <class T>
struct MultiplyLines {
  using Value = T;
  static T Make(const Op* op, std::byte* frame, Context&) {
    return DotOfLines(reinterpret_cast<const T*>(frame + op->a), reinterpret_cast<const T*>(frame + op->b),
                      op->number);
  }
  static void Do(const Op* op, std::byte* frame, Context& context) {
    Put(frame + op->out, Make(op, frame, context));
  }
};

template <bool kAdds>
struct MakeAddressS32 {
  static void Do(const Op* op, std::byte* frame, Context&) {
    const int64_t index = Get<int32_t>(frame + op->a);
    const int64_t position = std::min<int64_t>(std::max<int64_t>(index, 0), op->max()) * op->number;
    Put(frame + op->out, kAdds ? Get<int64_t>(frame + op->out) + position : position);
  }
};
template <bool kAdds>
struct MakeAddress {
  static void Do(const Op* op, std::byte* frame, Context& context) {
    const auto& range = context.range(*op);
    const int64_t index = ReadInteger(range.type, frame + op->a);
    const int64_t position = std::min(std::max<int64_t>(index, 0), range.max) * range.byte_stride;
    Put(frame + op->out, kAdds ? Get<int64_t>(frame + op->out) + position : position);
  }
};

// Moves between arguments and the frame.
template <class Mover, bool kAddressed>
struct Load {
  static void Do(const Op* op, std::byte* frame, Context& context) {
    const std::byte* from = kAddressed ? context.base(*op, frame) : context.base(*op);
    Mover::Do(frame + op->out, from, op->byte_count());
  }
};
template <class Mover, bool kAddressed>
struct Store {
  static void Do(const Op* op, std::byte* frame, Context& context) {
    std::byte* to = kAddressed ? context.base(*op, frame) : context.base(*op);
    Mover::Do(to, frame + op->out, op->byte_count());
  }
};

// Maps an opcode to its handler; void if the opcode may branch.
template <uint16_t kCode>
struct StepOf {
  using type = void;
};
#define HLO_STEP(code, ...)   \
  template <>                 \
  struct StepOf<code> {       \
    using type = __VA_ARGS__; \
  };
#define HLO_ROW(name, opcode, F, Kind, type) HLO_STEP(k##name##Kind, Native<F, type>)
HLO_OPERATIONS(HLO_ROW)
HLO_FUNCTIONS(HLO_ROW)
#undef HLO_ROW
#define HLO_ROW(name, Kind, type) HLO_STEP(k##name##Kind, Native<scalar::name, type>)
HLO_COMPARISONS(HLO_ROW)
#undef HLO_ROW
#define HLO_ROW(From, from, To, to) HLO_STEP(kConvert##From##To, Apply<ConvertedTo<to, from>>)
HLO_CONVERSIONS(HLO_ROW)
#undef HLO_ROW
#define HLO_ROW(name, operands) HLO_STEP(k##name##BF16, Native<BF16Operation<scalar::name>, float>)
HLO_ROUNDED_OPERATIONS(HLO_ROW)
#undef HLO_ROW
#define HLO_ROW(Kind, type)                        \
  HLO_STEP(kWiden##Kind, Apply<Half<type>::Widen>) \
  HLO_STEP(kRound##Kind, Apply<Half<type>::Round>) \
  HLO_STEP(kNarrow##Kind, Apply<Half<type>::Narrow>)
HLO_HALVES(HLO_ROW)
#undef HLO_ROW
HLO_STEP(kSelect1, Select<uint8_t>)
HLO_STEP(kSelect2, Select<uint16_t>)
HLO_STEP(kSelect4, Select<uint32_t>)
HLO_STEP(kSelect8, Select<uint64_t>)
HLO_STEP(kCopy1, Copy<MoveOne<uint8_t>>)
HLO_STEP(kCopy2, Copy<MoveOne<uint16_t>>)
HLO_STEP(kCopy4, Copy<MoveOne<uint32_t>>)
HLO_STEP(kCopy8, Copy<MoveOne<uint64_t>>)
HLO_STEP(kCopyBytes, Copy<MoveAny>)
HLO_STEP(kSplat4, Splat<uint32_t>)
HLO_STEP(kSplat8, Splat<uint64_t>)
HLO_STEP(kDot, Multiply)
HLO_STEP(kDotF32, MultiplyLines<float>)
HLO_STEP(kDotF64, MultiplyLines<double>)
HLO_STEP(kAddressS32, MakeAddressS32<false>)
HLO_STEP(kAddAddressS32, MakeAddressS32<true>)
HLO_STEP(kAddress, MakeAddress<false>)
HLO_STEP(kAddAddress, MakeAddress<true>)
HLO_STEP(kLoad, Load<MoveAny, false>)
HLO_STEP(kLoadAt, Load<MoveAny, true>)
HLO_STEP(kLoadAt4, Load<MoveOne<uint32_t>, true>)
HLO_STEP(kLoadAt8, Load<MoveOne<uint64_t>, true>)
HLO_STEP(kStore, Store<MoveAny, false>)
HLO_STEP(kStoreAt, Store<MoveAny, true>)
HLO_STEP(kStoreAt4, Store<MoveOne<uint32_t>, true>)
HLO_STEP(kStoreAt8, Store<MoveOne<uint64_t>, true>)
#undef HLO_STEP

}  // namespace step
}  // namespace hlo::cpu
