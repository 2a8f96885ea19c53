#include "plan/select/sort_keys.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "ir/comparators.h"
#include "plan/codegen/scalar_code.h"

namespace hlo::plan {
namespace {

// One side of a comparison as a function of a single parameter.
class KeySide {
 public:
  explicit KeySide(const Instruction& root) { Visit(root); }
  const Instruction* parameter() const { return is_function_ ? parameter_ : nullptr; }

 private:
  void Visit(const Instruction& instruction) {
    if (++visited_ > 64) {
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

// True if both sides are the same function of their parameters.
bool SameFunction(const Instruction& a, const Instruction& b, int* visited) {
  if (++*visited > 64 || a.opcode() != b.opcode() || a.operand_count() != b.operand_count() ||
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
    if (!SameFunction(*a.operand(i), *b.operand(i), visited)) return false;
  }
  return true;
}

// Recognises a strict comparison of the same function of both sides of one operand.
std::optional<SortKey> FindKey(const Instruction& compare, const Instruction& sort) {
  if (compare.opcode() != Opcode::kCompare || !compare.shape().IsScalar()) return std::nullopt;
  const ComparisonDirection direction = compare.Get<attr::direction>();
  if (direction != ComparisonDirection::kLt && direction != ComparisonDirection::kGt) return std::nullopt;
  const Instruction* left = KeySide(*compare.operand(0)).parameter();
  const Instruction* right = KeySide(*compare.operand(1)).parameter();
  int visited = 0;
  if (left == nullptr || right == nullptr ||
      !SameFunction(*compare.operand(0), *compare.operand(1), &visited))
    return std::nullopt;
  // The parameters come in pairs; `b < a` descends like `a > b`.
  int64_t first = left->Get<attr::number>(), second = right->Get<attr::number>();
  const bool swapped = first > second;
  if (swapped) std::swap(first, second);
  if (first % 2 != 0 || second != first + 1) return std::nullopt;
  const ElementType element = left->shape().type(), key = compare.operand(0)->shape().type();
  const int64_t operand = first / 2;
  if (!left->shape().IsScalar() || sort.operand(operand)->shape().type() != element || IsComplex(key))
    return std::nullopt;
  const std::optional<loops::ScalarFunction> code = FindUnaryCode(*compare.operand(0), *left);
  if (!code.has_value()) return std::nullopt;
  return SortKey{operand,
                 cpu::TileCode(*code),
                 {loops::LaneOf(key), (direction == ComparisonDirection::kGt) != swapped,
                  IsTotalOrder(compare) || !IsFloat(key)}};
}

// True if `equal` holds exactly where both sides of `strict` are equal.
bool IsTie(const Instruction& equal, const Instruction& strict) {
  if (equal.opcode() != Opcode::kCompare || equal.Get<attr::direction>() != ComparisonDirection::kEq ||
      IsTotalOrder(equal) != IsTotalOrder(strict))
    return false;
  const auto is_same = [](const Instruction& a, const Instruction& b) {
    int visited = 0;
    const Instruction *x = KeySide(a).parameter(), *y = KeySide(b).parameter();
    return x != nullptr && x == y && SameFunction(a, b, &visited);
  };
  const Instruction &a = *equal.operand(0), &b = *equal.operand(1);
  const Instruction &x = *strict.operand(0), &y = *strict.operand(1);
  return (is_same(a, x) && is_same(b, y)) || (is_same(a, y) && is_same(b, x));
}

}  // namespace

std::optional<std::vector<SortKey>> FindSortKeys(const Instruction& sort) {
  return LexicographicKeys<SortKey>(
      sort, [&](const Instruction& strict) { return FindKey(strict, sort); },
      [](const Instruction& equal, const Instruction& strict, SortKey&) { return IsTie(equal, strict); });
}

}  // namespace hlo::plan
