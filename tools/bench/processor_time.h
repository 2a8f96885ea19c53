#pragma once
// The processor time of a thread, which is independent of the load of the machine.

#include <time.h>

namespace hlo::bench {

// Returns the processor time that the calling thread has used, in seconds.
inline double ProcessorSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace hlo::bench
