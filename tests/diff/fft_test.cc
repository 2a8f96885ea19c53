// Tests Fourier transforms against the defining sum in f64.

#include "kernels/cpu/fft/fft.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

#include "arrays.h"
#include "base/parallel.h"
#include "base/status.h"
#include "gtest/gtest.h"
#include "types/index.h"

namespace hlo::cpu::fft_test {
namespace {

using enum ElementType;
using Number = std::complex<double>;

// Returns X[k] = sum over j of x[j] exp(sign 2 pi i j k / n) along one dimension.
std::vector<Number> Sums(const std::vector<Number>& x, const Index& dims, int64_t d, double sign) {
  const int64_t n = dims[d], stride = RowMajorStrides(dims)[d];
  std::vector<Number> roots(n), out(x.size());
  for (int64_t k = 0; k < n; ++k)
    roots[k] = std::polar(1.0, sign * 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n));
  for (int64_t i = 0; i < static_cast<int64_t>(x.size()); ++i) {
    const int64_t k = i / stride % n, start = i - k * stride;
    Number sum = 0;
    for (int64_t j = 0; j < n; ++j) sum += x[start + j * stride] * roots[j * k % n];
    out[i] = sum;
  }
  return out;
}

// Resizes the last dimension to bins 0, ..., size - 1; missing bins are conj(X[n - k]).
std::vector<Number> Resized(const std::vector<Number>& x, int64_t old_size, int64_t size) {
  std::vector<Number> out;
  for (size_t line = 0; line * old_size < x.size(); ++line) {
    for (int64_t k = 0; k < size; ++k)
      out.push_back(k < old_size ? x[line * old_size + k] : std::conj(x[line * old_size + size - k]));
  }
  return out;
}

struct Case {
  FftType type;
  std::vector<int64_t> dims;  // Sizes of the non-truncated array: of the result for IRFFT.
  int64_t rank = 1;
};

void ExpectRight(const Case& c, ElementType complex) {
  const ElementType real = ComponentType(complex);
  const bool from_real = c.type == FftType::kRfft, to_real = c.type == FftType::kIrfft;
  const absl::Span<const int64_t> dims = c.dims;
  Index whole = dims, half = dims;
  half.back() = half.back() / 2 + 1;
  const Index in_dims = to_real ? half : whole, out_dims = from_real ? half : whole;
  const ElementType in_type = from_real ? real : complex, out_type = to_real ? real : complex;
  const Literal input = test::RandomArray(in_type, {in_dims.begin(), in_dims.end()}, 3);
  Literal out = *Literal::CreateZeros(Shape::Array(out_type, out_dims));
  const std::vector<int64_t> length(c.dims.end() - c.rank, c.dims.end());
  Fft({input.data(), in_type, in_dims}, c.type, length, out.mutable_data(), out_type, out_dims);

  std::vector<Number> want = test::Values(input);
  const int64_t last = static_cast<int64_t>(c.dims.size()) - 1;
  const double sign = c.type == FftType::kIfft || to_real ? 1 : -1;
  if (to_real) {
    for (int64_t d = last - c.rank + 1; d < last; ++d) want = Sums(want, half, d, sign);
    // Only the real part of self-conjugate bins is used.
    for (size_t i = 0; i < want.size(); ++i) {
      const int64_t k = static_cast<int64_t>(i) % half.back();
      if (k == 0 || 2 * k == whole.back()) want[i] = want[i].real();
    }
    want = Sums(Resized(want, half.back(), whole.back()), whole, last, sign);
  } else {
    for (int64_t d = last - c.rank + 1; d <= last; ++d) want = Sums(want, whole, d, sign);
    if (from_real) want = Resized(want, whole.back(), half.back());
  }
  const double scale = sign > 0 ? 1.0 / static_cast<double>(Product(length)) : 1;
  // |error| <= c eps log2(n) |X| in the norm of each array, plus the error of the sums in f64.
  const auto n = static_cast<double>(Product(length));
  const double epsilon = real == kF32 ? 0x1p-23 : 0x1p-52 + 0x1p-53 * std::sqrt(n);
  double error = 0, size = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    const Number expected = to_real ? Number(want[i].real() * scale) : want[i] * scale;
    error += std::norm(test::At(out, static_cast<int64_t>(i)) - expected);
    size += std::norm(expected);
  }
  EXPECT_LE(std::sqrt(error), epsilon * (2 + std::log2(n)) * std::sqrt(size));
}

constexpr FftType kAll[] = {FftType::kFft, FftType::kIfft, FftType::kRfft, FftType::kIrfft};

