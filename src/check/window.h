#pragma once
// Output sizes of windows (shape-rules 3.16), and the signatures of computations that combine elements
// (3.15).

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "check/rules.h"

namespace hlo::check {

// Computes the number of window positions along a dimension; reports invalid windows.
bool WindowOutputSize(RuleContext& context, SourceRange at, std::string_view rule, int64_t dimension,
                      int64_t base, const WindowDim& window, int64_t* size);

// Returns the output shape of the window on `base` with this element type; invalid after an error.
Shape WindowOutput(RuleContext& context, std::string_view rule, const Shape& base, ElementType type);

// An array that a computation combines: the types of its initial value and of its elements.
struct Reduced {
  ElementType init;
  ElementType element;
};
// Checks to_apply of reduce and similar opcodes: N accumulators and N elements to N accumulators, all scalar.
bool CheckReducer(RuleContext& context, SourceRange at, const Computation& reducer,
                  absl::Span<const Reduced> arrays);

// Requires the operands [first, first + n) to be scalars.
bool RequireScalars(RuleContext& context, int64_t first, int64_t count, std::string_view rule);

// Requires each parameter to have the float type of its operand; otherwise reports mixed precision.
void CheckParameterPrecision(RuleContext& context, SourceRange at, const Computation& computation);

}  // namespace hlo::check
