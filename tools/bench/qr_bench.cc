// Benchmarks QR factorisation (geqrf and orgqr) against Eigen's blocked Householder QR, interleaved in one
// run, after comparing the results. Matrices of a batch are factored one after the other. GFLOP/s uses
// LAPACK's operation counts.
//   qr_bench [--seconds=S] [--threads=N]

#include <cmath>
#include <complex>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "Eigen/QR"
#include "base/parallel.h"
#include "fmt/format.h"
#include "kernels/lapack/qr.h"
#include "timing.h"
#include "types/matrix.h"

namespace hlo::bench {
namespace {

struct Case {
  int64_t batch, rows, columns;
};
constexpr Case kCases[] = {{1000, 4, 4},    {1000, 8, 8},   {200, 16, 16}, {50, 32, 32},
                           {1, 64, 64},     {1, 128, 128},  {1, 256, 256}, {1, 512, 512},
                           {1, 1024, 1024}, {1, 10000, 32}, {1, 150, 70}};

template <class T>
void Run(const Case& c, double seconds, double peak, const char* name) {
  using Rows = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const int64_t size = c.rows * c.columns;
  std::vector<T> from(c.batch * size), q(from.size()), taus(std::min(c.rows, c.columns));
  std::mt19937 random(1);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (T& x : from) {
    x = uniform(random);
    if constexpr (!std::is_same_v<T, double>) x += T(0, uniform(random));
  }
  const auto ours = [&] {
    q = from;
    for (int64_t i = 0; i < c.batch; ++i) {
      const auto a = Matrix<T>::Dense(q.data() + i * size, c.rows, c.columns);
      lapack::Geqrf(a, absl::MakeSpan(taus));
      lapack::Orgqr(a, absl::MakeConstSpan(taus));
    }
  };
  Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic> other;
  const auto theirs = [&] {
    for (int64_t i = 0; i < c.batch; ++i) {
      const Eigen::Map<const Rows> a(from.data() + i * size, c.rows, c.columns);
      const Eigen::HouseholderQR<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>> qr(a);
      other.setIdentity(c.rows, c.columns);
      other.applyOnTheLeft(qr.householderQ());
    }
  };
  ours();
  theirs();
  // The columns of both must be equal up to sign.
  const Eigen::Map<const Rows> last(q.data() + (c.batch - 1) * size, c.rows, c.columns);
  const double apart = ((last.adjoint() * other).cwiseAbs().diagonal().array() - 1).abs().maxCoeff();
  if (!(apart < 1e-9)) {
    fmt::print("{} {}x{}: WRONG RESULT, apart by {}\n", name, c.rows, c.columns, apart);
    std::exit(1);
  }
  const std::vector<double> fastest = FastestInterleaved({ours, theirs}, seconds);
  const auto m = static_cast<double>(c.rows), n = static_cast<double>(c.columns);
  const double flops =
      (std::is_same_v<T, double> ? 4 : 16) * static_cast<double>(c.batch) * (m * n * n - n * n * n / 3);
  fmt::print(
      "{:4} {:4} x {:5} x {:4}  ours {:9.4f} ms {:6.1f} GFLOP/s {:3.0f}% of peak  Eigen {:9.4f} ms ratio "
      "{:5.2f}\n",
      name, c.batch, c.rows, c.columns, fastest[0] * 1e3, flops / fastest[0] * 1e-9,
      100 * flops / fastest[0] / peak, fastest[1] * 1e3, fastest[1] / fastest[0]);
}

int Main(int argc, char** argv) {
  const double seconds = ReadOptions(argc, argv).seconds;
  const double peak = PeakFlops<double>();
  fmt::print("{} threads, peak {:.0f} GFLOP/s\n", ThreadCount(), peak * 1e-9);
  for (const Case& c : kCases) {
    Run<double>(c, seconds, peak, "f64");
    Run<std::complex<double>>(c, seconds, peak, "c128");
  }
  return 0;
}

}  // namespace
}  // namespace hlo::bench

int main(int argc, char** argv) { return hlo::bench::Main(argc, argv); }
