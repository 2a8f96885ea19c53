#include "hlo_run/compare.h"

#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

#include "absl/strings/charconv.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "base/append.h"
#include "base/counted.h"
#include "fmt/format.h"
#include "types/dispatch.h"

namespace hlo {
namespace {

// A real number and its ordinal among the representable values; both zeros have ordinal 0.
struct Part {
  double value;
  int64_t number;
};

Part PartOf(float v) {
  const auto bits = std::bit_cast<uint32_t>(v);
  const int64_t magnitude = bits & 0x7fffffffu;
  return {v, bits >> 31 ? -magnitude : magnitude};
}
Part PartOf(double v) {
  const auto bits = std::bit_cast<uint64_t>(v);
  const auto magnitude = static_cast<int64_t>(bits & 0x7fffffffffffffffu);
  return {v, bits >> 63 ? -magnitude : magnitude};
}
template <class Bits, const FloatFormat& kFormat>
Part PartOf(const SmallFloat<Bits, kFormat>& v) {
  if constexpr (kFormat.special == Special::kScale) {
    return {v.ToFloat(), v.bits};
  } else {
    constexpr int kSign = kFormat.bits() - 1;
    const int64_t magnitude = v.bits & ((1u << kSign) - 1);
    return {v.ToFloat(), v.bits >> kSign & 1 ? -magnitude : magnitude};
  }
}

struct Gap {
  bool same = false;  // True if the rule `exact` holds.
  bool special = false;
  uint64_t ulps = 0;
  double abs = 0;
};

Gap PartGap(Part got, Part want) {
  if (std::isnan(got.value) && std::isnan(want.value)) return {.same = true};
  Gap gap;
  gap.same = got.value == want.value && std::signbit(got.value) == std::signbit(want.value);
  gap.special = got.value != want.value && !(std::isfinite(got.value) && std::isfinite(want.value));
  const auto a = static_cast<uint64_t>(got.number), b = static_cast<uint64_t>(want.number);
  gap.ulps = got.number > want.number ? a - b : b - a;
  gap.abs = got.value == want.value ? 0 : std::abs(got.value - want.value);
  return gap;
}

template <class T>
Gap GapOf(const T& got, const T& want) {
  if constexpr (std::is_integral_v<T>) {
    const double apart = std::abs(static_cast<double>(got) - static_cast<double>(want));
    return {.same = got == want, .abs = apart};
  } else {
    return PartGap(PartOf(got), PartOf(want));
  }
}
template <class T>
Gap GapOf(const std::complex<T>& got, const std::complex<T>& want) {
  const Gap re = PartGap(PartOf(got.real()), PartOf(want.real()));
  const Gap im = PartGap(PartOf(got.imag()), PartOf(want.imag()));
  return {.same = re.same && im.same,
          .special = re.special || im.special,
          .ulps = std::max(re.ulps, im.ulps),
          .abs = std::hypot(re.abs, im.abs)};
}

template <class T>
double Magnitude(const T& value) {
  if constexpr (std::is_integral_v<T>)
    return std::abs(static_cast<double>(value));
  else
    return std::abs(PartOf(value).value);
}
// Returns the modulus of the finite parts. Infinite and NaN parts already match and add no tolerance.
template <class T>
double Magnitude(const std::complex<T>& value) {
  const auto finite = [](double x) { return std::isfinite(x) ? x : 0; };
  return std::hypot(finite(value.real()), finite(value.imag()));
}

bool Passes(const Gap& gap, double want, const CompareRule& rule, bool is_inexact) {
  if (gap.same) return true;
  if (gap.special || !is_inexact) return false;
  switch (rule.kind) {
    case CompareRule::Kind::kExact:
      return false;
    case CompareRule::Kind::kUlp:
      return gap.ulps <= rule.ulp;
    case CompareRule::Kind::kClose:
      return gap.abs <= rule.abs + rule.rel * want;
  }
  return false;
}

double Severity(const Gap& gap, double want, const CompareRule& rule) {
  if (gap.special) return std::numeric_limits<double>::infinity();
  if (rule.kind != CompareRule::Kind::kClose)
    return static_cast<double>(gap.ulps) + (gap.ulps == 0 ? gap.abs : 0);
  return gap.abs / std::max(rule.abs + rule.rel * want, std::numeric_limits<double>::min());
}

// Iterates over the elements within the run-time sizes.
class ElementWalk {
 public:
  explicit ElementWalk(const Literal& literal) : literal_(literal), index_(literal.rank(), 0) {
    done_ = literal.element_count() == 0;
    for (int64_t d = 0; d < literal.rank(); ++d) done_ = done_ || literal.dynamic_size(d) == 0;
  }
  bool done() const { return done_; }
  int64_t linear() const { return linear_; }
  void Next() {
    if (!literal_.has_dynamic_sizes()) {
      done_ = ++linear_ == literal_.element_count();
      return;
    }
    int64_t d = literal_.rank() - 1;
    while (d >= 0 && ++index_[d] == literal_.dynamic_size(d)) index_[d--] = 0;
    done_ = d < 0;
    linear_ = 0;
    for (int64_t i = 0; i < literal_.rank(); ++i) linear_ = linear_ * literal_.dim(i) + index_[i];
  }

