// Measures the peak performance of the machine with all threads: multiply-adds in registers, and copies of
// arrays far larger than the caches. Prints one JSON line.

#include <cstdio>
#include <cstring>

#include "timing.h"

namespace hlo::bench {
namespace {

// Returns the GB/s (bytes read and written) of the best of several copies.
double CopyBandwidth() {
  constexpr int64_t kBytes = int64_t{256} << 20;
  std::vector<char> from(kBytes, 1), to(kBytes, 2);
  const int64_t part = kBytes / ThreadCount();
  const auto copy = [&] {
    ParallelFor(ThreadCount(), 1e9,
                [&](int64_t i) { std::memcpy(to.data() + i * part, from.data() + i * part, part); });
  };
  const double seconds = FastestInterleaved({copy}, 1.0)[0];
  return to[part - 1] == 1 ? 2.0 * static_cast<double>(part * ThreadCount()) / seconds / 1e9 : 0.0;
}

}  // namespace
}  // namespace hlo::bench

int main() {
  std::printf("{\"threads\": %d, \"fma_gflops\": %.1f, \"copy_gb_s\": %.2f}\n", hlo::ThreadCount(),
              hlo::bench::PeakFlops<float>() / 1e9, hlo::bench::CopyBandwidth());
  return 0;
}
