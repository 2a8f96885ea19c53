#include "kernels/cuda/convolution/im2col_plan.h"

#include <algorithm>
#include <string>

#include "fmt/format.h"
#include "kernels/cuda/gemm/gemm_kernels.h"

namespace hlo::cuda {
namespace {

constexpr int64_t kBlock = Im2colArgs::kBlock;
constexpr int64_t kBytes = 2, kAlignment = 16 / kBytes;  // Of elements; in elements.
constexpr int64_t kMultiprocessors = 132;                // Tiles are tuned for it; does not affect results.
// Smaller extents leave most of a tile empty.
constexpr int64_t kMinChannels = 16, kMinOutputs = 32, kMinRows = 64;

int64_t Blocks(int64_t count, int64_t each) { return (count + each - 1) / each; }
bool IsAligned(int64_t elements) { return elements > 0 && elements % kAlignment == 0; }

int64_t TapsOf(const Im2colProblem& problem) { return problem.dims[0].taps * problem.dims[1].taps; }
int64_t PixelsOf(const Im2colProblem& problem) {
  return problem.dims[0].pixels * problem.dims[1].pixels * problem.images;
}

int64_t UpperCorner(const Im2colProblem::Dim& dim) {
  return dim.origin + (dim.pixels - 1) * dim.pixel_step - (dim.input - 1);
}

// Returns nullopt if the input exceeds the limits of im2col mode.
std::optional<BoxSource> PatchesOf(const Im2colProblem& problem, uint32_t pixels) {
  BoxSource source{.rank = 4, .box = {kBlock, pixels, 1, 1}, .im2col = true};
  source.dims[0] = static_cast<uint64_t>(problem.channels);
  source.dims[3] = static_cast<uint64_t>(problem.images);
  source.byte_strides[3] = static_cast<uint64_t>(kBytes * problem.image_stride);
  bool fits = IsAligned(problem.image_stride);
  for (size_t x = 0; x < 2; ++x) {
    const Im2colProblem::Dim& dim = problem.dims[x];
    const auto is_corner = [](int64_t corner) {
      return corner >= Im2colLimits::kMinCorner && corner <= Im2colLimits::kMaxCorner;
    };
    fits &= IsAligned(dim.input_stride) && is_corner(dim.origin) && is_corner(UpperCorner(dim)) &&
            dim.pixel_step >= 1 && dim.pixel_step <= Im2colLimits::kMaxStride && dim.tap_step >= 0 &&
            (dim.taps - 1) * dim.tap_step <= Im2colLimits::kMaxOffset;
    if (!fits) break;
    source.dims[1 + x] = static_cast<uint64_t>(dim.input);
    source.byte_strides[1 + x] = static_cast<uint64_t>(kBytes * dim.input_stride);
    source.lower_corner[x] = static_cast<int32_t>(dim.origin);
    source.upper_corner[x] = static_cast<int32_t>(UpperCorner(dim));
    source.traversal_stride[x] = static_cast<uint32_t>(dim.pixel_step);
  }
  return fits ? std::optional(source) : std::nullopt;
}

// The operand that is not patches.
struct OtherOperand {
  BoxSource source;
  int64_t origin = 0;  // Of its first element.
  bool is_mn_major = false;
};

// Returns the filter of a forward convolution as boxes of four dimensions; `width` outputs per tile.
std::optional<OtherOperand> FilterOf(const Im2colProblem& problem, int64_t outputs, uint32_t width) {
  const bool is_k_major = problem.other_stride == 1 && IsAligned(problem.other_output_stride);
  const bool is_mn_major = problem.other_output_stride == 1 && IsAligned(problem.other_stride);
  if (!is_k_major && !is_mn_major) return std::nullopt;
  OtherOperand filter{.source = {.rank = 4}, .origin = problem.other_origin, .is_mn_major = !is_k_major};
  const auto set = [&](size_t d, int64_t size, int64_t stride, uint32_t box) {
    filter.source.dims[d] = static_cast<uint64_t>(size);
    filter.source.byte_strides[d] = static_cast<uint64_t>(kBytes * stride);
    filter.source.box[d] = box;
  };
  const size_t first_tap = is_k_major ? 1 : 2;
  for (size_t x = 0; x < 2; ++x) {
    const Im2colProblem::Dim& dim = problem.dims[x];
    const int64_t stride = std::abs(dim.other_stride);
    if (!IsAligned(stride)) return std::nullopt;
    if (dim.other_stride < 0) filter.origin -= (dim.taps - 1) * stride;
    set(first_tap + x, dim.taps, stride, 1);
  }
  if (filter.origin % kAlignment != 0) return std::nullopt;
  if (is_k_major) {
    set(0, problem.channels, 1, kBlock);
    set(3, outputs, problem.other_output_stride, width);
  } else {
    set(0, outputs, 1, kBlock);
    set(1, problem.channels, problem.other_stride, kBlock);
  }
  return filter;
}

// Returns the output's gradient as a matrix of contiguous channels, whose terms are the pixels.
std::optional<OtherOperand> OutputGradientOf(const Im2colProblem& problem, int64_t outputs) {
  const Im2colProblem::Dim &columns = problem.dims[0], &rows = problem.dims[1];
  const int64_t stride = columns.other_stride;
  const bool is_dense =
      rows.other_stride == columns.pixels * stride && problem.other_stride == rows.pixels * rows.other_stride;
  if (problem.other_output_stride != 1 || !IsAligned(stride) || !is_dense ||
      problem.other_origin % kAlignment != 0)
    return std::nullopt;
  OtherOperand gradient{.origin = problem.other_origin, .is_mn_major = true};
  BoxSource& source = gradient.source;
  source.dims[0] = static_cast<uint64_t>(outputs);
  source.dims[1] = static_cast<uint64_t>(PixelsOf(problem));
  source.byte_strides[1] = static_cast<uint64_t>(kBytes * stride);
  source.byte_strides[2] = source.byte_strides[1] * source.dims[1];
  source.box[1] = kBlock;
  return gradient;
}

Im2colArgs ArgsOf(const Im2colProblem& problem, bool patches_are_b) {
  Im2colArgs args{
      .mode = problem.filter_gradient ? Im2colArgs::Mode::kFilterGradient : Im2colArgs::Mode::kForward,
      .patches_are_b = patches_are_b};
  const auto divisor = [](int64_t x) { return FastDiv(static_cast<uint32_t>(x)); };
  args.pixel_columns = divisor(problem.dims[0].pixels);
  args.pixel_rows = divisor(problem.dims[1].pixels);
  args.tap_columns = divisor(problem.dims[0].taps);
  args.channel_blocks = divisor(Blocks(problem.channels, kBlock));
  args.channels = static_cast<uint32_t>(problem.channels);
  args.taps = static_cast<uint32_t>(TapsOf(problem));
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

// The product with whole blocks of channels.
struct PaddedSize {
  int64_t m, n, k;
};
PaddedSize PaddedOf(const Gemm& p, const Im2colProblem& problem) {
  const int64_t tap_rows = TapsOf(problem) * Blocks(problem.channels, kBlock) * kBlock;
  if (!problem.filter_gradient) return {p.m, p.n, tap_rows};
  return p.exchanged ? PaddedSize{p.m, tap_rows, p.k} : PaddedSize{tap_rows, p.n, p.k};
}

// Columns of a tile, and the split of the terms that fills about one wave.
struct WaveTiling {
  uint32_t columns = 256;
  int64_t tile_rows = 1, tile_columns = 1;
  Chunks chunks;
};
WaveTiling TilingFor(const PaddedSize& size, uint32_t columns) {
  constexpr int64_t kLeast = 512;  // Terms per chunk.
  WaveTiling tiling{
      columns, Blocks(size.m, WgmmaTile::kRows), Blocks(size.n, columns), {1, static_cast<uint32_t>(size.k)}};
  const int64_t tiles = tiling.tile_rows * tiling.tile_columns;
  const int64_t count = std::min(kMultiprocessors / tiles, size.k / kLeast);
  if (count > 1) {
    const int64_t length = Blocks(Blocks(size.k, count), kBlock) * kBlock;
    // No chunk is empty.
    tiling.chunks = {static_cast<uint32_t>(Blocks(size.k, length)), static_cast<uint32_t>(length)};
  }
  return tiling;
}

// Returns the tiling with the shortest estimated time.
WaveTiling TilingFor(const PaddedSize& size) {
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

// True if columns are adjacent, and pairs of them are aligned.
bool StoresPairs(const Gemm& p) {
  bool are_even = p.n % 2 == 0 && p.result.origin % 2 == 0;
  for (int d = 0; d < p.result.rows.rank; ++d) are_even &= p.result.rows.dims[d].stride % 2 == 0;
  return are_even && IsLinear(p.result.columns, 1);
}

// True if sizes, types and the result's layout suit the kernel.
bool SuitsWgmma(const Gemm& p, const Im2colProblem& problem, const TensorForm& form) {
  const ElementType type = StoredType(form.packed, p.a.type);
  const bool is_half = form.kind == MmaKind::kBF16 || form.kind == MmaKind::kF16;
  if (!form.has_wgmma || !is_half || form.pieces != 1 || p.a.type != type || p.b.type != type) return false;
  const int64_t outputs = problem.filter_gradient != p.exchanged ? p.n : p.m;
  const bool stores = p.result.type == ElementType::kF32 || p.result.type == type;
  return p.batch == 1 && stores && StoresPairs(p) && problem.channels >= kMinChannels &&
         outputs >= kMinOutputs && PixelsOf(problem) >= kMinRows;
}

}  // namespace

bool AddIm2colGemm(const Gemm& p, const Im2colProblem& problem, ElementType compute, const TensorForm& form,
                   StepList* list) {
  if (!SuitsWgmma(p, problem, form)) return false;
  const PaddedSize size = PaddedOf(p, problem);
  const WaveTiling tiling = TilingFor(size);
  const int64_t blocks = tiling.tile_rows * tiling.tile_columns * tiling.chunks.count;
  if (std::max({size.m, size.n, size.k, blocks}) >= int64_t{1} << 31) return false;
  const bool patches_are_b = p.exchanged;
  const uint32_t patch_width = patches_are_b ? tiling.columns : WgmmaTile::kRows,
                 other_width = patches_are_b ? WgmmaTile::kRows : tiling.columns;
  const int64_t outputs = patches_are_b ? p.m : p.n;
  const std::optional<BoxSource> patches = PatchesOf(problem, problem.filter_gradient ? kBlock : patch_width);
  const std::optional<OtherOperand> other =
      problem.filter_gradient ? OutputGradientOf(problem, outputs) : FilterOf(problem, outputs, other_width);
  if (!patches.has_value() || !other.has_value()) return false;
  const bool flagged = MayMeetNonFinite(p, compute, GemmMethod::kGeneralTiles);
  if (flagged && !CanTakeElements(p)) return false;
  if (flagged) AddElementsIfFound(p, compute, list);

  WgmmaArgs args;
  args.gemm.gemm = p;
  args.gemm.gemm.k = static_cast<uint32_t>(size.k);
  args.gemm.tile_rows = static_cast<uint32_t>(tiling.tile_rows);
  args.gemm.tile_columns = static_cast<uint32_t>(tiling.tile_columns);
  args.gemm.group = 16;
  args.gemm.chunks = tiling.chunks.count;
  args.gemm.chunk = tiling.chunks.length;
  args.blocks = static_cast<uint32_t>(blocks);
  args.im2col = ArgsOf(problem, patches_are_b);
  (patches_are_b ? args.b : args.a).source = *patches;
  (patches_are_b ? args.a : args.b).source = other->source;
  const bool patches_are_mn_major = problem.filter_gradient;
  const bool a_is_mn_major = patches_are_b ? other->is_mn_major : patches_are_mn_major,
             b_is_mn_major = patches_are_b ? patches_are_mn_major : other->is_mn_major;
  const LaunchShape shape{Dim3{static_cast<uint32_t>(std::min<int64_t>(blocks, form.multiprocessors))},
                          WgmmaTile::kThreads, WgmmaTile::SharedBytes(tiling.columns)};
  const int64_t parts_offset = list->shared_bytes;
  list->steps.push_back([=, origin = other->origin, kind = form.kind,
                         columns = tiling.columns](const StepArrays& arrays) {
    WgmmaArgs now = args;
    TakeExtras(arrays, &now.gemm.gemm.epilogue);
    now.gemm.result = arrays.result;
    now.gemm.parts = arrays.workspace + parts_offset;
    if (flagged) now.gemm.flag = reinterpret_cast<const uint32_t*>(arrays.workspace);
    (patches_are_b ? now.b : now.a).source.data = arrays.a;
    (patches_are_b ? now.a : now.b).source.data = static_cast<const std::byte*>(arrays.b) + kBytes * origin;
    return LaunchWgmma(kind, a_is_mn_major, b_is_mn_major, columns, shape, now, arrays.stream);
  });
  list->name += fmt::format(" im2col wgmma 128x{}x64", tiling.columns);
  if (tiling.chunks.count > 1) {
    AddSumParts(args.gemm, ElementType::kF32, parts_offset, flagged ? std::optional(false) : std::nullopt,
                list);
    list->name += fmt::format(" in {} chunks", tiling.chunks.count);
  }
  return true;
}

}  // namespace hlo::cuda
