// Tests the FFTs of the CUDA engine, emulated on the host, against sums in long double.

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <numbers>
#include <random>
#include <vector>

#include "fmt/format.h"
#include "kernels/cuda/emulator/emulator.h"
#include "kernels/cuda/fft/fft_plan.h"
#include "types/index.h"

namespace hlo::cuda::fft_test {
namespace {

using Exact = std::complex<long double>;

template <class T>
void RunSteps(const FftPlan& plan, const void* input, void* output, Schedule schedule) {
  std::vector<double> workspace(plan.workspace_bytes() / 8, std::nan(""));
  for (const FftStep& unbound : plan.steps) {
    const FftStep step = Bound(plan, unbound, {input, output, workspace.data(), plan.constants.data()});
    const absl::Status status =
        Emulate(step.shape.grid, step.shape.threads, step.shape.shared_bytes, schedule, [&](HostEnv& env) {
          if (step.power_of_two != 0)
            WithFftPowerOfTwo(sizeof(T) == 8, step.access, step.power_of_two,
                              [&]<class Kernel>() { Kernel::Run(env, step.power_args); });
          else if (step.is_half)
            FftHalfKernel<T>::Run(env, step.half);
          else if (step.wide)
            FftKernel<T, true>::Run(env, step.args);
          else
            FftKernel<T, false>::Run(env, step.args);
        });
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
}

// Returns X[k] = sum over j of x[j] exp(sign 2 pi i j k / n) along one dimension.
std::vector<Exact> Direct(const std::vector<Exact>& x, absl::Span<const int64_t> dims, size_t axis,
                          int sign) {
  const int64_t n = dims[axis];
  int64_t inner = 1;
  for (size_t d = axis + 1; d < dims.size(); ++d) inner *= dims[d];
  std::vector<Exact> roots(n), result(x.size());
  for (int64_t j = 0; j < n; ++j)
    roots[j] = std::polar(1.0L, sign * 2 * std::numbers::pi_v<long double> * static_cast<long double>(j) / n);
  std::vector<int64_t> present;
  for (int64_t i = 0; i < Product(dims) / n; ++i) {
    const int64_t start = i / inner * inner * n + i % inner;
    present.clear();
    for (int64_t j = 0; j < n; ++j) {
      if (x[start + j * inner] != Exact(0)) present.push_back(j);
    }
    for (int64_t k = 0; k < n; ++k) {
      for (int64_t j : present) result[start + k * inner] += x[start + j * inner] * roots[j * k % n];
    }
  }
  return result;
}

struct Problem {
  FftType type;
  std::vector<int64_t> dims;  // Dimensions of the longer side: complex, or real.
  int64_t rank;
};

double ErrorBound(double unit, int64_t points) {
  return unit * std::max(1.0, std::log2(static_cast<double>(points)));
}

template <class T>
void CheckTransform(const Problem& problem, Schedule schedule = {}, double most_of_bound = 4) {
  const bool inverse = problem.type == FftType::kIfft || problem.type == FftType::kIrfft;
  const bool real_in = problem.type == FftType::kRfft, real_out = problem.type == FftType::kIrfft;
  const std::vector<int64_t>& dims = problem.dims;
  const size_t rank = dims.size(), first = rank - static_cast<size_t>(problem.rank);
  const std::vector<int64_t> length(dims.begin() + static_cast<std::ptrdiff_t>(first), dims.end());
  std::vector<int64_t> bins = dims;
  bins.back() = dims.back() / 2 + 1;
  std::mt19937 random(static_cast<uint32_t>(Product(dims)));
  std::normal_distribution<double> normal;
  // Long lines are sparse, which limits the time of the naive sums.
  const auto sparse = static_cast<uint32_t>(1 + *std::max_element(dims.begin(), dims.end()) / 3000);
  const auto value = [&] {
    return random() % (sparse * sparse) == 0 ? static_cast<T>(normal(random)) : T{0};
  };

  // All input points; an IRFFT's are derived from its bins.
  std::vector<Exact> exact(Product(dims));
  std::vector<std::complex<T>> in;
  std::vector<T> real;
  if (real_out) {
    in.resize(Product(bins));
    for (std::complex<T>& x : in) x = {value(), value()};
  } else {
    for (Exact& x : exact) {
      const std::complex<T> part{value(), real_in ? T{0} : value()};
      in.push_back(part);
      real.push_back(part.real());
      x = part;
    }
  }
  if (real_out) {  // Transforms the outer axes of the bins, then adds the mirrored bins.
    std::vector<Exact> wide(in.begin(), in.end());
    for (size_t d = first; d + 1 < rank; ++d) wide = Direct(wide, bins, d, 1);
    const int64_t n = dims.back(), m = bins.back();
    for (size_t i = 0; i < exact.size(); ++i) {
      const auto line = static_cast<int64_t>(i) / n, k = static_cast<int64_t>(i) % n;
      const int64_t bin = k < m ? k : n - k;
      const Exact x = wide[line * m + bin];
      exact[i] = bin == 0 || 2 * bin == n ? Exact(x.real()) : k < m ? x : std::conj(x);
    }
    exact = Direct(exact, dims, rank - 1, 1);
  } else {
    for (size_t d = first; d < rank; ++d) exact = Direct(exact, dims, d, inverse ? 1 : -1);
  }
  const auto scale = inverse ? 1 / static_cast<long double>(Product(length)) : 1.0L;

  const std::optional<FftPlan> plan = PlanFft(problem.type, sizeof(T) == 8, real_out ? bins : dims, length);
  ASSERT_TRUE(plan.has_value());
  const void* input = real_in ? static_cast<const void*>(real.data()) : in.data();
  const int64_t out_count = Product(real_in ? bins : dims);
  std::vector<T> output(out_count * (real_out ? 1 : 2), std::numeric_limits<T>::quiet_NaN());
  RunSteps<T>(*plan, input, output.data(), schedule);

  long double error = 0, norm = 0;
  for (int64_t i = 0; i < out_count; ++i) {
    const int64_t from = real_in ? i / bins.back() * dims.back() + i % bins.back() : i;
    const Exact want = exact[from] * scale;
    const Exact got = real_out ? Exact(output[i]) : Exact(output[2 * i], output[2 * i + 1]);
    error += std::norm(got - (real_out ? Exact(want.real()) : want));
    norm += std::norm(want);
  }
  const double unit = sizeof(T) == 4 ? 0x1p-24 : 0x1p-53;
  EXPECT_LE(static_cast<double>(std::sqrt(error / norm)), most_of_bound * ErrorBound(unit, Product(length)))
      << fmt::format("{} of {} dims, first {}", static_cast<int>(problem.type), dims.size(), dims[0]);
}

constexpr FftType kTypes[] = {FftType::kFft, FftType::kIfft, FftType::kRfft, FftType::kIrfft};

TEST(CudaFft, TransformsLinesOfEveryShortLength) {
  for (int64_t n = 1; n <= 70; ++n) {
    for (FftType type : kTypes) {
      CheckTransform<float>({type, {3, n}, 1});
      CheckTransform<double>({type, {3, n}, 1});
    }
  }
}

TEST(CudaFft, TransformsLinesOfMixedRadices) {
  for (int64_t n : {128, 243, 256, 343, 512, 625, 1000, 1001, 1024, 1155, 2197}) {
    for (FftType type : kTypes) {
      CheckTransform<float>({type, {1, n}, 1});
      CheckTransform<double>({type, {1, n}, 1});
    }
  }
}

// Lengths with kernels of their own, with lines that do not fill the last thread block.
TEST(CudaFft, TransformsPowersOfTwo) {
  for (int64_t n = 64; n <= 32768; n *= 2) {
    const int64_t lines = n <= 2048 ? 2048 / n + 1 : 1;
    for (FftType type : kTypes) {
      if (n == 32768 && (type == FftType::kFft || type == FftType::kIfft)) continue;
      CheckTransform<float>({type, {lines, n}, 1}, {}, 1);
    }
  }
  CheckTransform<float>({FftType::kFft, {3, 128, 64}, 2}, {}, 1);
}
TEST(CudaFft, TransformsPowersOfTwoInDoublePrecision) {
  for (int64_t n = 64; n <= 16384; n *= 2) {
    const int64_t lines = n <= 1024 ? 2048 / n + 1 : 1;
    for (FftType type : kTypes) {
      if (n == 16384 && (type == FftType::kFft || type == FftType::kIfft)) continue;
      CheckTransform<double>({type, {lines, n}, 1}, {}, 1);
    }
  }
}

// Axes that are not the last, and long lines, whose columns and rows have powers of two of points.
TEST(CudaFft, TransformsStridedPowersOfTwo) {
  for (int64_t n = 64; n <= 4096; n *= 2) {
    CheckTransform<float>({FftType::kFft, {n, 5}, 2}, {}, 1);
    if (n <= 1024) CheckTransform<float>({FftType::kIfft, {2, n, 17}, 2}, {}, 2);
  }
  for (int64_t n : {4096 * 8, 4096 * 64}) {
    for (FftType type : {FftType::kFft, FftType::kIfft}) CheckTransform<float>({type, {1, n}, 1}, {}, 1);
  }
  CheckTransform<float>({FftType::kFft, {2, 32768}, 1}, kSchedules[2], 1);
  CheckTransform<float>({FftType::kIrfft, {128, 128}, 2}, {}, 1);
  CheckTransform<float>({FftType::kRfft, {1, 65536}, 1}, {}, 1);
  CheckTransform<float>({FftType::kFft, {1, 8191}, 1});
}

TEST(CudaFft, TransformsStridedPowersOfTwoInDoublePrecision) {
  for (int64_t n = 64; n <= 4096; n *= 2) {
    CheckTransform<double>({FftType::kIfft, {n, 3}, 2}, {}, 1);
    if (n <= 512) CheckTransform<double>({FftType::kFft, {2, n, 17}, 2}, {}, 2);
  }
  for (FftType type : {FftType::kFft, FftType::kIfft})
    CheckTransform<double>({type, {1, 4096 * 64}, 1}, kSchedules[2], 1);
  CheckTransform<double>({FftType::kIrfft, {64, 128}, 2}, {}, 1);
}

TEST(CudaFft, TransformsPrimeLengthsAsConvolutions) {
  for (int64_t n : {17, 31, 101, 251, 509, 1009, 2 * 1013}) {
    for (FftType type : kTypes) {
      CheckTransform<float>({type, {2, n}, 1});
      CheckTransform<double>({type, {2, n}, 1});
    }
  }
}

TEST(CudaFft, FillsBlocksWithManyShortLines) {
  for (int64_t n : {2, 4, 8, 15, 16, 64}) {
    for (FftType type : kTypes) CheckTransform<float>({type, {300, n}, 1});
  }
}

TEST(CudaFft, TransformsEveryAxis) {
  for (FftType type : kTypes) {
    CheckTransform<float>({type, {5, 6}, 2});
    CheckTransform<float>({type, {3, 4, 10, 9}, 3});
    CheckTransform<double>({type, {17, 32, 6}, 3});
    CheckTransform<float>({type, {70, 33}, 2});
    CheckTransform<float>({type, {2, 1, 5}, 3});
    CheckTransform<double>({type, {1, 1, 1}, 3});
  }
}

TEST(CudaFft, SplitsLongLinesIntoRowsAndColumns) {
  for (FftType type : kTypes) {
    CheckTransform<float>({type, {1, 16384}, 1});
    CheckTransform<double>({type, {9216, 1}, 2});
  }
}

TEST(CudaFft, SplitsLongRowsRecursively) {
  CheckTransform<double>({FftType::kFft, {1, 13 * 13 * 13 * 13 * 13}, 1});
}

TEST(CudaFft, TransformsLongPrimeLengths) {
  for (FftType type : kTypes) {
    CheckTransform<float>({type, {1, 8209}, 1});
    CheckTransform<double>({type, {1, 4099}, 1});
  }
}

TEST(CudaFft, GivesTheSameBitsInEveryOrderOfThreads) {
  for (Schedule schedule : kSchedules) {
    CheckTransform<float>({FftType::kFft, {7, 120}, 1}, schedule);
    CheckTransform<float>({FftType::kRfft, {2, 34, 34}, 2}, schedule);
    CheckTransform<float>({FftType::kFft, {5, 256}, 1}, schedule);
    CheckTransform<float>({FftType::kRfft, {1, 2048}, 1}, schedule);
    CheckTransform<double>({FftType::kRfft, {9, 512}, 1}, schedule);
  }
}

TEST(CudaFft, AcceptsEmptyArrays) {
  const std::optional<FftPlan> plan = PlanFft(FftType::kFft, false, {0, 8}, {8});
  ASSERT_TRUE(plan.has_value());
  EXPECT_TRUE(plan->steps.empty());
}

}  // namespace
}  // namespace hlo::cuda::fft_test
