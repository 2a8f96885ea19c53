#pragma once
// Operations on elements of 32 bits, one after the other, on values that stay in the processor's registers:
// each is a function that takes a strip of elements as vectors and hands its results to the next.

#include <cstdint>
#include <optional>

#include "kernels/cpu/elementwise/tile_ops.h"
#include "kernels/cpu/simd/simd.h"

namespace hlo::cpu {

// Elements that go through a chain at a time: eight vectors, or half of them.
inline constexpr int64_t kStrip = 8 * kLanes<float>, kHalfStrip = kStrip / 2;

// How an operand lies in memory: as lanes of 32 bits, as bf16, as predicates of a byte, as one lane for all
// elements, or as an integer that is one more for each next element.
enum class ChainForm : uint8_t { kLane, kBF16, kPred, kScalar, kCount };
// In bytes; 0 for what is in no array.
constexpr int64_t ChainWidth(ChainForm form) {
  constexpr int64_t kWidths[] = {4, 2, 1, 0, 0};
  return kWidths[static_cast<int>(form)];
}

// Where elements are in a strip's vectors: in order, or as blocks (simd.h), where most of what is read and
// written is bf16. All steps of a chain agree.
enum class ChainLayout : uint8_t { kInOrder, kBlocks };

struct ChainStep;
using ChainStripFn = void (*)(const ChainStep* step, int64_t i, Vector<float>, Vector<float>, Vector<float>,
                              Vector<float>, Vector<float>, Vector<float>, Vector<float>, Vector<float>);
struct ChainFn {
  ChainStripFn strip = nullptr, half = nullptr;
  bool exists() const { return strip != nullptr; }
};

// A step takes the strip's values from the one before it. Predicates are masks there.
struct ChainStep {
  ChainFn function;
  void* operand = nullptr;  // What is read, or written to: element 0.
  void* second = nullptr;   // Read, of a choice.
  TileCall call = {};       // An operation on lanes in memory.
};

// A step is complete but for its pointers. No function where a chain cannot take the operation.
// `goes_on`: the next tile's elements follow these in memory, so they are called for.
ChainFn ChainLoad(ChainLayout layout, ChainForm form, bool goes_on);
// `rounds`: what is not a bf16 yet becomes one.
ChainFn ChainStore(ChainLayout layout, ChainForm form, bool rounds);
ChainFn ChainRound(bool may_be_nan);
ChainFn ChainCall();
ChainFn ChainPass();  // Does nothing.
// The last step.
ChainFn ChainEnd();

// What an operation on tiles is to a chain.
struct ChainOperation {
  enum class Kind : uint8_t {
    kNone,
    kAddF32,
    kSubtractF32,
    kMultiplyF32,
    kDivideF32,
    kMaximumF32,
    kMinimumF32,
    kEqF32,
    kNeF32,
    kLtF32,
    kLeF32,
    kGtF32,
    kGeF32,
    kAdd32,
    kSubtract32,
    kMultiply32,
    kAnd,
    kOr,
    kXor,
    kShiftLeft,
    kShiftRightLogical,
    kEqS32,
    kNeS32,
    kLtS32,
    kLeS32,
    kGtS32,
    kGeS32,
    kAndPred,
    kOrPred,
    kXorPred,  // The last of two operands.
    kNegateF32,
    kAbsF32,
    kSqrtF32,
    kNegate32,
    kNot,
    kExpF32,
    kTanhF32,
    kLogisticF32,
    kSineF32,
    kCosineF32,
    kNotPred,
    kSelect,
    kRound,
  };
  Kind kind = Kind::kNone;
  bool rounds = false;  // To bf16, from operands that are.
};
ChainOperation ChainOperationOf(const TileCall& call);
inline bool IsChainBinary(ChainOperation::Kind kind) {
  return kind >= ChainOperation::Kind::kAddF32 && kind <= ChainOperation::Kind::kXorPred;
}
// Whether the operation may take integers that count.
inline bool TakesCount(ChainOperation::Kind kind) {
  return kind >= ChainOperation::Kind::kAdd32 && kind <= ChainOperation::Kind::kGeS32;
}
inline bool IsChainUnary(ChainOperation::Kind kind) {
  return kind >= ChainOperation::Kind::kNegateF32 && kind <= ChainOperation::Kind::kNotPred;
}

// Which operand comes from the step before: the first or second one, or both.
enum class ChainPlace : uint8_t { kFirst, kSecond, kBoth };
// `form`: of the other operand. `rounds`: and its result to bf16, from operands that are; no function where
// that takes a step of its own.
ChainFn ChainBinary(ChainLayout layout, ChainOperation::Kind kind, ChainPlace place, ChainForm form,
                    bool rounds);
ChainFn ChainUnary(ChainOperation::Kind kind);
// Operand `place` (predicate 0, on true 1, on false 2) comes from the step before, the other two in these
// forms.
ChainFn ChainSelect(ChainLayout layout, int place, ChainForm first, ChainForm second);

// Runs strips and half a strip of [0, n), and what is left on copies. At most kLongestChain steps.
inline constexpr int64_t kLongestChain = 64;
struct ChainPointer {
  ChainForm form;
  bool is_store;
  bool has_second;
  ChainForm second_form;
};
// The elements [i, n), fewer than half a strip.
void RunChainRest(int64_t i, int64_t n, ChainStep* steps, const ChainPointer* pointers, int64_t count);
[[gnu::always_inline]] inline void RunChain(int64_t n, ChainStep* steps, const ChainPointer* pointers,
                                            int64_t count) {
  const Vector<float> none{};
  int64_t i = 0;
  for (; i + kStrip <= n; i += kStrip)
    steps[0].function.strip(steps, i, none, none, none, none, none, none, none, none);
  if (n - i >= kHalfStrip) {
    steps[0].function.half(steps, i, none, none, none, none, none, none, none, none);
    i += kHalfStrip;
  }
  if (i != n) RunChainRest(i, n, steps, pointers, count);
}

}  // namespace hlo::cpu
