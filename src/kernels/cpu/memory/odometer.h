#pragma once
// Counts through the indices of an array, together with the place that strides give to each.

#include <cstdint>

#include "types/index.h"

namespace hlo::cpu {

// Counts through indices, the last dimension fastest, with the place that strides give to each.
class Odometer {
 public:
  Odometer(const Index& dims, const Index& strides, int64_t number);
  int64_t place() const { return place_; }
  const Index& digits() const { return digits_; }
  void Next();
  // So many steps within the last dimension at once.
  void Skip(int64_t count);
  // Steps to the end of the last dimension.
  int64_t left() const { return dims_.empty() ? 1 : dims_.back() - digits_.back(); }

 private:
  const Index &dims_, &strides_;
  Index digits_;
  int64_t place_ = 0;
};

// places[i] of the indices with the numbers [begin, begin + n).
void Places(const Index& dims, const Index& strides, int64_t begin, int64_t n, int64_t* places);

}  // namespace hlo::cpu
