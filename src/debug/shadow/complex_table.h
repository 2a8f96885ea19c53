#pragma once
// Complex double-doubles that arrays and scalars refer to by number, because no element type holds one.

#include <cstdint>
#include <vector>

#include "debug/shadow/complex_double_double.h"

namespace hlo::debug {

class ComplexTable {
 public:
  uint64_t Add(const ComplexDoubleDouble& value) {
    values_.push_back(value);
    return values_.size() - 1;
  }
  const ComplexDoubleDouble& operator[](uint64_t number) const { return values_[number]; }

 private:
  std::vector<ComplexDoubleDouble> values_;
};

}  // namespace hlo::debug
