#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "base/arithmetic.h"
#include "base/parallel.h"
#include "kernels/cpu/gemm/gemm_core.h"
#include "types/dispatch.h"

namespace hlo::cpu {

template <class T>
void ProductSink<T>::Finish(int64_t row, int64_t rows, int64_t column, int64_t columns, T* sums,
                            int64_t ld) const {
  if constexpr (std::is_same_v<T, float>) {
    if (scale != 0) {
      const double factor = std::ldexp(1.0, -scale);  // It might be 0 in f32.
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < columns; ++c)
          sums[r * ld + c] = static_cast<float>(factor * sums[r * ld + c]);
      }
    }
  }
  void* block = sums;
  int64_t stride = ld;
  if (data != nullptr) {
    block = At(row, column);
    stride = row_stride;
  } else if (narrow != nullptr) {
    block = Scratch(ScratchSlot::kBlock, rows * columns * byte_count);
    stride = columns;
  }
  // Whole rows are one line.
  const bool is_line = ld == columns && stride == columns;
  const int64_t lines = is_line ? 1 : rows, length = is_line ? rows * columns : columns;
  for (int64_t r = 0; r < lines && block != sums; ++r) {
    std::byte* to = static_cast<std::byte*>(block) + r * stride * byte_count;
    if (narrow != nullptr)
      narrow(sums + r * ld, length, to);
    else
      std::memcpy(to, sums + r * ld, length * byte_count);
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

template <class T>
ProductSink<T> SinkOf(void* data, ElementType type, const BlockFunction& epilogue) {
  // Signed and unsigned integers have the same bits.
  const bool is_native = DispatchType(type, []<ElementType kType>() {
    using N = Native<kType>;
    constexpr bool same_bits = std::is_integral_v<N> && std::is_integral_v<T> && sizeof(N) == sizeof(T);
    return std::is_same_v<N, T> || same_bits;
  });
  return {.data = data,
          .byte_count = ByteCount(type),
          .narrow = is_native ? nullptr : NarrowRowOf<T>(type),
          .epilogue = &epilogue};
}

#define HLO_COMPUTE_TYPE(T)       \
  template struct ProductSink<T>; \
  template ProductSink<T> SinkOf(void*, ElementType, const BlockFunction&);
HLO_COMPUTE_TYPES(HLO_COMPUTE_TYPE)
#undef HLO_COMPUTE_TYPE

}  // namespace hlo::cpu
