#pragma once
// Rewrites reductions and dots over dimensions of size 1, or of a few elements, to elementwise operations,
// and reductions of windows to simple reductions.

#include <optional>
#include <vector>

#include "hlo_run/check.h"
#include "hlo_run/literal.h"

namespace hlo::plan {

// Each function replaces instructions of one kind, and returns nullopt for others.

// Returns a module that reshapes the operands of a reduction that combines no elements to the results.
std::optional<CheckedModule> ReplaceSingleElements(const Instruction& reduce);

// Returns modules for a reduction of a small array over a few elements each. Each computes one term of
// all results from the operand. The caller applies to_apply to the initial value and each term in turn.
// Returns no modules for other reductions.
std::vector<CheckedModule> ReplaceSmallReduce(const Instruction& reduce);

// Returns a module of the operand and the initial value that reduces longer rows first. It replaces a
// reduction of many elements whose results have a short minor dimension, such as the mean of points.
std::optional<CheckedModule> ReplaceNarrowReduce(const Instruction& reduce);

// Returns a module of the operand and the initial value that reduces the dimensions of a reshape. It replaces
// a reduction of long windows that do not overlap.
std::optional<CheckedModule> ReplaceTiledWindows(const Instruction& reduce_window);

// Returns a module of the operand of `windows` and the initial value of `reduce` that computes `reduce`,
// whose operand is the result of `windows`, or a reshape of it. It replaces a reduction in steps by one of
// all elements. `neutral` is the initial value of `windows`.
std::optional<CheckedModule> ReplaceReduceOfWindows(const Instruction& reduce, const Instruction& windows,
                                                    const Literal& neutral);

// Returns a module that multiplies the two operands of a dot of floats with one term for each result.
std::optional<CheckedModule> ReplaceSingleProduct(const Instruction& dot);

// Returns a module that adds the products of the two operands of a dot of integers to 0. The dot has one term
// for each result, or a few terms and few rows or columns.
std::optional<CheckedModule> ReplaceThinDot(const Instruction& dot);

// Returns a module that multiplies the two operands of a dot elementwise, and reduces the products. It
// replaces dots whose dimensions are all batch or contracting dimensions: of several vectors, or of two
// vectors of integers or complex numbers.
std::optional<CheckedModule> ReplaceVectorDot(const Instruction& dot);

}  // namespace hlo::plan
