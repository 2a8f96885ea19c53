#include "bench.h"

#include <cmath>

#include "types/dispatch.h"

namespace hlo::bench {
namespace {

double Percentile(std::vector<double> values, double p) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(p * static_cast<double>(values.size() - 1) + 0.5)];
}

class Timer {
 public:
  Timer() {
    HLO_BENCH_CHECK(cudaEventCreate(&start_));
    HLO_BENCH_CHECK(cudaEventCreate(&stop_));
  }
  ~Timer() {
    cudaEventDestroy(start_);
    cudaEventDestroy(stop_);
  }
  // Returns the milliseconds of each of `count` runs.
  double Batch(const Run& run, int64_t count, int64_t* set) {
    HLO_BENCH_CHECK(cudaEventRecord(start_));
    for (int64_t i = 0; i < count; ++i) run((*set)++);
    HLO_BENCH_CHECK(cudaEventRecord(stop_));
    HLO_BENCH_CHECK(cudaEventSynchronize(stop_));
    float ms = 0;
    HLO_BENCH_CHECK(cudaEventElapsedTime(&ms, start_, stop_));
    return ms / static_cast<double>(count);
  }

 private:
  cudaEvent_t start_ = nullptr, stop_ = nullptr;
};

}  // namespace

std::vector<std::byte> RandomElements(ElementType type, int64_t count, uint32_t seed) {
  std::vector<std::byte> bytes(static_cast<size_t>(count * ByteCount(type)));
  DispatchType(type, [&]<ElementType kType>() {
    using N = Native<kType>;
    Fill(reinterpret_cast<N*>(bytes.data()), count, [&](int64_t i) {
      if constexpr (requires(N n) { n.ToFloat(); })
        return N::FromFloat(NormalAt(seed, i));
      else if constexpr (std::is_floating_point_v<N>)
        return static_cast<N>(NormalAt(seed, i));
      else if constexpr (std::is_same_v<N, std::complex<float>> || std::is_same_v<N, std::complex<double>>)
        return N(NormalAt(seed, 2 * i), NormalAt(seed, 2 * i + 1));
      else
        return static_cast<N>(static_cast<int>(BitsAt(seed, i) % 16) - 8);
    });
  });
  return bytes;
}

Times Measure(const Run& ours, const Run& theirs) {
  Timer timer;
  int64_t set = 0;
  const auto count_for = [&](const Run& run) {
    timer.Batch(run, 5, &set);
    const double ms = timer.Batch(run, 3, &set);
    timer.Batch(run, std::max<int64_t>(1, static_cast<int64_t>(50 / ms)), &set);
    return std::max<int64_t>(1, static_cast<int64_t>(std::ceil(20 / ms)));
  };
  const int64_t our_count = count_for(ours), their_count = theirs ? count_for(theirs) : 0;
  std::vector<double> our_times, their_times;
  for (int batch = 0; batch < 11; ++batch) {
    our_times.push_back(timer.Batch(ours, our_count, &set));
    if (theirs) their_times.push_back(timer.Batch(theirs, their_count, &set));
  }
  Times times{.ours = Percentile(our_times, 0.5)};
  times.spread = (Percentile(our_times, 0.9) - Percentile(our_times, 0.1)) / times.ours;
  if (theirs) times.theirs = Percentile(their_times, 0.5);
  return times;
}

bool Print(const Row& row, bool json) {
  const double teraflops = row.operations / row.times.ours * 1e-9,
               gigabytes = row.bytes / row.times.ours * 1e-6;
  const double ratio = row.times.theirs / row.times.ours;
  if (json) {
    fmt::print(
        "{{\"case\": \"{}\", \"kernel\": \"{}\", \"ms\": {:.6g}, \"tflops\": {:.4g}, \"gbps\": {:.4g}, "
        "\"their_ms\": {:.6g}, \"ratio\": {:.4g}, \"spread\": {:.3g}, \"error\": {:.3g}, "
        "\"their_error\": {:.3g}, \"same_bits\": {}}}\n",
        row.name, row.kernel, row.times.ours, teraflops, gigabytes, row.times.theirs, ratio, row.times.spread,
        row.error, row.their_error, row.same_bits);
  } else {
    fmt::print(
        "{:<44} {:<44} {:>9.4f} ms {:>7.1f} TFLOP/s {:>7.0f} GB/s  x{:<5.2f} ({:.4f} ms) spread {:>4.1f}% "
        "error "
        "{:.2g} (theirs {:.2g}) bits {}\n",
        row.name, row.kernel, row.times.ours, teraflops, gigabytes, ratio, row.times.theirs,
        100 * row.times.spread, row.error, row.their_error, row.same_bits ? "same" : "DIFFER");
  }
  std::fflush(stdout);
  return row.error <= 1 && row.same_bits;
}

OurKernel::OurKernel(const Instruction& instruction, const device::DeviceProperties& device)
    : kernel_([&] {
        std::optional<cuda::CudaKernel> kernel = cuda::FindCudaKernel(instruction, device);
        if (!kernel.has_value()) {
          fmt::print(stderr, "no kernel takes {}\n", instruction.name());
          std::exit(1);
        }
        return *std::move(kernel);
      }()),
      workspace_(static_cast<size_t>(kernel_.workspace_bytes)) {}

void OurKernel::Launch(const Arrays::Set& set) const {
  std::vector<const void*> operands;
  for (const DeviceArray& operand : set.operands) operands.push_back(operand.data());
  void* results[] = {set.ours.data()};
  const absl::Status status = kernel_.run(operands, absl::MakeSpan(results, 1), workspace_.data(), {});
  if (!status.ok()) {
    fmt::print(stderr, "{}: {}\n", kernel_.name, std::string(status.message()));
    std::exit(1);
  }
}

}  // namespace hlo::bench
