#pragma once
// This file defines elementwise operations on tiles, that is, runs of elements that stay in the L1 cache.
// Each is a loop over a native type, selected once, with the semantics of types/scalar_ops.h.

#include <cstdint>

#include "hlo_run/attribute.h"
#include "hlo_run/element_type.h"
#include "hlo_run/opcode.h"
#include "loops/compute_type.h"
#include "loops/operation.h"

namespace hlo::cpu {

using loops::BytesOf;
using loops::ComputeType;
using loops::ComputeTypeBytes;
using loops::ComputeTypeOf;
using loops::DispatchComputeType;
using loops::IsStoredAsComputed;
using loops::ReadInteger;

// Computes out[i] = f(in[0][i], in[1][i], ...) for i in [0, n). `out` may alias an input. The meaning of
// `parameter` depends on the operation.
using TileFn = void (*)(int64_t n, void* out, const void* const* in, int64_t parameter);

struct TileCall {
  TileFn function = nullptr;
  int64_t parameter = 0;
};

// Returns the function of an operation.
TileCall FindTileCall(const loops::Operation& operation);

// Returns an operation on type `from` with an unrounded result of type `to` (see RoundTile), or no function
// if the operation is undefined for the type or unsupported.
TileCall FindTileOp(Opcode opcode, ElementType from);
// Returns the operation fused with its rounding, or no function if there is no such loop.
TileCall FindRoundedTileOp(Opcode opcode, ElementType type);
TileCall FindTileCompare(ComparisonDirection direction, bool total_order, ElementType from);
TileCall FindTileSelect(ElementType type);  // Inputs: predicate, on true, on false.
TileCall FindTileConvert(ElementType from, ElementType to);

// Returns the function on one or two AVX-512 vectors that FindTileOp calls for an opcode, or null.
const void* VectorFunctionOf(Opcode opcode, ComputeType compute_type);

// Rounds or truncates a compute type to the type; no function if that is the identity.
TileCall RoundTile(ElementType type);

// Returns a reduction out[0] = in[0][0] op in[0][1] op ..., n > 0, in an unspecified order and unrounded, for
// the associative binary operations of FindTileOp. Returns no function for others.
TileCall FindTileFold(Opcode opcode, ElementType type);
// Returns reductions of n rows of `length` elements, which follow each other, to one element each, with the
// same bits.
TileCall FindRowsFold(Opcode opcode, ElementType type, int64_t length);
// Returns a fold of f32 lanes that are exact in bf16, or `fold` if there is no special one.
TileCall FindBF16Fold(const TileCall& fold);
// Returns the index of the first of n values that equals `value` or is a NaN, or n.
using FindFn = int64_t (*)(int64_t n, const void* values, const void* value);
FindFn FindFirstEqual(ComputeType compute_type);
// Convert between storage type and compute type: out[i] = in[0][i]; no function if both are the same.
TileCall LoadTile(ElementType type);
TileCall StoreTile(ElementType type);
// Stores lanes whose values are exact in the type.
TileCall StoreRoundedTile(ElementType type);

// Set out[i] = in[0][i] and out[i] = in[0][0].
TileCall CopyTile(ComputeType compute_type);
TileCall SplatTile(ComputeType compute_type);
// Sets out[i] = start + i * step, without inputs.
TileCall IotaTile(ComputeType compute_type, int32_t start, int32_t step);

// Sets out[i * out_stride] = in[i * in_stride], strides in elements of `width` bytes (1, 2, 4, 8 or 16).
void CopyStrided(int64_t n, int64_t width, void* out, int64_t out_stride, const void* in, int64_t in_stride);
// Sets out[i * out_stride] = in[positions[i] * in_stride].
void GatherStrided(int64_t n, int64_t width, void* out, int64_t out_stride, const void* in, int64_t in_stride,
                   const uint32_t* positions);
// Sets out[i] = start + i * step, converted from s64.
void FillIota(ComputeType compute_type, int64_t n, void* out, int64_t start, int64_t step);

}  // namespace hlo::cpu
