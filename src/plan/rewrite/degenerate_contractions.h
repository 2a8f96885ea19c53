#pragma once
// Rewrites reductions and dots over dimensions of size 1, or of a few elements, to elementwise operations,
// and reductions of windows to simple reductions.

#include <optional>
#include <vector>

#include "hlo_run/check.h"

namespace hlo::plan {

// Rewrites a reduction that combines no elements: returns a module that reshapes the operands to the results.
// Returns nullopt for others.
std::optional<CheckedModule> ReplaceSingleElements(const Instruction& reduce);

// Rewrites an elementwise reduction of a small array over a few elements each: returns modules of the operand
// that compute terms, one after the other for all results. To_apply of the initial value and the first term,
// then of that result and the next term, remains. Returns no modules for others.
std::vector<CheckedModule> ReplaceSmallReduce(const Instruction& reduce);

// Rewrites a reduction of many elements whose results have a short minor dimension, such as the mean of
// points: returns a module of the operand and the initial value that reduces longer rows first. Returns
// nullopt for others.
std::optional<CheckedModule> ReplaceNarrowReduce(const Instruction& reduce);

// Rewrites a reduction of long windows that do not overlap: returns a module of the operand and the initial
// value that reduces the dimensions of a reshape. Returns nullopt for others.
std::optional<CheckedModule> ReplaceTiledWindows(const Instruction& reduce_window);

// Rewrites a dot of floats that contracts one pair for each result: returns a module that multiplies its two
// operands. Returns nullopt for others.
std::optional<CheckedModule> ReplaceSingleProduct(const Instruction& dot);

// Rewrites a dot of integers that contracts one pair, or one that contracts a few pairs for few rows or
// columns: returns a module of its two operands that adds the products to 0. Returns nullopt for others.
std::optional<CheckedModule> ReplaceThinDot(const Instruction& dot);

}  // namespace hlo::plan
