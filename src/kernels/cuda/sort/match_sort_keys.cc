#include "kernels/cuda/sort/match_sort_keys.h"

#include <cmath>

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

// Returns nullopt if the key has another form, or the tie does not hold exactly for elements with equal keys,
// NaN excepted.
std::optional<SortKey> KeyOf(const ComparatorKey& match) {
  const ElementType type = match.parameter->shape().type();
  const std::optional<Side> side = SideOf(*match.compare->operand(0));
  if (!side.has_value() || !HasSortKey(type)) return std::nullopt;
  SortKey key{match.operand, match.descending};
  key.total = key.equal_total = IsTotalOrder(*match.compare) || !IsFloat(type) || side->as_integer;
  key.zeros_equal = side->zeros_equal || !key.total;
  key.nans_equal = side->nans_equal;
  if (match.tie == nullptr) return key;
  const std::optional<Side> tied = SideOf(*match.tie->operand(0));
  if (!tied.has_value()) return std::nullopt;
  key.equal_total = IsTotalOrder(*match.tie) || tied->as_integer || !IsFloat(type);
  const bool zeros_equal = tied->zeros_equal || !key.equal_total;
  if (zeros_equal != key.zeros_equal || (key.equal_total && tied->nans_equal != key.nans_equal))
    return std::nullopt;
  return key;
}

}  // namespace

bool HasSortKey(ElementType type) {
  if (IsPred(type) || IsIntegral(type)) return true;
  return type == ElementType::kF16 || type == ElementType::kBF16 || type == ElementType::kF32 ||
         type == ElementType::kF64;
}

std::optional<std::vector<SortKey>> MatchSortKeys(const Instruction& sort) {
  const std::optional<std::vector<ComparatorKey>> found = MatchComparator(sort);
  if (!found.has_value()) return std::nullopt;
  std::vector<SortKey> keys;
  for (const ComparatorKey& each : *found) {
    const std::optional<SortKey> key = KeyOf(each);
    if (!key.has_value()) return std::nullopt;
    keys.push_back(*key);
  }
  return keys;
}

}  // namespace hlo::cuda
