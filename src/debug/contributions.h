#pragma once
// Finds the operand elements that contribute to an element of a result.

#include <cstdint>
#include <string>
#include <vector>

#include "hlo_run/literal.h"
#include "hlo_run/module.h"

namespace hlo::debug {

// The elements of operand k that the result element at `index` is computed from: exactly for elementwise
// instructions, dots and reductions, and all elements for others.

// True if they are fewer than all elements of the operand.
bool ContributesInPart(const Instruction& instruction, int64_t k, const Literal& operand,
                       const std::vector<int64_t>& index);
// True if one of these elements is a NaN, or otherwise an infinity.
bool ContributionHolds(const Instruction& instruction, int64_t k, const Literal& operand,
                       const std::vector<int64_t>& index, bool nans);
// Prints `%a = 0`, or the range and the special values of several elements.
std::string ContributionText(const Instruction& instruction, int64_t k, const Literal& operand,
                             const std::vector<int64_t>& index);

}  // namespace hlo::debug
