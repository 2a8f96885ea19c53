#pragma once
// Algebraic properties of combiners: associativity, and whether one is an argmin or argmax.

#include <optional>

#include "hlo_run/module.h"
#include "loops/reduction.h"

namespace hlo::plan {

// Returns true if (a . b) . c is known to equal a . (b . c) for all values, including NaN and signed zeros,
// or with kNumbers for all values except NaN. `combiner` is the lowered `to_apply`, with accumulators and
// values of `types`.
enum class ValueSet : uint8_t { kAll, kNumbers };
bool IsAssociative(const Computation& to_apply, const loops::ScalarFunction& combiner,
                   absl::Span<const ElementType> types, ValueSet values_in = ValueSet::kAll);

// Returns the type of 16 bits to which a combiner rounds a parameter of f32 before it uses it; nullopt if it
// does not.
std::optional<ElementType> RoundedType(const Computation& to_apply, int64_t number);

// Recognises the combiner of an argmin or argmax over pairs (value, position) whose first position is the
// smaller one. Such a combiner returns the pair with the larger or smaller value, the first pair of equal
// values, and a NaN if there is one. With keeps_last_value, the value itself is that of the second pair of
// equal ones. If the combiner rounds values, those of the operand must be rounded already.
struct ArgMinMaxRule {
  loops::Reduction::ArgMinMax arg_min_max = loops::Reduction::ArgMinMax::kNone;
  bool keeps_last_value = false;
};
ArgMinMaxRule FindArgMinMax(const Computation& to_apply, const loops::ScalarFunction& combiner,
                            absl::Span<const ElementType> types, ValueSet values_in = ValueSet::kAll);

}  // namespace hlo::plan
