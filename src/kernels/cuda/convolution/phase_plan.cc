// Convolutions with base dilation and few outputs; see window_plan.h.

#include <algorithm>
#include <utility>

#include "kernels/cuda/convolution/packing.h"
#include "types/index.h"

namespace hlo::cuda {
namespace {

// The phases of a dimension with equal numbers of outputs, and the union of the inputs that they read.
struct Phases {
  std::vector<Part> parts;
  int64_t origin = 0, taps = 0;
  bool equal = false;  // All phases use all taps of the union.
};
std::optional<Phases> PhasesOf(const Spatial& s) {
  Phases phases{.parts = PhaseParts(s)};
  if (phases.parts.size() > PackTapsArgs::kMaxPhases) return std::nullopt;
  int64_t end = 0;
  bool first = true;
  for (const Part& part : phases.parts) {
    if (part.outputs != phases.parts[0].outputs || part.step != 1 || part.tap_move != 1 ||
        !part.IsCountable())
      return std::nullopt;
    if (part.taps == 0) continue;
    phases.origin = first ? part.origin : std::min(phases.origin, part.origin);
    end = first ? part.origin + part.taps : std::max(end, part.origin + part.taps);
    first = false;
  }
  phases.taps = end - phases.origin;
  if (first || phases.taps > PackTapsArgs::kMaxTaps || s.taps > INT8_MAX) return std::nullopt;
  phases.equal = std::all_of(phases.parts.begin(), phases.parts.end(),
                             [&](const Part& part) { return part.taps == phases.taps; });
  return phases;
}

void SetTaps(const Phases& phases, int8_t (&tap_of)[PackTapsArgs::kMaxPhases][PackTapsArgs::kMaxTaps]) {
  for (size_t p = 0; p < phases.parts.size(); ++p) {
    const Part& part = phases.parts[p];
    for (int64_t t = 0; t < part.taps; ++t)
      tap_of[p][part.origin - phases.origin + t] = static_cast<int8_t>(part.first_tap + t * part.tap_step);
  }
}

// Returns the product whose rows are positions of a phase, and whose columns are phases and outputs.
std::optional<Gemm> GemmOfPhases(const ConvolutionTask& task, const ConvolutionLayout& layout,
                                 const Plane& plane, const Phases& columns, const Phases& rows) {
  const auto count = [](const Phases& phases) { return static_cast<int64_t>(phases.parts.size()); };
  PairedDims result_rows, result_columns;
  result_rows.dims = {
      {.size = layout.batch, .first = layout.output_batch_stride},
      {.size = rows.parts[0].outputs, .first = count(rows) * plane.rows.output_stride},
      {.size = columns.parts[0].outputs, .first = count(columns) * plane.columns.output_stride}};
  result_columns.dims = {{.size = count(rows), .first = plane.rows.output_stride},
                         {.size = count(columns), .first = plane.columns.output_stride},
                         {.size = layout.outputs, .first = layout.output_feature_stride}};
  Gemm gemm;
  const int64_t m = result_rows.Count(), n = result_columns.Count(),
                k = columns.taps * rows.taps * layout.inputs;
  if (std::max({m, n, k}) >= kMaxPackedCount) return std::nullopt;
  result_rows.Merge();
  result_columns.Merge();
  const std::optional<IndexMap> row_map = result_rows.First(), column_map = result_columns.First();
  if (!row_map.has_value() || !column_map.has_value()) return std::nullopt;
  gemm.m = static_cast<uint32_t>(m);
  gemm.n = static_cast<uint32_t>(n);
  gemm.k = static_cast<uint32_t>(k);
  gemm.a.type = layout.input_type;
  gemm.b.type = layout.kernel_type;
  gemm.result = {.type = layout.output_type, .rows = *row_map, .columns = *column_map};
  gemm.epilogue = task.epilogue;
  return gemm;
}

Im2colProblem ProblemOfPhases(const ConvolutionLayout& layout, const Plane& plane, const Phases& columns,
                              const Phases& rows) {
  Im2colProblem problem{.channels = layout.inputs,
                        .images = layout.batch,
                        .image_stride = layout.input_batch_stride,
                        .other_output_stride = rows.taps * columns.taps * layout.inputs,
                        .other_stride = 1};
  problem.dims[0] = {.input = plane.columns.input,
                     .input_stride = plane.columns.input_stride,
                     .pixels = columns.parts[0].outputs,
                     .origin = columns.origin,
                     .taps = columns.taps,
                     .other_stride = layout.inputs};
  problem.dims[1] = {
      .input = plane.rows.input,
      .input_stride = layout.spatial.size() == 1 ? layout.input_batch_stride : plane.rows.input_stride,
      .pixels = rows.parts[0].outputs,
      .origin = rows.origin,
      .taps = rows.taps,
      .other_stride = columns.taps * layout.inputs};
  return problem;
}

}  // namespace

bool AddPhaseColumns(const ConvolutionTask& task, StepList* list) {
  constexpr int64_t kMaxColumns = 64;
  const ConvolutionLayout layout = LayoutOf(task.convolution);
  const std::optional<uint32_t> bytes = PackedBytes(task);
  const std::optional<Plane> plane = PlaneOf(layout);
  if (!bytes.has_value() || !plane.has_value() || layout.batch_last || layout.input_feature_stride != 1 ||
      task.gemms.size() < 2)
    return false;
  const std::optional<Phases> columns = PhasesOf(plane->columns), rows = PhasesOf(plane->rows);
  if (!columns.has_value() || !rows.has_value()) return false;
  const auto phases = static_cast<int64_t>(columns->parts.size() * rows->parts.size());
  const int64_t taps = phases * layout.outputs * rows->taps * columns->taps * layout.inputs;
  if (phases * layout.outputs > kMaxColumns || taps >= kMaxPackedCount ||
      std::any_of(task.gemms.begin(), task.gemms.end(),
                  [](const Gemm& gemm) { return !FitsElementKernel(gemm); }))
    return false;
  const std::optional<Gemm> gemm = GemmOfPhases(task, layout, *plane, *columns, *rows);
  if (!gemm.has_value()) return false;

  Im2colProblem problem = ProblemOfPhases(layout, *plane, *columns, *rows);
  StepList packed = *list;
  const Shape &input = task.convolution.operand(0)->shape(), &filter = task.convolution.operand(1)->shape();
  // Zeros of the packed filter meet the input, and padding meets the filter.
  const bool searches = !columns->equal || !rows->equal ||
                        std::any_of(task.gemms.begin(), task.gemms.end(), [&](const Gemm& each) {
                          return MayMeetNonFinite(each, task.compute, GemmMethod::kGeneralTiles);
                        });
  problem.always_searched = searches;
  if (searches)
    AddNonFiniteSearch(hlo::Product(filter.dims()), filter.type(), &packed, hlo::Product(input.dims()));
  problem.other_offset = ReserveWorkspace(taps * *bytes, &packed);
  PackTapsArgs args = PackedTapsOf(layout, *plane, layout.inputs);
  args.count = static_cast<uint32_t>(taps);
  args.taps[0] = Divisor(columns->taps);
  args.taps[1] = Divisor(rows->taps);
  args.phase_columns = Divisor(static_cast<int64_t>(columns->parts.size()));
  SetTaps(*columns, args.tap_of[0]);
  SetTaps(*rows, args.tap_of[1]);
  AddPackTaps(args, *bytes, *problem.other_offset, &packed);
  packed.name += ", phases as columns";
  if (!AddPackedGemm(task, *gemm, problem, &packed)) return false;
  *list = std::move(packed);
  return true;
}

}  // namespace hlo::cuda
