#pragma once
// What does one elementwise operation do to a tile, a run of elements that stays in the L1 cache? Each is a
// loop over a native type, chosen once; meaning as in types/scalar_ops.h.

#include <cstdint>

#include "hlo_run/attribute.h"
#include "hlo_run/element_type.h"
#include "hlo_run/opcode.h"

namespace hlo::cpu {

// The native type in which a tile's elements are computed. Floats of 16 bits and fewer are f32, rounded after
// every operation; integers of fewer than 8 bits are s8 and u8, cut after every operation.
enum class Lane : uint8_t { kPred, kS8, kS16, kS32, kS64, kU8, kU16, kU32, kU64, kF32, kF64, kC64, kC128 };
Lane LaneOf(ElementType type);
int64_t LaneBytes(Lane lane);
// Whether elements lie in memory as they are computed.
bool IsStoredAsLane(ElementType type);
// What stands for the mere bytes of an element: no value of it changes on its way.
ElementType BytesOf(ElementType type);

// out[i] = f(in[0][i], in[1][i], ...) for i in [0, n). `out` may be one of the inputs. What `parameter` means
// is up to the operation.
using TileFn = void (*)(int64_t n, void* out, const void* const* in, int64_t parameter);

// Which operation a call is, for engines that have code of their own for it.
struct TileSymbol {
  enum class Kind : uint8_t {
    kNone,
    kOperation,         // opcode, on operands of type `from`.
    kRoundedOperation,  // And its result rounded to that type.
    kCompare,           // direction, total_order.
    kSelect,
    kConvert,
    kBits,  // Of type `from`, taken for those of `to`.
    kReducePrecision,
    kRound,       // To what `to` can hold.
    kStochastic,  // Converts to `to`, up or down as random numbers say.
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

// An operation on operands of type `from` with a result of type `to`, as yet unrounded: see RoundTile. No
// function where the operation has no meaning for the type, or is none of those below.
TileCall FindTileOp(Opcode opcode, ElementType from);
// With its rounding, in one loop; no function where there is none of both.
TileCall FindRoundedTileOp(Opcode opcode, ElementType type);
TileCall FindTileCompare(ComparisonDirection direction, bool total_order, ElementType from);
TileCall FindTileSelect(ElementType type);  // in: predicate, on true, on false
TileCall FindTileConvert(ElementType from, ElementType to);
// in: floats, random unsigned integers. To signed integers.
TileCall FindTileStochasticConvert(ElementType from, ElementType random, ElementType to);
// The same bits as another type of the same width; types of whole bytes whose elements lie in memory as in
// lanes, and bf16.
TileCall FindTileBitcast(ElementType from, ElementType to);
TileCall FindTileReducePrecision(ElementType type, int64_t exponent_bits, int64_t mantissa_bits);

// Rounds or cuts a lane to what the type can hold; no function where it holds everything.
TileCall RoundTile(ElementType type);

// out[0] = in[0][0] op in[0][1] op ..., n > 0, grouped at will and unrounded: for the operations of
// FindTileOp that may be, of two operands. No function for others.
TileCall FindTileFold(Opcode opcode, ElementType type);
// The same for lanes that are bf16; `fold` itself where there is none.
TileCall FindBF16Fold(const TileCall& fold);
// The first of n values that equals `value` or is a NaN; n if none is.
using FindFn = int64_t (*)(int64_t n, const void* values, const void* value);
FindFn FindFirstEqual(Lane lane);
// Between memory and lanes: out[i] = in[0][i]; no function where both are the same.
TileCall LoadTile(ElementType type);
TileCall StoreTile(ElementType type);
// Of lanes that the type can hold as they are.
TileCall StoreRoundedTile(ElementType type);

// out[i] = in[0][i] and out[i] = in[0][0].
TileCall CopyTile(Lane lane);
TileCall SplatTile(Lane lane);

// out[i * out_stride] = in[i * in_stride], strides in elements of `width` bytes (1, 2, 4, 8 or 16).
void CopyStrided(int64_t n, int64_t width, void* out, int64_t out_stride, const void* in, int64_t in_stride);
// out[i * out_stride] = in[positions[i] * in_stride]
void GatherStrided(int64_t n, int64_t width, void* out, int64_t out_stride, const void* in, int64_t in_stride,
                   const uint32_t* positions);
// out[i] = start + i * step, as `convert` from s64 would give.
void FillIota(Lane lane, int64_t n, void* out, int64_t start, int64_t step);

// An integer scalar of any type; numbers beyond int64_t become its largest.
int64_t ReadInteger(ElementType type, const void* data);

}  // namespace hlo::cpu
