// This file implements functions of complex numbers by vectors. A block of numbers is divided into real and
// imaginary parts of f64, on which vectorised real functions work. Numbers outside a function's usual range,
// among them infinities and NaNs, are left to its scalar version, which defines the result.

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/cpu/elementwise/tile_loops.h"
#include "types/scalar_ops.h"

namespace hlo::cpu {
namespace complex_blocks {
namespace {

using complex_functions::Z;
constexpr int kBlock = 64;
using Reals = std::array<double, kBlock>;
struct Block {
  Reals re, im;
};

// Above this magnitude, vectorised trigonometric functions are slow.
constexpr double kLargestAngle = 1e5;

// Applies a real function to the first n elements.
template <Opcode kOpcode, class Scalar>
void Apply(int n, const Reals& x, Reals& out) {
  static const TileFn function = [] {
    const TileFn vectorised = VectorTileOp(kOpcode, ComputeType::kF64);
    return vectorised != nullptr ? vectorised : LoopOf<Scalar, double>();
  }();
  const void* in[] = {x.data()};
  function(n, out.data(), in, 0);
}

// The formulas are those of complex_functions.h. Compute sets the results of n numbers, and IsUsual is true
// for those for which they are right.

struct ExponentialMinusOne {
  using Scalar = scalar::ExponentialMinusOne;
  // Half of a usual angle is exact.
  static bool IsUsual(Z z) {
    const double angle = std::fabs(z.im);
    return (std::fabs(z.re) < complex_functions::kLargestExponent) & (angle < kLargestAngle) &
           ((angle == 0) | (angle > 1e-300));
  }
  static void Compute(int n, const Block& z, Block& out) {
    // With s and c of half the angle, the sine is 2 s c, and the cosine is 1 - 2 s^2.
    Reals half, power, less_one, cosine_of_half, sine_of_half;
    for (int i = 0; i < n; ++i) half[i] = z.im[i] / 2;
    Apply<Opcode::kExponential, scalar::Exponential>(n, z.re, power);
    Apply<Opcode::kExponentialMinusOne, scalar::ExponentialMinusOne>(n, z.re, less_one);
    Apply<Opcode::kCosine, scalar::Cosine>(n, half, cosine_of_half);
    Apply<Opcode::kSine, scalar::Sine>(n, half, sine_of_half);
    for (int i = 0; i < n; ++i) {
      const double one_less_cosine = 2 * sine_of_half[i] * sine_of_half[i];
      out.re[i] = less_one[i] * (1 - one_less_cosine) + (0.0 - one_less_cosine);
      out.im[i] = z.im[i] == 0 ? 0.0 : power[i] * (2 * sine_of_half[i] * cosine_of_half[i]);
    }
  }
};

struct Tanh {
  using Scalar = scalar::Tanh;
  static bool IsUsual(Z z) { return std::fabs(z.re) < 100 && std::fabs(z.im) < kLargestAngle; }
  static void Compute(int n, const Block& z, Block& out) {
    Reals t, s;
    Apply<Opcode::kTan, scalar::Tan>(n, z.im, t);
    Apply<Opcode::kSinh, scalar::Sinh>(n, z.re, s);
    for (int i = 0; i < n; ++i) {
      const double beta = 1 + t[i] * t[i], below = 1 + beta * s[i] * s[i];
      out.re[i] = beta * std::sqrt(1 + s[i] * s[i]) * s[i] / below;
      out.im[i] = z.im[i] == 0 ? 0.0 : t[i] / below;
    }
  }
};

// Squares of usual moduli are normal numbers.
bool IsUsualModulus(Z z) {
  const double square = z.re * z.re + z.im * z.im;
  return square > 1e-290 && square < 1e300;
}

// Returns the root of z whose real part is not negative.
struct Root {
  double modulus, re, im;
};
Root RootOf(double re, double im) {
  const double modulus = std::sqrt(re * re + im * im);
  const double larger = std::sqrt((std::fabs(re) + modulus) / 2), smaller = std::fabs(im) / (2 * larger);
  return {modulus, re >= 0 ? larger : smaller, std::copysign(re >= 0 ? smaller : larger, im)};
}

struct Rsqrt {
  using Scalar = scalar::Rsqrt;
  // The sign of the real part of 1 / (yi) needs division.
  static bool IsUsual(Z z) { return IsUsualModulus(z) && (z.re > 0 || z.im != 0); }
  static void Compute(int n, const Block& z, Block& out) {
    for (int i = 0; i < n; ++i) {
      const Root root = RootOf(z.re[i], z.im[i]);
      out.re[i] = root.re / root.modulus;
      out.im[i] = -root.im / root.modulus;
    }
  }
};

struct Sqrt {
  using Scalar = scalar::Sqrt;
  static bool IsUsual(Z z) { return IsUsualModulus(z); }
  static void Compute(int n, const Block& z, Block& out) {
    for (int i = 0; i < n; ++i) {
      const Root root = RootOf(z.re[i], z.im[i]);
      out.re[i] = root.re;
      out.im[i] = root.im;
    }
  }
};

struct Divide {
  using Scalar = scalar::Divide;
  static bool IsUsual(Z x, Z y) {
    const auto larger = [](double a, double b) { return a > b ? a : b; };
    const auto smaller = [](double a, double b) { return a < b ? a : b; };
    const double u = std::fabs(y.re), v = std::fabs(y.im);
    const double of_x = larger(std::fabs(x.re), std::fabs(x.im)), of_y = larger(u, v), small = smaller(u, v);
    const double sum = x.re + x.im + y.re + y.im;  // NaN if one of them is.
    return (sum == sum) & (larger(of_x, of_y) < 1e150) & (of_y > 1e-150) &
           ((small == 0) | (small > of_y * 1e-150));
  }
  static void Compute(int n, const Block& x, const Block& y, Block& out) {
    for (int i = 0; i < n; ++i) {
      // Smith's algorithm for x / y, or for ix / iy.
      const bool turns = std::fabs(y.re[i]) < std::fabs(y.im[i]);
      const double larger = turns ? y.im[i] : y.re[i], smaller = turns ? y.re[i] : y.im[i];
      const double ratio = smaller / larger, divisor = larger + ratio * smaller;
      const double re = turns ? x.re[i] * ratio + x.im[i] : x.re[i] + x.im[i] * ratio;
      const double im = turns ? x.im[i] * ratio - x.re[i] : x.im[i] - x.re[i] * ratio;
      out.re[i] = re / divisor;
      out.im[i] = im / divisor;
    }
  }
};

template <class T>
void Read(int n, const T* from, Block& block) {
  for (int i = 0; i < n; ++i) {
    block.re[i] = from[i].real();
    block.im[i] = from[i].imag();
  }
}

template <class F, class T>
auto ScalarResult(T a, auto... more) {
  using Scalar = std::conditional_t<std::is_same_v<T, std::complex<float>>, ThroughF64<typename F::Scalar>,
                                    typename F::Scalar>;
  return Scalar()(a, more...);
}

Z PartsAt(const Block& block, int i) { return {block.re[i], block.im[i]}; }

template <class T>
T NumberAt(const Block& block, int i) {
  using R = typename T::value_type;
  return {static_cast<R>(block.re[i]), static_cast<R>(block.im[i])};
}

template <class F, class T, size_t... kOperands>
void Blocks(int64_t n, void* out, const void* const* in, int64_t /*parameter*/) {
  T* o = static_cast<T*>(out);
  for (int64_t begin = 0; begin < n; begin += kBlock, o += kBlock) {
    const int count = static_cast<int>(std::min<int64_t>(kBlock, n - begin));
    std::array<Block, sizeof...(kOperands)> operands;
    Block result;
    (Read(count, static_cast<const T*>(in[kOperands]) + begin, operands[kOperands]), ...);
    F::Compute(count, operands[kOperands]..., result);
    for (int i = 0; i < count; ++i) o[i] = NumberAt<T>(result, i);
    // A sum as wide as the numbers can be vectorised.
    int64_t unusual = 0;
    for (int i = 0; i < count; ++i) unusual += F::IsUsual(PartsAt(operands[kOperands], i)...) ? 0 : 1;
    for (int i = 0; unusual > 0 && i < count; ++i) {
      if (!F::IsUsual(PartsAt(operands[kOperands], i)...))
        o[i] = ScalarResult<F>(NumberAt<T>(operands[kOperands], i)...);
    }
  }
}

template <class T>
TileFn FindBlockOp(Opcode opcode) {
  switch (opcode) {
    case Opcode::kExponentialMinusOne:
      return &Blocks<ExponentialMinusOne, T, 0>;
    case Opcode::kTanh:
      return &Blocks<Tanh, T, 0>;
    case Opcode::kRsqrt:
      return &Blocks<Rsqrt, T, 0>;
    default:
      return nullptr;
  }
}

}  // namespace
}  // namespace complex_blocks

TileFn ComplexBlockOp(Opcode opcode, ComputeType compute_type) {
  switch (compute_type) {
    case ComputeType::kC64:
      // Square roots of c128 keep the bits of the scalar version.
      if (opcode == Opcode::kSqrt)
        return &complex_blocks::Blocks<complex_blocks::Sqrt, std::complex<float>, 0>;
      return complex_blocks::FindBlockOp<std::complex<float>>(opcode);
    case ComputeType::kC128:
      if (opcode == Opcode::kDivide)
        return &complex_blocks::Blocks<complex_blocks::Divide, std::complex<double>, 0, 1>;
      return complex_blocks::FindBlockOp<std::complex<double>>(opcode);
    default:
      return nullptr;
  }
}

}  // namespace hlo::cpu
