#pragma once
// Sizes that a window gives as it moves over an array (shape-rules 3.16), and the signature of the
// computations that combine its elements (3.15).

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "check/rules.h"

namespace hlo::check {

// Number of positions along one dimension; reports what makes a window invalid.
bool WindowOutputSize(RuleContext& context, SourceRange at, std::string_view rule, int64_t dimension,
                      int64_t base, const WindowDim& window, int64_t* size);

// The array that the window gives on `base`, of another element type; invalid after an error.
Shape WindowOutput(RuleContext& context, std::string_view rule, const Shape& base, ElementType type);

// One of the arrays that a computation combines: the type of its initial value, the type of its elements.
struct Reduced {
  ElementType init;
  ElementType element;
};
// to_apply of reduce and its kin: N accumulators and N elements to N accumulators, all scalar.
bool CheckReducer(RuleContext& context, SourceRange at, const Computation& reducer,
                  absl::Span<const Reduced> arrays);

// The operands [first, first + n) are scalars.
bool RequireScalars(RuleContext& context, int64_t first, int64_t count, std::string_view rule);

// Each parameter's floating type is that of its operand; else mixed precision.
void CheckParameterPrecision(RuleContext& context, SourceRange at, const Computation& computation);

}  // namespace hlo::check
