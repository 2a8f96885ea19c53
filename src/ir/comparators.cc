#include "ir/comparators.h"

#include <cstring>
#include <utility>

#include "hlo_run/literal.h"

namespace hlo {
namespace {

constexpr int kMaxVisited = 64;
constexpr size_t kMaxKeys = 16;

// A value as a function of a single parameter.
class UnaryFunction {
 public:
  explicit UnaryFunction(const Instruction& root) { Visit(root); }
  // Returns null if there are several parameters, or none.
  const Instruction* parameter() const { return is_function_ ? parameter_ : nullptr; }

 private:
  void Visit(const Instruction& instruction) {
    if (++visited_ > kMaxVisited) {
      is_function_ = false;
    } else if (instruction.opcode() == Opcode::kParameter) {
      is_function_ &= parameter_ == nullptr || parameter_ == &instruction;
      parameter_ = &instruction;
    }
    if (!is_function_) return;
    for (const Instruction* operand : instruction.operands()) Visit(*operand);
  }
  const Instruction* parameter_ = nullptr;
  int visited_ = 0;
  bool is_function_ = true;
};

bool AreSame(const Instruction& a, const Instruction& b, int* visited) {
  if (++*visited > kMaxVisited || a.opcode() != b.opcode() || a.operand_count() != b.operand_count() ||
      a.shape() != b.shape())
    return false;
  if (a.opcode() == Opcode::kParameter) return true;
  if (a.opcode() == Opcode::kConstant) {
    if (a.is_elided() || b.is_elided()) return false;
    const Literal &x = *a.Get<attr::literal>(), &y = *b.Get<attr::literal>();
    return std::memcmp(x.data(), y.data(), x.byte_count()) == 0;
  }
  if (a.Get<attr::direction>() != b.Get<attr::direction>() || a.Get<attr::order>() != b.Get<attr::order>() ||
      a.Get<attr::exponent_bits>() != b.Get<attr::exponent_bits>() ||
      a.Get<attr::mantissa_bits>() != b.Get<attr::mantissa_bits>())
    return false;
  for (int64_t i = 0; i < a.operand_count(); ++i) {
    if (!AreSame(*a.operand(i), *b.operand(i), visited)) return false;
  }
  return true;
}

// Collects the keys of a comparator.
class ComparatorMatcher {
 public:
  explicit ComparatorMatcher(const Instruction& sort) : sort_(sort) {}

  bool Collect(const Instruction& before) {
    if (keys_.size() >= kMaxKeys) return false;
    if (const std::optional<ComparatorKey> last = FindKey(before); last.has_value()) {
      keys_.push_back(*last);
      return true;
    }
    if (before.opcode() == Opcode::kSelect)
      return CollectBoth(*before.operand(2), *before.operand(0), *before.operand(1));
    return before.opcode() == Opcode::kOr && CollectEither(before);
  }
  std::vector<ComparatorKey> TakeKeys() { return std::move(keys_); }

 private:
  bool CollectEither(const Instruction& either) {
    const size_t count = keys_.size();
    for (int64_t i : {0, 1}) {
      const Instruction &strict = *either.operand(i), &both = *either.operand(1 - i);
      if (both.opcode() != Opcode::kAnd) continue;
      for (int64_t k : {0, 1}) {
        if (CollectBoth(strict, *both.operand(k), *both.operand(1 - k))) return true;
        keys_.resize(count);
      }
    }
    return false;
  }

  bool CollectBoth(const Instruction& strict, const Instruction& tie, const Instruction& rest) {
    std::optional<ComparatorKey> first = FindKey(strict);
    if (!first.has_value() || !IsTie(tie, strict)) return false;
    first->tie = &tie;
    keys_.push_back(*first);
    return Collect(rest);
  }

  // Recognises a strict comparison of the same function of both elements of one operand.
  std::optional<ComparatorKey> FindKey(const Instruction& compare) const {
    if (compare.opcode() != Opcode::kCompare || !compare.shape().IsScalar()) return std::nullopt;
    const ComparisonDirection direction = compare.Get<attr::direction>();
    if (direction != ComparisonDirection::kLt && direction != ComparisonDirection::kGt) return std::nullopt;
    const Instruction* left = UnaryFunction(*compare.operand(0)).parameter();
    const Instruction* right = UnaryFunction(*compare.operand(1)).parameter();
    if (left == nullptr || right == nullptr || !AreSameFunction(*compare.operand(0), *compare.operand(1)))
      return std::nullopt;
    // The parameters come in pairs; `b < a` descends like `a > b`.
    int64_t first = left->Get<attr::number>(), second = right->Get<attr::number>();
    const bool swapped = first > second;
    if (swapped) std::swap(first, second);
    if (first % 2 != 0 || second != first + 1 || first / 2 >= sort_.operand_count()) return std::nullopt;
    if (!left->shape().IsScalar() || sort_.operand(first / 2)->shape().type() != left->shape().type())
      return std::nullopt;
    return ComparatorKey{first / 2, (direction == ComparisonDirection::kGt) != swapped, &compare, left};
  }

  // True if `equal` compares the same function of the elements that `strict` compares.
  static bool IsTie(const Instruction& equal, const Instruction& strict) {
    if (equal.opcode() != Opcode::kCompare || equal.Get<attr::direction>() != ComparisonDirection::kEq)
      return false;
    const Instruction* pairs[2][2];
    for (int64_t i : {0, 1}) {
      pairs[0][i] = UnaryFunction(*equal.operand(i)).parameter();
      pairs[1][i] = UnaryFunction(*strict.operand(i)).parameter();
    }
    const auto& [a, b] = pairs[0];
    const auto& [x, y] = pairs[1];
    const bool is_pair = a != nullptr && b != nullptr && ((a == x && b == y) || (a == y && b == x));
    return is_pair && AreSameFunction(*equal.operand(0), *equal.operand(1));
  }

  const Instruction& sort_;
  std::vector<ComparatorKey> keys_;
};

}  // namespace

bool AreSameFunction(const Instruction& a, const Instruction& b) {
  int visited = 0;
  return AreSame(a, b, &visited);
}

std::optional<std::vector<ComparatorKey>> MatchComparator(const Instruction& sort) {
  ComparatorMatcher matcher(sort);
  if (!matcher.Collect(*sort.called_computations()[0]->root())) return std::nullopt;
  return matcher.TakeKeys();
}

}  // namespace hlo
