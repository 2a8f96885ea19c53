#include "kernels/cuda/gemm/gemm_plan.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/arithmetic.h"
#include "base/status.h"
#include "device/align.h"
#include "kernels/cuda/gemm/gemm_kernels.h"

namespace hlo::cuda {
namespace {

// Upper bound of indices and their products: FastDiv is exact and sums of two do not overflow.
constexpr int64_t kMaxIndex = int64_t{1} << 31;

constexpr int kMultiprocessors = 132;  // The GPU that tiles are tuned for; does not affect results.

bool IsMultiple(int64_t x, int64_t of) { return x % of == 0; }

// True if runs of `count` elements at multiples of `count` are contiguous and aligned. `others` are maps
// whose offsets are added.
bool HasRuns(const IndexMap& map, std::initializer_list<const IndexMap*> others, int64_t origin,
             int64_t count, bool may_end_early) {
  if (map.rank == 0 || !IsMultiple(origin, count)) return false;
  const IndexMap::Dim& last = map.dims[map.rank - 1];
  if (last.stride != 1 || last.axis >= 0) return false;
  if (!(map.rank == 1 && may_end_early) && !IsMultiple(last.size.divisor, count)) return false;
  for (int d = 0; d + 1 < map.rank; ++d) {
    if (!IsMultiple(map.dims[d].stride, count)) return false;
  }
  for (const IndexMap* other : others) {
    for (int d = 0; d < other->rank; ++d) {
      if (!IsMultiple(other->dims[d].stride, count)) return false;
    }
  }
  return true;
}

// Returns the stride of the fastest dimension; 0 if there is only one element.
int64_t LastStride(const Operand& operand, const IndexMap& map) {
  if (map.rank == 0) return 0;
  const IndexMap::Dim& last = map.dims[map.rank - 1];
  return last.axis < 0 ? last.stride : last.step * operand.axes[last.axis].stride;
}

void ChooseReading(Operand* operand) {
  const int64_t elements = std::max<int64_t>(1, 16 / ByteCount(operand->type));
  operand->k_vectors =
      operand->axis_count == 0 && operand->k.rank <= 1 &&
      HasRuns(operand->k, {&operand->mn, &operand->batch}, operand->origin, elements, /*may_end_early=*/true);
  const bool vectors = operand->axis_count == 0 && HasRuns(operand->mn, {&operand->k, &operand->batch},
                                                           operand->origin, elements, /*may_end_early=*/true);
  const int64_t mn = std::abs(LastStride(*operand, operand->mn)),
                k = std::abs(LastStride(*operand, operand->k));
  if (vectors)
    operand->load_pattern = LoadPattern::kVectors;
  else
    operand->load_pattern = k == 0 || (mn != 0 && mn < k) ? LoadPattern::kAlongMn : LoadPattern::kAlongK;
}

bool IsLastStrideOne(const IndexMap& map) { return map.rank > 0 && map.dims[map.rank - 1].stride == 1; }

}  // namespace

void SetEpilogueArrays(const StepArrays& arrays, Epilogue* epilogue) {
  for (int32_t k = 0; k < epilogue->array_count; ++k) epilogue->arrays[k].data = arrays.extras[k];
}

int64_t PairedDims::Count() const {
  int64_t count = 1;
  for (const Dim& dim : dims) count *= dim.size;
  return count;
}

void PairedDims::Merge() {
  std::vector<Dim> merged;
  for (const Dim& dim : dims) {
    if (dim.size == 1) continue;
    const bool joins = !merged.empty() && merged.back().axis < 0 && dim.axis < 0 &&
                       merged.back().first == dim.first * dim.size &&
                       merged.back().second == dim.second * dim.size;
    if (joins) {
      merged.back().size *= dim.size;
      merged.back().first = dim.first;
      merged.back().second = dim.second;
    } else {
      merged.push_back(dim);
    }
  }
  dims = std::move(merged);
}

std::optional<IndexMap> PairedDims::Map(bool first) const {
  if (static_cast<int>(dims.size()) > kIndexRank) return std::nullopt;
  IndexMap map;
  map.rank = static_cast<int32_t>(dims.size());
  for (int d = 0; d < map.rank; ++d) {
    const Dim& dim = dims[d];
    if (dim.size >= kMaxIndex || std::abs(dim.step) >= kMaxIndex) return std::nullopt;
    map.dims[d].size = FastDiv(static_cast<uint32_t>(std::max<int64_t>(1, dim.size)));
    map.dims[d].stride = first ? dim.first : dim.second;
    if (first && dim.axis >= 0) {
      map.dims[d].axis = dim.axis;
      map.dims[d].step = static_cast<int32_t>(dim.step);
    }
  }
  return map;
}

std::optional<Gemm> GemmOf(const loops::GemmProblem& problem) {
  const auto paired = [](int64_t count, const Index& sizes, int64_t first, const Index& firsts,
                         int64_t second, const Index& seconds) {
    PairedDims result;
    if (sizes.empty()) {
      result.dims = {{.size = count, .first = first, .second = second}};
    } else {
      for (int64_t d = 0; d < sizes.rank(); ++d)
        result.dims.push_back({.size = sizes[d], .first = firsts[d], .second = seconds[d]});
    }
    result.Merge();
    return result;
  };
  const loops::MatrixLayout &a = problem.a, &b = problem.b;
  const Index row_positions = RowMajorStrides(a.row_sizes),
              column_positions = RowMajorStrides(b.column_sizes);
  Index result_rows = row_positions;
  for (int64_t& stride : result_rows) stride *= problem.c_row_stride;
  const PairedDims rows =
      paired(problem.m, a.row_sizes, a.row_stride, a.row_strides, problem.c_row_stride, result_rows);
  const PairedDims columns =
      paired(problem.n, b.column_sizes, b.column_stride, b.column_strides, 1, column_positions);
  const PairedDims terms =
      paired(problem.k, a.column_sizes, a.column_stride, a.column_strides, b.row_stride, b.row_strides);
  PairedDims batch, result_batch;
  for (int64_t d = 0; d < problem.batch_dims.rank(); ++d) {
    batch.dims.push_back(
        {.size = problem.batch_dims[d], .first = a.batch_strides[d], .second = b.batch_strides[d]});
    result_batch.dims.push_back({.size = problem.batch_dims[d], .first = problem.c_batch_strides[d]});
  }
  const int64_t batch_count = batch.Count();
  for (int64_t count : {problem.m, problem.n, problem.k, batch_count}) {
    if (count >= kMaxIndex) return std::nullopt;
  }
  result_batch.Merge();

  Gemm gemm{.m = static_cast<uint32_t>(problem.m),
            .n = static_cast<uint32_t>(problem.n),
            .k = static_cast<uint32_t>(problem.k),
            .batch = static_cast<uint32_t>(batch_count)};
  gemm.a.type = a.type;
  gemm.b.type = b.type;
  gemm.result.type = problem.c_type;
  const std::pair<IndexMap*, std::optional<IndexMap>> maps[] = {{&gemm.a.batch, batch.First()},
                                                                {&gemm.b.batch, batch.Second()},
                                                                {&gemm.a.mn, rows.First()},
                                                                {&gemm.result.rows, rows.Second()},
                                                                {&gemm.b.mn, columns.First()},
                                                                {&gemm.result.columns, columns.Second()},
                                                                {&gemm.a.k, terms.First()},
                                                                {&gemm.b.k, terms.Second()},
                                                                {&gemm.result.batch, result_batch.First()}};
  for (const auto& [to, map] : maps) {
    if (!map.has_value()) return std::nullopt;
    *to = *map;
  }
  return gemm;
}

void ChooseAccess(Gemm* gemm) {
  Gemm& p = *gemm;
  const bool rows_are_neighbours = IsLastStrideOne(p.result.rows) && !IsLastStrideOne(p.result.columns);
  const bool is_thin = std::min(p.m, p.n) <= 8;
  if (is_thin ? p.m < p.n : rows_are_neighbours) {
    std::swap(p.m, p.n);
    std::swap(p.a, p.b);
    std::swap(p.result.rows, p.result.columns);
    p.exchanged = !p.exchanged;
  }
  ChooseReading(&p.a);
  ChooseReading(&p.b);
  p.result.pairs = HasRuns(p.result.columns, {&p.result.rows, &p.result.batch}, p.result.origin, 2,
                           /*may_end_early=*/true);
  p.result.vectors =
      p.result.type == ElementType::kF32 && HasRuns(p.result.columns, {&p.result.rows, &p.result.batch},
                                                    p.result.origin, 4, /*may_end_early=*/true);
}

bool HasTermRuns(const Operand& operand, int64_t count) {
  for (int x = 0; x < operand.axis_count; ++x) {
    if (!IsMultiple(operand.axes[x].stride, count) || operand.axes[x].spread.divisor != 1) return false;
  }
  return HasRuns(operand.k, {&operand.mn, &operand.batch}, operand.origin, count, /*may_end_early=*/true);
}

bool IsLinear(const IndexMap& map, int64_t stride) {
  for (int d = map.rank - 1; d >= 0; --d) {
    if (map.dims[d].axis >= 0 || map.dims[d].stride != stride) return false;
    stride *= map.dims[d].size.divisor;
  }
  return true;
}

Result DensePart(const Gemm& p) {
  const auto map = [](uint32_t size, int64_t stride) {
    IndexMap result;
    result.rank = 1;
    result.dims[0] = {.size = FastDiv(std::max<uint32_t>(1, size)), .stride = stride};
    return result;
  };
  return {.type = ElementType::kF32,
          .pairs = p.n % 2 == 0,
          .vectors = p.n % 4 == 0,
          .batch = map(p.batch, int64_t{p.m} * p.n),
          .rows = map(p.m, p.n),
          .columns = map(p.n, 1)};
}

Chunks CutTerms(uint32_t k, int64_t blocks, int64_t max_blocks, uint32_t least, uint32_t unit) {
  int64_t count = 1;
  while (blocks * count * 2 <= max_blocks && k / (count * 2) >= least) count *= 2;
  if (count == 1) return {};
  const auto each = static_cast<uint32_t>(CeilDiv(k, count));
  const uint32_t length = RoundUp(each, unit);
  return {CeilDiv(k, length), length};
}

namespace {

// A tiled kernel and its launch parameters.
struct Tiling {
  uint32_t rows, columns, threads;
  size_t shared_bytes;
  LaunchGemm launch;
};

// True if the large tile is estimated to be faster. A wave of large tiles does four times the work of a wave
// of small ones, and takes less than three times as long.
bool PrefersLargeTile(const Gemm& p) {
  const auto waves = [&](int64_t tile) {
    const int64_t tiles = CeilDiv(p.m, tile) * CeilDiv(p.n, tile) * p.batch;
    return static_cast<double>(CeilDiv(tiles, kMultiprocessors));
  };
  return waves(128) * 4 <= waves(64) * 1.5;
}

bool HasAxes(const Gemm& p) { return p.a.axis_count + p.b.axis_count > 0; }

// True if an axis is dilated, which only the general kernels support.
bool HasSpread(const Gemm& p) {
  for (const Operand* operand : {&p.a, &p.b}) {
    for (int x = 0; x < operand->axis_count; ++x) {
      if (operand->axes[x].spread.divisor != 1) return true;
    }
  }
  return false;
}

bool SuitsF32Tiles(const Gemm& p, ElementType compute) {
  return compute == ElementType::kF32 && p.a.type == compute && p.b.type == compute &&
         p.result.type == compute && !HasSpread(p);
}

// True on GPUs whose tensor cores have the highest f64 throughput.
bool UsesF64TensorCores(const Gemm& p, ElementType compute, const device::DeviceProperties& device) {
  const int chip = device.compute_capability;
  const bool has = chip == 80 || chip == 90 || chip == 100;
  return has && compute == ElementType::kF64 && p.a.type == compute && p.b.type == compute && !HasSpread(p) &&
         std::min(p.m, p.n) > 16 &&
         device.shared_bytes_per_block >= static_cast<int64_t>(F64KernelOf().shared_bytes);
}

// True for products so small or narrow that tiles would be mostly empty.
bool IsTooSmallForTiles(const Gemm& p) {
  if (!FitsElementKernel(p)) return false;
  const uint32_t narrow = std::min(p.m, p.n);
  return (narrow <= 8 && p.k <= 256) || (static_cast<int64_t>(p.m) * p.n <= 1024 && p.k <= 128);
}

bool SuitsThinKernel(const Gemm& p, ElementType compute) {
  const ElementType sums = p.a.type == ElementType::kF64 ? ElementType::kF64 : ElementType::kF32;
  return p.n <= 8 && compute == sums && p.a.type == p.b.type && ThinKernelsOf(p.a.type, p.n) != nullptr &&
         !HasAxes(p) && p.a.k.rank <= 1 && p.b.k.rank <= 1;
}

LaunchShape Linear(int64_t blocks, uint32_t threads, size_t shared_bytes = 0) {
  return {Dim3{static_cast<uint32_t>(blocks), 1, 1}, threads, shared_bytes};
}

int64_t Blocks(int64_t count, int64_t each) { return CeilDiv(count, each); }

struct GemmLaunch {
  LaunchGemm launch;
  LaunchShape shape;
  GemmArgs args;
  int64_t parts_offset = 0;
  std::optional<bool> run_if = {};  // Condition on the flag at the start of the workspace.
};

void AddLaunch(const GemmLaunch& l, StepList* list) {
  list->steps.push_back([l](const StepArrays& arrays) {
    GemmArgs args = l.args;
    Gemm& p = args.gemm;
    args.a = p.exchanged ? arrays.b : arrays.a;
    args.b = p.exchanged ? arrays.a : arrays.b;
    args.result = arrays.result;
    SetEpilogueArrays(arrays, &p.epilogue);
    const auto misaligned = [](const void* x) { return reinterpret_cast<uintptr_t>(x) % 16 != 0; };
    const auto read_elements = [](Operand* operand) {
      operand->k_vectors = false;
      if (operand->load_pattern == LoadPattern::kVectors) operand->load_pattern = LoadPattern::kAlongMn;
    };
    if (misaligned(args.a)) read_elements(&p.a);
    if (misaligned(args.b)) read_elements(&p.b);
    if (misaligned(args.result)) p.result.vectors = p.result.pairs = false;
    if (args.chunks > 1) args.parts = arrays.workspace + l.parts_offset;
    if (l.run_if.has_value()) {
      args.flag = reinterpret_cast<const uint32_t*>(arrays.workspace);
      args.run_if = *l.run_if;
    }
    return l.launch(l.shape, args, arrays.stream);
  });
}

// The properties shared by all kernels of a product.
struct GemmTask {
  Gemm gemm;
  ElementType compute;
  std::optional<bool> run_if = {};
};

// True if element (i, j) of an f32, bf16 or f16 result without epilogue is at i * n + j.
bool IsDenseResult(const Gemm& p) {
  const Result& r = p.result;
  const bool is_float =
      r.type == ElementType::kF32 || r.type == ElementType::kBF16 || r.type == ElementType::kF16;
  return is_float && p.epilogue.op_count == 0 && r.origin == 0 && p.batch == 1 && IsLinear(r.rows, p.n) &&
         IsLinear(r.columns, 1);
}

// Adds the tiled kernel over chunks of the terms, and the reduction of the chunks.
void AddTiles(const GemmTask& task, const Tiling& tiling, const Chunks& chunks, StepList* list) {
  const Gemm& p = task.gemm;
  GemmArgs args{.gemm = p};
  args.tile_rows = static_cast<uint32_t>(Blocks(p.m, tiling.rows));
  args.tile_columns = static_cast<uint32_t>(Blocks(p.n, tiling.columns));
  args.chunks = chunks.count;
  args.chunk = chunks.length;
  const int64_t blocks = int64_t{args.tile_rows} * args.tile_columns * p.batch * chunks.count;
  const int64_t parts_offset = list->shared_bytes;
  AddLaunch(
      {tiling.launch, Linear(blocks, tiling.threads, tiling.shared_bytes), args, parts_offset, task.run_if},
      list);
  if (chunks.count == 1) return;
  AddSumParts(args, task.compute, parts_offset, task.run_if, list);
  list->name += " in " + std::to_string(chunks.count) + " chunks";
}

void AddThin(const GemmTask& task, StepList* list) {
  const Gemm& p = task.gemm;
  const ThinKernels& kernels = *ThinKernelsOf(p.a.type, p.n);
  const bool along_k = p.a.load_pattern == LoadPattern::kAlongK;
  const uint32_t rows = along_k ? kernels.rows_along_k : kernels.rows_along_rows;
  const int64_t blocks = Blocks(p.m, rows) * p.batch;
  const Chunks chunks = along_k ? CutTerms(p.k, blocks, 528, 2048, 512) : CutTerms(p.k, blocks, 1056, 128, 8);
  list->name += along_k ? " thin, lanes along k" : " thin, lanes along rows";
  AddTiles(task, {rows, 8, 256, 0, along_k ? kernels.along_k : kernels.along_rows}, chunks, list);
}

// Adds the f32 kernel, which computes each element as one chain of fused multiply-adds.
void AddF32Tiles(const GemmTask& task, bool large, StepList* list) {
  const Gemm& p = task.gemm;
  const TileKernel kernel = F32KernelOf(large, HasAxes(p));
  const uint32_t tile = large ? 128 : 64;
  const int64_t tiles = Blocks(p.m, tile) * Blocks(p.n, tile) * p.batch;
  const Chunks chunks =
      tiles < kMultiprocessors ? CutTerms(p.k, tiles, 2 * kMultiprocessors, 256, 16) : Chunks();
  list->name += large ? " 128x128x16" : " 64x64x16";
  AddTiles(task, {tile, tile, 128, kernel.shared_bytes, kernel.launch}, chunks, list);
}

// True if the operand is a matrix whose terms (lines) or rows are contiguous.
bool IsMatrix(const Operand& operand, bool* lines) {
  if (operand.axis_count > 0 || operand.mn.rank > 1 || operand.k.rank > 1) return false;
  *lines = operand.k.Stride() == 1;
  return *lines || operand.mn.Stride() == 1;
}

void AddF64TensorCore(const GemmTask& task, StepList* list) {
  const Gemm& p = task.gemm;
  const auto tiles = [&](int64_t rows, int64_t columns) {
    return Blocks(p.m, rows) * Blocks(p.n, columns) * p.batch;
  };
  bool a_lines = false, b_lines = false;
  if (IsMatrix(p.a, &a_lines) && IsMatrix(p.b, &b_lines)) {
    const bool large = tiles(128, 64) >= kMultiprocessors;
    const uint32_t rows = large ? 128 : 64;
    const TileKernel kernel = F64DenseKernelOf(large, a_lines, b_lines);
    const Chunks chunks = tiles(rows, 64) < kMultiprocessors
                              ? CutTerms(p.k, tiles(rows, 64), 2 * kMultiprocessors, 256, 16)
                              : Chunks();
    list->name += large ? " mma 128x64x16" : " mma 64x64x16";
    return AddTiles(task, {rows, 64, 128, kernel.shared_bytes, kernel.launch}, chunks, list);
  }
  const TileKernel kernel = F64KernelOf();
  const Chunks chunks =
      tiles(128, 128) < kMultiprocessors ? CutTerms(p.k, tiles(128, 128), 132, 256, 16) : Chunks();
  list->name += " mma 128x128x16";
  AddTiles(task, {128, 128, 256, kernel.shared_bytes, kernel.launch}, chunks, list);
}

void AddGeneralTiles(const GemmTask& task, StepList* list) {
  const Gemm& p = task.gemm;
  const ComputeKernels kernels = KernelsOf(task.compute);
  const int64_t tiles = Blocks(p.m, kernels.tile) * Blocks(p.n, kernels.tile) * p.batch;
  const Chunks chunks =
      tiles < kMultiprocessors ? CutTerms(p.k, tiles, 4 * kMultiprocessors, 256, 16) : Chunks();
  list->name += kernels.tile == 64 ? " general 64x64x16" : " general 32x32x16";
  AddTiles(task, {kernels.tile, kernels.tile, 256, kernels.shared_bytes, kernels.tiles}, chunks, list);
}

void AddElements(const GemmTask& task, StepList* list) {
  const Gemm& p = task.gemm;
  GemmArgs args{.gemm = p};
  const auto is_last = [](const IndexMap& map, uint32_t count) { return count > 1 && IsLastStrideOne(map); };
  if (!is_last(p.result.columns, p.n)) {
    if (is_last(p.result.rows, p.m))
      args.innermost = GemmArgs::Innermost::kRows;
    else if (is_last(p.result.batch, p.batch))
      args.innermost = GemmArgs::Innermost::kBatch;
  }
  // A kernel that the flag probably disables starts few blocks, each of which computes several elements.
  constexpr int64_t kMaxSwitchedBlocks = 1056;
  int64_t blocks = Blocks(int64_t{p.batch} * p.m * p.n, 256);
  if (task.run_if.has_value()) blocks = std::min(blocks, kMaxSwitchedBlocks);
  AddLaunch({KernelsOf(task.compute).elements, Linear(blocks, 256), args, 0, task.run_if}, list);
}

// True if the number of tiles fits the grid.
bool Fits(const Gemm& p) {
  const double smallest_tiles = (p.m / 32.0 + 1) * (p.n / 32.0 + 1) * p.batch;
  return smallest_tiles < static_cast<double>(kMaxIndex) / 64;
}

}  // namespace

bool FitsElementKernel(const Gemm& p) {
  return static_cast<double>(p.m) * p.n * p.batch < static_cast<double>(kMaxIndex);
}

void AddSumParts(const GemmArgs& args, ElementType compute, int64_t parts_offset, std::optional<bool> run_if,
                 StepList* list) {
  const Gemm& p = args.gemm;
  const int64_t count = int64_t{p.batch} * p.m * p.n;
  const ComputeKernels kernels = KernelsOf(compute);
  GemmLaunch launch{kernels.sum_parts, Linear(Blocks(count, 256), 256), args, parts_offset, run_if};
  if (compute == ElementType::kF32 && !args.clears_nan && IsDenseResult(p) && count % 4 == 0) {
    launch.launch = kernels.sum_dense_parts;
    launch.shape = Linear(Blocks(count / 4, 256), 256);
  }
  AddLaunch(launch, list);
  list->workspace_bytes =
      std::max(list->workspace_bytes, parts_offset + count * args.chunks * ByteCount(compute));
}

void AddElementsIfFound(const Gemm& gemm, ElementType compute, StepList* list) {
  AddElements({.gemm = gemm, .compute = compute, .run_if = true}, list);
}

bool MayMeetNonFinite(const Gemm& gemm, ElementType compute, GemmMethod method) {
  return HasAxes(gemm) && method != GemmMethod::kElements && (IsFloat(compute) || IsComplex(compute));
}

GemmMethod MethodFor(const Gemm& gemm, ElementType compute, const device::DeviceProperties& device) {
  if (IsTooSmallForTiles(gemm)) return GemmMethod::kElements;
  if (SuitsThinKernel(gemm, compute)) return GemmMethod::kThin;
  if (UsesF64TensorCores(gemm, compute, device)) return GemmMethod::kF64TensorCore;
  if (!SuitsF32Tiles(gemm, compute)) return GemmMethod::kGeneralTiles;
  return PrefersLargeTile(gemm) ? GemmMethod::kF32Large : GemmMethod::kF32Small;
}

bool AddGemm(const Gemm& gemm, ElementType compute, GemmMethod method, StepList* list) {
  if (gemm.m == 0 || gemm.n == 0 || gemm.batch == 0) return true;
  if (!Fits(gemm)) return false;
  GemmTask task{.gemm = gemm, .compute = compute};
  if (MayMeetNonFinite(gemm, compute, method)) {
    if (!FitsElementKernel(gemm)) return false;
    AddElementsIfFound(gemm, compute, list);
    task.run_if = false;
  }
  switch (method) {
    case GemmMethod::kElements:
      list->name += " element by element";
      AddElements(task, list);
      break;
    case GemmMethod::kThin:
      AddThin(task, list);
      break;
    case GemmMethod::kF32Large:
    case GemmMethod::kF32Small:
      AddF32Tiles(task, method == GemmMethod::kF32Large, list);
      break;
    case GemmMethod::kF64TensorCore:
      AddF64TensorCore(task, list);
      break;
    case GemmMethod::kGeneralTiles:
      AddGeneralTiles(task, list);
      break;
  }
  return true;
}

}  // namespace hlo::cuda
