#pragma once
// This file defines operations on tiles that are not elementwise: they read rows of an array, or choose one
// element.

#include <cstdint>
#include <optional>

#include "kernels/cpu/elementwise/tile_ops.h"

namespace hlo::cpu {

// The elements of an array at rows of `length` positions. The strides are not negative.
struct TileRows {
  int64_t length, row_stride, stride;
  int64_t At(int64_t position) const { return position / length * row_stride + position % length * stride; }
  // Returns the number of elements up to the last of `count` positions.
  int64_t Extent(int64_t count) const;
};
// Sets out[i] = in[0][rows.At(i)]; `out` must not overlap the input. Elements have `width` bytes. Returns no
// function for other widths than 1, 2, 4 and 8 and for strides that do not fit the parameter.
TileCall RowsTile(int64_t width, const TileRows& rows);
struct RowsOfTile {
  TileRows rows;
  int64_t width;
};
// Returns the operands of RowsTile; nullopt for other calls.
std::optional<RowsOfTile> FindRowsOfTile(const TileCall& call);

// Sets out[i] = in[0][clamp(in[1][i], 0, most)]; `out` must not overlap in[0]. Elements have `width` bytes.
// Returns no function for elements of 16 bytes and for positions that are no integers of 32 or 64 bits.
TileCall GatherTile(int64_t width, ElementType position, int64_t most);

// Sets out[i], of compute type kPred, to bit i of `bits`, for up to 64 elements.
TileCall BitsTile(uint64_t bits);
// Returns true for the functions of BitsTile and IotaTile, whose results are the same in all runs.
bool IsConstantTile(TileFn function);

// Sets out[0], of compute type `position`, to the index of the first NaN of `count` elements, or else of the
// first largest or smallest one. Returns no function for lanes that have no order or cannot hold the index.
TileCall ArgMinMaxTile(ComputeType compute_type, ComputeType position, bool is_largest, int64_t count);
// Sets out[0] to element in[1][0] of the `count` elements; if it is zero and `is_last_zero`, to the last zero
// of either sign.
TileCall TakeTile(ComputeType compute_type, ComputeType position, bool is_last_zero, int64_t count);

}  // namespace hlo::cpu
