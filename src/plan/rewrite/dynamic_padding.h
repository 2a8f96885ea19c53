#pragma once
// Dynamic padding: replaces instructions on arrays with dynamic dimensions by instructions on static arrays,
// which are padded to the bounds of the dimensions, and on the sizes, which are s32 scalars.

#include <cstdint>
#include <optional>
#include <vector>

#include "hlo_run/check.h"

namespace hlo::plan {

// For each dimension of an array, the number of its size among all sizes; -1 for a static dimension.
using SizeNumbers = std::vector<int64_t>;

struct PaddedExpansion {
  // The parameters are the padded operands, then the s32[] sizes. The results are the padded results of the
  // instruction, then their sizes.
  CheckedModule module;
  // The dimensions of each result whose sizes the module returns.
  std::vector<std::vector<int64_t>> dimensions;
};

// True if the sizes of the result are operands, whose values must be checked.
bool StatesSizes(const Instruction& instruction);

// Expands an instruction with array operands. `sizes` has an element per operand, `size_count` is the number
// of sizes. Returns nullopt if there is no rule for the instruction, or if the padding would change the
// result.
std::optional<PaddedExpansion> ExpandPadded(const Instruction& instruction,
                                            const std::vector<SizeNumbers>& sizes, int64_t size_count);

// Returns the module that makes an array with dynamic dimensions of a padded one and the sizes of these
// dimensions.
std::optional<CheckedModule> SliceToDynamicModule(const Shape& bounds,
                                                  const std::vector<int64_t>& dimensions);
// Returns the module that pads an array with dynamic dimensions, and returns the sizes of all dimensions.
std::optional<CheckedModule> PadToStaticModule(const Shape& shape);
// Returns the module that has a size as its result.
std::optional<CheckedModule> SizeConstant(int64_t size);

}  // namespace hlo::plan
