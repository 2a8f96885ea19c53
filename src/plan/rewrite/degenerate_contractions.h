#pragma once
// Rewrites reductions and dots over dimensions of size 1, or of a few elements, to elementwise operations,
// and reductions of windows to simple reductions.

#include <optional>
#include <vector>

#include "hlo_run/check.h"

namespace hlo::plan {

// Rewrites an elementwise reduction of one array over dimensions of size 1: returns a module that reshapes
// the operand to the result; to_apply of the initial value and the element remains. Returns nullopt for
// others.
std::optional<CheckedModule> ReplaceDegenerateReduce(const Instruction& reduce);

// Rewrites an elementwise reduction of a small array over a few elements each: returns modules of the operand
// that compute terms, one after the other for all results. To_apply of the initial value and the first term,
// then of that result and the next term, remains. Returns no modules for others.
std::vector<CheckedModule> ReplaceSmallReduce(const Instruction& reduce);

// Rewrites a reduction of long windows that do not overlap: returns a module of the operand and the initial
// value that reduces the dimensions of a reshape. Returns nullopt for others.
std::optional<CheckedModule> ReplaceTiledWindows(const Instruction& reduce_window);

// Rewrites a dot that contracts dimensions of size 1, or a few pairs for few rows or columns: returns a
// module of its two operands that adds the products to 0. Returns nullopt for others.
std::optional<CheckedModule> ReplaceDegenerateDot(const Instruction& dot);

}  // namespace hlo::plan
