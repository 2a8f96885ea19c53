#pragma once
// This file converts the operands of convolutions.

#include <algorithm>
#include <type_traits>

#include "base/arithmetic.h"
#include "base/parallel.h"
#include "kernels/cpu/convolution/convolution.h"
#include "kernels/cpu/memory/buffer_cache.h"
#include "kernels/cpu/simd/widen.h"
#include "types/dispatch.h"
#include "types/index.h"

namespace hlo::cpu {

// The elements of an operand in type T: the original array, or a converted copy.
template <class T>
class Widened {
 public:
  explicit Widened(const DenseArray& array) {
    if (IsStoredAs<T>(array.type)) {
      data_ = static_cast<const T*>(array.data);
      return;
    }
    const int64_t count = Product(array.dims);
    copy_.resize(count * sizeof(T));
    T* to = reinterpret_cast<T*>(copy_.data());
    data_ = to;
    const WidenBlock<T> widen = WidenBlockOf<T>(array.type);
    constexpr int64_t kChunk = 16384;
    ParallelFor(CeilDiv(count, kChunk), static_cast<double>(count) * 0.3, [&](int64_t chunk) {
      const int64_t first = chunk * kChunk, n = std::min(kChunk, count - first);
      widen(static_cast<const std::byte*>(array.data) + first * ByteCount(array.type), n, 1, 1, n, to + first,
            n);
    });
  }
  const T* data() const { return data_; }

 private:
  CachedVector<std::byte> copy_;
  const T* data_ = nullptr;
};

}  // namespace hlo::cpu
