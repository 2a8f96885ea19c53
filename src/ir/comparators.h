#pragma once
// Recognises the forms of sort comparators.

#include <optional>
#include <utility>
#include <vector>

#include "hlo_run/module.h"

namespace hlo {

// True if a compare instruction orders floats totally: -NaN < -inf < ... < -0 < 0 < ... < inf < NaN.
inline bool IsTotalOrder(const Instruction& compare) {
  return compare.Get<attr::order>() == ComparisonOrder::kTotal ||
         compare.Get<attr::type>() == ComparisonType::kTotalOrder;
}

// Collects the keys of a lexicographic order, most significant first: `a < b`, or `a < b or (a == b and
// ...)`, or the same as a select. `find_key(strict)` returns the key of a strict comparison, if it is one;
// `is_tie(equal, strict, key)` returns true if `equal` holds where the strict comparison leaves a tie.
template <class Key, class FindKey, class IsTie>
class LexicographicOrder {
 public:
  static constexpr size_t kMaxKeys = 16;

  LexicographicOrder(FindKey find_key, IsTie is_tie) : find_key_(find_key), is_tie_(is_tie) {}

  // Returns nullopt if the comparator has another form.
  std::optional<std::vector<Key>> Keys(const Instruction& before) {
    keys_.clear();
    if (!Collect(before)) return std::nullopt;
    return std::move(keys_);
  }

 private:
  bool Collect(const Instruction& before) {
    if (keys_.size() >= kMaxKeys) return false;
    if (std::optional<Key> last = find_key_(before); last.has_value()) {
      keys_.push_back(*std::move(last));
      return true;
    }
    if (before.opcode() == Opcode::kSelect)
      return CollectBoth(*before.operand(2), *before.operand(0), *before.operand(1));
    return before.opcode() == Opcode::kOr && CollectEither(before);
  }

  bool CollectEither(const Instruction& either) {
    const size_t count = keys_.size();
    for (int64_t i : {0, 1}) {
      const Instruction &strict = *either.operand(i), &both = *either.operand(1 - i);
      if (both.opcode() != Opcode::kAnd) continue;
      for (int64_t k : {0, 1}) {
        if (CollectBoth(strict, *both.operand(k), *both.operand(1 - k))) return true;
        keys_.erase(keys_.begin() + static_cast<std::ptrdiff_t>(count), keys_.end());
      }
    }
    return false;
  }

  bool CollectBoth(const Instruction& strict, const Instruction& tie, const Instruction& rest) {
    std::optional<Key> first = find_key_(strict);
    if (!first.has_value() || !is_tie_(tie, strict, *first)) return false;
    keys_.push_back(*std::move(first));
    return Collect(rest);
  }

  FindKey find_key_;
  IsTie is_tie_;
  std::vector<Key> keys_;
};

template <class Key, class FindKey, class IsTie>
std::optional<std::vector<Key>> LexicographicKeys(const Instruction& sort, FindKey find_key, IsTie is_tie) {
  return LexicographicOrder<Key, FindKey, IsTie>(find_key, is_tie).Keys(*sort.Get<attr::to_apply>()->root());
}

}  // namespace hlo
