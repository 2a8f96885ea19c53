#include "kernels/cuda/convolution/convolution_plan.h"

#include <algorithm>
#include <utility>

#include "kernels/cuda/convolution/convolution_layout.h"
#include "kernels/cuda/gemm/gemm_plan.h"
#include "types/index.h"

namespace hlo::cuda {
namespace {

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
std::optional<Gemm> GemmOfParts(const ConvolutionLayout& layout, const std::vector<Part>& parts) {
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
std::optional<Im2colProblem> Im2colOf(const ConvolutionLayout& layout, const std::vector<Part>& parts) {
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

int64_t ProductCount(const Choices& choices) {
  int64_t products = 1;
  for (const std::vector<Part>& choice : choices) {
    products *= static_cast<int64_t>(choice.size());
    if (products > kMaxProducts) break;
  }
  return products;
}

bool NeedsAxis(const Spatial& s, const std::vector<Part>& choice) {
  return std::any_of(choice.begin(), choice.end(), [&](const Part& part) {
    return part.outputs > 0 && part.taps > 0 && !part.IsInside(s.input);
  });
}

// A product has bounds-tested axes for kAxisRank dimensions only. The remaining dimensions, those with the
// fewest parts, are split so that they need no tests.
void SplitBorders(const ConvolutionLayout& layout, Choices* choices) {
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

std::optional<ConvolutionGemms> GemmsOf(const ConvolutionLayout& layout) {
  Choices choices;
  for (const Spatial& s : layout.spatial) {
    if (s.base_dilation >= kMaxConvolutionCoordinate) return std::nullopt;
    choices.push_back(loops::PhasePeriod(s.stride, s.base_dilation) <= kMaxProducts ? PhaseParts(s)
                                                                                    : std::vector{Whole(s)});
  }
  if (ProductCount(choices) > kMaxProducts) {
    choices.clear();
    for (const Spatial& s : layout.spatial) choices.push_back({Whole(s)});
  }
  SplitBorders(layout, &choices);
  const int64_t products = ProductCount(choices);
  if (products > kMaxProducts) return std::nullopt;
  ConvolutionGemms result{.features_last = layout.features_last};
  for (int64_t p = 0; p < products; ++p) {
    std::vector<Part> parts;
    int64_t rest = p;
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
                        .load_pattern = feature_stride == 1 ? LoadPattern::kAlongK : LoadPattern::kAlongMn,
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
  ConvolutionLayout layout = LayoutOf(convolution);
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
