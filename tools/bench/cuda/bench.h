#pragma once
// Timing of CUDA kernels against other libraries: whole instructions, with kernels selected as in the engine,
// on operands that rotate through more memory than the L2 cache holds. The two contenders are interleaved.

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "limiter.h"
#include "programs.h"

namespace hlo::bench {

#define HLO_BENCH_CHECK(call)                                                                               \
  do {                                                                                                      \
    if (const auto bench_status = (call); static_cast<int>(bench_status) != 0) {                            \
      fmt::print(stderr, "{}:{}: {} gave {}\n", __FILE__, __LINE__, #call, static_cast<int>(bench_status)); \
      std::exit(1);                                                                                         \
    }                                                                                                       \
  } while (false)

// Returns the bytes of `count` elements: floats by NormalAt, integers in [-8, 8).
std::vector<std::byte> RandomElements(ElementType type, int64_t count, uint32_t seed);

// The operands of one instruction and its two results, in as many copies as exceed the cache.
class Arrays {
 public:
  struct Set {
    std::vector<DeviceArray> operands;
    DeviceArray ours, theirs;
  };

  explicit Arrays(const Instruction& instruction) {
    int64_t bytes = 2 * DenseBytes(instruction.shape());
    for (int64_t i = 0; i < instruction.operand_count(); ++i) {
      const Shape& shape = instruction.operand(i)->shape();
      bytes += DenseBytes(shape);
      host_.push_back(RandomElements(shape.type(), *shape.ElementCount(), static_cast<uint32_t>(i + 1)));
    }
    constexpr int64_t kCacheBytes = int64_t{240} << 20;
    const int64_t count = std::clamp<int64_t>(kCacheBytes / bytes + 1, 2, 64);
    for (int64_t s = 0; s < count; ++s) {
      const auto result_bytes = static_cast<size_t>(DenseBytes(instruction.shape()));
      Set set{.operands = {}, .ours = DeviceArray(result_bytes), .theirs = DeviceArray(result_bytes)};
      for (size_t k = 0; k < host_.size(); ++k) {
        set.operands.emplace_back(host_[k].size());
        if (s == 0)
          set.operands[k].Set(host_[k].data());
        else
          set.operands[k].Set(sets_[0].operands[k]);
      }
      sets_.push_back(std::move(set));
    }
  }
  static int64_t DenseBytes(const Shape& shape) { return *shape.ElementCount() * ByteCount(shape.type()); }

  const Set& operator[](size_t i) const { return sets_[i % sets_.size()]; }
  const std::vector<std::byte>& host(int64_t operand) const { return host_[static_cast<size_t>(operand)]; }

 private:
  std::vector<std::vector<std::byte>> host_;
  std::vector<Set> sets_;
};

struct Times {
  double ours = 0, theirs = 0;  // Medians in ms; 0: not measured.
  double spread = 0;            // Spread of our times: (p90 - p10) / median.
};
using Run = std::function<void(size_t set)>;

// Times the contenders (gpu_timing.h); `theirs` may be empty.
Times Measure(const Run& ours, const Run& theirs);

struct Row {
  std::string name, kernel;
  Times times;
  double operations = 0, bytes = 0;
  double error = 0, their_error = 0;  // Relative to the bound.
  bool same_bits = true;              // Two of our runs gave the same bits.
  Limiter limiter = {"", 0};
};
// Returns the measured and nominal peaks for products of this type.
Peaks PeaksOf(const device::DeviceProperties& device, ElementType type);
// Prints one line per case, or with `json` one object per line. Returns true if the result is within its
// bound and reproducible.
bool Print(const Row& row, bool json);

// Our kernel for an instruction, bound to a set of arrays.
class OurKernel {
 public:
  OurKernel(const Instruction& instruction, const device::DeviceProperties& device);
  const std::string& name() const { return kernel_.name; }
  void Launch(const Arrays::Set& set) const;

 private:
  cuda::CudaKernel kernel_;
  DeviceArray workspace_;
};

}  // namespace hlo::bench
