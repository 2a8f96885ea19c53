// Benchmarks GEMM against Eigen and, if it was found, oneDNN, interleaved in one run. Every result is first
// compared with sums in f64. Prints GFLOP/s, the fraction of the machine's peak, and ratios.
//   gemm_bench [--seconds=S] [--threads=N] [--only=TEXT]

#include <cmath>
#include <complex>
#include <cstdlib>
#include <random>
#include <string>

#include "Eigen/Core"
#include "fmt/format.h"
#include "kernels/cpu/gemm/gemm.h"
#include "timing.h"
#if defined(HLO_BENCH_ONEDNN)
#include "dnnl.h"
#endif

namespace hlo::bench {
namespace {

struct Case {
  int64_t m, n, k;
  bool a_transposed = false, b_transposed = false;
};

constexpr Case kCases[] = {
    {1024, 1024, 1024},
    {2048, 2048, 2048},
    {1024, 1024, 1024, true, false},
    {1024, 1024, 1024, false, true},
    {512, 512, 512},
    {256, 256, 256},
    {128, 128, 128},
    {64, 64, 64},
    {32, 32, 32},
    {16, 16, 16},
    {6272, 192, 192},
    {8, 4096, 4096},
    {64, 4096, 1024},
    {4096, 64, 1024},
    {4096, 8, 192},
    {1, 4096, 4096},
    {1, 4096, 4096, false, true},
    {4096, 1, 4096},
    {64, 64, 65536},
    {1000, 1000, 10},
};

template <class T>
constexpr ElementType TypeOf() {
  if constexpr (std::is_same_v<T, float>)
    return ElementType::kF32;
  else if constexpr (std::is_same_v<T, double>)
    return ElementType::kF64;
  else if constexpr (std::is_same_v<T, bfloat16>)
    return ElementType::kBF16;
  else if constexpr (std::is_same_v<T, float16>)
    return ElementType::kF16;
  else if constexpr (std::is_same_v<T, int8_t>)
    return ElementType::kS8;
  else if constexpr (std::is_same_v<T, int32_t>)
    return ElementType::kS32;
  else
    return ElementType::kC64;
}

template <class T>
T FromDouble(double x) {
  if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>)
    return T::FromDouble(x);
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(x * 100);
  else
    return T(static_cast<float>(x));
}
template <class T>
std::complex<double> ToComplex(T x) {
  if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>)
    return x.ToFloat();
  else
    return std::complex<double>(x);
}

// Compares some elements with sums in f64; the bound is k * eps * sum |a| |b|.
template <class S, class O>
bool IsRight(const Case& c, const std::vector<S>& a, const std::vector<S>& b, const std::vector<O>& out,
             double epsilon) {
  for (int64_t s = 0; s < 200; ++s) {
    const int64_t i = s * 7919 % c.m, j = s * 104729 % c.n;
    std::complex<double> sum = 0;
    double size = 0;
    for (int64_t k = 0; k < c.k; ++k) {
      const auto x = ToComplex(a[c.a_transposed ? k * c.m + i : i * c.k + k]);
      const auto y = ToComplex(b[c.b_transposed ? j * c.k + k : k * c.n + j]);
      sum += x * y;
      size += std::abs(x) * std::abs(y);
    }
    const double rounding = sizeof(O) == 2 ? std::abs(sum) * 0x1p-8 : 0;
    if (!(std::abs(ToComplex(out[i * c.n + j]) - sum) <=
          static_cast<double>(c.k) * epsilon * size + rounding))
      return false;
  }
  return true;
}

struct Contender {
  std::string name;
  std::function<void()> run;
};

// Returns the other libraries that support the types; each computes the product `repeat` times.
template <class S, class O>
std::vector<Contender> Libraries(const Case& c, int repeat, const std::vector<S>& a, const std::vector<S>& b,
                                 std::vector<O>& out) {
  std::vector<Contender> libraries;
  if constexpr (std::is_same_v<S, O> &&
                (std::is_floating_point_v<S> || std::is_same_v<S, std::complex<float>>)) {
    libraries.push_back({"Eigen", [&, repeat] {
                           using RowMajor = Eigen::Matrix<S, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
                           using ColumnMajor = Eigen::Matrix<S, Eigen::Dynamic, Eigen::Dynamic>;
                           Eigen::Map<RowMajor> to(out.data(), c.m, c.n);
                           const Eigen::Map<const RowMajor> ar(a.data(), c.m, c.k), br(b.data(), c.k, c.n);
                           const Eigen::Map<const ColumnMajor> ac(a.data(), c.m, c.k), bc(b.data(), c.k, c.n);
                           for (int r = 0; r < repeat; ++r) {
                             if (c.a_transposed)
                               to.noalias() = ac * br;
                             else if (c.b_transposed)
                               to.noalias() = ar * bc;
                             else
                               to.noalias() = ar * br;
                           }
                         }});
  }
#if defined(HLO_BENCH_ONEDNN)
  if constexpr (std::is_same_v<S, float> && std::is_same_v<O, float>) {
    libraries.push_back({"oneDNN", [&, repeat] {
                           for (int r = 0; r < repeat; ++r) {
                             dnnl_sgemm(c.a_transposed ? 'T' : 'N', c.b_transposed ? 'T' : 'N', c.m, c.n, c.k,
                                        1.0f, a.data(), c.a_transposed ? c.m : c.k, b.data(),
                                        c.b_transposed ? c.k : c.n, 0.0f, out.data(), c.n);
                           }
                         }});
  }
#endif
  return libraries;
}

