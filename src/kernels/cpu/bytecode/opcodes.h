#pragma once
// This file lists the opcodes of the bytecode. Only files of this folder and tests include it.

#include <cstdint>
#include <cstring>
#include <optional>

#include "kernels/cpu/elementwise/tile_loops.h"
#include "kernels/cpu/simd/vector_functions.h"
#include "kernels/cpu/simd/vector_power.h"

namespace hlo::cpu {

// Compute a function of one or two numbers with the same bits as the tile loops.
#define HLO_OF_ONE(Name, function)                                                            \
  struct Name {                                                                               \
    float operator()(float x) const { return function(PaddedWithOnes<Vector<float>>(x))[0]; } \
  };
HLO_OF_ONE(CosineOfOne, CosF32)
HLO_OF_ONE(SineOfOne, SinF32)
HLO_OF_ONE(LogOfOne, LogF32)
HLO_OF_ONE(LogPlusOneOfOne, LogPlusOneF32)
HLO_OF_ONE(ExponentialOfOne, ExpF32)
HLO_OF_ONE(LogisticOfOne, LogisticF32)
HLO_OF_ONE(TanhOfOne, TanhF32)
#undef HLO_OF_ONE
struct PowerOfOne {
  float operator()(float x, float y) const {
    return PowerF32(PaddedWithOnes<Vector<float>>(x), PaddedWithOnes<Vector<float>>(y))[0];
  }
};

// The operations on elements, with name, opcode, implementation and element type. Their results equal those
// of the tile loops.
#define HLO_ARITHMETIC(X, Kind, type)                 \
  X(Add, Add, scalar::Add, Kind, type)                \
  X(Subtract, Subtract, scalar::Subtract, Kind, type) \
  X(Multiply, Multiply, scalar::Multiply, Kind, type)
#define HLO_FLOATS(X, Kind, type)                  \
  HLO_ARITHMETIC(X, Kind, type)                    \
  X(Divide, Divide, scalar::Divide, Kind, type)    \
  X(Maximum, Maximum, scalar::Maximum, Kind, type) \
  X(Minimum, Minimum, scalar::Minimum, Kind, type) \
  X(Negate, Negate, scalar::Negate, Kind, type)    \
  X(Abs, Abs, scalar::Abs, Kind, type)             \
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
// Those up to the power are used only if kFusesMulAdd.
#define HLO_FUNCTIONS_WITH_FMA(X)                        \
  X(Cosine, Cosine, CosineOfOne, F32, float)             \
  X(Sine, Sine, SineOfOne, F32, float)                   \
  X(Log, Log, LogOfOne, F32, float)                      \
  X(LogPlusOne, LogPlusOne, LogPlusOneOfOne, F32, float) \
  X(Power, Power, PowerOfOne, F32, float)
#define HLO_FUNCTIONS(X)                                    \
  HLO_FUNCTIONS_WITH_FMA(X)                                 \
  X(Exponential, Exponential, ExponentialOfOne, F32, float) \
  X(Logistic, Logistic, LogisticOfOne, F32, float)          \
  X(Tanh, Tanh, TanhOfOne, F32, float)
#define HLO_ROUNDINGS(X, Kind, type)                                          \
  X(Floor, Floor, scalar::Floor, Kind, type)                                  \
  X(Ceil, Ceil, scalar::Ceil, Kind, type)                                     \
  X(RoundNearestEven, RoundNearestEven, scalar::RoundNearestEven, Kind, type) \
  X(Sign, Sign, scalar::Sign, Kind, type)
#define HLO_QUOTIENTS(X, Kind, type)            \
  X(Divide, Divide, scalar::Divide, Kind, type) \
  X(Remainder, Remainder, scalar::Remainder, Kind, type)
#define HLO_SIGNED_INTEGERS(X, Kind, type)      \
  X(Abs, Abs, scalar::Abs, Kind, type)          \
  X(Negate, Negate, scalar::Negate, Kind, type) \
  X(Sign, Sign, scalar::Sign, Kind, type)       \
  X(ShiftRightArithmetic, ShiftRightArithmetic, scalar::ShiftRightArithmetic, Kind, type)
#define HLO_OPERATIONS(X)                 \
  HLO_FLOATS(X, F32, float)               \
  HLO_FLOATS(X, F64, double)              \
  HLO_INTEGERS(X, S32, int32_t)           \
  HLO_INTEGERS(X, S64, int64_t)           \
  HLO_INTEGERS(X, U32, uint32_t)          \
  HLO_INTEGERS(X, U64, uint64_t)          \
  HLO_ROUNDINGS(X, F32, float)            \
  HLO_ROUNDINGS(X, F64, double)           \
  HLO_QUOTIENTS(X, S32, int32_t)          \
  HLO_QUOTIENTS(X, U32, uint32_t)         \
  HLO_SIGNED_INTEGERS(X, S32, int32_t)    \
  X(Not, Not, scalar::Not, S32, int32_t)  \
  X(Not, Not, scalar::Not, U32, uint32_t) \
  X(And, And, scalar::And, Pred, bool)    \
  X(Or, Or, scalar::Or, Pred, bool)       \
  X(Xor, Xor, scalar::Xor, Pred, bool)    \
  X(Not, Not, scalar::Not, Pred, bool)
#define HLO_COMPARISONS_OF(X, Kind, type) \
  X(Eq, Kind, type) X(Ne, Kind, type) X(Ge, Kind, type) X(Gt, Kind, type) X(Le, Kind, type) X(Lt, Kind, type)
#define HLO_COMPARISONS_OF_WORDS(X)   \
  HLO_COMPARISONS_OF(X, F32, float)   \
  HLO_COMPARISONS_OF(X, F64, double)  \
  HLO_COMPARISONS_OF(X, S32, int32_t) \
  HLO_COMPARISONS_OF(X, S64, int64_t) \
  HLO_COMPARISONS_OF(X, U32, uint32_t)
#define HLO_COMPARISONS(X)    \
  HLO_COMPARISONS_OF_WORDS(X) \
  X(Eq, Pred, bool)           \
  X(Ne, Pred, bool)
// Conversions that never saturate, and the one from f32 to s32.
#define HLO_CONVERSIONS(X)       \
  X(F32, float, S32, int32_t)    \
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

// Operations on f32 whose results are rounded to bf16, and conversions of the 16-bit floats: widening from
// the storage type to f32, rounding of an f32, and narrowing of a rounded f32 to the storage type.
#define HLO_ROUNDED_OPERATIONS(X) X(Add, 2) X(Subtract, 2) X(Multiply, 2) X(Divide, 2) X(Sqrt, 1)
#define HLO_HALVES(X) X(BF16, bfloat16) X(F16, float16)

enum Code : uint16_t {
#define HLO_ROW(name, opcode, F, Kind, type) k##name##Kind,
  HLO_OPERATIONS(HLO_ROW) HLO_FUNCTIONS(HLO_ROW)
#undef HLO_ROW
#define HLO_ROW(name, Kind, type) k##name##Kind,
      HLO_COMPARISONS(HLO_ROW)
#undef HLO_ROW
#define HLO_ROW(From, from, To, to) kConvert##From##To,
          HLO_CONVERSIONS(HLO_ROW)
#undef HLO_ROW
#define HLO_ROW(name, operands) k##name##BF16,
              HLO_ROUNDED_OPERATIONS(HLO_ROW)
#undef HLO_ROW
#define HLO_ROW(Kind, type) kWiden##Kind, kRound##Kind, kNarrow##Kind,
                  HLO_HALVES(HLO_ROW)
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
  kSplat4,  // Writes the operand `number` times.
  kSplat8,
  kCall,
  kDot,
  kDotF32,  // Dot product of two contiguous vectors of `number` elements.
  kDotF64,
  kAddressS32,
  kAddAddressS32,
  kAddress,
  kAddAddress,
  kCheckedAddressS32,
  kCheckedAddress,
  kAddCheckedAddress,
  kLoad,  // It has no address operand.
  kLoadAt,
  kLoadAt4,
  kLoadAt8,
  kStore,
  kStoreAt,
  kStoreAt4,
  kStoreAt8,
  kCallOnMemory,  // Its operands are addresses.
  kEscape,
  kRepeat,
  kJump,
  kJumpUnless,
  kJumpTo,
  kEnd,
};

// Returns true for the opcodes of HLO_FUNCTIONS.
bool IsFunction(uint16_t code);
// Returns the opcode of a tile operation, if there is one.
std::optional<Code> CodeOfTile(TileFn function);
// Returns the opcode of the operation by which a fold of FindRowsFold combines elements of 4 or 8 bytes.
std::optional<Code> CodeOfFold(TileFn function);

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

}  // namespace hlo::cpu
