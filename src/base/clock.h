#pragma once

#include <chrono>

namespace hlo {

// Returns the seconds of a monotonic clock that starts at an arbitrary time.
inline double SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace hlo
