#pragma once
// This file defines elementwise operations on tiles, that is, runs of elements that stay in the L1 cache.
// Each is a loop over a native type, selected once, with the semantics of types/scalar_ops.h.

#include <cstdint>

#include "hlo_run/attribute.h"
#include "hlo_run/element_type.h"
#include "hlo_run/opcode.h"

namespace hlo::cpu {

// The native type in which elements are computed. Floats of at most 16 bits are f32, rounded after every
// operation; integers of fewer than 8 bits are s8 and u8, truncated after every operation.
enum class Lane : uint8_t { kPred, kS8, kS16, kS32, kS64, kU8, kU16, kU32, kU64, kF32, kF64, kC64, kC128 };
Lane LaneOf(ElementType type);
int64_t LaneBytes(Lane lane);
// Returns true if the storage type equals the lane type.
bool IsStoredAsLane(ElementType type);
// Returns an unsigned type of the same width, which preserves all bits.
ElementType BytesOf(ElementType type);

// Computes out[i] = f(in[0][i], in[1][i], ...) for i in [0, n). `out` may alias an input. The meaning of
// `parameter` depends on the operation.
using TileFn = void (*)(int64_t n, void* out, const void* const* in, int64_t parameter);

// Identifies the operation of a call for engines with their own implementation.
struct TileSymbol {
  enum class Kind : uint8_t {
    kNone,
    kOperation,         // opcode, on operands of type `from`.
    kRoundedOperation,  // The same, with the result rounded to that type.
    kCompare,           // direction, total_order.
    kSelect,
    kConvert,
    kBits,  // Reinterprets the bits of type `from` as type `to`.
    kReducePrecision,
    kRound,       // Rounds to a value that `to` can represent.
    kStochastic,  // Converts to `to` with stochastic rounding.
  };
  Kind kind = Kind::kNone;
  Opcode opcode{};
  ElementType from{}, to{};
  ComparisonDirection direction{};
  bool total_order = false;
};

struct TileCall {
  TileFn function = nullptr;
  int64_t parameter = 0;
  TileSymbol symbol = {};
};

// Returns an operation on type `from` with an unrounded result of type `to` (see RoundTile), or no function
// if the operation is undefined for the type or unsupported.
TileCall FindTileOp(Opcode opcode, ElementType from);
// Returns the operation fused with its rounding, or no function if there is no such loop.
TileCall FindRoundedTileOp(Opcode opcode, ElementType type);
TileCall FindTileCompare(ComparisonDirection direction, bool total_order, ElementType from);
TileCall FindTileSelect(ElementType type);  // Inputs: predicate, on true, on false.
TileCall FindTileConvert(ElementType from, ElementType to);
// The inputs are floats and random unsigned integers; the result is a signed integer.
TileCall FindTileStochasticConvert(ElementType from, ElementType random, ElementType to);
// Reinterprets bits as another type of the same width. Supports bf16 and types of whole bytes whose storage
// type is the lane type.
TileCall FindTileBitcast(ElementType from, ElementType to);
TileCall FindTileReducePrecision(ElementType type, int64_t exponent_bits, int64_t mantissa_bits);

// Rounds or truncates a lane to the type; no function if that is the identity.
TileCall RoundTile(ElementType type);

// Returns a reduction out[0] = in[0][0] op in[0][1] op ..., n > 0, in an unspecified order and unrounded, for
// the associative binary operations of FindTileOp. Returns no function for others.
TileCall FindTileFold(Opcode opcode, ElementType type);
// Returns the same for lanes that are exact in bf16, or `fold` if there is no special one.
TileCall FindBF16Fold(const TileCall& fold);
// Returns the index of the first of n values that equals `value` or is a NaN, or n.
using FindFn = int64_t (*)(int64_t n, const void* values, const void* value);
FindFn FindFirstEqual(Lane lane);
// Convert between storage type and lane type: out[i] = in[0][i]; no function if both are the same.
TileCall LoadTile(ElementType type);
TileCall StoreTile(ElementType type);
// Stores lanes whose values are exact in the type.
TileCall StoreRoundedTile(ElementType type);

// Set out[i] = in[0][i] and out[i] = in[0][0].
TileCall CopyTile(Lane lane);
TileCall SplatTile(Lane lane);

// Sets out[i * out_stride] = in[i * in_stride], strides in elements of `width` bytes (1, 2, 4, 8 or 16).
void CopyStrided(int64_t n, int64_t width, void* out, int64_t out_stride, const void* in, int64_t in_stride);
// Sets out[i * out_stride] = in[positions[i] * in_stride].
void GatherStrided(int64_t n, int64_t width, void* out, int64_t out_stride, const void* in, int64_t in_stride,
                   const uint32_t* positions);
// Sets out[i] = start + i * step, converted from s64.
void FillIota(Lane lane, int64_t n, void* out, int64_t start, int64_t step);

// Returns an integer scalar of any type; values beyond int64_t saturate.
int64_t ReadInteger(ElementType type, const void* data);

}  // namespace hlo::cpu
