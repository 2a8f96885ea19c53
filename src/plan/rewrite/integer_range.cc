#include "plan/rewrite/integer_range.h"

#include <algorithm>
#include <initializer_list>

#include "hlo_run/attribute.h"

namespace hlo::plan {
namespace {

using Range = IntegerRange;
using Wide = IntegerRange::Wide;

// Products and shifts of larger numbers may not fit Wide.
constexpr Wide kLargestFactor = Wide{1} << 62;

bool IsSmall(const Range& range) { return range.low >= -kLargestFactor && range.high <= kLargestFactor; }
bool IsPositive(const Range& range) { return range.low > 0; }
bool IsNonNegative(const Range& range) { return range.low >= 0; }

// Integers wrap on overflow.
Range Wrapped(const Range& range, const Range& all) {
  if (range.low >= all.low && range.high <= all.high) return range;
  if (!range.IsSingle()) return all;
  const Wide size = all.high - all.low + 1, rest = (range.low - all.low) % size;
  const Wide number = all.low + (rest < 0 ? rest + size : rest);
  return {number, number};
}

// Returns the largest number with as many bits as a number.
Wide AllOnes(Wide number) {
  Wide ones = 0;
  while (ones < number) ones = 2 * ones + 1;
  return ones;
}

Range Compared(ComparisonDirection direction, const Range& a, const Range& b) {
  constexpr Range kFalse = {0, 0}, kTrue = {1, 1}, kEither = {0, 1};
  switch (direction) {
    case ComparisonDirection::kLt:
      return a.high < b.low ? kTrue : a.low >= b.high ? kFalse : kEither;
    case ComparisonDirection::kGe:
      return a.low >= b.high ? kTrue : a.high < b.low ? kFalse : kEither;
    case ComparisonDirection::kGt:
      return Compared(ComparisonDirection::kLt, b, a);
    case ComparisonDirection::kLe:
      return Compared(ComparisonDirection::kGe, b, a);
    case ComparisonDirection::kEq:
      return a.high < b.low || b.high < a.low ? kFalse : a.IsSingle() && a == b ? kTrue : kEither;
    case ComparisonDirection::kNe:
      return a.high < b.low || b.high < a.low ? kTrue : a.IsSingle() && a == b ? kFalse : kEither;
  }
  return kEither;
}

Range Minimum(const Range& a, const Range& b) { return {std::min(a.low, b.low), std::min(a.high, b.high)}; }
Range Maximum(const Range& a, const Range& b) { return {std::max(a.low, b.low), std::max(a.high, b.high)}; }

Range Product(const Range& a, const Range& b, const Range& all) {
  if (a.Is(0) || b.Is(0)) return {0, 0};
  if (!IsSmall(a) || !IsSmall(b)) return all;
  const std::initializer_list<Wide> corners = {a.low * b.low, a.low * b.high, a.high * b.low,
                                               a.high * b.high};
  return Wrapped({std::min(corners), std::max(corners)}, all);
}

// Operands that may be negative, and divisors that may be zero, have any result.
Range Quotient(const Range& a, const Range& b, const Range& all) {
  return IsNonNegative(a) && IsPositive(b) ? Range{a.low / b.high, a.high / b.low} : all;
}
Range Remainder(const Range& a, const Range& b, const Range& all) {
  if (!IsNonNegative(a) || !IsPositive(b)) return all;
  if (a.high < b.low) return a;
  if (a.IsSingle() && b.IsSingle()) return {a.low % b.low, a.low % b.low};
  return {0, std::min(a.high, b.high - 1)};
}

Range And(const Range& a, const Range& b, const Range& all) {
  if (IsNonNegative(a) && IsNonNegative(b)) {
    if (a.IsSingle() && b.IsSingle()) return {a.low & b.low, a.low & b.low};
    return {0, std::min(a.high, b.high)};
  }
  if (IsNonNegative(a)) return {0, a.high};
  return IsNonNegative(b) ? Range{0, b.high} : all;
}
Range Or(const Range& a, const Range& b, const Range& all) {
  if (!IsNonNegative(a) || !IsNonNegative(b)) return all;
  if (a.IsSingle() && b.IsSingle()) return {a.low | b.low, a.low | b.low};
  return {std::max(a.low, b.low), AllOnes(std::max(a.high, b.high))};
}
Range Xor(const Range& a, const Range& b, const Range& all) {
  if (!IsNonNegative(a) || !IsNonNegative(b)) return all;
  if (a.IsSingle() && b.IsSingle()) return {a.low ^ b.low, a.low ^ b.low};
  return {0, AllOnes(std::max(a.high, b.high))};
}

Range ShiftedLeft(const Range& a, const Range& count, int64_t bits, const Range& all) {
  if (count.low >= bits) return {0, 0};
  if (!count.IsSingle() || !IsNonNegative(count) || !IsSmall(a)) return all;
  const Wide factor = Wide{1} << static_cast<int>(count.low);
  return Wrapped({a.low * factor, a.high * factor}, all);
}
// Both shifts are the same for numbers that are not negative.
Range ShiftedRight(const Range& a, const Range& count, int64_t bits, const Range& all) {
  if (!IsNonNegative(a)) return all;
  if (count.low >= bits) return {0, 0};
  if (!IsNonNegative(count)) return {0, a.high};
  const auto least = static_cast<int>(count.low);
  const Wide most = std::min<Wide>(count.high, bits);
  return {a.low >> static_cast<int>(most), a.high >> least};
}

Range Converted(const Range& from, const Range& to) {
  if (to != RangeOf(ElementType::kPred)) return Wrapped(from, to);
  if (from.low > 0 || from.high < 0) return {1, 1};
  return from.Is(0) ? from : to;
}

}  // namespace

Range RangeOf(ElementType type) {
  if (IsPred(type)) return {0, 1};
  const auto bits = static_cast<int>(BitWidth(type));
  return IsSigned(type) ? Range{-(Wide{1} << (bits - 1)), (Wide{1} << (bits - 1)) - 1}
                        : Range{0, (Wide{1} << bits) - 1};
}

Range JoinedRange(const Range& a, const Range& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

Range RangeOfResult(const Instruction& instruction, ElementType type, absl::Span<const Range> operands) {
  const Range all = RangeOf(type);
  const int64_t bits = BitWidth(type);
  const auto of = [&](size_t k) { return operands[k]; };
  switch (instruction.opcode()) {
    case Opcode::kAbs:
      return IsNonNegative(of(0)) ? of(0) : all;
    case Opcode::kAdd:
      if (IsPred(type)) return Maximum(of(0), of(1));
      return Wrapped({of(0).low + of(1).low, of(0).high + of(1).high}, all);
    case Opcode::kAnd:
      return And(of(0), of(1), all);
    case Opcode::kBroadcast:
    case Opcode::kDynamicSlice:
    case Opcode::kGather:
    case Opcode::kReshape:
    case Opcode::kReverse:
    case Opcode::kSlice:
    case Opcode::kTranspose:
      return of(0);
    case Opcode::kClamp:
      return Minimum(Maximum(of(1), of(0)), of(2));
    case Opcode::kCompare:
      return Compared(instruction.Get<attr::direction>(), of(0), of(1));
    case Opcode::kConcatenate: {
      Range joined = of(0);
      for (const Range& each : operands) joined = JoinedRange(joined, each);
      return joined;
    }
    case Opcode::kConvert:
      return of(0) == kAnyNumber ? all : Converted(of(0), all);
    case Opcode::kDivide:
      return Quotient(of(0), of(1), all);
    case Opcode::kDynamicUpdateSlice:
    case Opcode::kPad:
      return JoinedRange(of(0), of(1));
    case Opcode::kIota:
      return Wrapped(
          {0, std::max<int64_t>(instruction.shape().dim(instruction.Get<attr::iota_dimension>()), 1) - 1},
          all);
    case Opcode::kMaximum:
      return Maximum(of(0), of(1));
    case Opcode::kMinimum:
      return Minimum(of(0), of(1));
    case Opcode::kMultiply:
      return IsPred(type) ? Minimum(of(0), of(1)) : Product(of(0), of(1), all);
    case Opcode::kNegate:
      return Wrapped({-of(0).high, -of(0).low}, all);
    case Opcode::kNot:
      return {all.low + all.high - of(0).high, all.low + all.high - of(0).low};
    case Opcode::kOr:
      return Or(of(0), of(1), all);
    case Opcode::kRemainder:
      return Remainder(of(0), of(1), all);
    case Opcode::kSelect:
      return of(0).IsSingle() ? of(of(0).low == 1 ? 1 : 2) : JoinedRange(of(1), of(2));
    case Opcode::kShiftLeft:
      return ShiftedLeft(of(0), of(1), bits, all);
    case Opcode::kShiftRightArithmetic:
      // The highest bit of unsigned numbers is a sign, too.
      if (of(0).high >= Wide{1} << static_cast<int>(bits - 1)) return all;
      return ShiftedRight(of(0), of(1), bits, all);
    case Opcode::kShiftRightLogical:
      return ShiftedRight(of(0), of(1), bits, all);
    case Opcode::kSubtract:
      return Wrapped({of(0).low - of(1).high, of(0).high - of(1).low}, all);
    case Opcode::kXor:
      return Xor(of(0), of(1), all);
    default:
      return all;
  }
}

}  // namespace hlo::plan
