#pragma once
// Times contenders on a GPU.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

namespace hlo::bench {

inline void Require(cudaError_t error, const char* doing) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", doing, cudaGetErrorString(error));
  std::exit(1);
}

// Median milliseconds per run over batches, and (p90 - p10) / median.
struct Timing {
  double milliseconds = 0, spread = 0;
};

// Times the contenders, interleaved batch by batch; each runs on set number i.
inline std::vector<Timing> TimeInterleaved(const std::vector<std::function<void(size_t)>>& contenders,
                                           cudaStream_t stream) {
  constexpr int kBatches = 11;
  constexpr double kWarm = 50, kBatch = 20;
  cudaEvent_t begin, end;
  Require(cudaEventCreate(&begin), "cudaEventCreate");
  Require(cudaEventCreate(&end), "cudaEventCreate");
  size_t next = 0;
  const auto batch = [&](const std::function<void(size_t)>& run, int count) {
    Require(cudaEventRecord(begin, stream), "cudaEventRecord");
    for (int i = 0; i < count; ++i) run(next++);
    Require(cudaEventRecord(end, stream), "cudaEventRecord");
    Require(cudaEventSynchronize(end), "cudaEventSynchronize");
    float milliseconds = 0;
    Require(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
    return static_cast<double>(milliseconds);
  };
  std::vector<int> counts;
  for (const auto& run : contenders) {
    // A single run would mostly measure the launch.
    constexpr int kRuns = 3;
    double spent = 0, once = 0;
    for (int batches = 0; batches < 3 || spent < kWarm; ++batches) {
      once = batch(run, kRuns) / kRuns;
      spent += kRuns * once;
    }
    counts.push_back(std::max(1, static_cast<int>(kBatch / std::max(once, 1e-3))));
  }
  std::vector<std::vector<double>> times(contenders.size());
  for (int b = 0; b < kBatches; ++b) {
    for (size_t c = 0; c < contenders.size(); ++c)
      times[c].push_back(batch(contenders[c], counts[c]) / counts[c]);
  }
  std::vector<Timing> timings;
  for (std::vector<double>& each : times) {
    std::sort(each.begin(), each.end());
    timings.push_back({each[kBatches / 2], (each[kBatches - 2] - each[1]) / each[kBatches / 2]});
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return timings;
}

}  // namespace hlo::bench
