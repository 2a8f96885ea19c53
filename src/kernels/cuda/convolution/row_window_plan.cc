// Convolutions of few channels; see window_plan.h.

#include <utility>

#include "kernels/cuda/convolution/packing.h"

namespace hlo::cuda {
namespace {

// The forward convolution of few channels, along columns.
struct RowExtents {
  int64_t channels, outputs, taps, stride;
};
// The sizes of the copies.
struct RowWindow {
  int64_t pitch = 4;      // Elements per pixel.
  int64_t columns = 0;    // Pixels per row of the input.
  int64_t tap_pitch = 0;  // Elements per row of the filter's window.
};
std::optional<RowWindow> RowWindowOf(const RowExtents& extents, uint32_t bytes) {
  if (extents.channels < 1 || extents.channels > 8 || extents.taps < 2) return std::nullopt;
  const int64_t vector = 16 / bytes;
  RowWindow window;
  // A step of the window is a multiple of 16 bytes.
  if (extents.channels > 4 || extents.stride * window.pitch % vector != 0) window.pitch = 8;
  window.columns = (extents.outputs - 1) * extents.stride + extents.taps;
  while (window.columns * window.pitch % vector != 0) ++window.columns;
  window.tap_pitch = Ceil(extents.taps * window.pitch, vector) * vector;
  return window;
}

// Describes the copy of `images` images of `channels` channels. Returns false if it is too large.
struct Images {
  int64_t count, stride, channels, channel_stride;
};
bool DescribeCopy(const Plane& plane, const Images& images, const RowWindow& window, PackPixelsArgs* args) {
  const Spatial &columns = plane.columns, &rows = plane.rows;
  const int64_t pixels = images.count * rows.input * window.columns;
  if (pixels >= kMaxPackedCount || std::abs(columns.padding) >= kMaxConvolutionCoordinate ||
      columns.input >= kMaxConvolutionCoordinate)
    return false;
  *args = {.count = static_cast<uint32_t>(pixels),
           .columns = Divisor(window.columns),
           .rows = Divisor(rows.input),
           .padding = static_cast<int32_t>(columns.padding),
           .input_columns = static_cast<int32_t>(columns.input),
           .channels = static_cast<uint32_t>(images.channels),
           .image_stride = images.stride,
           .row_stride = rows.input_stride,
           .column_stride = columns.input_stride,
           .channel_stride = images.channel_stride};
  return true;
}

// Returns the patches of a copy: pixels are steps of the window, whose row is the channels.
Im2colProblem PatchesOfRows(const Plane& plane, const RowExtents& extents, const RowWindow& window,
                            int64_t images) {
  const int64_t row = window.columns * window.pitch;
  Im2colProblem problem{
      .channels = extents.taps * window.pitch, .images = images, .image_stride = row * plane.rows.input};
  problem.dims[0] = {
      .input = extents.outputs, .input_stride = extents.stride * window.pitch, .pixels = extents.outputs};
  problem.dims[1] = {.input = plane.rows.input, .input_stride = row, .origin = -plane.rows.padding};
  return problem;
}

// Returns the product with a as the patches.
Gemm Unexchanged(Gemm gemm) {
  if (!gemm.exchanged) return gemm;
  std::swap(gemm.m, gemm.n);
  std::swap(gemm.a, gemm.b);
  std::swap(gemm.result.rows, gemm.result.columns);
  gemm.exchanged = false;
  return gemm;
}

}  // namespace

bool AddRowWindows(const ConvolutionTask& task, StepList* list) {
  const ConvolutionLayout layout = LayoutOf(task.convolution);
  const std::optional<uint32_t> bytes = PackedBytes(task);
  const std::optional<Plane> plane = PlaneOf(layout);
  if (!bytes.has_value() || !plane.has_value() || task.gemms.size() != 1 || layout.batch_last) return false;
  const Spatial &columns = plane->columns, &rows = plane->rows;
  if (columns.base_dilation != 1 || rows.base_dilation != 1 || columns.window_dilation != 1 ||
      columns.taps > PackTapsArgs::kMaxTaps / 2 || rows.taps > PackTapsArgs::kMaxTaps)
    return false;
  const RowExtents extents{layout.inputs, columns.output, columns.taps, columns.stride};
  const std::optional<RowWindow> window = RowWindowOf(extents, *bytes);
  PackPixelsArgs input;
  if (!window.has_value() ||
      !DescribeCopy(*plane,
                    {layout.batch, layout.input_batch_stride, layout.inputs, layout.input_feature_stride},
                    *window, &input))
    return false;
  const int64_t taps = layout.outputs * rows.taps * window->tap_pitch;
  if (taps >= kMaxPackedCount) return false;
  Im2colProblem problem = PatchesOfRows(*plane, extents, *window, layout.batch);
  problem.other_output_stride = rows.taps * window->tap_pitch;
  problem.other_stride = 1;
  for (Im2colProblem::Dim& dim : problem.dims) dim.other_stride = window->tap_pitch;
  problem.dims[1].pixels = rows.output;
  problem.dims[1].pixel_step = rows.stride;
  problem.dims[1].taps = rows.taps;
  problem.dims[1].tap_step = rows.window_dilation;

  PackTapsArgs filter = PackedTapsOf(layout, *plane, window->pitch);
  filter.count = static_cast<uint32_t>(taps);
  filter.taps[0] = Divisor(window->tap_pitch / window->pitch);
  filter.taps[1] = Divisor(rows.taps);
  for (int64_t t = 0; t < columns.taps; ++t) filter.tap_of[0][0][t] = static_cast<int8_t>(t);
  for (int64_t t = 0; t < rows.taps; ++t) filter.tap_of[1][0][t] = static_cast<int8_t>(t);
  StepList packed = *list;
  problem.patches_offset = ReserveWorkspace(int64_t{input.count} * window->pitch * *bytes, &packed);
  problem.other_offset = ReserveWorkspace(taps * *bytes, &packed);
  AddPackPixels(input, window->pitch, *bytes, *problem.patches_offset, &packed);
  AddPackTaps(filter, *bytes, *problem.other_offset, &packed);
  packed.name += ", rows of the window";
  if (!AddPackedGemm(task, task.gemms.front(), problem, &packed)) return false;
  *list = std::move(packed);
  return true;
}

// The window of the instruction is the gradient of the output, and its output the window of the forward
// convolution.
bool AddRowWindowGradient(const ConvolutionTask& task, StepList* list) {
  const ConvolutionLayout layout = LayoutOf(task.convolution);
  const std::optional<uint32_t> bytes = PackedBytes(task);
  const std::optional<Plane> plane = PlaneOf(layout);
  if (!bytes.has_value() || !plane.has_value() || task.gemms.size() != 1 || !layout.batch_last) return false;
  const Spatial &columns = plane->columns, &rows = plane->rows;
  if (columns.base_dilation != 1 || rows.base_dilation != 1 || columns.stride != 1 ||
      columns.output > PackTapsArgs::kMaxTaps / 2 || columns.kernel_stride < 0 || rows.kernel_stride < 0)
    return false;
  const RowExtents extents{layout.batch, columns.taps, columns.output, columns.window_dilation};
  const std::optional<RowWindow> window = RowWindowOf(extents, *bytes);
  PackPixelsArgs input;
  if (!window.has_value() ||
      !DescribeCopy(*plane,
                    {layout.inputs, layout.input_feature_stride, layout.batch, layout.input_batch_stride},
                    *window, &input))
    return false;
  Im2colProblem problem = PatchesOfRows(*plane, extents, *window, layout.inputs);
  problem.filter_gradient = true;
  problem.other_origin = layout.kernel_origin;
  problem.other_output_stride = layout.kernel_output_stride;
  problem.other_stride = layout.kernel_input_stride;
  problem.pixel_pitch = window->pitch;
  problem.pixel_channels = layout.batch;
  problem.dims[0].other_stride = columns.kernel_stride;
  problem.dims[1].pixels = rows.taps;
  problem.dims[1].pixel_step = rows.window_dilation;
  problem.dims[1].taps = rows.output;
  problem.dims[1].tap_step = rows.stride;
  problem.dims[1].other_stride =
      layout.spatial.size() == 1 ? columns.taps * columns.kernel_stride : rows.kernel_stride;

  StepList packed = *list;
  problem.patches_offset = ReserveWorkspace(int64_t{input.count} * window->pitch * *bytes, &packed);
  AddPackPixels(input, window->pitch, *bytes, *problem.patches_offset, &packed);
  packed.name += ", rows of the window";
  if (!AddPackedGemm(task, Unexchanged(task.gemms.front()), problem, &packed)) return false;
  *list = std::move(packed);
  return true;
}

}  // namespace hlo::cuda
