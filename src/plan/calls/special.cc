// Special functions without an HLO opcode, in f64.

#include <iterator>
#include <limits>
#include <numbers>

#include "plan/calls/call_builder.h"
#include "plan/calls/expanders.h"
#include "types/bernoulli.h"

namespace hlo::plan::calls {
namespace {

constexpr double kPole = std::numeric_limits<double>::infinity();

// The coefficients of Chebyshev interpolants, computed with 60 digits, as polynomials of the mapped argument.

// (1 + 2x) exp(x^2) erfc(x) for x >= 0.5.
constexpr double kErfc[] = {
    1.2423492448711544,      -0.12000786868938808,   -0.024899113240521877,  0.05674654966868328,
    -0.03662799043773805,    0.01258744651905864,    -0.0011965769207880348, -0.000884886095969791,
    0.00029046482265271834,  6.401281059707245e-05,  -4.116705546516842e-05, -7.071892631967091e-06,
    5.782858104218581e-06,   1.3003539675730263e-06, -8.078129088482141e-07, -3.003811378287278e-07,
    9.703903384193773e-08,   6.898530627054503e-08,  -5.163266007770335e-09, -1.3851999069727728e-08,
    -1.7763231189112702e-09, 2.1043571485917365e-09, 6.360536701058361e-10,  -1.7601284567922414e-10,
    -7.930556305300294e-11};
// lgamma(2 + e) / e for |e| <= 0.5.
constexpr double kLgamma[] = {0.42278433509846713,    0.1612335167120566,      -0.016838075263299522,
                              0.0025726010534730787,  -0.00046159693929212654, 9.032844783545014e-05,
                              -1.86367798703102e-05,  3.981793164251527e-06,   -8.716982757351021e-07,
                              1.9425294274976835e-07, -4.387327521544026e-08,  1.001332617019718e-08,
                              -2.304571826674516e-09, 5.339628272805235e-10,   -1.2444505508836123e-10,
                              2.924867873716732e-11,  -6.878918801035825e-12,  1.5406673737439663e-12,
                              -3.646155586866453e-13, 1.2345447235230874e-13,  -2.943025091543748e-14};
// The coefficients B_2k / (2k (2k - 1)) of the series of lgamma.
constexpr double kStirling[] = {0.08333333333333333,    -0.002777777777777778, 0.0007936507936507937,
                                -0.0005952380952380953, 0.0008417508417508417, -0.0019175269175269176,
                                0.00641025641025641,    -0.029550653594771242};
// exp(-x) I_1(x) / x for 0 <= x <= 8.
constexpr double kBesselSmall[] = {
    0.044687709875608835,   -0.061124338029666284,   0.06805759990951162,    -0.0684826062058269,
    0.06376740371340611,    -0.05528003922699226,    0.044674572621282986,   -0.03367135552107505,
    0.023686016957350876,   -0.015571309244077562,   0.009583962153764291,   -0.005534567846988655,
    0.0030057624040464932,  -0.001538874564273584,   0.0007445123998749739,  -0.0003411760229204836,
    0.00014842110758080817, -6.142361409267038e-05,  2.4233987591498262e-05, -9.136529630106953e-06,
    3.29361514435675e-06,   -1.1327198008251626e-06, 3.7617292810159424e-07, -1.2424046295570417e-07,
    3.7901404602356164e-08, -8.986801013193351e-09,  2.644330576999187e-09,  -1.4165980180332847e-09,
    3.6696752013169966e-10};
// sqrt(x) exp(-x) I_1(x) for x >= 8.
constexpr double kBesselLarge[] = {
    0.38939845902587233,     -0.009749577193235728,   -0.00021923576383430274, -1.5038547201176271e-05,
    -1.8349101134666435e-06, -3.483855609009937e-07,  -1.0001323461066435e-07, -4.312935369971356e-08,
    -2.337059627111857e-08,  -8.426622829598154e-09,  6.715795128085017e-09,   1.4029693589852716e-08,
    6.040877342160988e-09,   -7.630751970065577e-09,  -8.044231276166508e-09,  3.406636130196794e-09,
    6.4870195719816896e-09,  -1.4171698018664596e-09, -4.047785403711858e-09,  5.146498826087142e-10,
    1.8513716745511988e-09,  -1.342266320082222e-10,  -5.388285995923524e-10,  1.7502497778701306e-11,
    7.347992441734663e-11};

Op Number(Op like, double value) { return build::FullLike(like, value); }

template <size_t N>
Op Polynomial(const double (&coefficients)[N], Op x) {
  Op sum = Number(x, coefficients[N - 1]);
  for (size_t k = N - 1; k-- > 0;) sum = sum * x + Number(x, coefficients[k]);
  return sum;
}

Op IsNan(Op x) { return build::Ne(x, x); }

// Returns erfc(x). exp(-x^2) is the product of two exponentials, because the rounding error of x^2 is large.
Op ErfcOf(Op x) {
  constexpr double kZero = 30;  // From here on the result is 0.
  constexpr double kCentre = 2.5, kLow = (0.5 - kCentre) / (0.5 + kCentre), kScale = 2 / (1 - kLow);
  const Op size = build::Min(build::Abs(x), Number(x, kZero));
  const Op high =
      build::ConvertElementType(build::ConvertElementType(size, ElementType::kF32), ElementType::kF64);
  const Op power = build::Exp(-(high * high)) * build::Exp(-((size - high) * (size + high)));
  const Op t = (size - Number(x, kCentre)) / (size + Number(x, kCentre));
  const Op u = t * Number(x, kScale) - Number(x, 1 + kScale * kLow);
  const Op tail = power * Polynomial(kErfc, u) / (Number(x, 1) + Number(x, 2) * size);
  const Op large = build::Select(build::Lt(x, Number(x, 0)), Number(x, 2) - tail, tail);
  return build::Select(build::Lt(size, Number(x, 0.5)), Number(x, 1) - build::Erf(x), large);
}

// Returns x with erf(x) = y by Halley's method on erfc, which is accurate near y = 1.
Op ErfInvOf(Op y) {
  constexpr int kSteps = 3;
  constexpr double kA = 0.147;  // Winitzki's approximation has an error of 0.4 percent.
  const Op size = build::Abs(y), is_large = build::Gt(size, Number(y, 0.5));
  const Op log = build::Log1p(-(size * size));
  const Op b = Number(y, 2 / (std::numbers::pi * kA)) + log * Number(y, 0.5);
  const Op guess = build::Sqrt(build::Sqrt(b * b - log * Number(y, 1 / kA)) - b);
  Op x = build::Select(is_large, guess, size * Number(y, 1 / (std::numbers::inv_sqrtpi * 2)));
  for (int k = 0; k < kSteps; ++k) {
    const Op miss = build::Select(is_large, (Number(y, 1) - size) - ErfcOf(x), build::Erf(x) - size);
    const Op step = miss * Number(y, 1 / (std::numbers::inv_sqrtpi * 2)) * build::Exp(x * x);
    x = x - step / (Number(y, 1) + x * step);
  }
  x = build::Select(build::Eq(size, Number(y, 1)), Number(y, kPole), x);
  x = build::Select(build::Lt(y, Number(y, 0)), -x, x);
  return build::Select(build::Gt(size, Number(y, 1)), Number(y, std::numeric_limits<double>::quiet_NaN()), x);
}

// Returns lgamma(x) for x > 0: Stirling's series, or a polynomial on [1.5, 2.5] and the recurrence.
Op PositiveLgamma(Op x) {
  constexpr double kSeries = 8.5;
  const Op one = Number(x, 1), inverse = one / x;
  const Op series = (x - Number(x, 0.5)) * build::Log(x) - x +
                    Number(x, std::numbers::ln2 / 2 + 0.57236494292470008707) +
                    Polynomial(kStirling, inverse * inverse) * inverse;
  Op y = x, product = one;
  for (double limit = kSeries; limit > 2.5; limit -= 1) {
    const Op is_above = build::Gt(y, Number(x, 2.5));
    y = build::Select(is_above, y - one, y);
    product = build::Select(is_above, product * y, product);
  }
  const Op is_tiny = build::Lt(x, Number(x, 0.5)), is_small = build::Lt(x, Number(x, 1.5));
  const Op e = build::Select(is_tiny, x, build::Select(is_small, x - one, y - Number(x, 2)));
  const Op log = build::Select(is_tiny, -build::Log(x * (x + one)),
                               build::Select(is_small, -build::Log1p(x - one), build::Log(product)));
  const Op result = e * Polynomial(kLgamma, Number(x, 2) * e) + log;
  return build::Select(build::Ge(x, Number(x, kSeries)),
                       build::Select(build::Eq(x, Number(x, kPole)), x, series), result);
}

// For x <= 0, lgamma(x) = log(pi / |sin(pi x)|) - lgamma(1 - x).
Op LgammaOf(Op x) {
  const Op one = Number(x, 1), is_positive = build::Gt(x, Number(x, 0));
  const Op positive = PositiveLgamma(build::Select(is_positive, x, one - x));
  const Op fraction = x - build::RoundNearestEven(x);
  const Op sine = build::Abs(build::Sin(fraction * Number(x, std::numbers::pi)));
  const Op reflected = build::Log(Number(x, std::numbers::pi) / sine) - positive;
  const Op is_pole = build::Le(x, Number(x, 0)) & build::Eq(x, build::Floor(x));
  return build::Select(
      IsNan(x), x, build::Select(is_pole, Number(x, kPole), build::Select(is_positive, positive, reflected)));
}

// Uses psi(x) = log(x) - 1/(2x) - sum of B_2k / (2k x^2k) after the recurrence psi(x) = psi(x + 1) - 1/x, and
// for x < 0 psi(x) = psi(1 - x) - pi / tan(pi x).
Op DigammaOf(Op x) {
  const Op one = Number(x, 1), is_negative = build::Lt(x, Number(x, 0));
  Op z = build::Select(is_negative, one - x, x), result = Number(x, 0);
  for (int k = 0; k < kAsymptotic; ++k) {
    const Op is_below = build::Lt(z, Number(x, kAsymptotic));
    result = build::Select(is_below, result - one / z, result);
    z = build::Select(is_below, z + one, z);
  }
  result = result + (build::Log(z) - one / (Number(x, 2) * z));
  const Op square = one / (z * z);
  Op power = square;
  for (size_t k = 0; k < std::size(kBernoulli); ++k) {
    result = result - power * Number(x, kBernoulli[k] / static_cast<double>(2 * k + 2));
    power = power * square;
  }
  const Op pi = Number(x, std::numbers::pi), fraction = x - build::RoundNearestEven(x);
  result = build::Select(is_negative, result - pi / build::Tan(pi * fraction), result);
  const Op is_pole = build::Le(x, Number(x, 0)) & build::Eq(x, build::Floor(x));
  return build::Select(is_pole, Number(x, std::numeric_limits<double>::quiet_NaN()), result);
}

// Returns exp(-|x|) I_1(x).
Op BesselI1eOf(Op x) {
  constexpr double kLarge = 8;
  const Op size = build::Abs(x), one = Number(x, 1), bound = Number(x, kLarge);
  const Op small = build::Min(size, bound), large = build::Max(size, bound);
  const Op below = small * Polynomial(kBesselSmall, small * Number(x, 2 / kLarge) - one);
  const Op above = Polynomial(kBesselLarge, Number(x, 2 * kLarge) / large - one) / build::Sqrt(large);
  const Op result = build::Select(build::Le(size, bound), below, above);
  return build::Select(IsNan(x), x, build::Select(build::Lt(x, Number(x, 0)), -result, result));
}

Expansion InF64(const Instruction& call, Op (*function)(Op x)) {
  CallBuilder b(call);
  b.set_type(ElementType::kF64);
  return b.Finish({function(b.Wide(0))});
}

}  // namespace

Expansion Erfc(const Instruction& call) { return InF64(call, ErfcOf); }
Expansion ErfInv(const Instruction& call) { return InF64(call, ErfInvOf); }
Expansion Lgamma(const Instruction& call) { return InF64(call, LgammaOf); }
Expansion Digamma(const Instruction& call) { return InF64(call, DigammaOf); }
Expansion BesselI1e(const Instruction& call) { return InF64(call, BesselI1eOf); }

// Codes of numbers of one sign are ordered like the sizes of the numbers.
Expansion NextAfter(const Instruction& call) {
  CallBuilder b(call);
  const int width = BitWidth(b.results()[0].type());
  const ElementType bits = width == 16   ? ElementType::kU16
                           : width == 32 ? ElementType::kU32
                                         : ElementType::kU64;
  const Op x = b.Raw(0), y = b.Raw(1), zero = build::FullLike(x, 0);
  const Op from = build::BitcastConvertType(x, bits), towards = build::BitcastConvertType(y, bits);
  const Op one = build::FullLike(from, 1), sign = build::BitcastConvertType(-zero, bits);
  const Op least = build::Select(build::Lt(y, zero), sign | one, one);
  const Op grows = build::Eq(build::Gt(y, x), build::Gt(x, zero));
  Op result = build::Select(build::Eq(x, zero), least, build::Select(grows, from + one, from - one));
  result = build::Select(build::Eq(x, y) | IsNan(y), towards, result);
  return b.Finish({build::BitcastConvertType(build::Select(IsNan(x), from, result), x.type())});
}

}  // namespace hlo::plan::calls
