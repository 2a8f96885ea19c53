#include "kernels/cuda/convolution/convolution_plan.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "kernels/cuda/gemm/gemm_plan.h"
#include "types/index.h"

namespace hlo::cuda {
namespace {

// Upper bound of products; beyond it, one product tests the bounds of each tap.
constexpr int64_t kMaxClasses = 64;
constexpr int64_t kMaxConvolutionCoordinate = 1 << 30;  // Sums of two coordinates fit into 32 bits.

// One spatial dimension: sizes, and element strides in input, kernel and output.
struct Spatial {
  int64_t input, output, taps;
  int64_t stride, padding, window_dilation, base_dilation;
  int64_t input_stride, kernel_stride, output_stride;  // kernel_stride < 0: reversed.
};

// A part of a spatial dimension's outputs and the taps that contribute to them. Output first_output + q *
// output_step and tap first_tap + s * tap_step read input coordinate origin + q * step + s * tap_move, in
// units of 1 / spread.
struct Part {
  int64_t outputs, first_output, output_step;
  int64_t taps, first_tap, tap_step;
  int64_t origin, step, tap_move;
  int64_t spread = 1;

  bool IsInside(int64_t input) const {
    const int64_t last = origin + (outputs - 1) * step + (taps - 1) * tap_move;
    return spread == 1 && origin >= 0 && last < input;
  }
  bool IsCountable() const {
    const int64_t reach[] = {origin, step, tap_move, origin + (outputs - 1) * step + (taps - 1) * tap_move};
    return std::all_of(std::begin(reach), std::end(reach),
                       [](int64_t x) { return std::abs(x) < kMaxConvolutionCoordinate; });
  }
};

Part Whole(const Spatial& s) {
  return {.outputs = s.output,
          .first_output = 0,
          .output_step = 1,
          .taps = s.taps,
          .first_tap = 0,
          .tap_step = 1,
          .origin = -s.padding,
          .step = s.stride,
          .tap_move = s.window_dilation,
          .spread = s.base_dilation};
}

int64_t Ceil(int64_t a, int64_t b) { return a <= 0 ? 0 : (a + b - 1) / b; }

// Splits a dimension with base dilation into residue classes: outputs c, c + P, ... use only every R-th tap,
// those that read multiples of the base dilation.
std::vector<Part> Classes(const Spatial& s) {
  const int64_t dilation = s.base_dilation;
  const int64_t output_step = dilation / std::gcd(s.stride, dilation);
  const int64_t tap_step = dilation / std::gcd(s.window_dilation, dilation);
  std::vector<Part> parts;
  for (int64_t c = 0; c < std::min(output_step, s.output); ++c) {
    Part part{.outputs = Ceil(s.output - c, output_step),
              .first_output = c,
              .output_step = output_step,
              .taps = 0,
              .first_tap = 0,
              .tap_step = tap_step,
              .origin = 0,
              .step = output_step * s.stride / dilation,
              .tap_move = tap_step * s.window_dilation / dilation};
    for (int64_t tap = 0; tap < std::min(tap_step, s.taps); ++tap) {
      const int64_t at = c * s.stride - s.padding + tap * s.window_dilation;
      if (at % dilation != 0) continue;
      part.first_tap = tap;
      part.taps = Ceil(s.taps - tap, tap_step);
      part.origin = at / dilation;
      break;
    }
    parts.push_back(part);
  }
  return parts;
}

// Splits the outputs into runs that use the same taps, all inside the input, so that no tap needs a bounds
// test. Stops after kMaxClasses parts; the caller then rejects the split.
std::vector<Part> InsideParts(const Spatial& s) {
  std::vector<Part> inside;
  for (const Part& part : Classes(s)) {
    int64_t last_begin = -1, last_end = -1;
    for (int64_t q = 0; q < part.outputs; ++q) {
      const int64_t at = part.origin + q * part.step;
      const int64_t begin = std::min(part.taps, Ceil(-at, part.tap_move)),
                    end = std::max(begin, std::min(part.taps, Ceil(s.input - at, part.tap_move)));
      if (begin != last_begin || end != last_end) {
        if (static_cast<int64_t>(inside.size()) > kMaxClasses) return inside;
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

// Sizes, strides and types that all parts share.
struct Layout {
  std::vector<Spatial> spatial;
  int64_t batch, input_batch_stride, output_batch_stride;        // Batch size of the output and strides.
  int64_t inputs, input_feature_stride, kernel_input_stride;     // Input features per group.
  int64_t outputs, kernel_output_stride, output_feature_stride;  // Output features per group.
  int64_t groups, input_group_stride, kernel_group_stride, output_group_stride;
  int64_t kernel_origin = 0;
  bool features_last = true;
  bool batch_last = false;  // Rows are positions, then the batch, which is contiguous: a filter gradient.
  ElementType input_type, kernel_type, output_type;
};

Layout LayoutOf(const Instruction& convolution) {
  const Shape &input = convolution.operand(0)->shape(), &kernel = convolution.operand(1)->shape(),
              &output = convolution.shape();
  const Index in = RowMajorStrides(input.dims()), ker = RowMajorStrides(kernel.dims()),
              out = RowMajorStrides(output.dims());
  const DimLabels& labels = *convolution.Get<attr::dim_labels>();
  const Window window = convolution.Get<attr::window>();
  const int64_t feature_groups = convolution.Get<attr::feature_group_count>(1);
  const int64_t batch_groups = convolution.Get<attr::batch_group_count>(1);
  Layout layout;
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

// The spatial dimensions of one product as dimensions of its index maps.
struct SpatialMaps {
  PairedDims rows;   // Strides in input and result.
  PairedDims terms;  // Strides in input and kernel.
};

// Returns false if the product needs too many axes or too large coordinates.
bool AddSpatial(const Spatial& s, const Part& part, Gemm* gemm, SpatialMaps* maps) {
  gemm->result.origin += part.first_output * s.output_stride;
  gemm->b.origin += part.first_tap * s.kernel_stride;
  if (part.outputs == 0 || part.taps == 0) {
    maps->rows.dims.push_back({.size = part.outputs, .second = part.output_step * s.output_stride});
    maps->terms.dims.push_back({.size = part.taps});
    return true;
  }
  if (!part.IsCountable() || s.input >= kMaxConvolutionCoordinate ||
      part.spread >= kMaxConvolutionCoordinate || s.input * part.spread >= kMaxConvolutionCoordinate)
    return false;
  PairedDims::Dim row{.size = part.outputs, .second = part.output_step * s.output_stride};
  PairedDims::Dim term{.size = part.taps, .second = part.tap_step * s.kernel_stride};
  if (part.IsInside(s.input)) {
    gemm->a.origin += part.origin * s.input_stride;
    row.first = part.step * s.input_stride;
    term.first = part.tap_move * s.input_stride;
  } else {
    if (gemm->a.axis_count == kAxisRank) return false;
    Operand::Axis& axis = gemm->a.axes[gemm->a.axis_count];
    axis.extent = static_cast<int32_t>(s.input);
    axis.origin = static_cast<int32_t>(part.origin);
    axis.spread = FastDiv(static_cast<uint32_t>(part.spread));
    axis.stride = s.input_stride;
    row.axis = term.axis = gemm->a.axis_count++;
    row.step = part.step;
    term.step = part.tap_move;
  }
  maps->rows.dims.push_back(row);
  maps->terms.dims.push_back(term);
  return true;
}

// Builds the product of one part per spatial dimension; nullopt if a map has too many dimensions or elements.
// PairedDims::Merge keeps dimensions along an axis apart and drops those of size 1.
std::optional<Gemm> GemmOfParts(const Layout& layout, const std::vector<Part>& parts) {
  Gemm gemm;
  gemm.a.type = layout.input_type;
  gemm.b.type = layout.kernel_type;
  gemm.result.type = layout.output_type;
  gemm.b.origin = layout.kernel_origin;
  SpatialMaps maps;
  const PairedDims::Dim batch{
      .size = layout.batch, .first = layout.input_batch_stride, .second = layout.output_batch_stride};
  if (!layout.batch_last) maps.rows.dims.push_back(batch);
  const PairedDims::Dim features{
      .size = layout.inputs, .first = layout.input_feature_stride, .second = layout.kernel_input_stride};
  if (!layout.features_last) maps.terms.dims.push_back(features);
  for (size_t d = 0; d < parts.size(); ++d) {
    if (!AddSpatial(layout.spatial[d], parts[d], &gemm, &maps)) return std::nullopt;
  }
  if (layout.features_last) maps.terms.dims.push_back(features);
  if (layout.batch_last) maps.rows.dims.push_back(batch);
  PairedDims columns{{{.size = layout.outputs,
                       .first = layout.kernel_output_stride,
                       .second = layout.output_feature_stride}}};
  PairedDims groups{
      {{.size = layout.groups, .first = layout.input_group_stride, .second = layout.kernel_group_stride}}};
  PairedDims result_groups{{{.size = layout.groups, .first = layout.output_group_stride}}};
  for (int64_t count : {maps.rows.Count(), maps.terms.Count(), columns.Count(), groups.Count()}) {
    if (count < 0 || count >= (int64_t{1} << 31)) return std::nullopt;
  }
  gemm.m = static_cast<uint32_t>(maps.rows.Count());
  gemm.k = static_cast<uint32_t>(maps.terms.Count());
  gemm.n = static_cast<uint32_t>(columns.Count());
  gemm.batch = static_cast<uint32_t>(groups.Count());
  for (PairedDims* dims : {&maps.rows, &maps.terms, &columns, &groups, &result_groups}) dims->Merge();
  const std::pair<IndexMap*, std::optional<IndexMap>> all[] = {{&gemm.a.batch, groups.First()},
                                                               {&gemm.b.batch, groups.Second()},
                                                               {&gemm.result.batch, result_groups.First()},
                                                               {&gemm.a.mn, maps.rows.First()},
                                                               {&gemm.result.rows, maps.rows.Second()},
                                                               {&gemm.b.mn, columns.First()},
                                                               {&gemm.result.columns, columns.Second()},
                                                               {&gemm.a.k, maps.terms.First()},
                                                               {&gemm.b.k, maps.terms.Second()}};
  for (const auto& [to, map] : all) {
    if (!map.has_value()) return std::nullopt;
    *to = *map;
  }
  return gemm;
}

// Returns the product of these parts as patches of contiguous channels; nullopt if they are not contiguous or
// have more dimensions.
std::optional<Im2colProblem> Im2colOf(const Layout& layout, const std::vector<Part>& parts) {
  const bool forward = layout.features_last && layout.input_feature_stride == 1;
  if (layout.groups != 1 || parts.empty() || parts.size() > 2 || (!forward && !layout.batch_last))
    return std::nullopt;
  Im2colProblem problem{.filter_gradient = !forward,
                        .channels = forward ? layout.inputs : layout.batch,
                        .images = forward ? layout.batch : layout.inputs,
                        .image_stride = forward ? layout.input_batch_stride : layout.input_feature_stride,
                        .other_origin = layout.kernel_origin,
                        .other_output_stride = layout.kernel_output_stride,
                        .other_stride = layout.kernel_input_stride};
  for (size_t d = 0; d < parts.size(); ++d) {
    const Part& part = parts[d];
    const Spatial& s = layout.spatial[d];
    if (part.spread != 1 || part.outputs == 0 || part.taps == 0) return std::nullopt;
    Im2colProblem::Dim& dim = problem.dims[parts.size() - 1 - d];
    dim = {.input = s.input,
           .input_stride = s.input_stride,
           .pixels = part.outputs,
           .pixel_step = part.step,
           .origin = part.origin,
           .taps = part.taps,
           .tap_step = part.tap_move,
           .other_stride = part.tap_step * s.kernel_stride};
    if (!forward) {
      std::swap(dim.pixels, dim.taps);
      std::swap(dim.pixel_step, dim.tap_step);
    }
    problem.other_origin += part.first_tap * s.kernel_stride;
  }
  if (parts.size() == 1) {
    // One row. Its strides are unused, but tensor maps require them.
    Im2colProblem::Dim& rows = problem.dims[1];
    rows.input_stride = problem.image_stride;
    rows.other_stride =
        forward ? problem.dims[0].other_stride : problem.dims[0].pixels * problem.dims[0].other_stride;
  }
  return problem;
}

// The parts of each spatial dimension; each product uses one part per dimension.
using Choices = std::vector<std::vector<Part>>;

int64_t ClassCount(const Choices& choices) {
  int64_t classes = 1;
  for (const std::vector<Part>& choice : choices) {
    classes *= static_cast<int64_t>(choice.size());
    if (classes > kMaxClasses) break;
  }
  return classes;
}

bool NeedsAxis(const Spatial& s, const std::vector<Part>& choice) {
  return std::any_of(choice.begin(), choice.end(), [&](const Part& part) {
    return part.outputs > 0 && part.taps > 0 && !part.IsInside(s.input);
  });
}

// A product has bounds-tested axes for kAxisRank dimensions only. The remaining dimensions, those with the
// fewest parts, are split so that they need no tests.
void SplitBorders(const Layout& layout, Choices* choices) {
  std::vector<std::pair<size_t, size_t>> borders;  // Pairs of part count and dimension.
  for (size_t d = 0; d < choices->size(); ++d) {
    if (NeedsAxis(layout.spatial[d], (*choices)[d]))
      borders.emplace_back(InsideParts(layout.spatial[d]).size(), d);
  }
  std::sort(borders.begin(), borders.end());
  for (size_t k = 0; k + kAxisRank < borders.size(); ++k) {
    const size_t d = borders[k].second;
    (*choices)[d] = InsideParts(layout.spatial[d]);
  }
}

std::optional<ConvolutionGemms> GemmsOf(const Layout& layout) {
  Choices choices;
  for (const Spatial& s : layout.spatial) {
    if (s.base_dilation >= kMaxConvolutionCoordinate) return std::nullopt;
    choices.push_back(s.base_dilation / std::gcd(s.stride, s.base_dilation) <= kMaxClasses
                          ? Classes(s)
                          : std::vector{Whole(s)});
  }
  if (ClassCount(choices) > kMaxClasses) {
    choices.clear();
    for (const Spatial& s : layout.spatial) choices.push_back({Whole(s)});
  }
  SplitBorders(layout, &choices);
  const int64_t classes = ClassCount(choices);
  if (classes > kMaxClasses) return std::nullopt;
  ConvolutionGemms result{.features_last = layout.features_last};
  for (int64_t c = 0; c < classes; ++c) {
    std::vector<Part> parts;
    int64_t rest = c;
    for (const std::vector<Part>& choice : choices) {
      parts.push_back(choice[rest % static_cast<int64_t>(choice.size())]);
      rest /= static_cast<int64_t>(choice.size());
    }
    std::optional<Gemm> gemm = GemmOfParts(layout, parts);
    if (!gemm.has_value()) return std::nullopt;
    result.gemms.push_back(*gemm);
    result.im2col.push_back(Im2colOf(layout, parts));
  }
  return result;
}

// Describes a copy of an array with rows of contiguous features; `rows` are its other dimensions.
std::optional<PackArgs> PackedRows(ElementType type, PairedDims rows, int64_t features,
                                   int64_t feature_stride, PackedType packed, int64_t pitch) {
  const int64_t count = rows.Count();
  if (count >= (int64_t{1} << 31) || pitch >= (int64_t{1} << 31)) return std::nullopt;
  PairedDims terms{{{.size = features, .first = feature_stride}}};
  rows.Merge();
  terms.Merge();
  const std::optional<IndexMap> mn = rows.First(), k = terms.First();
  if (!mn.has_value() || !k.has_value()) return std::nullopt;
  const Operand operand{.type = type,
                        .reading = feature_stride == 1 ? Reading::kAlongK : Reading::kAlongMn,
                        .batch = {},
                        .mn = *mn,
                        .k = *k};
  return PackArgs{.operand = operand,
                  .mn = static_cast<uint32_t>(count),
                  .k = static_cast<uint32_t>(features),
                  .pitch = static_cast<uint32_t>(pitch),
                  .type = packed};
}

}  // namespace

std::optional<ConvolutionGemms> GemmsOf(const Instruction& convolution) {
  return GemmsOf(LayoutOf(convolution));
}

std::optional<PackedConvolution> PackedGemmsOf(const Instruction& convolution, ElementType type,
                                               PackedType packed, int64_t run) {
  Layout layout = LayoutOf(convolution);
  if (layout.groups != 1) return std::nullopt;
  const int64_t pitch = Ceil(layout.inputs, run) * run;
  PairedDims input_rows{{{.size = layout.batch, .first = layout.input_batch_stride}}};
  PairedDims kernel_rows{{{.size = layout.outputs, .first = layout.kernel_output_stride}}};
  for (const Spatial& s : layout.spatial) {
    input_rows.dims.push_back({.size = s.input, .first = s.input_stride});
    // The copy stores taps in memory order; `origin` and the strides handle reversal.
    kernel_rows.dims.push_back({.size = s.taps, .first = s.kernel_stride});
  }
  std::optional<PackArgs> input =
      PackedRows(layout.input_type, input_rows, layout.inputs, layout.input_feature_stride, packed, pitch);
  std::optional<PackArgs> kernel =
      PackedRows(layout.kernel_type, kernel_rows, layout.inputs, layout.kernel_input_stride, packed, pitch);
  if (!input.has_value() || !kernel.has_value()) return std::nullopt;
  kernel->operand.origin = layout.kernel_origin;

  int64_t input_stride = pitch, kernel_stride = pitch;
  for (size_t d = layout.spatial.size(); d-- > 0;) {
    Spatial& s = layout.spatial[d];
    s.input_stride = input_stride;
    s.kernel_stride = kernel_stride;
    input_stride *= s.input;
    kernel_stride *= s.taps;
  }
  layout.input_batch_stride = input_stride;
  layout.kernel_output_stride = kernel_stride;
  layout.kernel_origin = 0;
  layout.input_feature_stride = layout.kernel_input_stride = 1;
  layout.inputs = pitch;
  layout.features_last = true;
  layout.batch_last = false;
  layout.input_type = layout.kernel_type = type;
  std::optional<ConvolutionGemms> gemms = GemmsOf(layout);
  if (!gemms.has_value()) return std::nullopt;
  return PackedConvolution{*std::move(gemms), *input, *kernel, input_rows.Count() * pitch,
                           kernel_rows.Count() * pitch};
}

}  // namespace hlo::cuda
