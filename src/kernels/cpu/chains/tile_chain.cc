#include "kernels/cpu/chains/tile_chain.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "kernels/cpu/chains/chain_operations.h"

namespace hlo::cpu {
namespace {

using namespace chain;
using Kind = ChainOperation::Kind;

[[gnu::always_inline]] inline Floats Choose(Signed mask, Floats a, Floats b) {
  return BitsOf<Floats>((BitsOf<Signed>(a) & mask) | (BitsOf<Signed>(b) & ~mask));
}

// --- Operands

constexpr bool IsInOrder(ChainLayout layout) { return layout == ChainLayout::kInOrder; }

// Returns the offset of vector k in the strip or, for blocks, of the pair of vectors that share elements.
template <ChainLayout kLayout>
[[gnu::always_inline]] inline int64_t LaneOffset(int k) {
  return (IsInOrder(kLayout) ? k : k / 2 * 2) * kLane;
}
// Returns vector k, assembled from words in memory: read(offset).
template <ChainLayout kLayout, class ReadWords>
[[gnu::always_inline]] inline Floats Arranged(int k, ReadWords&& read) {
  const int64_t offset = LaneOffset<kLayout>(k);
  if constexpr (IsInOrder(kLayout)) return BitsOf<Floats>(read(offset));
  const Words first = read(offset), second = read(offset + kLane);
  return BitsOf<Floats>(k % 2 == 0 ? BlocksOf<0>(first, second) : BlocksOf<1>(first, second));
}

// Returns the indices of the elements in the first two vectors of a strip.
template <ChainLayout kLayout>
constexpr auto NumbersOf() {
  std::array<uint32_t, 2 * kLane> numbers{};
  for (uint32_t i = 0; i < 2 * kLane; ++i) {
    const uint32_t part = i / kLane, lane = i % kLane;
    numbers[i] = IsInOrder(kLayout) ? i : lane / 4 * 8 + part * 4 + lane % 4;
  }
  return numbers;
}

// Reads vector k of the strip that begins with element i. If kGoesOn, prefetches the following elements with
// every vector, even for half a cache line of bf16: one prefetch per line is slower for several arrays.
template <ChainLayout kLayout, ChainForm kForm, bool kGoesOn = true>
[[gnu::always_inline]] inline Floats Read(const void* operand, int64_t i, int k) {
  if constexpr (kForm == ChainForm::kLane) {
    const uint32_t* from = static_cast<const uint32_t*>(operand) + i;
    if constexpr (kGoesOn) PrefetchAhead(from + k * kLane);
    return Arranged<kLayout>(k, [&](int64_t offset) { return LoadVector(from + offset); });
  } else if constexpr (kForm == ChainForm::kBF16) {
    const bfloat16* from = static_cast<const bfloat16*>(operand) + i;
    if constexpr (kGoesOn) PrefetchAhead(from + k * kLane);
    from += LaneOffset<kLayout>(k);
    if constexpr (IsInOrder(kLayout)) return LoadAs<float>(from);
    return BitsOf<Floats>(k % 2 == 0 ? LoadBlocksOfHalves<0>(from) : LoadBlocksOfHalves<1>(from));
  } else if constexpr (kForm == ChainForm::kScalar) {
    Signed all;
    int32_t bits;
    std::memcpy(&bits, operand, sizeof bits);
    all = bits - Signed{};
    return BitsOf<Floats>(all);
  } else if constexpr (kForm == ChainForm::kCount) {
    alignas(kVectorBytes) static constexpr auto kNumbers = NumbersOf<kLayout>();
    Words numbers;
    std::memcpy(&numbers, kNumbers.data() + k % 2 * kLane, sizeof numbers);
    uint32_t first;
    std::memcpy(&first, operand, sizeof first);
    return BitsOf<Floats>(numbers + (first + static_cast<uint32_t>(i + k / 2 * 2 * kLane)));
  } else {
    const uint8_t* from = static_cast<const uint8_t*>(operand) + i;
    return Arranged<kLayout>(k, [&](int64_t offset) { return BitsOf<Words>(-LoadBytes(from + offset)); });
  }
}

template <bool kMayBeNan>
[[gnu::always_inline]] inline Floats RoundedFloats(Floats v) {
  const Floats rounded = BitsOf<Floats>(RoundedToBF16(v) & WordInMemory<0xffff0000u>());
  if constexpr (!kMayBeNan) return rounded;
  const Floats nan = BitsOf<Floats>((BitsOf<Words>(v) & 0x80000000u) | 0x7fc00000u);
  return Choose(v == v, rounded, nan);
}

// --- Steps: each passes eight vectors to the next one. In half a strip, the last four are unused.

#define HLO_STRIP Floats a0, Floats a1, Floats a2, Floats a3, Floats a4, Floats a5, Floats a6, Floats a7
#define HLO_NEXT(f)                                                                                        \
  if constexpr (kIsHalf)                                                                                   \
    return step[1].function.half(step + 1, i, f(0, a0), f(1, a1), f(2, a2), f(3, a3), a4, a5, a6, a7);     \
  else                                                                                                     \
    return step[1].function.strip(step + 1, i, f(0, a0), f(1, a1), f(2, a2), f(3, a3), f(4, a4), f(5, a5), \
                                  f(6, a6), f(7, a7))

void End(const ChainStep*, int64_t, Floats, Floats, Floats, Floats, Floats, Floats, Floats, Floats) {}

template <bool kIsHalf>
void Pass(const ChainStep* step, int64_t i, HLO_STRIP) {
  const auto same = [](int, Floats v) { return v; };
  HLO_NEXT(same);
}

template <bool kIsHalf, ChainLayout kLayout, ChainForm kForm, bool kGoesOn>
void Load(const ChainStep* step, int64_t i, HLO_STRIP) {
  const auto load = [&](int k, Floats) { return Read<kLayout, kForm, kGoesOn>(step->operand, i, k); };
  HLO_NEXT(load);
}

// Writes two vectors of words.
template <ChainLayout kLayout, ChainForm kForm>
[[gnu::always_inline]] inline void Write(void* to, Words first, Words second) {
  if constexpr (kForm == ChainForm::kBF16) {
    PrefetchAhead(to);
    if constexpr (IsInOrder(kLayout))
      StoreUpperHalves(to, first, second);
    else
      StoreUpperHalvesOfBlocks(to, first, second);
  } else {
    const auto [low, high] = IsInOrder(kLayout) ? std::pair(first, second) : InOrder(first, second);
    if constexpr (kForm == ChainForm::kLane) {
      StoreVector(static_cast<uint32_t*>(to), low);
      StoreVector(static_cast<uint32_t*>(to) + kLane, high);
    } else {
      StoreBytes(static_cast<uint8_t*>(to), low, high);
    }
  }
}

template <bool kIsHalf, ChainLayout kLayout, ChainForm kForm, bool kRounds>
void Store(const ChainStep* step, int64_t i, HLO_STRIP) {
  const auto code = [](Floats v) {
    if constexpr (kForm == ChainForm::kPred)
      return BitsOf<Words>(v) & 1u;
    else
      return kRounds ? RoundedToBF16(v) : BitsOf<Words>(v);
  };
  // All vectors are computed before the first is written; otherwise constants would be reloaded.
  constexpr int kVectors = kIsHalf ? 4 : 8;
  const Floats values[] = {a0, a1, a2, a3, a4, a5, a6, a7};
  Words codes[kVectors];
#pragma GCC unroll 8
  for (int k = 0; k < kVectors; ++k) codes[k] = code(values[k]);
  auto* to = static_cast<std::byte*>(step->operand) + i * ChainWidth(kForm);
#pragma GCC unroll 4
  for (int k = 0; k < kVectors; k += 2)
    Write<kLayout, kForm>(to + k * kLane * ChainWidth(kForm), codes[k], codes[k + 1]);
  const auto same = [](int, Floats v) { return v; };
  HLO_NEXT(same);
}

template <bool kIsHalf, bool kMayBeNan>
void Round(const ChainStep* step, int64_t i, HLO_STRIP) {
  const auto round = [](int, Floats v) { return RoundedFloats<kMayBeNan>(v); };
  HLO_NEXT(round);
}

// Calls a tile operation through memory.
template <bool kIsHalf>
void Call(const ChainStep* step, int64_t i, HLO_STRIP) {
  alignas(64) float strip[kStrip];
  const Floats values[] = {a0, a1, a2, a3, a4, a5, a6, a7};
  std::memcpy(strip, values, sizeof strip);
  const void* in[] = {strip};
  step->call.function(kIsHalf ? kHalfStrip : kStrip, strip, in, step->call.parameter);
  const auto load = [&](int k, Floats) { return LoadVector(strip + k * kLane); };
  HLO_NEXT(load);
}

template <class Operation, bool kRounds>
[[gnu::always_inline]] inline Floats Result(Floats a, Floats b) {
  const Floats result = Operation()(a, b);
  if constexpr (kRounds)
    return RoundedFloats<false>(result);
  else
    return result;
}

template <bool kIsHalf, class Operation, ChainLayout kLayout, ChainForm kForm, bool kRounds>
void First(const ChainStep* step, int64_t i, HLO_STRIP) {
  const auto apply = [&](int k, Floats v) {
    return Result<Operation, kRounds>(v, Read<kLayout, kForm>(step->operand, i, k));
  };
  HLO_NEXT(apply);
}
template <bool kIsHalf, class Operation, ChainLayout kLayout, ChainForm kForm, bool kRounds>
void Second(const ChainStep* step, int64_t i, HLO_STRIP) {
  const auto apply = [&](int k, Floats v) {
    return Result<Operation, kRounds>(Read<kLayout, kForm>(step->operand, i, k), v);
  };
  HLO_NEXT(apply);
}
template <bool kIsHalf, class Operation, bool kRounds>
void Both(const ChainStep* step, int64_t i, HLO_STRIP) {
  const auto apply = [](int, Floats v) { return Result<Operation, kRounds>(v, v); };
  HLO_NEXT(apply);
}
template <bool kIsHalf, class Operation>
void One(const ChainStep* step, int64_t i, HLO_STRIP) {
  const auto apply = [](int, Floats v) { return Operation()(v); };
  HLO_NEXT(apply);
}

template <bool kIsHalf, ChainLayout kLayout, int kOperand, ChainForm kFirst, ChainForm kSecond>
void Select(const ChainStep* step, int64_t i, HLO_STRIP) {
  const auto apply = [&](int k, Floats v) {
    const Floats a = Read<kLayout, kFirst>(step->operand, i, k);
    const Floats b = Read<kLayout, kSecond>(step->second, i, k);
    if constexpr (kOperand == 0)
      return Choose(BitsOf<Signed>(v), a, b);
    else if constexpr (kOperand == 1)
      return Choose(BitsOf<Signed>(a), v, b);
    else
      return Choose(BitsOf<Signed>(a), b, v);
  };
  HLO_NEXT(apply);
}

// --- Tables

// Builds the pair of functions for full and half strips.
#define HLO_FN(name, ...) \
  ChainFn { &name<false __VA_OPT__(, ) __VA_ARGS__>, &name<true __VA_OPT__(, ) __VA_ARGS__> }

// Calls f<layout>().
template <class F>
ChainFn OfLayout(ChainLayout layout, F&& f) {
  return IsInOrder(layout) ? f.template operator()<ChainLayout::kInOrder>()
                           : f.template operator()<ChainLayout::kBlocks>();
}

template <class F>
ChainFn OfForm(ChainForm form, F&& f) {
  switch (form) {
    case ChainForm::kLane:
      return f.template operator()<ChainForm::kLane>();
    case ChainForm::kBF16:
      return f.template operator()<ChainForm::kBF16>();
    case ChainForm::kPred:
      return f.template operator()<ChainForm::kPred>();
    case ChainForm::kScalar:
      return f.template operator()<ChainForm::kScalar>();
    case ChainForm::kCount:
      return f.template operator()<ChainForm::kCount>();
  }
  return {};
}

template <class F>
ChainFn OfBinary(Kind kind, F&& f) {
  switch (kind) {
#define HLO_CASE(name) \
  case Kind::k##name:  \
    return f.template operator()<name>();
    HLO_CASE(AddF32)
    HLO_CASE(SubtractF32)
    HLO_CASE(MultiplyF32)
    HLO_CASE(DivideF32)
    HLO_CASE(MaximumF32)
    HLO_CASE(MinimumF32)
    HLO_CASE(EqF32)
    HLO_CASE(NeF32)
    HLO_CASE(LtF32)
    HLO_CASE(LeF32)
    HLO_CASE(GtF32)
    HLO_CASE(GeF32)
    HLO_CASE(Add32)
    HLO_CASE(Subtract32)
    HLO_CASE(Multiply32)
    HLO_CASE(And)
    HLO_CASE(Or)
    HLO_CASE(Xor)
    HLO_CASE(ShiftLeft)
    HLO_CASE(ShiftRightLogical)
    HLO_CASE(EqS32)
    HLO_CASE(NeS32)
    HLO_CASE(LtS32)
    HLO_CASE(LeS32)
    HLO_CASE(GtS32)
    HLO_CASE(GeS32)
#undef HLO_CASE
    case Kind::kAndPred:
      return f.template operator()<And>();
    case Kind::kOrPred:
      return f.template operator()<Or>();
    case Kind::kXorPred:
      return f.template operator()<Xor>();
    default:
      return {};
  }
}

constexpr bool IsOfPreds(Kind kind) { return kind >= Kind::kAndPred && kind <= Kind::kXorPred; }

}  // namespace

ChainFn ChainEnd() { return {&End, &End}; }
ChainFn ChainCall() { return HLO_FN(Call); }
ChainFn ChainPass() { return HLO_FN(Pass); }
ChainFn ChainRound(bool may_be_nan) { return may_be_nan ? HLO_FN(Round, true) : HLO_FN(Round, false); }

ChainFn ChainLoad(ChainLayout layout, ChainForm form, bool goes_on) {
  return OfLayout(layout, [&]<ChainLayout kLayout>() {
    return OfForm(form, [&]<ChainForm kForm>() -> ChainFn {
      return goes_on ? HLO_FN(Load, kLayout, kForm, true) : HLO_FN(Load, kLayout, kForm, false);
    });
  });
}

ChainFn ChainStore(ChainLayout layout, ChainForm form, bool rounds) {
  return OfLayout(layout, [&]<ChainLayout kLayout>() -> ChainFn {
    switch (form) {
      case ChainForm::kLane:
        return HLO_FN(Store, kLayout, ChainForm::kLane, false);
      case ChainForm::kBF16:
        return rounds ? HLO_FN(Store, kLayout, ChainForm::kBF16, true)
                      : HLO_FN(Store, kLayout, ChainForm::kBF16, false);
      case ChainForm::kPred:
        return HLO_FN(Store, kLayout, ChainForm::kPred, false);
      default:
        return {};
    }
  });
}

namespace {

template <class Operation, bool kRounds>
ChainFn Binary(ChainLayout layout, ChainOperand operand, ChainForm form) {
  if (operand == ChainOperand::kBoth) return HLO_FN(Both, Operation, kRounds);
  return OfLayout(layout, [&]<ChainLayout kLayout>() {
    return OfForm(form, [&]<ChainForm kForm>() -> ChainFn {
      constexpr bool takes =
          kRounds ? kForm == ChainForm::kLane || kForm == ChainForm::kBF16 || kForm == ChainForm::kScalar
                  : kForm != ChainForm::kCount || Operation::kIsOfIntegers;
      if constexpr (takes)
        return operand == ChainOperand::kFirst ? HLO_FN(First, Operation, kLayout, kForm, kRounds)
                                               : HLO_FN(Second, Operation, kLayout, kForm, kRounds);
      return {};
    });
  });
}

}  // namespace

ChainFn ChainBinary(ChainLayout layout, Kind kind, ChainOperand operand, ChainForm form, bool rounds) {
  if ((form == ChainForm::kPred) != IsOfPreds(kind) && operand != ChainOperand::kBoth) return {};
  if (form == ChainForm::kCount && !SupportsIota(kind)) return {};
  return OfBinary(kind, [&]<class Operation>() -> ChainFn {
    if (!rounds) return Binary<Operation, false>(layout, operand, form);
    if constexpr (std::is_same_v<Operation, AddF32> || std::is_same_v<Operation, SubtractF32> ||
                  std::is_same_v<Operation, MultiplyF32> || std::is_same_v<Operation, DivideF32>)
      return Binary<Operation, true>(layout, operand, form);
    return {};
  });
}

ChainFn ChainUnary(Kind kind) {
  switch (kind) {
    case Kind::kNegateF32:
      return HLO_FN(One, NegateF32);
    case Kind::kAbsF32:
      return HLO_FN(One, AbsF32);
    case Kind::kSqrtF32:
      return HLO_FN(One, SqrtF32);
    case Kind::kNegate32:
      return HLO_FN(One, Negate32);
    case Kind::kNot:
    case Kind::kNotPred:
      return HLO_FN(One, Not);
    case Kind::kExpF32:
      return HLO_FN(One, ExpOf);
    case Kind::kTanhF32:
      return HLO_FN(One, TanhOf);
    case Kind::kLogisticF32:
      return HLO_FN(One, LogisticOf);
    case Kind::kSineF32:
      return HLO_FN(One, SineOf);
    case Kind::kCosineF32:
      return HLO_FN(One, CosineOf);
    default:
      return {};
  }
}

ChainFn ChainSelect(ChainLayout layout, int operand, ChainForm first, ChainForm second) {
  return OfLayout(layout, [&]<ChainLayout kLayout>() {
    return OfForm(first, [&]<ChainForm kFirst>() {
      return OfForm(second, [&]<ChainForm kSecond>() -> ChainFn {
        if constexpr (kFirst == ChainForm::kCount || kSecond == ChainForm::kCount) {
          return {};
        } else if (operand == 0) {
          if constexpr (kFirst != ChainForm::kPred && kSecond != ChainForm::kPred)
            return HLO_FN(Select, kLayout, 0, kFirst, kSecond);
        } else {
          if constexpr (kFirst == ChainForm::kPred && kSecond != ChainForm::kPred)
            return operand == 1 ? HLO_FN(Select, kLayout, 1, kFirst, kSecond)
                                : HLO_FN(Select, kLayout, 2, kFirst, kSecond);
        }
        return {};
      });
    });
  });
}

}  // namespace hlo::cpu
