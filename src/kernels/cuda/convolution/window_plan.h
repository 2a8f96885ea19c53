#pragma once
// Convolutions whose operands are packed for copies in im2col mode. The plan depends on types and shape only.

#include <optional>
#include <vector>

#include "hlo_run/module.h"
#include "kernels/cuda/gemm/gemm_plan.h"
#include "kernels/cuda/gemm/mma_plan.h"

namespace hlo::cuda {

// The inputs that all plans of a convolution share.
struct ConvolutionTask {
  const Instruction& convolution;
  const std::vector<Gemm>& gemms;  // One, or one per phase of positions.
  ElementType compute;
  const std::optional<TensorForm>& form;
  const device::DeviceProperties& device;
  const Epilogue& epilogue;
};

// Adds a convolution of up to eight channels, as in the first layer of a network. The columns of a row of the
// window and their channels, contiguous in a padded copy of the input, become the channels. Returns false,
// and appends nothing, if the convolution is not supported.
bool AddRowWindows(const ConvolutionTask& task, StepList* list);
// Adds the filter gradient of such a convolution.
bool AddRowWindowGradient(const ConvolutionTask& task, StepList* list);

// Adds a convolution with base dilation and few outputs, such as the input gradient of a strided convolution.
// The phases of positions become columns of one product over the union of their taps, whose results are
// stored at the positions of the phases.
bool AddPhaseColumns(const ConvolutionTask& task, StepList* list);

}  // namespace hlo::cuda
