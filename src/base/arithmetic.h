#pragma once
// Integer arithmetic that rounds up, for operands that are not negative.

#include "base/host_device.h"

namespace hlo {

// Returns ceil(value / divisor). The sum value + divisor - 1 must not overflow.
template <class Value, class Divisor>
HLO_HOST_DEVICE constexpr auto CeilDiv(Value value, Divisor divisor) {
  return (value + divisor - 1) / divisor;
}

// Returns the smallest multiple of `multiple` that is at least `value`.
template <class Value, class Multiple>
HLO_HOST_DEVICE constexpr auto RoundUp(Value value, Multiple multiple) {
  return CeilDiv(value, multiple) * multiple;
}

}  // namespace hlo
