#pragma once
/// \file
/// Compares values under a tolerance and reports the mismatches.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo_run/literal.h"

#pragma GCC visibility push(default)
namespace hlo {

/// A tolerance. Under every rule a NaN equals any NaN, and integers and pred must be equal.
struct CompareRule {
  enum class Kind : uint8_t {
    kExact,  ///< Equal values; zeros must agree in sign.
    kUlp,    ///< At most `ulp` ULPs apart, each part of a complex number; infinities must be equal.
    kClose,  ///< got - want| <= abs + rel * |want|, for complex numbers by modulus; infinities must be equal.
  };
  Kind kind = Kind::kExact;
  uint64_t ulp = 0;
  double abs = 0;
  double rel = 0;

  static CompareRule Exact() { return {}; }
  static CompareRule Ulp(uint64_t ulp) { return {.kind = Kind::kUlp, .ulp = ulp}; }
  static CompareRule Close(double abs, double rel) { return {.kind = Kind::kClose, .abs = abs, .rel = rel}; }
};
/// Prints a rule as `exact`, `within 2ulp` or `within abs 1e-6 rel 2e-6`; ParseCompareRule reads this form.
std::string ToString(const CompareRule& rule);
absl::StatusOr<CompareRule> ParseCompareRule(std::string_view text);
/// Returns the rule for results of another implementation, whose order of additions is unknown. Integers must
/// be equal. f64 may differ by 1e-9, and other floats by the larger of 1e-4 and four epsilons of their type,
/// each as an absolute and a relative error.
CompareRule DefaultCompareRule(ElementType type);

/// The error of one element.
struct ElementError {
  std::vector<int64_t> index;
  std::string got;
  std::string want;
  bool special = false;  ///< One value is a NaN or an infinity and the other is not equal to it.
  /// The distance in ULPs of floats, for complex numbers of the farther part; empty if `special`.
  std::optional<uint64_t> ulps;
  double abs = 0;
  double rel = 0;
};

/// The comparison of two arrays. The leaves of tuples are compared one by one.
struct CompareReport {
  std::string key;  ///< The shape index of the leaf: "0", "1.0"; "" for an array.
  /// A difference of shapes or run-time sizes, which prevents the comparison of elements.
  std::string problem;
  CompareRule rule;
  int64_t element_count = 0;
  int64_t mismatch_count = 0;
  std::optional<ElementError>
      worst;  ///< The largest error of all elements that differ, including those within tolerance.
  std::vector<ElementError> first;  ///< The first mismatches.

  bool ok() const { return problem.empty() && mismatch_count == 0; }
};
/// Prints a report in lines that are indented by `indent` spaces and end in a newline.
std::string ToString(const CompareReport& report, int64_t indent = 0);

/// Compares two arrays. Run-time sizes must be equal; elements beyond them are ignored.
CompareReport CompareArrays(const Literal& got, const Literal& want, const CompareRule& rule,
                            int64_t max_mismatches = 5);

/// An array in a value, with its key: "0" if the value is the array, "1.0" for element 0 of element 1 of a
/// tuple.
struct LiteralLeaf {
  std::string key;
  const Literal* value;
};
std::vector<LiteralLeaf> ArrayLeaves(const Literal& literal);  ///< Depth first; without tokens and opaques.

}  // namespace hlo
#pragma GCC visibility pop
