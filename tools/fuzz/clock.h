#pragma once

#include <chrono>

namespace hlo::fuzz {

// Returns the seconds of a clock that starts at an arbitrary time.
inline double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace hlo::fuzz
