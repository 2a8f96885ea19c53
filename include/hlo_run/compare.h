#pragma once
// Are two values equal under a rule, and if not, where and by how much?

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo_run/literal.h"

#pragma GCC visibility push(default)
namespace hlo {

// NaN equals any NaN under every rule; integers and pred must always be equal.
struct CompareRule {
  enum class Kind : uint8_t {
    kExact,  // Equal, zeros by sign.
    kUlp,    // At most `ulp` representable values apart (each part of a complex); infinities must match.
    kClose,  // |got - want| <= abs + rel * |want| (complex by modulus); infinities must match.
  };
  Kind kind = Kind::kExact;
  uint64_t ulp = 0;
  double abs = 0;
  double rel = 0;

  static CompareRule Exact() { return {}; }
  static CompareRule Ulp(uint64_t ulp) { return {.kind = Kind::kUlp, .ulp = ulp}; }
  static CompareRule Close(double abs, double rel) { return {.kind = Kind::kClose, .abs = abs, .rel = rel}; }
};
// `exact`, `within 2ulp`, `within abs 1e-6 rel 2e-6`; and back.
std::string ToString(const CompareRule& rule);
absl::StatusOr<CompareRule> ParseCompareRule(std::string_view text);
// For results of another implementation whose order of additions is not known: integers exactly, f64 within 1e-9, other
// floats within 1e-4 or four epsilons of their type.
CompareRule DefaultCompareRule(ElementType type);

// How far one element is off.
struct ElementError {
  std::vector<int64_t> index;
  std::string got;
  std::string want;
  bool special = false;          // One of the two is a NaN or an infinity and the other is not the same.
  std::optional<uint64_t> ulps;  // Floats (the farther part of a complex); not where `special`.
  double abs = 0;
  double rel = 0;
};

// The comparison of two values. Leaves of tuples are compared one by one.
struct CompareReport {
  std::string key;      // Which leaf: "0", "1.0"; "" for an array.
  std::string problem;  // Shapes or run-time sizes that differ; then nothing else was compared.
  CompareRule rule;
  int64_t element_count = 0;
  int64_t mismatch_count = 0;
  std::optional<ElementError>
      worst;  // Of all elements that are not the same, also those that the rule lets pass.
  std::vector<ElementError> first;  // The first mismatches.

  bool ok() const { return problem.empty() && mismatch_count == 0; }
};
// Some lines, indented by `indent` blanks, each ending in a newline.
std::string ToString(const CompareReport& report, int64_t indent = 0);

// Two arrays. Run-time sizes must be equal too, and elements beyond them are not looked at.
CompareReport CompareArrays(const Literal& got, const Literal& want, const CompareRule& rule,
                            int64_t max_mismatches = 5);

// The arrays inside a value with their keys, in order: "0" for an array, "1.0" for the first element of the
// second element of a tuple. Tokens and opaques are left out.
struct LiteralLeaf {
  std::string key;
  const Literal* value;
};
std::vector<LiteralLeaf> ArrayLeaves(const Literal& literal);

}  // namespace hlo
#pragma GCC visibility pop
