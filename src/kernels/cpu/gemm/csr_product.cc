#include "kernels/cpu/gemm/csr_product.h"

#include <algorithm>
#include <atomic>
#include <complex>
#include <type_traits>

#include "base/arithmetic.h"
#include "base/parallel.h"
#include "kernels/cpu/simd/simd.h"
#include "types/dispatch.h"

namespace hlo::cpu {
namespace {

// The rows of the result per iteration of the parallel loop.
constexpr int64_t kRowsAtOnce = 64;

template <class T, class Index>
struct Operands {
  const T* values;
  const Index *offsets, *columns;
  const T* dense;
};

template <class Index>
bool RowIsValid(const CsrShape& shape, const Index* offsets, const Index* columns, int64_t row) {
  if (offsets[row] < 0 || offsets[row] > offsets[row + 1] || offsets[row + 1] > shape.values) return false;
  bool valid = true;
  for (int64_t p = offsets[row]; p < offsets[row + 1]; ++p)
    valid &= columns[p] >= 0 && columns[p] < shape.dense_rows;
  return valid;
}

// Computes an element of the result, with its sum in W.
template <class W, class T, class Index>
void MultiplyElement(const CsrShape& shape, const Operands<T, Index>& x, int64_t row, int64_t column,
                     T* out) {
  W sum = 0;
  for (int64_t p = x.offsets[row]; p < x.offsets[row + 1]; ++p)
    sum += static_cast<W>(x.values[p]) * static_cast<W>(x.dense[x.columns[p] * shape.dense_columns + column]);
  out[row * shape.dense_columns + column] = static_cast<T>(sum);
}

// Computes kVectors vectors of a row of the result, from column j, the last one with only `last` elements.
template <int kVectors, class T, class Index>
void MultiplyVectors(const CsrShape& shape, const Operands<T, Index>& x, int64_t row, int64_t j, int last,
                     T* out) {
  const auto load = [&](const T* from, int k) {
    from += k * kLanes<T>;
    return k < kVectors - 1 || last == kLanes<T> ? LoadVector(from) : LoadFirst(from, last);
  };
  Vector<T> sums[kVectors] = {};
  for (int64_t p = x.offsets[row]; p < x.offsets[row + 1]; ++p) {
    const Vector<T> value = Broadcast(x.values[p]);
    const T* dense = x.dense + x.columns[p] * shape.dense_columns + j;
#pragma GCC unroll 4
    for (int k = 0; k < kVectors; ++k) sums[k] += value * load(dense, k);
  }
  T* to = out + row * shape.dense_columns + j;
  for (int k = 0; k < kVectors; ++k)
    StoreFirst(to + k * kLanes<T>, sums[k], k < kVectors - 1 ? kLanes<T> : last);
}

template <class T, class Index>
void MultiplyRow(const CsrShape& shape, const Operands<T, Index>& x, int64_t row, T* out) {
  constexpr int kMaxVectors = 4;
  int64_t j = 0;
  for (; j + kMaxVectors * kLanes<T> <= shape.dense_columns; j += kMaxVectors * kLanes<T>)
    MultiplyVectors<kMaxVectors>(shape, x, row, j, kLanes<T>, out);
  const auto rest = static_cast<int>(shape.dense_columns - j), vectors = CeilDiv(rest, kLanes<T>),
             last = rest - (vectors - 1) * kLanes<T>;
  if (vectors == 4) MultiplyVectors<4>(shape, x, row, j, last, out);
  if (vectors == 3) MultiplyVectors<3>(shape, x, row, j, last, out);
  if (vectors == 2) MultiplyVectors<2>(shape, x, row, j, last, out);
  if (vectors == 1) MultiplyVectors<1>(shape, x, row, j, last, out);
}

template <class W, class T, class Index>
bool Multiply(const CsrShape& shape, const Operands<T, Index>& x, T* out) {
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
      if constexpr (std::is_floating_point_v<T>) {
        // A column is bound by gathering its elements, not by their conversion.
        if (shape.dense_columns > 1) {
          MultiplyRow(shape, x, row, out);
          continue;
        }
      }
      for (int64_t j = 0; j < shape.dense_columns; ++j) MultiplyElement<W>(shape, x, row, j, out);
    }
  });
  return valid;
}

}  // namespace

bool CsrProductSupports(ElementType type) {
  return type == ElementType::kF32 || type == ElementType::kF64 || type == ElementType::kC64 ||
         type == ElementType::kC128;
}

bool MultiplyCsr(const CsrShape& shape, const void* values, const void* offsets, const void* columns,
                 const void* dense, void* out) {
  return DispatchType(shape.type, [&]<ElementType kType>() {
    if constexpr (kType == ElementType::kF32 || kType == ElementType::kF64 || kType == ElementType::kC64 ||
                  kType == ElementType::kC128) {
      using T = Native<kType>;
      using W = std::conditional_t<std::is_floating_point_v<T>, double, std::complex<double>>;
      const auto multiply = [&]<class Index>(const Index* first_offset) {
        return Multiply<W, T, Index>(shape,
                                     {static_cast<const T*>(values), first_offset,
                                      static_cast<const Index*>(columns), static_cast<const T*>(dense)},
                                     static_cast<T*>(out));
      };
      return shape.index_type == ElementType::kS64 ? multiply(static_cast<const int64_t*>(offsets))
                                                   : multiply(static_cast<const int32_t*>(offsets));
    } else {
      return false;
    }
  });
}

}  // namespace hlo::cpu
