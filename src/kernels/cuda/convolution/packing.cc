#include "kernels/cuda/convolution/packing.h"

#include <algorithm>

#include "base/arithmetic.h"
#include "device/align.h"
#include "kernels/cuda/launch/launch.h"

namespace hlo::cuda {
namespace {

template <class Args>
using LaunchPacking = absl::Status (*)(const LaunchShape&, const Args&, device::Stream);

// Appends the copy of an operand to an offset of the workspace.
template <class Args>
void AddPacking(LaunchPacking<Args> launch, const Args& args, bool is_input, int64_t offset, StepList* list) {
  const LaunchShape shape{Dim3{CeilDiv(args.count, 256)}, 256};
  list->steps.push_back([=](const StepArrays& arrays) {
    Args now = args;
    now.from = is_input ? arrays.a : arrays.b;
    now.to = arrays.workspace + offset;
    return launch(shape, now, arrays.stream);
  });
}

LaunchPacking<PackPixelsArgs> PixelsKernel(uint32_t bytes, int64_t pitch) {
  if (bytes == 2) return pitch == 4 ? &Launch<PackPixelsHalf4> : &Launch<PackPixelsHalf8>;
  return pitch == 4 ? &Launch<PackPixelsWord4> : &Launch<PackPixelsWord8>;
}
}  // namespace

std::optional<uint32_t> PackedBytes(const ConvolutionTask& task) {
  const Instruction& c = task.convolution;
  const ElementType type = c.operand(0)->shape().type();
  if (type != c.operand(1)->shape().type()) return std::nullopt;
  if (type == ElementType::kF32) return task.form.has_value() ? std::nullopt : std::optional(4u);
  const bool is_half = type == ElementType::kBF16 || type == ElementType::kF16;
  return is_half && task.form.has_value() ? std::optional(2u) : std::nullopt;
}

bool AddPackedGemm(const ConvolutionTask& task, const Gemm& gemm, const Im2colProblem& problem,
                   StepList* list) {
  return task.form.has_value() ? AddIm2colGemm(gemm, problem, task.gemms, task.compute, *task.form, list)
                               : AddIm2colF32Gemm(gemm, problem, task.gemms, task.device, list);
}

int64_t ReserveWorkspace(int64_t bytes, StepList* list) {
  const int64_t offset = device::Aligned(list->shared_bytes);
  list->shared_bytes = offset + device::Aligned(bytes);
  list->workspace_bytes = std::max(list->workspace_bytes, list->shared_bytes);
  return offset;
}

void AddPackPixels(const PackPixelsArgs& args, int64_t pitch, uint32_t bytes, int64_t offset,
                   StepList* list) {
  AddPacking<PackPixelsArgs>(PixelsKernel(bytes, pitch), args, true, offset, list);
}

void AddPackTaps(const PackTapsArgs& args, uint32_t bytes, int64_t offset, StepList* list) {
  AddPacking<PackTapsArgs>(bytes == 2 ? &Launch<PackTapsHalf> : &Launch<PackTapsWord>, args, false, offset,
                           list);
}

std::optional<Plane> PlaneOf(const ConvolutionLayout& layout) {
  const bool fits = layout.groups == 1 && (layout.spatial.size() == 1 || layout.spatial.size() == 2) &&
                    std::all_of(layout.spatial.begin(), layout.spatial.end(),
                                [](const Spatial& s) { return s.taps > 0 && s.input > 0 && s.output > 0; });
  if (!fits) return std::nullopt;
  Plane plane{layout.spatial.back(), layout.spatial.front()};
  if (layout.spatial.size() == 1) {
    plane.rows = {.input = 1,
                  .output = 1,
                  .taps = 1,
                  .stride = 1,
                  .padding = 0,
                  .window_dilation = 1,
                  .base_dilation = 1,
                  .input_stride = 0,
                  .kernel_stride = 0,
                  .output_stride = 0};
  }
  return plane;
}

PackTapsArgs PackedTapsOf(const ConvolutionLayout& layout, const Plane& plane, int64_t pitch) {
  PackTapsArgs args{.pitch = Divisor(pitch),
                    .outputs = Divisor(layout.outputs),
                    .channels = static_cast<uint32_t>(layout.inputs),
                    .origin = layout.kernel_origin,
                    .tap_stride = {plane.columns.kernel_stride, plane.rows.kernel_stride},
                    .output_stride = layout.kernel_output_stride,
                    .channel_stride = layout.kernel_input_stride};
  for (auto& dim : args.tap_of) {
    for (auto& phase : dim) std::fill(std::begin(phase), std::end(phase), int8_t{-1});
  }
  return args;
}

}  // namespace hlo::cuda
