// Benchmarks Fourier transforms against Eigen's, interleaved in one run, after comparing the results. GFLOP/s
// counts 5 n log2 n per complex line.
//   fft_bench [--seconds=S] [--threads=N]

#include <cmath>
#include <complex>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "base/status.h"
#include "fmt/format.h"
#include "kernels/cpu/fft/fft.h"
#include "timing.h"
#include "unsupported/Eigen/FFT"

namespace hlo::bench {
namespace {

struct Case {
  int64_t count, n;
};
constexpr Case kCases[] = {{1, 64},     {1, 1024},   {1, 65536}, {1, 1 << 20}, {1024, 64}, {1024, 256},
                           {256, 1024}, {256, 1000}, {64, 4096}, {64, 1009},   {1, 100000}};

template <class R>
void Run(const Case& c, double seconds, double peak, const char* name) {
  using C = std::complex<R>;
  std::vector<C> x(c.count * c.n), out(x.size()), other(x.size());
  std::mt19937 random(1);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (C& v : x) v = C(static_cast<R>(uniform(random)), static_cast<R>(uniform(random)));
  const std::vector<int64_t> dims = {c.count, c.n}, length = {c.n};
  const ElementType type = sizeof(R) == 4 ? ElementType::kC64 : ElementType::kC128;
  const auto ours = [&] { cpu::Fft({x.data(), type, dims}, FftType::kFft, length, out.data(), type, dims); };
  Eigen::FFT<R> eigen;
  const auto theirs = [&] {
    for (int64_t i = 0; i < c.count; ++i)
      eigen.fwd(other.data() + i * c.n, x.data() + i * c.n, static_cast<int>(c.n));
  };
  ours();
  theirs();
  double error = 0, size = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    error += std::norm(std::complex<double>(out[i]) - std::complex<double>(other[i]));
    size += std::norm(std::complex<double>(other[i]));
  }
  if (!(std::sqrt(error / size) < (sizeof(R) == 4 ? 1e-5 : 1e-13))) {
    fmt::print("{} {}x{}: WRONG RESULT, apart by {}\n", name, c.count, c.n, std::sqrt(error / size));
    std::exit(1);
  }
  const std::vector<double> fastest = FastestInterleaved({ours, theirs}, seconds);
  const double flops = 5.0 * static_cast<double>(c.count * c.n) * std::log2(static_cast<double>(c.n));
  fmt::print(
      "{:4} {:5} x {:7}  ours {:9.4f} ms {:6.1f} GFLOP/s {:3.0f}% of peak  Eigen {:9.4f} ms ratio {:5.2f}\n",
      name, c.count, c.n, fastest[0] * 1e3, flops / fastest[0] * 1e-9, 100 * flops / fastest[0] / peak,
      fastest[1] * 1e3, fastest[1] / fastest[0]);
}

int Main(int argc, char** argv) {
  const double seconds = ReadOptions(argc, argv).seconds;
  const double f32 = PeakFlops<float>(), f64 = PeakFlops<double>();
  fmt::print("{} threads, vectors of {} bytes, peak {:.0f} GFLOP/s in f32, {:.0f} in f64\n", ThreadCount(),
             cpu::kVectorBytes, f32 * 1e-9, f64 * 1e-9);
  for (const Case& c : kCases) {
    Run<float>(c, seconds, f32, "c64");
    Run<double>(c, seconds, f64, "c128");
  }
  return 0;
}

}  // namespace
}  // namespace hlo::bench

int main(int argc, char** argv) { return hlo::bench::Main(argc, argv); }
