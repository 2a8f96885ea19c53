#include "debug/shadow/verdict.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <complex>

#include "base/counted.h"
#include "base/status.h"
#include "debug/dataflow.h"
#include "debug/exposed_run.h"
#include "debug/summary.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "hlo_run/compare.h"
#include "nlohmann/json.hpp"

namespace hlo::debug {
namespace {

// One element of an output: the distance to the wide value and the bound of it.
struct Distance {
  double error = 0, bound = 0, ulp = 1;
  double proven_bound = 0;  // Infinity if the bound depends on an estimate.
  double unit = 1;          // In which reports give errors.
  bool is_outside = false, is_outside_proven = false;
  bool is_unbounded = false;  // The element may have any value.
  bool is_declared = false;   // It has the declared value, which is legal.

  int severity() const { return is_outside_proven ? 2 : is_outside ? 1 : 0; }
};

double ProvenBoundAt(const ShadowValue& leaf, double bound, int64_t i) {
  if (leaf.is_estimated) return kInfinity;
  return leaf.proven_bound.shape().IsValid() ? Doubles(leaf.proven_bound)[i] : bound;
}

bool SameSpecial(double a, double b) { return (std::isnan(a) && std::isnan(b)) || a == b; }

// Returns the ULP of the larger value, so that a wrong value beside 0 has an error of some millions of ULP.
double UnitOf(const FloatPrecision& precision, double a, double b) {
  const double magnitude = std::max(std::isfinite(a) ? std::fabs(a) : 0, std::isfinite(b) ? std::fabs(b) : 0);
  return ReportedUlp(precision, magnitude);
}

// A result and the declared value of the shadow run, in the wide type; invalid unless they are floats.
struct WidePair {
  Literal got, declared;
};

absl::StatusOr<WidePair> WidePairOf(const ShadowValue& leaf, const Literal& got) {
  WidePair pair;
  if (!leaf.is_float()) return pair;
  HLO_ASSIGN_OR_RETURN(pair.got, ToWide(got));
  HLO_ASSIGN_OR_RETURN(pair.declared, ToWide(leaf.declared));
  return pair;
}

// Returns the distance of the result from the declared value, which is legal even if its error exceeds the
// bound: bounds that trials have tightened are estimates.
double DistanceFromDeclared(const WidePair& pair, int64_t i) {
  double distance = 0;
  if (pair.got.type() == ElementType::kC128) {
    const auto a = pair.got.span<std::complex<double>>()[i],
               b = pair.declared.span<std::complex<double>>()[i];
    distance = a == b ? 0 : std::abs(a - b);
  } else {
    const double a = Doubles(pair.got)[i], b = Doubles(pair.declared)[i];
    distance = SameSpecial(a, b) ? 0 : std::fabs(a - b);
  }
  return std::isnan(distance) ? kInfinity : distance;
}

// True if an overflow gives the result: an infinity or, in types without one, a NaN or the largest number.
bool IsOverflow(const FloatPrecision& precision, double got, double wide) {
  if (precision.has_infinity) return std::isinf(got) && std::signbit(got) == std::signbit(wide);
  return std::isnan(got) || std::fabs(got) == precision.largest;
}

// Judges an element that may overflow or is infinite by the bound that it has otherwise. A number beside an
// infinity is legal only if the type is as wide as the wide value, which may have overflowed just beyond it.
void JudgeSpecial(const ShadowValue& leaf, const WidePair& pair, int64_t i, Distance& distance) {
  constexpr double kBorderUlps = 16;
  distance.bound = Doubles(leaf.special_bound)[i];
  const FloatPrecision precision = PrecisionOf(leaf.declared.type());
  if (leaf.wide.type() == ElementType::kC128) {
    const std::complex<double> got = pair.got.span<std::complex<double>>()[i],
                               wide = leaf.wide.span<std::complex<double>>()[i];
    if (IsFinite(wide) && std::abs(wide) + distance.bound > precision.largest && !IsFinite(got))
      distance.error = 0;
    return;
  }
  const double got = Doubles(pair.got)[i], wide = Doubles(leaf.wide)[i];
  if (std::isinf(wide) && std::isfinite(got) && std::signbit(got) == std::signbit(wide) &&
      precision.largest == DBL_MAX) {
    const double ulp = UlpAt(precision, precision.largest);
    distance.error = precision.largest - std::fabs(got) + ulp;
    distance.bound = std::max(distance.bound, kBorderUlps * ulp);
  } else if (std::isfinite(wide) && std::fabs(wide) + distance.bound > precision.largest &&
             IsOverflow(precision, got, wide)) {
    distance.error = 0;
  }
}

// Returns the distance of a result from the wide value and its low part. Unless the value is exact, legal
// evaluations may give a number that is not finite other infinite and NaN parts.
double ComplexDistance(std::complex<double> got, std::complex<double> wide, std::complex<double> low,
                       bool is_exact) {
  if (IsFinite(got) != IsFinite(wide)) return kInfinity;
  if (IsFinite(got)) return std::abs((got - wide) - low);
  const bool are_same = SameSpecial(got.real(), wide.real()) && SameSpecial(got.imag(), wide.imag());
  return are_same || !is_exact ? 0 : kInfinity;
}

Distance DistanceAt(const ShadowValue& leaf, const Literal& got, const WidePair& wide, int64_t i) {
  Distance distance{.bound = leaf.is_exact() ? 0 : Doubles(leaf.bound)[i]};
  distance.proven_bound = ProvenBoundAt(leaf, distance.bound, i);
  if (!leaf.is_float()) {
    const int64_t width = ByteCount(got.type());
    const std::byte *a = got.data() + i * width, *b = leaf.declared.data() + i * width;
    distance.error = std::equal(a, a + width, b) ? 0 : 1;
    distance.is_outside = distance.error != 0 && distance.bound == 0;
    distance.is_outside_proven = distance.error != 0 && distance.proven_bound == 0;
    // Both predicates are known values.
    distance.is_unbounded = distance.bound > 0 && got.type() != ElementType::kPred;
    distance.is_declared = distance.error == 0;
    return distance;
  }
  const FloatPrecision precision = PrecisionOf(leaf.declared.type());
  if (leaf.wide.type() == ElementType::kC128) {
    const std::complex<double> a = wide.got.span<std::complex<double>>()[i],
                               b = leaf.wide.span<std::complex<double>>()[i];
    const std::complex<double> low =
        leaf.low.shape().IsValid() ? leaf.low.span<std::complex<double>>()[i] : 0;
    distance.error = ComplexDistance(a, b, low, leaf.is_exact());
    distance.ulp = IsFinite(std::abs(b)) ? UlpAt(precision, std::abs(b)) : 1;
    distance.unit = UnitOf(precision, std::abs(a), std::abs(b));
  } else {
    const double a = Doubles(wide.got)[i], b = Doubles(leaf.wide)[i];
    const double low = leaf.low.shape().IsValid() ? Doubles(leaf.low)[i] : 0;
    distance.error = SameSpecial(a, b) ? std::fabs(low) : std::fabs((a - b) - low);
    if (std::isnan(distance.error)) distance.error = kInfinity;
    distance.ulp = std::isfinite(b) ? UlpAt(precision, b) : 1;
    distance.unit = UnitOf(precision, a, b);
  }
  if (leaf.special_bound.shape().IsValid() && std::isinf(distance.bound))
    JudgeSpecial(leaf, wide, i, distance);
  // The wide value itself is rounded, and subnormal numbers may be flushed.
  const double rounding = distance.ulp / 2 + precision.least_normal;
  distance.bound += rounding;
  distance.proven_bound += rounding;
  const double from_declared = DistanceFromDeclared(wide, i);
  const double least = std::min(distance.error, from_declared);
  distance.is_unbounded = std::isinf(distance.bound);
  distance.is_declared = from_declared == 0;
  distance.is_outside = least > distance.bound;
  distance.is_outside_proven = least > distance.proven_bound;
  return distance;
}

// True if a difference is larger than results of other implementations are allowed to have.
bool IsNotable(const Literal& got, const Distance& distance, double wide) {
  if (!IsFloatOrComplex(got.type())) return distance.error != 0;
  const hlo::CompareRule rule = DefaultCompareRule(got.type());
  return distance.error > rule.abs + rule.rel * std::fabs(wide);
}

double WideAt(const ShadowValue& leaf, int64_t i) {
  if (!leaf.is_float()) return 0;
  return leaf.wide.type() == ElementType::kC128 ? std::abs(leaf.wide.span<std::complex<double>>()[i])
                                                : Doubles(leaf.wide)[i];
}

void Fill(OutputVerdict& verdict, const ShadowValue& leaf, const Literal& got, const Distance& distance,
          int64_t i) {
  verdict.index = IndexOf(got, i);
  verdict.got = ElementText(got, i);
  verdict.declared = ElementText(leaf.declared, i);
  verdict.is_discrete = !leaf.is_float();
  verdict.wide = WideAt(leaf, i);
  verdict.error_ulp = distance.error / distance.unit;
  verdict.bound_ulp = (distance.is_outside_proven ? distance.proven_bound : distance.bound) / distance.unit;
}

// True if an element is farther from the wide value than other implementations are allowed to be.
bool HasNotableDifference(const ShadowValue& leaf, const Literal& got) {
  const absl::StatusOr<WidePair> wide = WidePairOf(leaf, got);
  for (int64_t i = 0; wide.ok() && i < got.element_count(); ++i) {
    if (IsWithinSizes(leaf.declared, i) && IsNotable(got, DistanceAt(leaf, got, *wide, i), WideAt(leaf, i)))
      return true;
  }
  return false;
}

// Returns the ill-conditioned instruction with the largest error of those that a leaf of the result depends
// on.
const InstructionError* WorstCause(const ShadowReport& report, const Module& module, int64_t leaf) {
  const auto ancestors = Dataflow(module).Ancestors({module.entry()->root(), leaf});
  for (const InstructionError* error : WorstConditions(report, report.errors.size())) {
    if (ancestors.contains(error->instruction)) return error;
  }
  return nullptr;
}

std::string_view Name(RoundingVerdict verdict) {
  switch (verdict) {
    case RoundingVerdict::kExplained:
      return "explained by rounding";
    case RoundingVerdict::kIllConditioned:
      return "ill-conditioned";
    case RoundingVerdict::kNotJudged:
      return "not judged";
    case RoundingVerdict::kBeyondEstimate:
      return "beyond the estimated bound";
    case RoundingVerdict::kBug:
      return "not explained: a bug";
  }
  return "";
}

}  // namespace

bool IsUnexplained(const OutputVerdict& verdict) {
  return verdict.verdict == RoundingVerdict::kBeyondEstimate || verdict.verdict == RoundingVerdict::kBug;
}

bool IsExplained(const OutputVerdict& verdict) {
  return verdict.verdict == RoundingVerdict::kExplained ||
         verdict.verdict == RoundingVerdict::kIllConditioned;
}

OutputVerdict JudgeArray(const ShadowValue& leaf, const Literal& got) {
  OutputVerdict verdict;
  const absl::StatusOr<WidePair> wide = WidePairOf(leaf, got);
  if (!Compatible(leaf.declared.shape(), got.shape()) || !wide.ok()) {
    verdict.verdict = RoundingVerdict::kBug;
    verdict.problem = fmt::format("it is {}, not {}", ToString(got.shape()), ToString(leaf.declared.shape()));
    return verdict;
  }
  bool has_bound = false, differs = false;
  double worst = -1;
  int shown_severity = 0;
  for (int64_t i = 0; i < got.element_count(); ++i) {
    if (!IsWithinSizes(leaf.declared, i)) continue;
    const Distance distance = DistanceAt(leaf, got, *wide, i);
    verdict.unbounded += std::isinf(distance.bound) || (!leaf.is_float() && distance.bound > 0) ? 1 : 0;
    has_bound = has_bound || !distance.is_unbounded;
    differs = differs || !distance.is_declared;
    verdict.outside += distance.is_outside ? 1 : 0;
    verdict.outside_proven += distance.is_outside_proven ? 1 : 0;
    const double ratio = distance.error == 0          ? 0
                         : std::isinf(distance.bound) ? 0.5
                                                      : distance.error / std::max(distance.bound, 1e-300);
    // Elements that agree with the declared value are legal, so those beyond their bounds are shown first.
    const int severity = distance.severity();
    if (severity == shown_severity ? ratio <= worst : severity < shown_severity) continue;
    worst = ratio;
    shown_severity = severity;
    Fill(verdict, leaf, got, distance, i);
  }
  if (verdict.outside > 0)
    verdict.verdict = verdict.outside_proven > 0 ? RoundingVerdict::kBug : RoundingVerdict::kBeyondEstimate;
  else if (differs && !has_bound)
    verdict.verdict = RoundingVerdict::kNotJudged;
  return verdict;
}

std::vector<OutputVerdict> Judge(const ShadowReport& report, const Module& module, const Literal& got) {
  ShadowValue result = report.result;
  const std::vector<ShadowValue*> leaves = ShadowLeaves(result);
  const std::vector<LiteralLeaf> others = ArrayLeaves(got);
  const std::vector<Leaf> numbers = LeavesOf(got);
  std::vector<OutputVerdict> verdicts;
  for (size_t k = 0; k < leaves.size() && k < others.size(); ++k) {
    OutputVerdict verdict = JudgeArray(*leaves[k], *others[k].value);
    verdict.key = others[k].key;
    const bool is_notable = !IsUnexplained(verdict) && HasNotableDifference(*leaves[k], *others[k].value);
    verdict.cause = is_notable ? WorstCause(report, module, numbers[k].leaf) : nullptr;
    if (verdict.cause != nullptr && verdict.verdict == RoundingVerdict::kExplained)
      verdict.verdict = RoundingVerdict::kIllConditioned;
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

std::string ToString(const OutputVerdict& verdict) {
  std::string text = fmt::format("output {}: ", verdict.key);
  if (verdict.verdict != RoundingVerdict::kIllConditioned) text += Name(verdict.verdict);
  if (verdict.verdict == RoundingVerdict::kNotJudged)
    text += verdict.is_discrete ? ": every element may differ" : ": no element has a bound";
  if (verdict.cause != nullptr) {
    text += fmt::format("{}ill-conditioned at %{} (condition number {:.3g})",
                        verdict.verdict == RoundingVerdict::kNotJudged ? "; " : "",
                        verdict.cause->instruction->name(), verdict.cause->condition);
  }
  if (!verdict.problem.empty()) return text + ": " + verdict.problem + "\n";
  if (verdict.outside > 0) text += fmt::format("; {} beyond the bound", Counted(verdict.outside, "element"));
  if (verdict.unbounded > 0 && verdict.verdict != RoundingVerdict::kNotJudged)
    text += fmt::format("; {} {}", Counted(verdict.unbounded, "element"),
                        verdict.is_discrete ? "may differ" : "without a bound");
  if (verdict.is_discrete)
    return text + fmt::format("\n  at {{{}}}: {}, here {}\n", fmt::join(verdict.index, ","), verdict.got,
                              verdict.declared);
  const std::string bound =
      std::isfinite(verdict.bound_ulp) ? fmt::format("bound {:.3g} ULP", verdict.bound_ulp) : "no bound";
  return text + fmt::format("\n  at {{{}}}: {}, here {}, exactly {:.17g}: an error of {:.3g} ULP, {}\n",
                            fmt::join(verdict.index, ","), verdict.got, verdict.declared, verdict.wide,
                            verdict.error_ulp, bound);
}

nlohmann::ordered_json ToJson(const OutputVerdict& verdict) {
  nlohmann::ordered_json json = {{"output", verdict.key},          {"verdict", Name(verdict.verdict)},
                                 {"index", verdict.index},         {"got", verdict.got},
                                 {"declared", verdict.declared},   {"exact", verdict.wide},
                                 {"error_ulp", verdict.error_ulp}, {"bound_ulp", verdict.bound_ulp},
                                 {"outside", verdict.outside},     {"outside_proven", verdict.outside_proven},
                                 {"unbounded", verdict.unbounded}};
  if (!verdict.problem.empty()) json["problem"] = verdict.problem;
  if (verdict.cause != nullptr)
    json.update(
        {{"instruction", verdict.cause->instruction->name()}, {"condition", verdict.cause->condition}});
  return json;
}

}  // namespace hlo::debug
