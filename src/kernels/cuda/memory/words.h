#pragma once
// Elements as uninterpreted words of their size.

#include <cstdint>
#include <utility>

#include "base/check.h"

namespace hlo::cuda {

struct alignas(16) Word16 {
  uint64_t low, high;
};

// Calls visit.template operator()<Word>() with the unsigned word of 1, 2, 4, 8 or 16 bytes.
template <class Visit>
decltype(auto) WithWord(int64_t byte_count, Visit&& visit) {
  switch (byte_count) {
    case 1:
      return visit.template operator()<uint8_t>();
    case 2:
      return visit.template operator()<uint16_t>();
    case 4:
      return visit.template operator()<uint32_t>();
    case 8:
      return visit.template operator()<uint64_t>();
    default:
      HLO_CHECK(byte_count == 16);
      return visit.template operator()<Word16>();
  }
}

}  // namespace hlo::cuda
