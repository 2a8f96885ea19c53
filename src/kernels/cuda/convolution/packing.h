#pragma once
// Steps that pack the operands of a convolution into the workspace.

#include <optional>

#include "kernels/cuda/convolution/convolution_layout.h"
#include "kernels/cuda/convolution/im2col_plan.h"
#include "kernels/cuda/convolution/pack_windows_body.h"
#include "kernels/cuda/convolution/window_plan.h"

namespace hlo::cuda {

inline constexpr int64_t kMaxPackedCount = int64_t{1} << 31;  // Elements or pixels of a copy.

// Returns the bytes of a packed element; nullopt if no kernel supports packed operands of the type.
std::optional<uint32_t> PackedBytes(const ConvolutionTask& task);

// Appends the product of packed operands.
bool AddPackedGemm(const ConvolutionTask& task, const Gemm& gemm, const Im2colProblem& problem,
                   StepList* list);

// Reserves memory of the workspace that all later steps keep. Returns its offset.
int64_t ReserveWorkspace(int64_t bytes, StepList* list);

// Append the copy of the input to pixels of `pitch` elements, or of the filter, to an offset of the
// workspace.
void AddPackPixels(const PackPixelsArgs& args, int64_t pitch, uint32_t bytes, int64_t offset, StepList* list);
void AddPackTaps(const PackTapsArgs& args, uint32_t bytes, int64_t offset, StepList* list);

inline FastDiv Divisor(int64_t x) { return FastDiv(static_cast<uint32_t>(x)); }

// The spatial dimensions in the order columns, rows.
struct Plane {
  Spatial columns, rows;
};
// Returns nullopt if there are more dimensions or groups, or one is empty.
std::optional<Plane> PlaneOf(const ConvolutionLayout& layout);

// Returns the copy of a filter with pixels of `pitch` elements, without taps.
PackTapsArgs PackedTapsOf(const ConvolutionLayout& layout, const Plane& plane, int64_t pitch);

}  // namespace hlo::cuda
