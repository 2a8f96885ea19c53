#include "kernels/cuda/gemm/f32_tma_plan.h"

#include <algorithm>
#include <utility>

#include "base/arithmetic.h"
#include "fmt/format.h"
#include "kernels/cuda/gemm/gemm_kernels.h"
#include "kernels/cuda/gemm/tma_boxes.h"

namespace hlo::cuda {
namespace {

constexpr int64_t kWaveMultiprocessors = 132;  // The GPU that tiles are tuned for; does not affect results.
constexpr int64_t kTmaDepth = 32;

// The tiles, with estimates: the rate of a multiprocessor, in fused multiply-adds per microsecond, when it
// runs 1, 2, ... thread blocks.
struct TileRates {
  F32TmaTileSize size;
  uint32_t rows, columns;
  int64_t blocks;  // Per multiprocessor.
  double rates[4];
};
constexpr double kPeakRate = 182e3;
constexpr TileRates kTileRates[] = {
    {F32TmaTileSize::k128x128, 128, 128, 2, {0.5, 0.96}},
    {F32TmaTileSize::k128x64, 128, 64, 3, {0.5, 0.85, 1}},
    {F32TmaTileSize::k64x64, 64, 64, 3, {0.45, 0.77, 0.9}},
    {F32TmaTileSize::k64x32, 64, 32, 4, {0.38, 0.56, 0.68, 0.75}},
};

// Returns the estimated time in microseconds.
double TimeOf(const TileRates& tile, const GemmExtents& extents, int64_t blocks, const Chunks& chunks) {
  const double fixed_terms = 64;  // The start and the end of a tile, in terms.
  const double work =
      double{1} * tile.rows * tile.columns * (std::min<double>(chunks.length, extents.k) + fixed_terms);
  const auto time_of = [&](int64_t each) {
    return static_cast<double>(each) * work / (kPeakRate * tile.rates[each - 1]);
  };
  const int64_t wave = kWaveMultiprocessors * tile.blocks, rest = blocks % wave, full_waves = blocks / wave;
  double time = static_cast<double>(full_waves) * time_of(tile.blocks);
  if (rest > 0) time += time_of(CeilDiv(rest, kWaveMultiprocessors));
  if (chunks.count > 1) {
    const double bytes =
        4.0 * static_cast<double>(extents.m * extents.n * extents.batch) * (2.0 * chunks.count + 1);
    time += 3 + bytes / 2.5e6;
  }
  return time;
}

// Returns chunks of whole stages, none of which is empty.
Chunks ChunksOf(int64_t k, int64_t count) {
  const int64_t length = CeilDiv(CeilDiv(k, count), kTmaDepth) * kTmaDepth;
  return {static_cast<uint32_t>(CeilDiv(k, length)), static_cast<uint32_t>(length)};
}

bool IsMnMajor(const Operand& operand) { return !(operand.k.rank == 1 && operand.k.Stride() == 1); }

}  // namespace

F32TmaTiling F32TmaTilingOf(const GemmExtents& extents, F32TmaTileSize size, int64_t chunks) {
  const TileRates& tile = kTileRates[static_cast<size_t>(size)];
  F32TmaTiling tiling{
      size, tile.rows, tile.columns, CeilDiv(extents.m, tile.rows), CeilDiv(extents.n, tile.columns), {}};
  if (chunks > 1) tiling.chunks = ChunksOf(extents.k, chunks);
  return tiling;
}

F32TmaTiling F32TmaTilingFor(const GemmExtents& extents, uint32_t min_columns) {
  constexpr int64_t kMinTerms = 256;  // Per chunk.
  F32TmaTiling best;
  double least = 0;
  for (const TileRates& tile : kTileRates) {
    if (tile.columns < min_columns) continue;
    const int64_t tiles = CeilDiv(extents.m, tile.rows) * CeilDiv(extents.n, tile.columns) * extents.batch;
    for (int64_t waves = 0; waves <= 2; ++waves) {
      // No chunks, or as many as fill one or two waves.
      const int64_t wave = kWaveMultiprocessors * tile.blocks;
      const int64_t count = waves == 0 ? 1 : std::min(waves * wave / tiles, extents.k / kMinTerms);
      if (waves > 0 && count < 2) continue;
      const F32TmaTiling tiling = F32TmaTilingOf(extents, tile.size, count);
      const double time = TimeOf(tile, extents, tiles * tiling.chunks.count, tiling.chunks);
      if (least != 0 && time >= least) continue;
      least = time;
      best = tiling;
    }
  }
  return best;
}

bool SupportsF32Tma(const Gemm& p, const device::DeviceProperties& device) {
  const bool is_f32 =
      p.a.type == ElementType::kF32 && p.b.type == ElementType::kF32 && p.result.type == ElementType::kF32;
  return is_f32 && HasWgmma() && device.compute_capability == 90 && p.k > 0 && p.batch > 0 &&
         std::min(p.m, p.n) > 8 &&
         device.shared_bytes_per_block >= static_cast<int64_t>(F32TmaSharedBytes(F32TmaTileSize::k128x128));
}

void AddF32TmaLaunch(const F32TmaLaunch& launch, const F32TmaTiling& tiling, std::optional<bool> run_if,
                     StepList* list) {
  F32TmaLaunch l = launch;
  GemmArgs& gemm = l.args.gemm;
  gemm.tile_rows = static_cast<uint32_t>(tiling.tile_rows);
  gemm.tile_columns = static_cast<uint32_t>(tiling.tile_columns);
  gemm.chunks = tiling.chunks.count;
  gemm.chunk = tiling.chunks.length;
  l.args.blocks =
      static_cast<uint32_t>(tiling.tile_rows * tiling.tile_columns * tiling.chunks.count * gemm.gemm.batch);
  const int64_t parts_offset = list->shared_bytes;
  list->steps.push_back([=, size = tiling.size](const StepArrays& arrays) {
    TmaGemmArgs now = l.args;
    SetEpilogueArrays(arrays, &now.gemm.gemm.epilogue);
    now.gemm.result = arrays.result;
    now.gemm.parts = arrays.workspace + parts_offset;
    now.a.source.data = l.a.In(arrays);
    now.b.source.data = l.b.In(arrays);
    if (run_if.has_value()) {
      now.gemm.flag = reinterpret_cast<const uint32_t*>(arrays.workspace);
      now.gemm.run_if = *run_if;
    }
    return LaunchF32Tma(size, l.a_is_mn_major, l.b_is_mn_major, now, arrays.stream);
  });
  list->name += fmt::format(" tma {}x{}x32", tiling.rows, tiling.columns);
  if (tiling.chunks.count == 1) return;
  AddSumParts(gemm, ElementType::kF32, parts_offset, run_if, list);
  list->name += fmt::format(" in {} chunks", tiling.chunks.count);
}

bool AddF32TmaGemm(const Gemm& p, const device::DeviceProperties& device, StepList* list) {
  return SupportsF32Tma(p, device) && AddF32TmaGemm(p, F32TmaTilingFor({p.m, p.n, p.k, p.batch}, 32), list);
}

bool AddF32TmaGemm(const Gemm& p, const F32TmaTiling& tiling, StepList* list) {
  if (static_cast<double>(tiling.tile_rows) * tiling.tile_columns * tiling.chunks.count * p.batch >= 0x1p31)
    return false;
  F32TmaLaunch launch{.a_is_mn_major = IsMnMajor(p.a), .b_is_mn_major = IsMnMajor(p.b)};
  const std::optional<BoxSource> a = BoxesOf(p.a, {tiling.rows, 4, launch.a_is_mn_major}, p.m, p.k, p.batch);
  const std::optional<BoxSource> b =
      BoxesOf(p.b, {tiling.columns, 4, launch.b_is_mn_major}, p.n, p.k, p.batch);
  if (!a.has_value() || !b.has_value() || !CanEncode(*a) || !CanEncode(*b)) return false;
  launch.args.gemm.gemm = p;
  launch.args.a.source = *a;
  launch.args.b.source = *b;
  launch.args.a_batch_step = a->dims[2] > 1 ? 1 : 0;
  launch.args.b_batch_step = b->dims[2] > 1 ? 1 : 0;
  launch.args.linear_columns = IsLinear(p.result.columns, 1);
  using enum OperandLocation::Array;
  launch.a = {p.exchanged ? kB : kA, 4 * p.a.origin};
  launch.b = {p.exchanged ? kA : kB, 4 * p.b.origin};
  AddF32TmaLaunch(launch, tiling, std::nullopt, list);
  return true;
}

}  // namespace hlo::cuda
