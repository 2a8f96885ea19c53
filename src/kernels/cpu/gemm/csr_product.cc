#include "kernels/cpu/gemm/csr_product.h"

#include <algorithm>
#include <atomic>
#include <complex>
#include <type_traits>

#include "base/arithmetic.h"
#include "base/parallel.h"
#include "types/dispatch.h"

namespace hlo::cpu {
namespace {

// The columns of the result that are summed at the same time.
constexpr int64_t kTile = 32;
// The rows of the result per iteration of the parallel loop.
constexpr int64_t kRowsAtOnce = 64;

template <class T>
struct Operands {
  const T* values;
  const int32_t *offsets, *columns;
  const T* dense;
};

bool RowIsValid(const CsrShape& shape, const int32_t* offsets, const int32_t* columns, int64_t row) {
  if (offsets[row] < 0 || offsets[row] > offsets[row + 1] || offsets[row + 1] > shape.values) return false;
  bool valid = true;
  for (int64_t p = offsets[row]; p < offsets[row + 1]; ++p)
    valid &= columns[p] >= 0 && columns[p] < shape.dense_rows;
  return valid;
}

// Computes `count` elements of a row of the result, at column j.
template <class W, class T, int64_t kCount>
void MultiplyTile(const CsrShape& shape, const Operands<T>& x, int64_t row, int64_t j, int64_t count,
                  T* out) {
  if constexpr (kCount > 0) count = kCount;
  W sums[kCount > 0 ? kCount : kTile] = {};
  for (int64_t p = x.offsets[row]; p < x.offsets[row + 1]; ++p) {
    const auto value = static_cast<W>(x.values[p]);
    const T* dense = x.dense + x.columns[p] * shape.dense_columns + j;
    for (int64_t k = 0; k < count; ++k) sums[k] += value * static_cast<W>(dense[k]);
  }
  for (int64_t k = 0; k < count; ++k) out[row * shape.dense_columns + j + k] = static_cast<T>(sums[k]);
}

template <class W, class T>
void MultiplyRow(const CsrShape& shape, const Operands<T>& x, int64_t row, T* out) {
  const int64_t width = shape.dense_columns;
  if (width == 1) return MultiplyTile<W, T, 1>(shape, x, row, 0, 1, out);
  int64_t j = 0;
  for (; j + kTile <= width; j += kTile) MultiplyTile<W, T, kTile>(shape, x, row, j, kTile, out);
  if (j < width) MultiplyTile<W, T, 0>(shape, x, row, j, width - j, out);
}

template <class W, class T>
bool Multiply(const CsrShape& shape, const Operands<T>& x, T* out) {
  std::atomic<bool> valid = true;
  const int64_t chunks = CeilDiv(shape.rows, kRowsAtOnce);
  const double nanoseconds =
      static_cast<double>(shape.values) * (1 + 0.2 * static_cast<double>(shape.dense_columns));
  ParallelFor(chunks, nanoseconds, [&](int64_t chunk) {
    const int64_t end = std::min(shape.rows, (chunk + 1) * kRowsAtOnce);
    for (int64_t row = chunk * kRowsAtOnce; row < end; ++row) {
      if (!RowIsValid(shape, x.offsets, x.columns, row)) {
        valid.store(false, std::memory_order_relaxed);
        return;
      }
      MultiplyRow<W>(shape, x, row, out);
    }
  });
  return valid;
}

}  // namespace

bool CsrProductSupports(ElementType type) {
  return type == ElementType::kF32 || type == ElementType::kF64 || type == ElementType::kC64 ||
         type == ElementType::kC128;
}

bool MultiplyCsr(const CsrShape& shape, const void* values, const int32_t* offsets, const int32_t* columns,
                 const void* dense, void* out) {
  return DispatchType(shape.type, [&]<ElementType kType>() {
    if constexpr (kType == ElementType::kF32 || kType == ElementType::kF64 || kType == ElementType::kC64 ||
                  kType == ElementType::kC128) {
      using T = Native<kType>;
      using W = std::conditional_t<std::is_floating_point_v<T>, double, std::complex<double>>;
      return Multiply<W, T>(shape,
                            {static_cast<const T*>(values), offsets, columns, static_cast<const T*>(dense)},
                            static_cast<T*>(out));
    } else {
      return false;
    }
  });
}

}  // namespace hlo::cpu
