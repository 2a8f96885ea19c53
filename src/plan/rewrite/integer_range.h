#pragma once
// Interval arithmetic of integers and predicates, by the semantics of their instructions.

#include "absl/types/span.h"
#include "hlo_run/module.h"

namespace hlo::plan {

// An inclusive range, of all elements of an array. A pred is 0 or 1.
struct IntegerRange {
  using Wide = __int128;
  Wide low, high;

  bool IsSingle() const { return low == high; }
  bool Is(Wide number) const { return low == number && high == number; }
  bool operator==(const IntegerRange&) const = default;
};

// Returns the numbers of a type: of pred, or of integers of at least 8 bits.
IntegerRange RangeOf(ElementType type);
// Returns the smallest range that contains both.
IntegerRange JoinedRange(const IntegerRange& a, const IntegerRange& b);
// Returns the range of an instruction's result of type `type`, for operands in these ranges. Operands that
// are neither integers nor pred have the range of kAnyNumber.
IntegerRange RangeOfResult(const Instruction& instruction, ElementType type,
                           absl::Span<const IntegerRange> operands);
inline constexpr IntegerRange kAnyNumber = {-(IntegerRange::Wide{1} << 64), IntegerRange::Wide{1} << 64};

}  // namespace hlo::plan
