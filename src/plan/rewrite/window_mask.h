#pragma once
// Masks of the padding of windows.

#include "hlo_run/builder.h"

namespace hlo::plan {

// Returns an array of predicates of these sizes that is true where the element of a window, `offset` elements
// after the window's first one in the padded base, is an element of the base: not padding and no hole between
// dilated elements. `dimension` is that of the windows, `size` that of the base. Returns a null Op if all
// are.
build::Op MaskOfElement(build::Builder& builder, build::Dims sizes, int64_t dimension,
                        const WindowDim& window, int64_t size, int64_t offset);

// Returns the conjunction; null operands are true.
inline build::Op BothMasks(build::Op a, build::Op b) { return !a.ok() ? b : !b.ok() ? a : a & b; }

}  // namespace hlo::plan
