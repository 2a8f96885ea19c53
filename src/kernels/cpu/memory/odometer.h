#pragma once

#include <cstdint>

#include "types/index.h"

namespace hlo::cpu {

// Iterates over indices, the last dimension fastest, with the offset that strides give to each.
class Odometer {
 public:
  Odometer(const Index& dims, const Index& strides, int64_t number);
  int64_t offset() const { return offset_; }
  const Index& digits() const { return digits_; }
  void Next();
  // Advances by `count` positions within the last dimension.
  void Skip(int64_t count);
  // Returns the number of positions up to the end of the last dimension.
  int64_t left() const { return dims_.empty() ? 1 : dims_.back() - digits_.back(); }

 private:
  const Index &dims_, &strides_;
  Index digits_;
  int64_t offset_ = 0;
};

// Sets offsets[i] to the offset of row-major index begin + i.
void StridedOffsets(const Index& dims, const Index& strides, int64_t begin, int64_t n, int64_t* offsets);

}  // namespace hlo::cpu
