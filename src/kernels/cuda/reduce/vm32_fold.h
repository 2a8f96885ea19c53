#pragma once
// The folds of vm32_reduce_body.h and rows_body.h.

#include <cstdint>

namespace hlo::cuda {

enum class Vm32Fold : uint8_t {
  kAddF,  // Accumulates in f64.
  kMaximumF,
  kMinimumF,
  kAddI,
  kMaximumS,
  kMinimumS,
  kMaximumU,
  kMinimumU,
  kAnd,
  kOr,
};

}  // namespace hlo::cuda