 private:
  const Literal& literal_;
  std::vector<int64_t> index_;
  int64_t linear_ = 0;
  bool done_ = false;
};

std::vector<int64_t> IndexOf(const Literal& literal, int64_t linear) {
  std::vector<int64_t> index(literal.rank());
  for (int64_t d = literal.rank() - 1; d >= 0; --d) {
    index[d] = linear % literal.dim(d);
    linear /= literal.dim(d);
  }
  return index;
}

ElementError Describe(const Literal& got, const Literal& want, int64_t linear, const Gap& gap,
                      double magnitude) {
  ElementError error{.index = IndexOf(want, linear), .special = gap.special, .abs = gap.abs};
  AppendElement(got, linear, false, {}, &error.got);
  AppendElement(want, linear, false, {}, &error.want);
  if (!gap.special && (IsFloat(want.type()) || IsComplex(want.type()))) error.ulps = gap.ulps;
  error.rel = magnitude > 0 ? gap.abs / magnitude : gap.abs > 0 ? std::numeric_limits<double>::infinity() : 0;
  return error;
}

template <class T>
void CompareElements(const Literal& got, const Literal& want, const CompareRule& rule, int64_t max_mismatches,
                     CompareReport* report) {
  constexpr bool kInexact = !std::is_integral_v<T>;
  const T* g = got.span<T>().data();
  const T* w = want.span<T>().data();
  double worst_severity = -1;
  int64_t worst = 0;
  for (ElementWalk walk(want); !walk.done(); walk.Next()) {
    const int64_t i = walk.linear();
    ++report->element_count;
    if (std::memcmp(g + i, w + i, sizeof(T)) == 0) continue;
    const Gap gap = GapOf(g[i], w[i]);
    if (gap.same) continue;
    const double magnitude = Magnitude(w[i]);
    if (const double severity = Severity(gap, magnitude, rule); severity > worst_severity) {
      worst_severity = severity;
      worst = i;
    }
    if (Passes(gap, magnitude, rule, kInexact)) continue;
    ++report->mismatch_count;
    if (static_cast<int64_t>(report->first.size()) < max_mismatches) {
      report->first.push_back(Describe(got, want, i, gap, magnitude));
    }
  }
  if (worst_severity >= 0) {
    report->worst = Describe(got, want, worst, GapOf(g[worst], w[worst]), Magnitude(w[worst]));
  }
}

std::string DynamicSizes(const Literal& literal) {
  std::string text = "[";
  for (int64_t d = 0; d < literal.rank(); ++d) {
    Append(&text, "{}{}", d > 0 ? "," : "", literal.dynamic_size(d));
  }
  return text + "]";
}

void AppendError(const ElementError& error, std::string* out) {
  Append(out, "at {{{}}}: got {}, want {}", fmt::join(error.index, ","), error.got, error.want);
  if (error.special) return;
  out->append(" (");
  if (error.ulps) Append(out, "{} ulp apart, ", *error.ulps);
  Append(out, "abs {:.3g}, rel {:.3g})", error.abs, error.rel);
}

void AppendLeaves(const Literal& literal, const std::string& prefix, std::vector<LiteralLeaf>* out) {
  for (size_t i = 0; i < literal.elements().size(); ++i) {
    const Literal& element = literal.element(static_cast<int64_t>(i));
    const std::string key = prefix.empty() ? fmt::format("{}", i) : fmt::format("{}.{}", prefix, i);
    if (element.shape().IsTuple())
      AppendLeaves(element, key, out);
    else if (element.shape().IsArray())
      out->push_back({key, &element});
  }
}

bool ParseNumber(absl::string_view text, double* value) {
  return absl::SimpleAtod(text, value) && std::isfinite(*value) && *value >= 0;
}

}  // namespace

std::string ToString(const CompareRule& rule) {
  switch (rule.kind) {
    case CompareRule::Kind::kExact:
      return "exact";
    case CompareRule::Kind::kUlp:
      return fmt::format("within {}ulp", rule.ulp);
    case CompareRule::Kind::kClose:
      return fmt::format("within abs {} rel {}", rule.abs, rule.rel);
  }
  return "";
}

CompareRule DefaultCompareRule(ElementType type) {
  const ElementType part = ComponentType(type);
  if (!IsFloat(part)) return CompareRule::Exact();
  const double epsilon = DispatchType(part, []<ElementType kType>() {
    using T = Native<kType>;
    if constexpr (std::is_floating_point_v<T>)
      return static_cast<double>(std::numeric_limits<T>::epsilon());
    else if constexpr (requires { T::format(); })
      return std::ldexp(1.0, -T::format().mantissa_bits);
    else
      return 0.0;
  });
  const double tolerance = std::max(1e-4, 4 * epsilon);
  return CompareRule::Close(part == ElementType::kF64 ? 1e-9 : tolerance,
                            part == ElementType::kF64 ? 1e-9 : tolerance);
}

absl::StatusOr<CompareRule> ParseCompareRule(std::string_view text) {
  const std::vector<absl::string_view> words =
      absl::StrSplit(absl::string_view(text.data(), text.size()), absl::ByAnyChar(" \t"), absl::SkipEmpty());
  if (words.size() == 1 && words[0] == "exact") return CompareRule::Exact();
  if (words.size() >= 2 && words[0] == "within") {
    CompareRule rule;
    absl::string_view count = words[1];
    const bool joined = words.size() == 2 && absl::ConsumeSuffix(&count, "ulp");
    const bool apart = words.size() == 3 && words[2] == "ulp";
    if ((joined || apart) && absl::SimpleAtoi(count, &rule.ulp)) return CompareRule::Ulp(rule.ulp);
    if (words.size() == 5 && words[1] == "abs" && words[3] == "rel" && ParseNumber(words[2], &rule.abs) &&
        ParseNumber(words[4], &rule.rel)) {
      return CompareRule::Close(rule.abs, rule.rel);
    }
  }
  return absl::InvalidArgumentError(fmt::format(
      "'{}' is not a comparison rule; expected `exact`, `within 2ulp` or `within abs 1e-6 rel 1e-5`", text));
}

CompareReport CompareArrays(const Literal& got, const Literal& want, const CompareRule& rule,
                            int64_t max_mismatches) {
  CompareReport report{.rule = rule};
  if (!got.shape().IsArray() || !want.shape().IsArray() || got.type() != want.type() ||
      got.dims() != want.dims()) {
    report.problem = fmt::format("is {}, expected {}", ToString(got.shape()), ToString(want.shape()));
    return report;
  }
  if (DynamicSizes(got) != DynamicSizes(want)) {
    report.problem =
        fmt::format("has the run-time sizes {}, expected {}", DynamicSizes(got), DynamicSizes(want));
    return report;
  }
  DispatchType(want.type(), [&]<ElementType kType>() {
    CompareElements<Native<kType>>(got, want, rule, max_mismatches, &report);
  });
  return report;
}

std::string ToString(const CompareReport& report, int64_t indent) {
  const std::string margin(indent, ' ');
  const std::string name = report.key.empty() ? "the value" : fmt::format("output {}", report.key);
  if (!report.problem.empty()) return fmt::format("{}{} {}\n", margin, name, report.problem);
  if (report.ok()) {
    std::string text = fmt::format("{}{}: {} {} ({})", margin, name, Counted(report.element_count, "element"),
                                   report.element_count == 1 ? "agrees" : "agree", ToString(report.rule));
    if (report.worst) {
      text += "; farthest ";
      AppendError(*report.worst, &text);
    }
    return text + "\n";
  }
  std::string text =
      fmt::format("{}{}: {} ({})\n", margin, name,
                  CountedDifferences(report.mismatch_count, report.element_count), ToString(report.rule));
  for (const ElementError& error : report.first) {
    text += margin + "  ";
    AppendError(error, &text);
    text += '\n';
  }
  if (report.mismatch_count > static_cast<int64_t>(report.first.size()) && report.worst) {
    text += margin + "  worst ";
    AppendError(*report.worst, &text);
    text += '\n';
  }
  return text;
}

std::vector<LiteralLeaf> ArrayLeaves(const Literal& literal) {
  std::vector<LiteralLeaf> leaves;
  if (literal.shape().IsArray())
    leaves.push_back({"0", &literal});
  else
    AppendLeaves(literal, "", &leaves);
  return leaves;
}

}  // namespace hlo
