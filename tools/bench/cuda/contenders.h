#pragma once
// Benchmarks of GPU kernels against a library: same arrays, interleaved runs, results checked in the same
// process. The arrays rotate through sets that together exceed the L2 cache.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "gpu_timing.h"
#include "kernels/cuda/registry.h"
#include "limiter.h"
#include "options.h"

namespace hlo::bench {

inline void Require(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

// Exits with status 77 (skipped) if there is no device. Listing needs none.
inline device::DeviceProperties DeviceOrSkip(const Options& options) {
  if (options.list()) return {};
  cudaDeviceProp found;
  if (cudaGetDeviceProperties(&found, 0) != cudaSuccess) {
    std::puts("skipped: no device");
    std::exit(77);
  }
  device::DeviceProperties properties;
  properties.name = found.name;
  properties.compute_capability = 10 * found.major + found.minor;
  properties.multiprocessors = found.multiProcessorCount;
  properties.shared_bytes_per_block = static_cast<int64_t>(found.sharedMemPerBlockOptin);
  properties.memory_bytes = static_cast<int64_t>(found.totalGlobalMem);
  return properties;
}

class DeviceArray {
 public:
  explicit DeviceArray(size_t bytes) : bytes_(bytes) {
    Require(cudaMalloc(&data_, std::max<size_t>(bytes, 256)), "cudaMalloc");
    Require(cudaMemset(data_, 0xff, bytes), "cudaMemset");
  }
  DeviceArray(DeviceArray&& other) noexcept : data_(other.data_), bytes_(other.bytes_) {
    other.data_ = nullptr;
  }
  DeviceArray(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(data_); }
  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  void Set(const void* from) {
    Require(cudaMemcpy(data_, from, bytes_, cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  void Set(const DeviceArray& from) {
    Require(cudaMemcpy(data_, from.data_, bytes_, cudaMemcpyDeviceToDevice), "cudaMemcpy");
  }
  template <class T>
  std::vector<T> Get() const {
    std::vector<T> values(bytes_ / sizeof(T));
    Require(cudaMemcpy(values.data(), data_, bytes_, cudaMemcpyDeviceToHost), "cudaMemcpy");
    return values;
  }

 private:
  void* data_ = nullptr;
  size_t bytes_;
};

// A set of operands with room for the results of both contenders.
struct ArraySet {
  std::vector<DeviceArray> operands, results, library_results;
};
inline std::vector<ArraySet> MakeSets(const std::vector<std::vector<std::byte>>& operands,
                                      const std::vector<size_t>& result_bytes) {
  size_t bytes = 1;
  for (const auto& operand : operands) bytes += operand.size();
  for (size_t each : result_bytes) bytes += each;
  constexpr size_t kMoreThanCached = size_t{240} << 20;
  std::vector<ArraySet> sets(std::clamp<size_t>(kMoreThanCached / bytes + 1, 1, 64));
  for (ArraySet& set : sets) {
    for (size_t k = 0; k < operands.size(); ++k) {
      set.operands.emplace_back(operands[k].size());
      if (&set == &sets[0])
        set.operands[k].Set(operands[k].data());
      else
        set.operands[k].Set(sets[0].operands[k]);
    }
    for (size_t each : result_bytes) {
      set.results.emplace_back(each);
      set.library_results.emplace_back(each);
    }
  }
  return sets;
}
template <class T>
std::vector<std::byte> BytesOf(const std::vector<T>& values) {
  const auto* data = reinterpret_cast<const std::byte*>(values.data());
  return {data, data + values.size() * sizeof(T)};
}

// A kernel of the registry with its own workspace.
class BoundKernel {
 public:
  explicit BoundKernel(cuda::CudaKernel kernel)
      : kernel_(std::move(kernel)), workspace_(static_cast<size_t>(kernel_.workspace_bytes)) {}
  const std::string& name() const { return kernel_.name; }
  void Run(ArraySet& set, cudaStream_t stream) {
    std::vector<const void*> operands;
    std::vector<void*> results;
    for (const DeviceArray& array : set.operands) operands.push_back(array.data());
    for (const DeviceArray& array : set.results) results.push_back(array.data());
    Require(kernel_.run(operands, absl::MakeSpan(results), workspace_.data(), {stream}));
  }

 private:
  cuda::CudaKernel kernel_;
  DeviceArray workspace_;
};

struct Report {
  std::string name, kernel, library;
  double bytes = 0;       // Bytes that must be transferred.
  double operations = 0;  // Operations on this type; 0: not compared with the peak.
  ElementType type = ElementType::kF32;
  double error_of_bound = 0;  // Relative to the bound: at most 1.
  bool same_bits = true;      // Two runs gave the same bits.
};

class Table {
 public:
  // `ceiling`: the GB/s of a copy.
  Table(const Options& options, const device::DeviceProperties& device, double ceiling)
      : options_(options), device_(device), ceiling_(ceiling) {
    if (!options.json() && !options.list()) {
      std::printf("%-34s %-34s %10s %8s %6s %7s %-13s %7s %10s %s\n", "case", "kernel", "ms", "GB/s", "%copy",
                  "ratio", "limiter", "spread", "err/bound", "bits");
    }
  }
  bool IsSelected(const std::string& name) const { return options_.IsSelected(name); }
  // Prints a report. `timings`: ours, then the library's, if any. Returns true if the result is correct.
  bool Add(const Report& report, const std::vector<Timing>& timings) {
    const Timing& ours = timings[0];
    const double rate = report.bytes / ours.milliseconds / 1e6;
    const double ratio = timings.size() > 1 ? timings[1].milliseconds / ours.milliseconds : 0;
    const double teraflops = report.operations > 0 ? TeraflopsOf(device_, report.type) : 0;
    const Limiter limiter =
        LimiterOf(ours.milliseconds, report.bytes, report.operations, {ceiling_, teraflops});
    const bool right = report.error_of_bound <= 1 && report.same_bits;
    if (options_.json()) {
      std::printf(
          "{\"case\": \"%s\", \"kernel\": \"%s\", \"ms\": %.6g, \"gb_s\": %.6g, \"of_copy\": %.4g, "
          "\"library\": \"%s\", \"ratio\": %.4g, \"limiter\": \"%s\", \"of_limit\": %.3g, \"spread\": %.4g, "
          "\"error_of_bound\": %.4g, \"same_bits\": %s}\n",
          report.name.c_str(), report.kernel.c_str(), ours.milliseconds, rate, rate / ceiling_,
          report.library.c_str(), ratio, limiter.name, limiter.share, ours.spread, report.error_of_bound,
          report.same_bits ? "true" : "false");
    } else {
      std::printf("%-34s %-34s %10.4f %8.0f %6.1f %7.2f %-8s%4.0f%% %7.3f %10.3g %s\n", report.name.c_str(),
                  report.kernel.c_str(), ours.milliseconds, rate, 100 * rate / ceiling_, ratio, limiter.name,
                  100 * limiter.share, ours.spread, report.error_of_bound,
                  report.same_bits ? "same" : "DIFFER");
    }
    std::fflush(stdout);
    all_right_ &= right;
    return right;
  }
  int status() const { return all_right_ ? 0 : 1; }

 private:
  const Options& options_;
  const device::DeviceProperties device_;
  double ceiling_;
  bool all_right_ = true;
};

// Returns the bytes read and written per second by a device copy, in GB/s.
inline double CopyCeiling(cudaStream_t stream) {
  constexpr size_t kBytes = size_t{1} << 30;
  DeviceArray from(kBytes), to(kBytes);
  const Timing timing = TimeInterleaved(
      {[&](size_t) {
        Require(cudaMemcpyAsync(to.data(), from.data(), kBytes, cudaMemcpyDeviceToDevice, stream),
                "cudaMemcpy");
      }},
      stream)[0];
  return 2.0 * kBytes / timing.milliseconds / 1e6;
}
// Listing needs no measurement.
inline double CopyCeiling(const Options& options, cudaStream_t stream) {
  return options.list() ? 0 : CopyCeiling(stream);
}

// True if two runs on the same operands give the same bits.
template <class Kernel>
bool GivesSameBitsTwice(Kernel& kernel, ArraySet& set, cudaStream_t stream) {
  std::vector<std::vector<std::byte>> first;
  kernel.Run(set, stream);
  Require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  for (const DeviceArray& array : set.results) first.push_back(array.Get<std::byte>());
  for (const DeviceArray& array : set.results)
    Require(cudaMemset(array.data(), 0xff, array.bytes()), "cudaMemset");
  kernel.Run(set, stream);
  Require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  for (size_t i = 0; i < first.size(); ++i) {
    if (set.results[i].Get<std::byte>() != first[i]) return false;
  }
  return true;
}

}  // namespace hlo::bench
