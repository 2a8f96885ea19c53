#pragma once
// A batch of matrix products as the kernels of dot and convolution take it: where the elements of the three
// arrays lie, and which of them stand for zeros.
//   result[b, i, j] = sum over k of a[b, i, k] * b[b, k, j]

#include <cstdint>

#include "hlo_run/element_type.h"
#include "kernels/cuda/epilogue.h"
#include "kernels/cuda/fast_div.h"
#include "kernels/cuda/portable.h"

namespace hlo::cuda {

// Dimensions through which one index of a product may run, and axes along which elements may be missing.
inline constexpr int kIndexRank = 6, kAxisRank = 3;

// A place in an array, in elements from its first one, and coordinates along the axes.
struct Place {
  int64_t offset = 0;
  int32_t coordinates[kAxisRank] = {};
};

// How an index of a product becomes a place: dimensions, the last fastest. A step along a dimension moves by
// `stride` elements and, where `axis` is not -1, by `step` along that axis.
struct IndexMap {
  struct Dim {
    FastDiv size;
    int32_t step = 0;
    int64_t stride = 0;
    int32_t axis = -1;
  };
  int32_t rank = 0;  // Where it is 0, dims[0].stride is 0.
  Dim dims[kIndexRank];

  HLO_DEVICE void Add(uint32_t index, Place* place) const {
    HLO_ROLLED
    for (int d = rank - 1; d >= 0; --d) {
      const Dim& dim = dims[d];
      const uint32_t rest = d == 0 ? 0 : dim.size.Quotient(index);
      const uint32_t i = index - rest * dim.size.divisor;
      index = rest;
      place->offset += static_cast<int64_t>(i) * dim.stride;
      const int32_t step = static_cast<int32_t>(i) * dim.step;
      HLO_UNROLL
      for (int x = 0; x < kAxisRank; ++x) place->coordinates[x] += x == dim.axis ? step : 0;
    }
  }
  HLO_DEVICE int64_t Offset(uint32_t index) const {
    int64_t offset = 0;
    HLO_ROLLED
    for (int d = rank - 1; d > 0; --d) {
      const uint32_t rest = dims[d].size.Quotient(index);
      offset += static_cast<int64_t>(index - rest * dims[d].size.divisor) * dims[d].stride;
      index = rest;
    }
    return offset + static_cast<int64_t>(index) * dims[0].stride;
  }
  // Of one dimension at most.
  HLO_DEVICE int64_t Stride() const { return dims[0].stride; }
};

// How the threads of a block share the reading of a tile.
enum class Reading : uint8_t {
  kVectors,  // 16 bytes along the rows or columns: they are neighbours and aligned.
  kAlongMn,  // Elements; neighbouring threads read neighbouring rows (of b: columns).
  kAlongK,   // Elements; neighbouring threads read neighbouring terms.
};

// One operand. Element (batch, mn, k) lies at the sum of the three places. Along axis x the coordinate c of
// that sum counts in elements of the array spread by `spread`: it must lie in [0, extent * spread) and be a
// multiple of spread, or the element is a zero; the place moves by c / spread * stride.
struct Operand {
  struct Axis {
    int32_t extent = 1, origin = 0;
    FastDiv spread;
    int64_t stride = 0;
  };
  ElementType type = ElementType::kF32;
  Reading reading = Reading::kAlongK;
  bool k_vectors = false;  // Terms are neighbours, and 16 bytes of them at multiples of that are aligned.
  int32_t axis_count = 0;
  Axis axes[kAxisRank];
  int64_t origin = 0;  // Where index (0, 0, 0) lies, axes apart.
  IndexMap batch, mn, k;
};

// Element (batch, i, j) lies at the sum of the three offsets.
struct Result {
  ElementType type = ElementType::kF32;
  bool pairs = false;    // Rows are dense, and begin at even places.
  bool vectors = false;  // Rows are dense, and 16 bytes at columns that are multiples of 4 are aligned.
  int64_t origin = 0;
  IndexMap batch, rows, columns;
};

struct Product {
  uint32_t m = 0, n = 0, k = 0, batch = 1;
  bool exchanged = false;  // a is the instruction's second operand.
  Operand a, b;
  Result result;
  Epilogue epilogue;  // None: nothing is done. Of sums in f32 alone.
};

// The place of an operand's element where all axes are in range, for operands without spread.
HLO_DEVICE void AddAxes(const Operand& operand, Place* place) {
  HLO_UNROLL
  for (int x = 0; x < kAxisRank; ++x)
    place->offset += static_cast<int64_t>(place->coordinates[x]) * operand.axes[x].stride;
}

// Where the elements (batch, mn, .) begin.
HLO_DEVICE Place RowPlace(const Operand& operand, uint32_t batch, uint32_t mn) {
  Place place;
  place.offset = operand.origin;
  HLO_UNROLL
  for (int x = 0; x < kAxisRank; ++x) place.coordinates[x] = operand.axes[x].origin;
  operand.batch.Add(batch, &place);
  operand.mn.Add(mn, &place);
  return place;
}

// Whether the element at row + term exists, and where it lies.
HLO_DEVICE bool FindElement(const Operand& operand, const Place& row, const Place& term, int64_t* offset) {
  *offset = row.offset + term.offset;
  bool exists = true;
  HLO_UNROLL
  for (int x = 0; x < kAxisRank; ++x) {
    const Operand::Axis& axis = operand.axes[x];
    const uint32_t c = static_cast<uint32_t>(row.coordinates[x] + term.coordinates[x]);
    const uint32_t q = c < 0x80000000u ? axis.spread.Quotient(c) : 0x80000000u;
    exists &= q < static_cast<uint32_t>(axis.extent) && q * axis.spread.divisor == c;
    *offset += static_cast<int64_t>(q) * axis.stride;
  }
  return exists;
}

}  // namespace hlo::cuda
