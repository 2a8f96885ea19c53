#include "types/promotion.h"

namespace hlo {
namespace {

struct FloatKey {
  int range, digits;
};

// Returns the largest exponent + 1 and the number of significant bits (shape-rules 1.1).
FloatKey KeyOf(ElementType type) {
  switch (type) {
    case ElementType::kF4E2M1FN:
      return {3, 2};
    case ElementType::kF6E2M3FN:
      return {3, 4};
    case ElementType::kF6E3M2FN:
      return {5, 3};
    case ElementType::kF8E3M4:
      return {4, 5};
    case ElementType::kF8E4M3:
      return {8, 4};
    case ElementType::kF8E4M3FN:
      return {9, 4};
    case ElementType::kF8E4M3FNUZ:
      return {8, 4};
    case ElementType::kF8E4M3B11FNUZ:
      return {5, 4};
    case ElementType::kF8E5M2:
      return {16, 3};
    case ElementType::kF8E5M2FNUZ:
      return {16, 3};
    case ElementType::kF8E8M0FNU:
      return {128, 1};
    case ElementType::kF16:
      return {16, 11};
    case ElementType::kBF16:
      return {128, 8};
    case ElementType::kF32:
      return {128, 24};
    case ElementType::kF64:
      return {1024, 53};
    default:
      return {-1, -1};
  }
}

}  // namespace

int ComparePrecedence(ElementType a, ElementType b) {
  if (IsComplex(a) != IsComplex(b)) return IsComplex(a) ? 1 : -1;
  const FloatKey x = KeyOf(ComponentType(a)), y = KeyOf(ComponentType(b));
  if (x.range != y.range) return x.range - y.range;
  if (x.digits != y.digits) return x.digits - y.digits;
  const auto width = BitWidth(ComponentType(a)) - BitWidth(ComponentType(b));
  if (width != 0) return static_cast<int>(width);
  return static_cast<int>(IsSigned(a)) - static_cast<int>(IsSigned(b));
}

ElementType ProductType(ElementType lhs, ElementType rhs, ElementType result) {
  const auto either = [&](bool (*is)(ElementType)) { return is(lhs) || is(rhs); };
  const auto is_complex = [](ElementType type) { return IsComplex(type); };
  const auto is_float = [](ElementType type) { return IsFloat(type); };
  const auto is_number = [](ElementType type) { return !IsPred(type); };
  const bool fits = IsComplex(result)    ? true
                    : either(is_complex) ? false
                    : IsFloat(result)    ? true
                    : either(is_float)   ? false
                                         : !IsPred(result) || !either(is_number);
  return fits ? result : Promoted(lhs, rhs);
}

}  // namespace hlo
