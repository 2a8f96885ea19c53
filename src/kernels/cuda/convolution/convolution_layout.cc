#include "kernels/cuda/convolution/convolution_layout.h"

#include "types/index.h"

namespace hlo::cuda {

Part Whole(const Spatial& s) {
  return {{.outputs = s.output,
           .first_output = 0,
           .output_step = 1,
           .taps = s.taps,
           .tap_step = 1,
           .origin = -s.padding,
           .step = s.stride,
           .tap_move = s.window_dilation},
          s.base_dilation};
}

std::vector<Part> PhaseParts(const Spatial& s) {
  const loops::ConvolutionDim dim = {.outputs = s.output,
                                     .taps = s.taps,
                                     .stride = s.stride,
                                     .padding = s.padding,
                                     .window_dilation = s.window_dilation,
                                     .base_dilation = s.base_dilation};
  std::vector<Part> parts;
  for (int64_t first = 0; first < std::min(loops::PhasePeriod(s.stride, s.base_dilation), s.output); ++first)
    parts.push_back({loops::PhaseOf(dim, first)});
  return parts;
}

std::vector<Part> InsideParts(const Spatial& s) {
  std::vector<Part> inside;
  for (const Part& part : PhaseParts(s)) {
    int64_t last_begin = -1, last_end = -1;
    for (int64_t q = 0; q < part.outputs; ++q) {
      const int64_t at = part.origin + q * part.step;
      const int64_t begin = std::min(part.taps, Ceil(-at, part.tap_move)),
                    end = std::max(begin, std::min(part.taps, Ceil(s.input - at, part.tap_move)));
      if (begin != last_begin || end != last_end) {
        if (static_cast<int64_t>(inside.size()) > kMaxProducts) return inside;
        Part run = part;
        run.outputs = 0;
        run.first_output += q * part.output_step;
        run.taps = end - begin;
        run.first_tap += begin * part.tap_step;
        run.origin = at + begin * part.tap_move;
        inside.push_back(run);
      }
      ++inside.back().outputs;
      last_begin = begin;
      last_end = end;
    }
  }
  return inside;
}

ConvolutionLayout LayoutOf(const Instruction& convolution) {
  const Shape &input = convolution.operand(0)->shape(), &kernel = convolution.operand(1)->shape(),
              &output = convolution.shape();
  const Index in = RowMajorStrides(input.dims()), ker = RowMajorStrides(kernel.dims()),
              out = RowMajorStrides(output.dims());
  const DimLabels& labels = *convolution.Get<attr::dim_labels>();
  const Window window = convolution.Get<attr::window>();
  const int64_t feature_groups = convolution.Get<attr::feature_group_count>(1);
  const int64_t batch_groups = convolution.Get<attr::batch_group_count>(1);
  ConvolutionLayout layout;
  for (size_t d = 0; d < labels.input_spatial.size(); ++d) {
    const WindowDim& w = window[d];
    const int64_t taps = kernel.dims()[labels.kernel_spatial[d]];
    int64_t kernel_stride = ker[labels.kernel_spatial[d]];
    if (w.reversed) {
      layout.kernel_origin += (taps - 1) * kernel_stride;
      kernel_stride = -kernel_stride;
    }
    layout.spatial.push_back({.input = input.dims()[labels.input_spatial[d]],
                              .output = output.dims()[labels.output_spatial[d]],
                              .taps = taps,
                              .stride = w.stride,
                              .padding = w.padding_low,
                              .window_dilation = w.window_dilation,
                              .base_dilation = w.base_dilation,
                              .input_stride = in[labels.input_spatial[d]],
                              .kernel_stride = kernel_stride,
                              .output_stride = out[labels.output_spatial[d]]});
  }
  layout.batch = output.dims()[labels.output_batch];
  layout.input_batch_stride = in[labels.input_batch];
  layout.output_batch_stride = out[labels.output_batch];
  layout.groups = std::max(feature_groups, batch_groups);
  layout.inputs = kernel.dims()[labels.kernel_input_feature];
  layout.input_feature_stride = in[labels.input_feature];
  layout.kernel_input_stride = ker[labels.kernel_input_feature];
  layout.outputs = output.dims()[labels.output_feature] / std::max<int64_t>(1, layout.groups);
  layout.kernel_output_stride = ker[labels.kernel_output_feature];
  layout.output_feature_stride = out[labels.output_feature];
  layout.input_group_stride = feature_groups > 1 ? layout.inputs * layout.input_feature_stride
                                                 : layout.batch * layout.input_batch_stride;
  layout.kernel_group_stride = layout.outputs * layout.kernel_output_stride;
  layout.output_group_stride = layout.outputs * layout.output_feature_stride;
  // The terms follow the memory order of the input if its features are contiguous, otherwise that of the
  // kernel.
  layout.features_last = layout.input_feature_stride == 1;
  if (!layout.features_last) {
    for (const Spatial& s : layout.spatial)
      layout.features_last |= s.taps > 1 && std::abs(s.kernel_stride) > layout.kernel_input_stride;
  }
  layout.batch_last = layout.input_batch_stride == 1 && !layout.features_last;
  layout.input_type = input.type();
  layout.kernel_type = kernel.type();
  layout.output_type = output.type();
  return layout;
}

}  // namespace hlo::cuda
