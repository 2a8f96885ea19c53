#pragma once
// This file defines chains of operations on 32-bit elements whose values stay in vector registers. Each step
// is a function that takes a strip of elements as vectors and tail-calls the next step with its results.

#include <cstdint>
#include <optional>

#include "kernels/cpu/elementwise/tile_ops.h"
#include "kernels/cpu/simd/simd.h"

namespace hlo::cpu {

// Elements per call of a chain: eight vectors, or four.
inline constexpr int64_t kStrip = 8 * kLanes<float>, kHalfStrip = kStrip / 2;

// The format of an operand in memory: 32-bit lanes, bf16, predicates of one byte, a scalar, or an iota.
enum class ChainForm : uint8_t { kLane, kBF16, kPred, kScalar, kCount };
// Returns the bytes per element, or 0 for operands that are not arrays.
constexpr int64_t ChainWidth(ChainForm form) {
  constexpr int64_t kWidths[] = {4, 2, 1, 0, 0};
  return kWidths[static_cast<int>(form)];
}

// The order of elements in a strip's vectors: sequential, or in blocks (simd.h) if most operands are bf16.
// All steps of a chain use the same layout.
enum class ChainLayout : uint8_t { kInOrder, kBlocks };

struct ChainStep;
using ChainStripFn = void (*)(const ChainStep* step, int64_t i, Vector<float>, Vector<float>, Vector<float>,
                              Vector<float>, Vector<float>, Vector<float>, Vector<float>, Vector<float>);
struct ChainFn {
  ChainStripFn strip = nullptr, half = nullptr;
  bool exists() const { return strip != nullptr; }
};

// A step receives the strip's values from the previous one. Predicates are masks.
struct ChainStep {
  ChainFn function;
  void* operand = nullptr;  // Element 0 of the operand that is read or written.
  void* second = nullptr;   // The second memory operand of a select.
  TileCall call = {};       // A tile operation, called through memory.
};

// These functions return a step without its pointers, or none if chains do not support the operation.
// `goes_on` is true if the next tile follows in memory, so that it is prefetched.
ChainFn ChainLoad(ChainLayout layout, ChainForm form, bool goes_on);
// `rounds` is true if values must be rounded to bf16.
ChainFn ChainStore(ChainLayout layout, ChainForm form, bool rounds);
ChainFn ChainRound(bool may_be_nan);
ChainFn ChainCall();
ChainFn ChainPass();  // A no-op.
// The last step.
ChainFn ChainEnd();

// The chain operation that corresponds to a tile operation.
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
    kXorPred,  // The last binary operation.
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
  bool rounds = false;  // Rounds the result to bf16; operands are exact in bf16.
};
ChainOperation ChainOperationOf(const TileCall& call);
inline bool IsChainBinary(ChainOperation::Kind kind) {
  return kind >= ChainOperation::Kind::kAddF32 && kind <= ChainOperation::Kind::kXorPred;
}
// Returns true if the operation supports iota operands.
inline bool SupportsIota(ChainOperation::Kind kind) {
  return kind >= ChainOperation::Kind::kAdd32 && kind <= ChainOperation::Kind::kGeS32;
}
inline bool IsChainUnary(ChainOperation::Kind kind) {
  return kind >= ChainOperation::Kind::kNegateF32 && kind <= ChainOperation::Kind::kNotPred;
}

// The operands that are the result of the previous step.
enum class ChainOperand : uint8_t { kFirst, kSecond, kBoth };
// `form` is that of the other operand. `rounds` rounds the result to bf16, from operands that are exact in
// bf16; no function is returned if that needs a separate step.
ChainFn ChainBinary(ChainLayout layout, ChainOperation::Kind kind, ChainOperand operand, ChainForm form,
                    bool rounds);
ChainFn ChainUnary(ChainOperation::Kind kind);
// Operand `operand` (0: predicate, 1: on true, 2: on false) comes from the previous step. The other two
// operands have these forms.
ChainFn ChainSelect(ChainLayout layout, int operand, ChainForm first, ChainForm second);

// Runs full strips and a half strip of [0, n), then the tail on padded copies. The chain has at most
// kLongestChain steps.
inline constexpr int64_t kLongestChain = 64;
struct ChainPointer {
  ChainForm form;
  bool is_store;
  bool has_second;
  ChainForm second_form;
};
// Runs the elements [i, n), fewer than half a strip.
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
