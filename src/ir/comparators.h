#pragma once
// Recognises sort comparators that order by keys.

#include <optional>
#include <vector>

#include "hlo_run/module.h"

namespace hlo {

// True if a compare instruction orders floats totally: -NaN < -inf < ... < -0 < 0 < ... < inf < NaN.
inline bool IsTotalOrder(const Instruction& compare) {
  return compare.Get<attr::order>() == ComparisonOrder::kTotal ||
         compare.Get<attr::type>() == ComparisonType::kTotalOrder;
}

// A key of a lexicographic order: a function of the elements of one operand of the sort.
struct ComparatorKey {
  int64_t operand = 0;
  bool descending = false;
  // Compares the function of one element, operand(0), with that of the other, by < or >.
  const Instruction* compare = nullptr;
  // The parameter that operand(0) of the comparison reads.
  const Instruction* parameter = nullptr;
  // The comparison by == that leaves the decision to the next key, null for the last key. It compares the
  // same function of both elements, which is not always that of `compare`.
  const Instruction* tie = nullptr;
};

// Returns the keys of a lexicographic comparator, most significant first: `a < b`, or `a < b or (a == b and
// ...)`, or the same as a select. Returns nullopt for other comparators. `sort` is any instruction that calls
// one computation, a comparator with two parameters for each operand.
std::optional<std::vector<ComparatorKey>> MatchComparator(const Instruction& sort);

// True if both values are the same function of one parameter each.
bool AreSameFunction(const Instruction& a, const Instruction& b);

}  // namespace hlo