TEST(FftTest, EveryLengthUpTo130) {
  for (FftType type : kAll) {
    for (int64_t n = 1; n <= 130; ++n) {
      SCOPED_TRACE(std::string(Word(type)) + " of " + std::to_string(n));
      ExpectRight({type, {n}}, kC64);
      if (n % 3 == 0) ExpectRight({type, {5, n}}, kC128);
    }
  }
}

TEST(FftTest, AnyNumberOfLines) {
  for (FftType type : kAll) {
    for (int64_t count = 2; count <= 18; ++count) {
      SCOPED_TRACE(std::to_string(count) + " lines, " + std::string(Word(type)));
      for (ElementType complex : {kC64, kC128}) {
        ExpectRight({type, {count, 12}}, complex);
        ExpectRight({type, {count, 320}}, complex);
      }
    }
  }
}

TEST(FftTest, LongLinesAreSplit) {
  for (FftType type : kAll) {
    for (int64_t n : {256, 480, 1000, 1024, 2310}) {
      SCOPED_TRACE(std::string(Word(type)) + " of " + std::to_string(n));
      ExpectRight({type, {n}}, kC64);
      ExpectRight({type, {1, n}}, kC128);
    }
    ExpectRight({type, {9, 720}}, kC64);
    ExpectRight({type, {1, 4096}}, kC64);
    ExpectRight({type, {3, 2500}}, kC64);
  }
}

TEST(FftTest, LongPrimeLines) {
  for (int64_t n : {257, 1031, 2053}) {
    for (FftType type : kAll) {
      SCOPED_TRACE(std::string(Word(type)) + " of " + std::to_string(n));
      ExpectRight({type, {n}}, kC64);
    }
    ExpectRight({FftType::kFft, {2, n}}, kC128);
  }
}

TEST(FftTest, SeveralDimensions) {
  for (FftType type : kAll) {
    for (ElementType complex : {kC64, kC128}) {
      SCOPED_TRACE(Word(type));
      ExpectRight({type, {6, 10}, 2}, complex);
      ExpectRight({type, {3, 7, 9}, 2}, complex);
      ExpectRight({type, {4, 6, 5}, 3}, complex);
      ExpectRight({type, {2, 5, 16, 33}, 3}, complex);
      ExpectRight({type, {300, 16}, 2}, complex);
      ExpectRight({type, {300, 3}, 2}, complex);
      ExpectRight({type, {514, 2}, 2}, complex);
    }
  }
}

TEST(FftTest, EmptyArrays) {
  std::complex<float> out[3] = {1, 2, 3};
  const std::vector<int64_t> in_dims = {3, 0}, length = {0}, out_dims = {3, 1};
  Fft({nullptr, kF32, in_dims}, FftType::kRfft, length, out, kC64, out_dims);
  for (const auto& x : out) EXPECT_EQ(x, std::complex<float>(0));
}

TEST(FftTest, NaNAndInfinityStayInTheirLine) {
  for (int64_t n : {8, 15, 37, 256}) {
    Literal input = test::RandomArray(kC64, {11, n}, 1);
    input.mutable_span<std::complex<float>>()[4 * n + 3] = std::numeric_limits<float>::quiet_NaN();
    input.mutable_span<std::complex<float>>()[6 * n] = std::numeric_limits<float>::infinity();
    Literal out = *Literal::CreateZeros(input.shape());
    const std::vector<int64_t> length = {n};
    Fft({input.data(), kC64, input.dims()}, FftType::kFft, length, out.mutable_data(), kC64, out.dims());
    for (int64_t i = 0; i < 11 * n; ++i) {
      const std::complex<float> x = out.span<std::complex<float>>()[i];
      const bool is_finite = std::isfinite(x.real()) && std::isfinite(x.imag());
      EXPECT_EQ(is_finite, i / n != 4 && i / n != 6) << i;
    }
  }
}

TEST(FftTest, TheSameBitsWithAnyNumberOfThreads) {
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{1, 65536}, {7, 4096}, {301, 360}}) {
    const Literal input = test::RandomArray(kC64, dims, 1);
    Literal one = *Literal::CreateZeros(input.shape()), two = *Literal::CreateZeros(input.shape());
    const std::vector<int64_t> length = {dims.back()};
    SetThreadCount(1);
    Fft({input.data(), kC64, dims}, FftType::kFft, length, one.mutable_data(), kC64, dims);
    SetThreadCount(2);
    Fft({input.data(), kC64, dims}, FftType::kFft, length, two.mutable_data(), kC64, dims);
    SetThreadCount(0);
    EXPECT_EQ(std::memcmp(one.data(), two.data(), static_cast<size_t>(one.byte_count())), 0);
  }
}

}  // namespace
}  // namespace hlo::cpu::fft_test
