#pragma once
// The folds of core_reduce_body.h and rows_body.h.

#include <cstdint>

namespace hlo::cuda {

enum class CoreFold : uint8_t {
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
