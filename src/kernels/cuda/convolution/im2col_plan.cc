#include "kernels/cuda/convolution/im2col_plan.h"

#include <algorithm>
#include <string>

#include "base/arithmetic.h"
#include "fmt/format.h"
#include "kernels/cuda/gemm/f32_tma_plan.h"
#include "kernels/cuda/gemm/gemm_kernels.h"
#include "kernels/cuda/gemm/tma_boxes.h"

namespace hlo::cuda {
namespace {

constexpr int64_t kMultiprocessors = 132;  // Tiles are tuned for it; does not affect results.
// Smaller extents leave most of a tile empty.
constexpr int64_t kMinChannels = 16, kMinPackedChannels = 8, kMinOutputs = 8, kMinPixels = 64;

int64_t Blocks(int64_t count, int64_t each) { return CeilDiv(count, each); }

int64_t TapsOf(const Im2colProblem& problem) { return problem.dims[0].taps * problem.dims[1].taps; }
int64_t PixelsOf(const Im2colProblem& problem) {
  return problem.dims[0].pixels * problem.dims[1].pixels * problem.images;
}
int64_t OutputsOf(const Gemm& p) { return p.exchanged ? p.m : p.n; }

// The terms of a stage, and the channels of a block.
uint32_t DepthOf(uint32_t bytes) { return 128 / bytes; }
uint32_t ChannelBlockOf(const Im2colProblem& problem, uint32_t bytes) {
  return problem.filter_gradient ? TmaSlab::kWidth : DepthOf(bytes);
}

bool IsAligned(int64_t elements, uint32_t bytes) { return elements > 0 && elements * bytes % 16 == 0; }

// Sets a dimension of an array.
void SetDim(BoxSource* source, size_t d, int64_t size, int64_t stride, uint32_t bytes) {
  source->dims[d] = static_cast<uint64_t>(size);
  source->byte_strides[d] = static_cast<uint64_t>(stride * bytes);
}

int64_t UpperCorner(const Im2colProblem::Dim& dim) {
  return dim.origin + (dim.pixels - 1) * dim.pixel_step - (dim.input - 1);
}

// Returns nullopt if the input exceeds the limits of im2col mode.
std::optional<BoxSource> PatchesOf(const Im2colProblem& problem, const TileBox& tile) {
  const uint32_t bytes = tile.element_bytes;
  BoxSource source{.rank = 4, .im2col = true};
  bool fits = IsAligned(problem.image_stride, bytes);
  SetDim(&source, 0, problem.channels, 1, bytes);
  SetDim(&source, 3, problem.images, problem.image_stride, bytes);
  for (size_t x = 0; x < 2; ++x) {
    const Im2colProblem::Dim& dim = problem.dims[x];
    const auto is_corner = [](int64_t corner) {
      return corner >= Im2colLimits::kMinCorner && corner <= Im2colLimits::kMaxCorner;
    };
    fits &= IsAligned(dim.input_stride, bytes) && is_corner(dim.origin) && is_corner(UpperCorner(dim)) &&
            dim.pixel_step >= 1 && dim.pixel_step <= Im2colLimits::kMaxStride && dim.tap_step >= 0 &&
            (dim.taps - 1) * dim.tap_step <= Im2colLimits::kMaxOffset;
    if (!fits) return std::nullopt;
    SetDim(&source, 1 + x, dim.input, dim.input_stride, bytes);
    source.lower_corner[x] = static_cast<int32_t>(dim.origin);
    source.upper_corner[x] = static_cast<int32_t>(UpperCorner(dim));
    source.traversal_stride[x] = static_cast<uint32_t>(dim.pixel_step);
  }
  // The terms are channels or, in a filter gradient, pixels.
  SetBox(tile, tile.is_mn_major ? 1 : 0, tile.is_mn_major ? 0 : 1, &source);
  return source;
}

// The operand that does not consist of patches.
struct OtherOperand {
  BoxSource source;
  int64_t origin = 0;  // The offset of its first element.
  bool is_mn_major = false;
};

// Returns the filter of a forward convolution as boxes of four dimensions; `width` outputs per tile.
std::optional<OtherOperand> FilterOf(const Im2colProblem& problem, int64_t outputs, uint32_t width,
                                     uint32_t bytes) {
  const bool is_k_major = problem.other_stride == 1 && IsAligned(problem.other_output_stride, bytes);
  const bool is_mn_major = problem.other_output_stride == 1 && IsAligned(problem.other_stride, bytes);
  if (!is_k_major && !is_mn_major) return std::nullopt;
  OtherOperand filter{.source = {.rank = 4}, .origin = problem.other_origin, .is_mn_major = !is_k_major};
  const TileBox tile{width, bytes, filter.is_mn_major};
  SetDim(&filter.source, 0, is_k_major ? problem.channels : outputs, 1, bytes);
  const size_t first_tap = is_k_major ? 1 : 2;
  for (size_t x = 0; x < 2; ++x) {
    const Im2colProblem::Dim& dim = problem.dims[x];
    const int64_t stride = std::abs(dim.other_stride);
    if (!IsAligned(stride, bytes)) return std::nullopt;
    if (dim.other_stride < 0) filter.origin -= (dim.taps - 1) * stride;
    SetDim(&filter.source, first_tap + x, dim.taps, stride, bytes);
  }
  if (filter.origin * bytes % 16 != 0) return std::nullopt;
  if (is_k_major) {
    SetDim(&filter.source, 3, outputs, problem.other_output_stride, bytes);
    SetBox(tile, 0, 3, &filter.source);
  } else {
    SetDim(&filter.source, 1, problem.channels, problem.other_stride, bytes);
    SetBox(tile, 1, 0, &filter.source);
  }
  return filter;
}

// Returns the output's gradient as a matrix of contiguous channels, whose terms are the pixels.
std::optional<OtherOperand> OutputGradientOf(const Im2colProblem& problem, int64_t outputs, uint32_t width,
                                             uint32_t bytes) {
  const Im2colProblem::Dim &columns = problem.dims[0], &rows = problem.dims[1];
  const int64_t stride = columns.other_stride, pixels = PixelsOf(problem);
  const bool is_dense =
      rows.other_stride == columns.pixels * stride && problem.other_stride == rows.pixels * rows.other_stride;
  if (problem.other_output_stride != 1 || !IsAligned(stride, bytes) || !is_dense ||
      problem.other_origin * bytes % 16 != 0)
    return std::nullopt;
  OtherOperand gradient{.origin = problem.other_origin, .is_mn_major = true};
  SetDim(&gradient.source, 0, outputs, 1, bytes);
  SetDim(&gradient.source, 1, pixels, stride, bytes);
  SetDim(&gradient.source, 2, 1, stride * pixels, bytes);
  SetBox({width, bytes, true}, 1, 0, &gradient.source);
  return gradient;
}

Im2colArgs ArgsOf(const Im2colProblem& problem, bool patches_are_b, uint32_t block) {
  Im2colArgs args{
      .mode = problem.filter_gradient ? Im2colArgs::Mode::kFilterGradient : Im2colArgs::Mode::kForward,
      .patches_are_b = patches_are_b};
  const auto divisor = [](int64_t x) { return FastDiv(static_cast<uint32_t>(x)); };
  args.pixel_columns = divisor(problem.dims[0].pixels);
  args.pixel_rows = divisor(problem.dims[1].pixels);
  args.tap_columns = divisor(problem.dims[0].taps);
  args.channel_blocks = divisor(Blocks(problem.channels, block));
  args.block = block;
  args.channels = static_cast<uint32_t>(problem.channels);
  args.taps = static_cast<uint32_t>(TapsOf(problem));
  args.pixel_pitch = divisor(problem.pixel_pitch);
  args.pixel_channels = static_cast<uint32_t>(problem.pixel_channels);
  for (size_t x = 0; x < 2; ++x) {
    const Im2colProblem::Dim& dim = problem.dims[x];
    args.origin[x] = static_cast<int32_t>(dim.origin);
    args.pixel_step[x] = static_cast<int32_t>(dim.pixel_step);
    args.tap_step[x] = static_cast<uint32_t>(dim.tap_step);
    const bool reversed = dim.other_stride < 0;
    args.filter_first[x] = reversed ? static_cast<int32_t>(dim.taps - 1) : 0;
    args.filter_step[x] = reversed ? -1 : 1;
  }
  return args;
}

// Returns the product with whole blocks of channels.
GemmExtents PaddedExtents(const Gemm& p, const Im2colProblem& problem, uint32_t bytes) {
  const int64_t block = ChannelBlockOf(problem, bytes),
                taps = TapsOf(problem) * Blocks(problem.channels, block) * block;
  if (!problem.filter_gradient) return {p.m, p.n, taps};
  return p.exchanged ? GemmExtents{p.m, taps, p.k} : GemmExtents{taps, p.n, p.k};
}

// A product with its operands described; its tiling is not set.
struct Im2colGemm {
  TmaGemmArgs args;
  bool a_is_mn_major = false, b_is_mn_major = false;
  OperandLocation a, b;
};
std::optional<Im2colGemm> DescribeGemm(const Gemm& p, const Im2colProblem& problem, uint32_t bytes,
                                       uint32_t tile_rows, uint32_t tile_columns) {
  const bool patches_are_b = p.exchanged, gradient = problem.filter_gradient;
  const uint32_t patch_width = patches_are_b ? tile_columns : tile_rows,
                 other_width = patches_are_b ? tile_rows : tile_columns;
  const std::optional<BoxSource> patches = PatchesOf(problem, {patch_width, bytes, gradient});
  const std::optional<OtherOperand> other = gradient
                                                ? OutputGradientOf(problem, OutputsOf(p), other_width, bytes)
                                                : FilterOf(problem, OutputsOf(p), other_width, bytes);
  if (!patches.has_value() || !other.has_value()) return std::nullopt;
  // Drivers may refuse pixels that overlap, as those of a row of the window do, and other strides.
  if (!CanEncode(*patches) || !CanEncode(other->source)) return std::nullopt;
  Im2colGemm gemm;
  gemm.args.gemm.gemm = p;
  gemm.args.gemm.gemm.k = static_cast<uint32_t>(PaddedExtents(p, problem, bytes).k);
  gemm.args.im2col = ArgsOf(problem, patches_are_b, ChannelBlockOf(problem, bytes));
  (patches_are_b ? gemm.args.b : gemm.args.a).source = *patches;
  (patches_are_b ? gemm.args.a : gemm.args.b).source = other->source;
  (patches_are_b ? gemm.b_is_mn_major : gemm.a_is_mn_major) = gradient;
  (patches_are_b ? gemm.a_is_mn_major : gemm.b_is_mn_major) = other->is_mn_major;
  using enum OperandLocation::Array;
  const OperandLocation input = problem.patches_offset.has_value()
                                    ? OperandLocation{kWorkspace, *problem.patches_offset}
                                    : OperandLocation{kA, 0};
  OperandLocation second = problem.other_offset.has_value()
                               ? OperandLocation{kWorkspace, *problem.other_offset}
                               : OperandLocation{kB, 0};
  second.bytes += other->origin * bytes;
  gemm.a = patches_are_b ? second : input;
  gemm.b = patches_are_b ? input : second;
  gemm.args.linear_columns = IsLinear(p.result.columns, 1);
  return gemm;
}

// Columns of a tile, and the split of the terms that fills about one wave.
struct WaveTiling {
  uint32_t columns = 256;
  int64_t tile_rows = 1, tile_columns = 1;
  Chunks chunks;
};
WaveTiling TilingFor(const GemmExtents& size, uint32_t columns) {
  constexpr int64_t kMinTerms = 512, kStage = 64;  // Terms per chunk and per stage.
  WaveTiling tiling{
      columns, Blocks(size.m, WgmmaTile::kRows), Blocks(size.n, columns), {1, static_cast<uint32_t>(size.k)}};
  const int64_t tiles = tiling.tile_rows * tiling.tile_columns;
  const int64_t count = std::min(kMultiprocessors / tiles, size.k / kMinTerms);
  if (count > 1) {
    const int64_t length = Blocks(Blocks(size.k, count), kStage) * kStage;
    // No chunk is empty.
    tiling.chunks = {static_cast<uint32_t>(Blocks(size.k, length)), static_cast<uint32_t>(length)};
  }
  return tiling;
}

// Returns the tiling with the shortest estimated time.
WaveTiling TilingFor(const GemmExtents& size) {
  constexpr double kFixedTerms = 256;  // The start and the end of a tile, in terms.
  WaveTiling best;
  double least = 0;
  for (const auto& [columns, rate] : {std::pair{256u, 1.0}, {128u, 0.9}, {64u, 0.6}}) {
    const WaveTiling tiling = TilingFor(size, columns);
    const int64_t blocks = tiling.tile_rows * tiling.tile_columns * tiling.chunks.count;
    const double time = static_cast<double>(Blocks(blocks, kMultiprocessors)) *
                        (tiling.chunks.length + kFixedTerms) * columns / rate;
    if (least != 0 && time >= least) continue;
    least = time;
    best = tiling;
  }
  return best;
}

// True if pairs of columns are aligned, unless the columns are stored apart.
bool StoresPairs(const Gemm& p) {
  if (!IsLinear(p.result.columns, 1)) return p.n % 2 == 0 && !p.exchanged;
  bool are_even = p.n % 2 == 0 && p.result.origin % 2 == 0;
  for (int d = 0; d < p.result.rows.rank; ++d) are_even &= p.result.rows.dims[d].stride % 2 == 0;
  return are_even;
}

// True if the tiles are not mostly empty. In a filter gradient, channels fill whole slabs.
bool FillsTiles(const Gemm& p, const Im2colProblem& problem) {
  const int64_t channels = problem.patches_offset.has_value() ? kMinPackedChannels : kMinChannels;
  return p.batch == 1 && problem.channels >= channels && OutputsOf(p) >= kMinOutputs &&
         PixelsOf(problem) >= kMinPixels;
}

// True if types and the result's layout suit the kernel.
bool SuitsWgmma(const Gemm& p, const TensorForm& form) {
  const ElementType type = StoredType(form.packed, p.a.type);
  const bool is_half = form.kind == MmaKind::kBF16 || form.kind == MmaKind::kF16;
  const bool stores = p.result.type == ElementType::kF32 || p.result.type == type;
  return form.has_wgmma && is_half && form.pieces == 1 && p.a.type == type && p.b.type == type && stores &&
         StoresPairs(p);
}

bool IsCountable(const GemmExtents& size, int64_t blocks) {
  return std::max({size.m, size.n, size.k, blocks}) < int64_t{1} << 31;
}

// Appends the alternatives if zeros may be multiplied by infinities. Returns the condition of the other
// steps, or false if there is no alternative.
struct Condition {
  bool possible = true;
  std::optional<bool> run_if;
};
Condition AddAlternatives(absl::Span<const Gemm> alternatives, bool searched, ElementType compute,
                          StepList* list) {
  for (const Gemm& gemm : alternatives)
    searched |= MayMeetNonFinite(gemm, compute, GemmMethod::kGeneralTiles);
  if (!searched) return {};
  if (!std::all_of(alternatives.begin(), alternatives.end(), FitsElementKernel)) return {.possible = false};
  for (const Gemm& gemm : alternatives) AddElementsIfFound(gemm, compute, list);
  return {.run_if = false};
}

}  // namespace

bool AddIm2colGemm(const Gemm& p, const Im2colProblem& problem, absl::Span<const Gemm> alternatives,
                   ElementType compute, const TensorForm& form, StepList* list) {
  constexpr uint32_t kBytes = 2;
  if (!SuitsWgmma(p, form) || !FillsTiles(p, problem)) return false;
  const GemmExtents size = PaddedExtents(p, problem, kBytes);
  const WaveTiling tiling = TilingFor(size);
  const int64_t blocks = tiling.tile_rows * tiling.tile_columns * tiling.chunks.count;
  std::optional<Im2colGemm> gemm = DescribeGemm(p, problem, kBytes, WgmmaTile::kRows, tiling.columns);
  if (!IsCountable(size, blocks) || !gemm.has_value()) return false;
  const Condition condition = AddAlternatives(alternatives, problem.always_searched, compute, list);
  if (!condition.possible) return false;
  gemm->args.blocks = static_cast<uint32_t>(blocks);
  GemmArgs& args = gemm->args.gemm;
  args.tile_rows = static_cast<uint32_t>(tiling.tile_rows);
  args.tile_columns = static_cast<uint32_t>(tiling.tile_columns);
  args.group = 16;
  args.chunks = tiling.chunks.count;
  args.chunk = tiling.chunks.length;
  const LaunchShape shape{Dim3{static_cast<uint32_t>(std::min<int64_t>(blocks, form.multiprocessors))},
                          WgmmaTile::kThreads, WgmmaTile::SharedBytes(tiling.columns)};
  const int64_t parts_offset = list->shared_bytes;
  list->steps.push_back([=, g = *gemm, kind = form.kind, columns = tiling.columns,
                         run_if = condition.run_if](const StepArrays& arrays) {
    TmaGemmArgs now = g.args;
    SetEpilogueArrays(arrays, &now.gemm.gemm.epilogue);
    now.gemm.result = arrays.result;
    now.gemm.parts = arrays.workspace + parts_offset;
    if (run_if.has_value()) now.gemm.flag = reinterpret_cast<const uint32_t*>(arrays.workspace);
    now.a.source.data = g.a.In(arrays);
    now.b.source.data = g.b.In(arrays);
    return LaunchWgmma(kind, g.a_is_mn_major, g.b_is_mn_major, columns, shape, now, arrays.stream);
  });
  list->name += fmt::format(" im2col wgmma 128x{}x64", tiling.columns);
  if (tiling.chunks.count > 1) {
    AddSumParts(args, ElementType::kF32, parts_offset, condition.run_if, list);
    list->name += fmt::format(" in {} chunks", tiling.chunks.count);
  }
  return true;
}

bool AddIm2colF32Gemm(const Gemm& p, const Im2colProblem& problem, absl::Span<const Gemm> alternatives,
                      const device::DeviceProperties& device, StepList* list) {
  constexpr uint32_t kBytes = 4;
  constexpr int64_t kMinGradientChannels = 32;
  if (!SupportsF32Tma(p, device) || !FillsTiles(p, problem) ||
      (problem.filter_gradient && problem.channels < kMinGradientChannels))
    return false;
  const GemmExtents size = PaddedExtents(p, problem, kBytes);
  const F32TmaTiling tiling = F32TmaTilingFor(size, problem.filter_gradient ? TmaSlab::kWidth : 32);
  const std::optional<Im2colGemm> gemm = DescribeGemm(p, problem, kBytes, tiling.rows, tiling.columns);
  if (!IsCountable(size, tiling.tile_rows * tiling.tile_columns * tiling.chunks.count) || !gemm.has_value())
    return false;
  const Condition condition = AddAlternatives(alternatives, problem.always_searched, ElementType::kF32, list);
  if (!condition.possible) return false;
  list->name += " im2col";
  AddF32TmaLaunch({gemm->args, gemm->a_is_mn_major, gemm->b_is_mn_major, gemm->a, gemm->b}, tiling,
                  condition.run_if, list);
  return true;
}

}  // namespace hlo::cuda
