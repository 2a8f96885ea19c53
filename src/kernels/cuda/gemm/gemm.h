#pragma once
// A batch of matrix products as the kernels of dot and convolution take it (implicit GEMM): index maps of the
// three arrays, and which elements are padding.
//   result[b, i, j] = sum over k of a[b, i, k] * b[b, k, j]

#include <cstdint>

#include "hlo_run/element_type.h"
#include "kernels/cuda/gemm/epilogue.h"
#include "kernels/cuda/intrinsics/fast_div.h"
#include "kernels/cuda/intrinsics/portable.h"

namespace hlo::cuda {

// Maximum number of dimensions per index, and of axes along which elements may be out of bounds.
inline constexpr int kIndexRank = 6, kAxisRank = 3;

// A position in an array: element offset and coordinates along the axes.
struct Location {
  int64_t offset = 0;
  int32_t coordinates[kAxisRank] = {};
};

// Maps an index of a product to a position, by its digits in mixed radix (last dimension fastest). A step
// along a dimension moves by `stride` elements and, unless `axis` is -1, by `step` along that axis.
struct IndexMap {
  struct Dim {
    FastDiv size;
    int32_t step = 0;
    int64_t stride = 0;
    int32_t axis = -1;
  };
  int32_t rank = 0;  // If 0, dims[0].stride is 0.
  Dim dims[kIndexRank];

  HLO_DEVICE void Add(uint32_t index, Location* location) const {
    HLO_ROLLED
    for (int d = rank - 1; d >= 0; --d) {
      const Dim& dim = dims[d];
      const uint32_t rest = d == 0 ? 0 : dim.size.Quotient(index);
      const uint32_t i = index - rest * dim.size.divisor;
      index = rest;
      location->offset += static_cast<int64_t>(i) * dim.stride;
      const int32_t step = static_cast<int32_t>(i) * dim.step;
      HLO_UNROLL
      for (int x = 0; x < kAxisRank; ++x) location->coordinates[x] += x == dim.axis ? step : 0;
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
  // Requires at most one dimension.
  HLO_DEVICE int64_t Stride() const { return dims[0].stride; }
};

// The access pattern in which the threads of a block load an operand tile.
enum class LoadPattern : uint8_t {
  kVectors,  // 16-byte vectors along the rows or columns, which are contiguous and aligned.
  kAlongMn,  // Single elements; adjacent threads load adjacent rows (for b: columns).
  kAlongK,   // Single elements; adjacent threads load adjacent terms.
};

// One operand. Element (batch, mn, k) is at the sum of the three positions. Along axis x, the coordinate c of
// that sum indexes the array dilated by `spread`: if c is outside [0, extent * spread) or not a multiple of
// spread, the element is zero; otherwise the offset moves by c / spread * stride.
struct Operand {
  struct Axis {
    int32_t extent = 1, origin = 0;
    FastDiv spread;
    int64_t stride = 0;
  };
  ElementType type = ElementType::kF32;
  LoadPattern load_pattern = LoadPattern::kAlongK;
  bool k_vectors = false;  // Terms are contiguous and 16-byte vectors of them are aligned.
  int32_t axis_count = 0;
  Axis axes[kAxisRank];
  int64_t origin = 0;  // Offset of index (0, 0, 0), without the axes.
  IndexMap batch, mn, k;
};

// Element (batch, i, j) is at the sum of the three offsets.
struct Result {
  ElementType type = ElementType::kF32;
  bool pairs = false;    // Rows are dense and start at even offsets.
  bool vectors = false;  // Rows are dense and 16-byte vectors at multiples of 4 columns are aligned.
  int64_t origin = 0;
  IndexMap batch, rows, columns;
};

struct Gemm {
  uint32_t m = 0, n = 0, k = 0, batch = 1;
  bool exchanged = false;  // a is the instruction's second operand.
  Operand a, b;
  Result result;
  Epilogue epilogue;  // Only for f32 accumulators; empty: none.
};

// Adds the axis offsets, for operands without spread and with all coordinates in bounds.
HLO_DEVICE void AddAxes(const Operand& operand, Location* location) {
  HLO_UNROLL
  for (int x = 0; x < kAxisRank; ++x)
    location->offset += static_cast<int64_t>(location->coordinates[x]) * operand.axes[x].stride;
}

// Returns the base position of the elements (batch, mn, .).
HLO_DEVICE Location RowLocation(const Operand& operand, uint32_t batch, uint32_t mn) {
  Location location;
  location.offset = operand.origin;
  HLO_UNROLL
  for (int x = 0; x < kAxisRank; ++x) location.coordinates[x] = operand.axes[x].origin;
  operand.batch.Add(batch, &location);
  operand.mn.Add(mn, &location);
  return location;
}

// Returns true if the element at row + term is in bounds, and its offset.
HLO_DEVICE bool FindElement(const Operand& operand, const Location& row, const Location& term,
                            int64_t* offset) {
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