template <class S, class O>
void Run(const Case& c, double seconds, double peak, const char* name) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<S> a(c.m * c.k), b(c.k * c.n);
  std::vector<O> out(c.m * c.n), other(out.size());
  for (S& x : a) x = FromDouble<S>(uniform(random));
  for (S& x : b) x = FromDouble<S>(uniform(random));
  const auto a_rows = c.a_transposed ? 1 : c.k, a_columns = c.a_transposed ? c.m : 1;
  const auto b_rows = c.b_transposed ? 1 : c.n, b_columns = c.b_transposed ? c.k : 1;
  const cpu::GemmProblem problem{{.m = c.m,
                                  .n = c.n,
                                  .k = c.k,
                                  .a = {{TypeOf<S>(), a_rows, a_columns, {}}, a.data()},
                                  .b = {{TypeOf<S>(), b_rows, b_columns, {}}, b.data()},
                                  .c_type = TypeOf<O>(),
                                  .c_row_stride = c.n},
                                 out.data()};
  const double flops = 2.0 * c.m * c.n * c.k * (std::is_same_v<O, std::complex<float>> ? 4 : 1);
  const int repeat = static_cast<int>(std::max(1.0, 2e6 / flops));
  std::vector<std::string> names = {"ours"};
  std::vector<std::function<void()>> contenders = {[&] {
    for (int r = 0; r < repeat; ++r) Gemm(problem);
  }};
  for (Contender& library : Libraries<S, O>(c, repeat, a, b, other)) {
    names.push_back(std::move(library.name));
    contenders.push_back(std::move(library.run));
  }
  contenders[0]();
  const double epsilon = std::is_same_v<O, double> ? 0x1p-53 : std::is_integral_v<O> ? 0 : 0x1p-24;
  if (!IsRight(c, a, b, out, epsilon)) {
    fmt::print("{}: WRONG RESULT\n", name);
    std::exit(1);
  }
  const std::vector<double> fastest = FastestInterleaved(contenders, seconds);
  fmt::print("{:5} {:5}x{:5}x{:6}{:1}{:1}", name, c.m, c.n, c.k, c.a_transposed ? "T" : "",
             c.b_transposed ? "T" : "");
  for (size_t i = 0; i < fastest.size(); ++i) {
    fmt::print("  {} {:7.1f} GFLOP/s", names[i], flops * repeat / fastest[i] * 1e-9);
    if (i == 0)
      fmt::print(" {:3.0f}% of peak", 100 * flops * repeat / fastest[0] / peak);
    else
      fmt::print(" ratio {:4.2f}", fastest[i] / fastest[0]);
  }
  fmt::print("\n");
}

int Main(int argc, char** argv) {
  const auto [seconds, only] = ReadOptions(argc, argv);
  Eigen::setNbThreads(ThreadCount());
  const double f32 = PeakFlops<float>(), f64 = PeakFlops<double>();
  fmt::print("{} threads, vectors of {} bytes, peak {:.0f} GFLOP/s in f32, {:.0f} in f64\n", ThreadCount(),
             cpu::kVectorBytes, f32 * 1e-9, f64 * 1e-9);
  const auto wanted = [&only = only](const char* name) { return only.empty() || only == name; };
  for (const Case& c : kCases) {
    if (wanted("f32")) Run<float, float>(c, seconds, f32, "f32");
    if (wanted("f64")) Run<double, double>(c, seconds, f64, "f64");
    if (wanted("bf16")) Run<bfloat16, bfloat16>(c, seconds, f32, "bf16");
    if (wanted("f16")) Run<float16, float16>(c, seconds, f32, "f16");
    if (wanted("s8")) Run<int8_t, int32_t>(c, seconds, f32, "s8");
    if (wanted("c64")) Run<std::complex<float>, std::complex<float>>(c, seconds, f32, "c64");
  }
  return 0;
}

}  // namespace
}  // namespace hlo::bench

int main(int argc, char** argv) { return hlo::bench::Main(argc, argv); }
