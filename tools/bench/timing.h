#pragma once
// Common parts of kernel benchmarks: contenders are interleaved within one run, so that the load of the
// machine affects all of them equally, and the machine's peak is measured for comparison.

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/parallel.h"
#include "kernels/cpu/simd/simd.h"

namespace hlo::bench {

// --seconds=S per measurement, --threads=N, and --only=NAME to select cases.
struct Options {
  double seconds = 0.3;
  std::string only;
};
inline Options ReadOptions(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.starts_with("--seconds=")) options.seconds = std::atof(argument.c_str() + 10);
    if (argument.starts_with("--threads=")) SetThreadCount(std::atoi(argument.c_str() + 10));
    if (argument.starts_with("--only=")) options.only = argument.substr(7);
  }
  return options;
}

// Returns the fastest run of each contender in seconds; they are interleaved for about `budget` seconds. Idle
// threads of the previous contender may still spin during the first runs.
inline std::vector<double> FastestInterleaved(const std::vector<std::function<void()>>& contenders,
                                              double budget) {
  std::vector<double> fastest(contenders.size(), std::numeric_limits<double>::infinity());
  const double end = SteadySeconds() + budget;
  for (int round = 0; round < 3 || SteadySeconds() < end; ++round) {
    for (size_t i = 0; i < contenders.size(); ++i) {
      for (int run = 0; run < 3; ++run) {
        const double start = SteadySeconds();
        contenders[i]();
        fastest[i] = std::min(fastest[i], SteadySeconds() - start);
      }
    }
  }
  return fastest;
}

// Returns the multiplications and additions per second of all threads on registers.
template <class T>
double PeakFlops() {
  using V = cpu::Vector<T>;
  constexpr int64_t kSteps = 20'000'000;
  const int threads = ThreadCount();
  double best = 0;
  for (int round = 0; round < 3; ++round) {
    const double start = SteadySeconds();
    ParallelFor(threads, 1e9, [](int64_t) {
      V a0 = {}, a1 = {}, a2 = {}, a3 = {}, a4 = {}, a5 = {}, a6 = {}, a7 = {}, a8 = {}, a9 = {};
      V x = cpu::Broadcast(T(0.5)), y = cpu::Broadcast(T(0.25));
      for (int64_t i = 0; i < kSteps; ++i) {
        a0 = a0 * x + y, a1 = a1 * x + y, a2 = a2 * x + y, a3 = a3 * x + y, a4 = a4 * x + y;
        a5 = a5 * x + y, a6 = a6 * x + y, a7 = a7 * x + y, a8 = a8 * x + y, a9 = a9 * x + y;
      }
      volatile T sink = ((a0 + a1 + a2 + a3 + a4) + (a5 + a6 + a7 + a8 + a9))[0];
      (void)sink;
    });
    best = std::max(best, 20.0 * cpu::kLanes<T> * kSteps * threads / (SteadySeconds() - start));
  }
  return best;
}

}  // namespace hlo::bench
