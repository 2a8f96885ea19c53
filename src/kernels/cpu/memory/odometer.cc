#include "kernels/cpu/memory/odometer.h"

#include <algorithm>

namespace hlo::cpu {

Odometer::Odometer(const Index& dims, const Index& strides, int64_t number)
    : dims_(dims), strides_(strides), digits_(Zeros(dims.rank())) {
  // A number of 0 is valid in arrays without elements.
  for (int64_t d = dims.rank() - 1; d >= 0 && number > 0; --d) {
    digits_[d] = number % dims[d];
    number /= dims[d];
    offset_ += digits_[d] * strides[d];
  }
}

void Odometer::Next() { Skip(1); }

void Odometer::Skip(int64_t count) {
  for (int64_t d = dims_.rank() - 1; d >= 0; --d) {
    offset_ += count * strides_[d];
    digits_[d] += count;
    if (digits_[d] < dims_[d]) return;
    offset_ -= dims_[d] * strides_[d];
    digits_[d] = 0;
    count = 1;
  }
}

void StridedOffsets(const Index& dims, const Index& strides, int64_t begin, int64_t n, int64_t* offsets) {
  Odometer position(dims, strides, begin);
  const int64_t step = strides.empty() ? 0 : strides.back();
  while (n > 0) {
    const int64_t length = std::min(n, position.left());
    for (int64_t i = 0; i < length; ++i) offsets[i] = position.offset() + i * step;
    position.Skip(length);
    offsets += length;
    n -= length;
  }
}

}  // namespace hlo::cpu
