#include <algorithm>
#include <cstring>

#include "base/arithmetic.h"
#include "base/parallel.h"
#include "kernels/cpu/gemm/gemm_core.h"

namespace hlo::cpu {

template <class T>
void ProductSink<T>::Finish(int64_t row, int64_t rows, int64_t column, int64_t columns, T* sums,
                            int64_t ld) const {
  void* block = sums;
  int64_t stride = ld;
  if (data != nullptr) {
    block = At(row, column);
    stride = row_stride;
  } else if (narrow != nullptr) {
    block = Scratch(ScratchSlot::kBlock, rows * columns * byte_count);
    stride = columns;
  }
  for (int64_t r = 0; r < rows && block != sums; ++r) {
    std::byte* to = static_cast<std::byte*>(block) + r * stride * byte_count;
    if (narrow != nullptr)
      narrow(sums + r * ld, columns, to);
    else
      std::memcpy(to, sums + r * ld, columns * byte_count);
  }
  if (HasEpilogue()) {
    epilogue->run(epilogue->context,
                  {origin + row * row_stride + column, rows, columns, row_stride, block, stride});
  }
}

template <class T>
void ProductSink<T>::FinishRows(int64_t row, int64_t rows, int64_t column, int64_t columns, T* sums,
                                int64_t ld) const {
  constexpr int64_t kChunk = 16 << 10;  // Elements.
  const int64_t step = std::max<int64_t>(1, kChunk / columns);
  const double each = 0.3 + (HasEpilogue() ? epilogue->nanoseconds : 0);
  ParallelFor(CeilDiv(rows, step), static_cast<double>(rows * columns) * each, [&](int64_t chunk) {
    const int64_t first = chunk * step;
    Finish(row + first, std::min(step, rows - first), column, columns, sums + first * ld, ld);
  });
}

template struct ProductSink<float>;
template struct ProductSink<double>;
template struct ProductSink<uint32_t>;
template struct ProductSink<uint64_t>;
template struct ProductSink<std::complex<float>>;
template struct ProductSink<std::complex<double>>;

}  // namespace hlo::cpu
