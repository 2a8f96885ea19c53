#pragma once
// Padding of the base of windows, and masks of it. windows[k] slides along dimension dims[k] of the base.

#include <vector>

#include "hlo_run/builder.h"

namespace hlo::plan {

// Returns the padding of all dimensions of a base of this rank after which all windows are within it; empty
// if they already are.
std::vector<PaddingDim> PaddingOf(Window windows, IntList dims, int64_t rank);

// True if the padded base has at most four times as many elements as the base or as the result.
bool IsPaddingSmall(Window windows, IntList dims, const Shape& base, int64_t result_count);

// Returns an array of predicates of these sizes that is true where the element of a window, `offset` elements
// after the window's first one in the padded base, is an element of the base: not padding and no hole between
// dilated elements. `dimension` is that of the windows, `size` that of the base. Returns a null Op if all
// are.
build::Op MaskOfElement(build::Builder& builder, build::Dims sizes, int64_t dimension,
                        const WindowDim& window, int64_t size, int64_t offset);

// Returns the conjunction; null operands are true.
inline build::Op BothMasks(build::Op a, build::Op b) { return !a.ok() ? b : !b.ok() ? a : a & b; }

}  // namespace hlo::plan
