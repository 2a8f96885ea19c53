#include "bench.h"

#include <string_view>

#include "gpu_timing.h"
#include "types/dispatch.h"

namespace hlo::bench {

static_assert(std::string_view(LimiterOf(1, 2e9, 1e9, {.gigabytes = 3000, .teraflops = 50}).name) ==
              "memory");
static_assert(std::string_view(LimiterOf(1, 2e9, 4e10, {.gigabytes = 3000, .teraflops = 50}).name) ==
              "compute");
static_assert(std::string_view(LimiterOf(1, 1e9, 1e10, {.gigabytes = 3000, .teraflops = 50}).name) ==
              "latency");

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
  std::vector<Run> contenders = {ours};
  if (theirs) contenders.push_back(theirs);
  const std::vector<Timing> timings = TimeInterleaved(contenders, nullptr);
  return {timings[0].milliseconds, theirs ? timings[1].milliseconds : 0, timings[0].spread};
}

Peaks PeaksOf(const device::DeviceProperties& device, ElementType type) {
  static const double copied = CopyCeiling(nullptr);
  return {copied, TeraflopsOf(device, type)};
}

bool Print(const Row& row, bool json) {
  const double teraflops = row.operations / row.times.ours * 1e-9,
               gigabytes = row.bytes / row.times.ours * 1e-6;
  const double ratio = row.times.theirs / row.times.ours;
  if (json) {
    fmt::print(
        "{{\"case\": \"{}\", \"kernel\": \"{}\", \"ms\": {:.6g}, \"tflops\": {:.4g}, \"gbps\": {:.4g}, "
        "\"their_ms\": {:.6g}, \"ratio\": {:.4g}, \"limiter\": \"{}\", \"of_limit\": {:.3g}, \"spread\": "
        "{:.3g}, \"error\": {:.3g}, "
        "\"their_error\": {:.3g}, \"same_bits\": {}}}\n",
        row.name, row.kernel, row.times.ours, teraflops, gigabytes, row.times.theirs, ratio, row.limiter.name,
        row.limiter.share, row.times.spread, row.error, row.their_error, row.same_bits);
  } else {
    fmt::print(
        "{:<44} {:<44} {:>9.4f} ms {:>7.1f} TFLOP/s {:>7.0f} GB/s  x{:<5.2f} ({:.4f} ms) {:<8}{:>4.0f}% "
        "spread {:>4.1f}% "
        "error "
        "{:.2g} (theirs {:.2g}) bits {}\n",
        row.name, row.kernel, row.times.ours, teraflops, gigabytes, ratio, row.times.theirs, row.limiter.name,
        100 * row.limiter.share, 100 * row.times.spread, row.error, row.their_error,
        row.same_bits ? "same" : "DIFFER");
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
