#pragma once
// Expands instructions on arrays of dynamic sizes into instructions on arrays of the bounds and on sizes.

#include <cstdint>
#include <optional>
#include <vector>

#include "hlo_run/check.h"

namespace hlo::plan {

// Numbers of the sizes of an array's dimensions; -1 for static ones.
using SizeNumbers = std::vector<int64_t>;

struct SizedExpansion {
  // The parameters are the operands at their bounds, which are static arrays, and the s32[] sizes. The
  // results are the instruction's, and then their sizes.
  CheckedModule module;
  // The dimensions of each result whose sizes the module returns.
  std::vector<std::vector<int64_t>> dimensions;
};

// True if the sizes of the result are operands, whose values must be checked.
bool StatesSizes(const Instruction& instruction);

// Expands an instruction with array operands. `sizes` has an element per operand. Returns nullopt if there is
// no rule for the instruction, or if the elements beyond the sizes would change the result.
std::optional<SizedExpansion> ExpandAtBounds(const Instruction& instruction,
                                             const std::vector<SizeNumbers>& sizes, int64_t size_count);

// Returns the module that gives a static array the dynamic sizes of the dimensions.
std::optional<CheckedModule> WithSizes(const Shape& bounds, const std::vector<int64_t>& dimensions);
// Returns the module that splits an array of dynamic sizes into a static array and the sizes of all
// dimensions.
std::optional<CheckedModule> WithoutSizes(const Shape& shape);
// Returns the module that has a size as its result.
std::optional<CheckedModule> SizeConstant(int64_t size);

}  // namespace hlo::plan
