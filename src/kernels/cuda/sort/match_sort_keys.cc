#include "kernels/cuda/sort/match_sort_keys.h"

#include <cmath>
#include <utility>

#include "ir/comparators.h"
#include "types/wide.h"

namespace hlo::cuda {
namespace {

constexpr int kDeepest = 16;

// One side of a comparison: a parameter, possibly with zeros or NaNs canonicalised.
struct Side {
  const Instruction* parameter = nullptr;
  bool zeros_equal = false, nans_equal = false;
  // A float bit-cast to an integer with negative values' magnitude inverted, which gives the total order.
  bool as_integer = false;
  bool SameForm(const Side& other) const {
    return zeros_equal == other.zeros_equal && nans_equal == other.nans_equal &&
           as_integer == other.as_integer;
  }
};

std::optional<double> ConstantOf(const Instruction& value) {
  if (value.opcode() != Opcode::kConstant || value.is_elided() || !value.shape().IsScalar() ||
      !IsFloat(value.shape().type()))
    return std::nullopt;
  return Loader<double>(value.shape().type())(value.Get<attr::literal>()->data(), 0);
}

std::optional<Side> SideOf(const Instruction& value, int depth = 0);

// Matches select(p == 0, 0, x) and select(p != p, nan, x), where x depends on p only.
std::optional<Side> SelectedSide(const Instruction& select, int depth) {
  std::optional<Side> side = SideOf(*select.operand(2), depth);
  const Instruction& test = *select.operand(0);
  const std::optional<double> constant = ConstantOf(*select.operand(1));
  if (!side.has_value() || !constant.has_value() || test.opcode() != Opcode::kCompare || IsTotalOrder(test))
    return std::nullopt;
  const std::optional<Side> left = SideOf(*test.operand(0), depth);
  if (!left.has_value() || left->parameter != side->parameter) return std::nullopt;
  const ComparisonDirection direction = test.Get<attr::direction>();
  if (direction == ComparisonDirection::kEq && *constant == 0 && !std::signbit(*constant) &&
      ConstantOf(*test.operand(1)) == 0.0) {
    side->zeros_equal = true;
    return side;
  }
  const std::optional<Side> right = SideOf(*test.operand(1), depth);
  if (direction == ComparisonDirection::kNe && std::isnan(*constant) && !std::signbit(*constant) &&
      right.has_value() && right->parameter == side->parameter && !left->nans_equal && !right->nans_equal) {
    side->nans_equal = true;
    return side;
  }
  return std::nullopt;
}

bool IsIntegerConstant(const Instruction& value, int64_t wanted) {
  return value.opcode() == Opcode::kConstant && !value.is_elided() && value.shape().IsScalar() &&
         IsSigned(value.shape().type()) &&
         Loader<int64_t>(value.shape().type())(value.Get<attr::literal>()->data(), 0) == wanted;
}

// Matches select(bits < 0, max ^ bits, bits).
std::optional<Side> BitsSide(const Instruction& select) {
  const Instruction &test = *select.operand(0), &turned = *select.operand(1), &bits = *select.operand(2);
  const bool reads_bits = bits.opcode() == Opcode::kBitcast || bits.opcode() == Opcode::kBitcastConvert;
  if (!reads_bits || bits.operand(0)->opcode() != Opcode::kParameter || !IsSigned(bits.shape().type()) ||
      test.opcode() != Opcode::kCompare || turned.opcode() != Opcode::kXor)
    return std::nullopt;
  const Instruction& parameter = *bits.operand(0);
  const int64_t width = BitWidth(bits.shape().type());
  const auto most = static_cast<int64_t>((uint64_t{1} << (width - 1)) - 1);
  const bool turns = (turned.operand(0) == &bits && IsIntegerConstant(*turned.operand(1), most)) ||
                     (turned.operand(1) == &bits && IsIntegerConstant(*turned.operand(0), most));
  if (!parameter.shape().IsScalar() || !IsFloat(parameter.shape().type()) ||
      !HasSortKey(parameter.shape().type()) || BitWidth(parameter.shape().type()) != width || !turns ||
      test.operand(0) != &bits || test.Get<attr::direction>() != ComparisonDirection::kLt ||
      !IsIntegerConstant(*test.operand(1), 0))
    return std::nullopt;
  Side side{&parameter};
  side.as_integer = true;
  return side;
}

std::optional<Side> SideOf(const Instruction& value, int depth) {
  if (depth > kDeepest || !value.shape().IsScalar()) return std::nullopt;
  if (value.opcode() == Opcode::kParameter) return Side{&value};
  if (value.opcode() == Opcode::kSelect && IsSigned(value.shape().type())) return BitsSide(value);
  if (value.opcode() == Opcode::kSelect) return SelectedSide(value, depth + 1);
  // Widening a float preserves the order.
  if (value.opcode() == Opcode::kConvert && IsFloat(value.shape().type()) &&
      IsFloat(value.operand(0)->shape().type()) && HasSortKey(value.shape().type()) &&
      ByteCount(value.shape().type()) > ByteCount(value.operand(0)->shape().type()))
    return SideOf(*value.operand(0), depth + 1);
  return std::nullopt;
}

struct Comparison {
  SortKey key;
  Side left, right;
};

// Matches a strict comparison of both sides of one operand.
std::optional<Comparison> StrictComparison(const Instruction& compare, const Instruction& sort) {
  if (compare.opcode() != Opcode::kCompare) return std::nullopt;
  const ComparisonDirection direction = compare.Get<attr::direction>();
  if (direction != ComparisonDirection::kLt && direction != ComparisonDirection::kGt) return std::nullopt;
  const std::optional<Side> left = SideOf(*compare.operand(0)), right = SideOf(*compare.operand(1));
  if (!left.has_value() || !right.has_value() || !left->SameForm(*right)) return std::nullopt;
  // The parameters come in pairs; `b < a` is descending, like `a > b`.
  int64_t first = left->parameter->Get<attr::number>(), second = right->parameter->Get<attr::number>();
  const bool swapped = first > second;
  if (swapped) std::swap(first, second);
  if (first % 2 != 0 || second != first + 1) return std::nullopt;
  const ElementType type = left->parameter->shape().type();
  if (!HasSortKey(type) || sort.operand(first / 2)->shape().type() != type ||
      right->parameter->shape().type() != type)
    return std::nullopt;
  Comparison found{{first / 2, (direction == ComparisonDirection::kGt) != swapped}, *left, *right};
  found.key.total = found.key.equal_total = IsTotalOrder(compare) || !IsFloat(type) || left->as_integer;
  found.key.zeros_equal = left->zeros_equal || !found.key.total;
  found.key.nans_equal = left->nans_equal;
  return found;
}

// True if the comparison holds exactly for operands that the strict one leaves tied, NaN excepted.
bool IsTie(const Instruction& equal, Comparison& strict) {
  if (equal.opcode() != Opcode::kCompare || equal.Get<attr::direction>() != ComparisonDirection::kEq)
    return false;
  const std::optional<Side> a = SideOf(*equal.operand(0)), b = SideOf(*equal.operand(1));
  if (!a.has_value() || !b.has_value() || !a->SameForm(*b)) return false;
  const bool same_pair = (a->parameter == strict.left.parameter && b->parameter == strict.right.parameter) ||
                         (a->parameter == strict.right.parameter && b->parameter == strict.left.parameter);
  const bool total = IsTotalOrder(equal) || a->as_integer || !IsFloat(strict.left.parameter->shape().type());
  strict.key.equal_total = total;
  const bool zeros_equal = a->zeros_equal || !total;
  return same_pair && zeros_equal == strict.key.zeros_equal &&
         (!total || a->nans_equal == strict.key.nans_equal);
}

}  // namespace

bool HasSortKey(ElementType type) {
  if (IsPred(type) || IsIntegral(type)) return true;
  return type == ElementType::kF16 || type == ElementType::kBF16 || type == ElementType::kF32 ||
         type == ElementType::kF64;
}

std::optional<std::vector<SortKey>> MatchSortKeys(const Instruction& sort) {
  const auto comparisons = LexicographicKeys<Comparison>(
      sort, [&](const Instruction& strict) { return StrictComparison(strict, sort); },
      [](const Instruction& equal, const Instruction&, Comparison& key) { return IsTie(equal, key); });
  if (!comparisons.has_value()) return std::nullopt;
  std::vector<SortKey> keys;
  for (const Comparison& comparison : *comparisons) keys.push_back(comparison.key);
  return keys;
}

}  // namespace hlo::cuda
