#pragma once
// Convolutions whose operands are packed so that im2col mode suits them. Depends on types and shape only.

#include <optional>
#include <vector>

#include "hlo_run/module.h"
#include "kernels/cuda/gemm/gemm_plan.h"
#include "kernels/cuda/gemm/mma_plan.h"

namespace hlo::cuda {

// The inputs that all plans of a convolution share.
struct ConvolutionTask {
  const Instruction& convolution;
  const std::vector<Gemm>& gemms;  // One, or one per class of positions.
  ElementType compute;
  const std::optional<TensorForm>& form;
  const device::DeviceProperties& device;
  const Epilogue& epilogue;
};

// Convolutions of up to eight channels, as first layers have them: the columns of a row of the window and
// their channels, contiguous in a padded copy of the input, become the channels. Returns false, and appends
// nothing, if the convolution does not suit.
bool AddRowWindows(const ConvolutionTask& task, StepList* list);
// The same for their filter gradients.
bool AddRowWindowGradient(const ConvolutionTask& task, StepList* list);

// Convolutions with base dilation, as input gradients of strided ones, with few outputs: the classes of
// positions become columns of one product over the union of their taps, which is stored in the places of the
// classes.
bool AddPhaseColumns(const ConvolutionTask& task, StepList* list);

}  // namespace hlo::cuda
