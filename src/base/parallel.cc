#include "base/parallel.h"

#include <omp.h>

#include <algorithm>
#include <atomic>

namespace hlo {
namespace {

std::atomic<int> thread_limit = 0;

// Under this a loop stays on its thread.
constexpr double kWorthThreads = 20'000;

}  // namespace

void SetThreadCount(int count) { thread_limit = std::max(count, 0); }

int ThreadCount() {
  const int limit = thread_limit;
  return limit > 0 ? limit : omp_get_max_threads();
}

void ParallelFor(int64_t count, double nanoseconds, absl::FunctionRef<void(int64_t)> body) {
  const auto threads = static_cast<int>(std::min<int64_t>(ThreadCount(), count));
  if (threads <= 1 || nanoseconds < kWorthThreads || omp_in_parallel() != 0) {
    for (int64_t i = 0; i < count; ++i) body(i);
    return;
  }
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (int64_t i = 0; i < count; ++i) body(i);
}

}  // namespace hlo
