#include "kernels/cuda/gemm/mma_plan.h"

#include <algorithm>

#include "base/arithmetic.h"
#include "base/status.h"
#include "device/align.h"
#include "kernels/cuda/gemm/gemm_kernels.h"
#include "kernels/cuda/gemm/tma_boxes.h"

namespace hlo::cuda {
namespace {

using enum ElementType;
// Returns the signedness of integers (or pred) stored as bytes; nullopt for other types.
std::optional<bool> SignOfBytes(ElementType type) {
  if (IsPred(type)) return false;
  if (!IsIntegral(type) || BitWidth(type) > 8) return std::nullopt;
  return IsSigned(type);
}

// Returns a 16-bit float type that represents every value of `type`; nullopt if there is none.
std::optional<PackedType> HalfFor(ElementType type) {
  if (type == kBF16 || type == kF8E8M0FNU) return PackedType::kBF16;
  if (type == kF16 || (IsFloat(type) && BitWidth(type) <= 8)) return PackedType::kF16;
  return std::nullopt;
}

TensorForm HalfForm(PackedType packed, uint32_t pieces = 1) {
  return {packed == PackedType::kBF16 ? MmaKind::kBF16 : MmaKind::kF16, packed, 2, pieces};
}

std::optional<TensorForm> BytesForm(ElementType a, ElementType b) {
  const std::optional<bool> left = SignOfBytes(a), right = SignOfBytes(b);
  if (!left.has_value() || !right.has_value()) return std::nullopt;
  const MmaKind kinds[] = {MmaKind::kU8U8, MmaKind::kU8S8, MmaKind::kS8U8, MmaKind::kS8S8};
  return TensorForm{kinds[2 * *left + *right], PackedType::kByte, 1};
}

std::optional<TensorForm> FormOfAlgorithm(PrecisionAlgorithm algorithm) {
  switch (algorithm) {
    case PrecisionAlgorithm::kBF16BF16F32:
      return HalfForm(PackedType::kBF16);
    case PrecisionAlgorithm::kBF16BF16F32X3: {
      TensorForm form = HalfForm(PackedType::kBF16, 2);
      form.gemms = {{1, 0}, {0, 1}, {0, 0}};
      return form;
    }
    case PrecisionAlgorithm::kBF16BF16F32X6: {
      TensorForm form = HalfForm(PackedType::kBF16, 3);
      form.gemms = {{1, 1}, {0, 2}, {2, 0}, {0, 1}, {1, 0}, {0, 0}};
      return form;
    }
    case PrecisionAlgorithm::kBF16BF16F32X9: {
      TensorForm form = HalfForm(PackedType::kBF16, 3);
      form.gemms = {{2, 2}, {2, 1}, {1, 2}, {1, 1}, {0, 2}, {2, 0}, {0, 1}, {1, 0}, {0, 0}};
      return form;
    }
    case PrecisionAlgorithm::kTF32TF32F32:
      return TensorForm{MmaKind::kTF32, PackedType::kTF32, 4};
    case PrecisionAlgorithm::kTF32TF32F32X3:
      return TensorForm{MmaKind::kTF32, PackedType::kTF32, 4, 2, {{1, 0}, {0, 1}, {0, 0}}};
    default:
      return std::nullopt;
  }
}

bool MultipliesInGroups(const device::DeviceProperties& device) {
  return HasWgmma() && device.compute_capability == 90 &&
         device.shared_bytes_per_block >= static_cast<int64_t>(WgmmaTile::SharedBytes(256));
}

uint32_t ChunkElements(const TensorForm& form) { return 16 / form.element_bytes; }

bool IsStoredAs(ElementType type, PackedType packed) {
  switch (packed) {
    case PackedType::kBF16:
      return type == kBF16;
    case PackedType::kF16:
      return type == kF16;
    case PackedType::kByte:
      return ByteCount(type) == 1 && !IsFloat(type);
    case PackedType::kTF32:
      return false;  // Packing rounds f32 to TF32.
  }
  return false;
}

struct Source {
  Operand operand;
  bool is_mn_major = false;
  bool packed = false;
  int64_t offset = 0, plane_bytes = 0;  // Offset and size of the packed planes in the workspace.
  PackArgs pack;
  LaunchShape pack_shape;
};

// Returns how an operand is passed to the tensor cores: directly if its layout allows it, else packed.
// Returns nullopt if neither is possible.
std::optional<Source> SourceOf(const Operand& operand, uint32_t mn, const Gemm& p, const TensorForm& form,
                               int64_t* workspace) {
  Source source{.operand = operand};
  const bool is_direct = form.pieces == 1 && IsStoredAs(operand.type, form.packed);
  if (is_direct && HasTermRuns(operand, ChunkElements(form))) return source;
  if (is_direct && form.element_bytes == 2 && operand.load_pattern == LoadPattern::kVectors) {
    source.is_mn_major = true;
    return source;
  }
  if (operand.axis_count > 0) return std::nullopt;
  source.packed = true;
  const uint32_t chunk = ChunkElements(form), pitch = RoundUp(p.k, chunk);
  source.pack = {.operand = operand,
                 .mn = mn,
                 .k = p.k,
                 .batch = p.batch,
                 .pitch = pitch,
                 .type = form.packed,
                 .pieces = form.pieces};
  const int64_t matrix = int64_t{mn} * pitch;
  source.plane_bytes = matrix * p.batch * form.element_bytes;
  source.offset = *workspace;
  *workspace += device::Aligned(source.plane_bytes * form.pieces);
  if (static_cast<double>(mn) * pitch * p.batch >= 0x1p40) return std::nullopt;
  source.pack_shape = ShapeOf(source.pack);
  Operand& packed = source.operand;
  packed = Operand{.type = operand.type, .load_pattern = LoadPattern::kAlongK, .k_vectors = true};
  const auto set = [](IndexMap* map, uint32_t size, int64_t stride) {
    map->rank = 1;
    map->dims[0] = {.size = FastDiv(std::max<uint32_t>(1, size)), .stride = stride};
  };
  set(&packed.batch, p.batch, matrix);
  set(&packed.mn, mn, pitch);
  set(&packed.k, p.k, 1);
  return source;
}

const void* DataOf(const Source& source, const void* array, std::byte* workspace, int piece) {
  return source.packed ? workspace + source.offset + piece * source.plane_bytes : array;
}

// Returns the number of columns of a wgmma tile, the largest that gives about one wave of tiles.
uint32_t WgmmaColumns(const Gemm& p, MmaKind kind) {
  if (IsOfFloatBytes(kind)) return 128;
  if (IsOfIntegers(kind)) return 256;
  constexpr int64_t kWaveTiles =
      119;  // 0.9 of 132 multiprocessors, so that results do not depend on the device.
  for (const uint32_t columns : {256u, 128u}) {
    const int64_t rows = CeilDiv(p.m, WgmmaTile::kRows);
    if (rows * CeilDiv(p.n, columns) * p.batch >= kWaveTiles) return columns;
  }
  return 64;
}

// Returns nullopt if wgmma does not support the product.
std::optional<TmaGemmArgs> WgmmaFor(const Gemm& p, const Source& a, const Source& b, const TensorForm& form) {
  if (!form.has_wgmma || std::min({p.m, p.n, p.k}) < 64) return std::nullopt;
  const ElementType result = p.result.type;
  const bool sums_products = form.gemms.size() > 1;
  const bool stores_pairs =
      p.result.pairs && (IsOfIntegers(form.kind) ? result == kS32 || result == kU32
                                                 : result == kF32 || result == kBF16 || result == kF16);
  if (p.n % 2 != 0 || (!sums_products && !stores_pairs)) return std::nullopt;
  const std::optional<BoxSource> left =
      BoxesOf(a.operand, {WgmmaTile::kRows, form.element_bytes, a.is_mn_major}, p.m, p.k, p.batch);
  const std::optional<BoxSource> right =
      BoxesOf(b.operand, {WgmmaColumns(p, form.kind), form.element_bytes, b.is_mn_major}, p.n, p.k, p.batch);
  if (!left.has_value() || !right.has_value() || !CanEncode(*left) || !CanEncode(*right)) return std::nullopt;
  TmaGemmArgs args;
  args.a.source = *left;
  args.b.source = *right;
  args.a_batch_step = left->dims[2] > 1 ? 1 : 0;
  args.b_batch_step = right->dims[2] > 1 ? 1 : 0;
  args.linear_columns = IsLinear(p.result.columns, 1);
  return args;
}

// Returns the kind of the product as computed; the operands may have been exchanged.
MmaKind KindOf(const TensorForm& form, bool exchanged) {
  if (exchanged && form.kind == MmaKind::kS8U8) return MmaKind::kU8S8;
  if (exchanged && form.kind == MmaKind::kU8S8) return MmaKind::kS8U8;
  if (exchanged && form.kind == MmaKind::kE4E5) return MmaKind::kE5E4;
  if (exchanged && form.kind == MmaKind::kE5E4) return MmaKind::kE4E5;
  return form.kind;
}

void AddPack(const Source& source, bool is_first_operand, StepList* list) {
  if (!source.packed) return;
  list->steps.push_back([=](const StepArrays& arrays) {
    PackArgs args = source.pack;
    args.data = is_first_operand ? arrays.a : arrays.b;
    args.packed = arrays.workspace + source.offset;
    return LaunchPack(source.pack_shape, args, arrays.stream);
  });
}

// A product on tensor cores, whose operands are in memory as their sources describe.
struct TensorProduct {
  TensorForm form;
  Source a, b;
  std::optional<TmaGemmArgs> wgmma;  // nullopt: warps multiply on their own.
  bool exchanged = false;
  uint32_t rows = MmaTile::kWidth, columns = MmaTile::kWidth, depth = 0, blocks = 0;

  absl::Status Launch(const GemmArgs& args, device::Stream stream) const {
    return wgmma.has_value() ? LaunchGroups(args, stream) : LaunchWarps(args, stream);
  }

 private:
  absl::Status LaunchGroups(const GemmArgs& args, device::Stream stream) const {
    TmaGemmArgs group = *wgmma;
    group.gemm = args;
    group.blocks = blocks;
    const int64_t bytes = form.element_bytes;
    group.a.source.data = static_cast<const std::byte*>(args.a) + bytes * a.operand.origin;
    group.b.source.data = static_cast<const std::byte*>(args.b) + bytes * b.operand.origin;
    const LaunchShape shape{Dim3{std::min<uint32_t>(blocks, form.multiprocessors)}, WgmmaTile::kThreads,
                            WgmmaTile::SharedBytes(columns)};
    return LaunchWgmma(KindOf(form, exchanged), a.is_mn_major, b.is_mn_major, columns, shape, group, stream);
  }
  absl::Status LaunchWarps(const GemmArgs& args, device::Stream stream) const {
    MmaArgs warp;
    static_cast<GemmArgs&>(warp) = args;
    warp.kind = KindOf(form, exchanged);
    warp.element_bytes = form.element_bytes;
    const LaunchShape shape{Dim3{blocks}, MmaGemmKMajor::kThreads,
                            MmaSharedBytes(a.is_mn_major, b.is_mn_major)};
    return LaunchMma(a.is_mn_major, b.is_mn_major, shape, warp, stream);
  }
};

// Chooses how operands are read, the kernel and its tile. Returns nullopt if tensor cores do not support the
// product.
std::optional<TensorProduct> TensorProductOf(const Gemm& p, const TensorForm& form, int64_t* workspace) {
  const std::optional<Source> a = SourceOf(p.a, p.m, p, form, workspace);
  const std::optional<Source> b = SourceOf(p.b, p.n, p, form, workspace);
  if (!a.has_value() || !b.has_value()) return std::nullopt;
  TensorProduct product{form, *a, *b, WgmmaFor(p, *a, *b, form), p.exchanged};
  product.depth = MmaTile::kDepthBytes / form.element_bytes;
  if (product.wgmma.has_value()) {
    product.rows = WgmmaTile::kRows;
    product.columns = WgmmaColumns(p, form.kind);
    product.depth = WgmmaTile::kDepthBytes / form.element_bytes;
  } else if (IsOfFloatBytes(form.kind)) {
    return std::nullopt;
  }
  return product;
}

// Sets the tiles and, if they alone do not fill the device, the chunks of the terms. Returns false if there
// are too many thread blocks.
bool SetTiles(const Gemm& p, bool may_cut, TensorProduct* product, GemmArgs* args) {
  args->tile_rows = CeilDiv(p.m, product->rows);
  args->tile_columns = CeilDiv(p.n, product->columns);
  const int64_t tiles = int64_t{args->tile_rows} * args->tile_columns * p.batch;
  Chunks chunks;
  if (tiles < 132 && may_cut)
    chunks = CutTerms(p.k, tiles, product->wgmma.has_value() ? 132 : 264, 512, product->depth);
  if (tiles * chunks.count >= int64_t{1} << 31) return false;
  product->blocks = static_cast<uint32_t>(tiles * chunks.count);
  args->chunks = chunks.count;
  args->chunk = chunks.length;
  if (product->wgmma.has_value()) args->group = 16;
  return true;
}

// Returns what follows the operation in the name of the kernel.
std::string NameOf(const TensorProduct& product, int64_t product_count, uint32_t chunks) {
  std::string name = product.wgmma.has_value() ? " wgmma 128x" + std::to_string(product.columns) + "x" +
                                                     std::to_string(product.depth)
                                               : " mma 128x128";
  if (product.a.packed || product.b.packed) name += ", packed";
  if (product_count > 1) name += ", " + std::to_string(product_count) + " products";
  if (chunks > 1) name += ", " + std::to_string(chunks) + " chunks";
  return name;
}

}  // namespace

ElementType StoredType(PackedType packed, ElementType type) {
  switch (packed) {
    case PackedType::kBF16:
      return kBF16;
    case PackedType::kF16:
      return kF16;
    case PackedType::kTF32:
      return kF32;
    case PackedType::kByte:
      return IsSigned(type) ? kS8 : kU8;
  }
  return type;
}

LaunchShape ShapeOf(const PackArgs& args) {
  const uint32_t blocks = CeilDiv(args.mn, Pack::kTile) * CeilDiv(args.pitch, Pack::kTile) * args.batch;
  return {Dim3{blocks}, Pack::kThreads, Pack::kSharedBytes};
}

std::optional<TensorForm> TensorFormOf(ElementType a, ElementType b, ElementType result,
                                       PrecisionAlgorithm algorithm, const device::DeviceProperties& device) {
  std::optional<TensorForm> form;
  const ElementType compute = loops::GemmComputeType(a, b, result);
  if (!IsFloat(result)) {
    if (compute == kU32 || IsPred(result)) form = BytesForm(a, b);
  } else if (compute == kF32) {
    const std::optional<PackedType> left = HalfFor(a), right = HalfFor(b);
    if (left.has_value() && left == right) form = HalfForm(*left);
    if (!form.has_value() && IsFloat(a) && IsFloat(b)) form = FormOfAlgorithm(algorithm);
  }
  if (!form.has_value()) return std::nullopt;
  const bool needs_ampere = form->kind == MmaKind::kBF16 || form->kind == MmaKind::kTF32;
  if (device.compute_capability < (needs_ampere ? 80 : 75)) return std::nullopt;
  if (device.shared_bytes_per_block < static_cast<int64_t>(MmaGemmKMajor::kSharedBytes)) return std::nullopt;
  form->has_wgmma = form->kind != MmaKind::kTF32 && MultipliesInGroups(device);
  form->multiprocessors = std::max(1, device.multiprocessors);
  return form;
}

std::optional<TensorForm> ShortSumsFormOf(ElementType a, ElementType b, ElementType result,
                                          PrecisionAlgorithm algorithm,
                                          const device::DeviceProperties& device) {
  const auto is_taken = [](ElementType type) { return type == kF8E4M3FN || type == kF8E5M2; };
  if (algorithm != PrecisionAlgorithm::kAnyF8AnyF8F32FastAccum || !is_taken(a) || !is_taken(b) ||
      loops::GemmComputeType(a, b, result) != kF32 || !MultipliesInGroups(device))
    return std::nullopt;
  const MmaKind kinds[] = {MmaKind::kE4E4, MmaKind::kE4E5, MmaKind::kE5E4, MmaKind::kE5E5};
  TensorForm form{kinds[2 * (a == kF8E5M2) + (b == kF8E5M2)], PackedType::kByte, 1};
  form.has_wgmma = true;
  form.multiprocessors = std::max(1, device.multiprocessors);
  return form;
}

bool AddTensorCoreGemm(const Gemm& gemm, ElementType compute, const TensorForm& form, StepList* list) {
  Gemm p = gemm;
  if (std::min({p.m, p.n, p.k}) < 16 || p.batch == 0) return false;
  if (IsOfFloatBytes(form.kind)) p.a.type = p.b.type = kU8;  // FP8 operands are copied as bytes.
  const bool flagged = MayMeetNonFinite(p, compute, GemmMethod::kGeneralTiles);
  if (flagged && !FitsElementKernel(p)) return false;
  int64_t workspace = list->shared_bytes;
  std::optional<TensorProduct> found = TensorProductOf(p, form, &workspace);
  if (!found.has_value()) return false;
  TensorProduct& product = *found;
  GemmArgs args{.gemm = p};
  args.gemm.a = product.a.operand;
  args.gemm.b = product.b.operand;
  const auto product_count = static_cast<int64_t>(form.gemms.size());
  const bool sums_products = product_count > 1;  // Each product of pieces is a separate partial sum.
  if (!SetTiles(p, !sums_products, &product, &args)) return false;
  const int64_t part_count = std::max<int64_t>(args.chunks, product_count);
  const int64_t count = int64_t{p.batch} * p.m * p.n, part_bytes = count * 4, parts_offset = workspace;
  if (part_count > 1) workspace += part_bytes * part_count;

  if (flagged) AddElementsIfFound(p, compute, list);
  AddPack(product.a, !p.exchanged, list);
  AddPack(product.b, p.exchanged, list);
  for (int64_t i = 0; i < product_count; ++i) {
    TensorForm::Pair pair = form.gemms[i];
    if (p.exchanged) std::swap(pair.a, pair.b);
    list->steps.push_back([=, product = product](const StepArrays& arrays) {
      GemmArgs now = args;
      now.a = DataOf(product.a, p.exchanged ? arrays.b : arrays.a, arrays.workspace, pair.a);
      now.b = DataOf(product.b, p.exchanged ? arrays.a : arrays.b, arrays.workspace, pair.b);
      now.result = arrays.result;
      now.parts = arrays.workspace + parts_offset;
      SetEpilogueArrays(arrays, &now.gemm.epilogue);
      if (flagged) now.flag = reinterpret_cast<const uint32_t*>(arrays.workspace);
      if (sums_products) {
        now.gemm.result = DensePart(p);
        now.gemm.epilogue = {};
        now.result = arrays.workspace + parts_offset + i * part_bytes;
      }
      return product.Launch(now, arrays.stream);
    });
  }
  if (part_count > 1) {
    GemmArgs sum = args;
    sum.chunks = static_cast<uint32_t>(part_count);
    sum.clears_nan = sums_products;
    AddSumParts(sum, IsOfIntegers(form.kind) ? kU32 : kF32, parts_offset,
                flagged ? std::optional(false) : std::nullopt, list);
  }
  list->workspace_bytes = std::max(list->workspace_bytes, workspace);
  list->name += NameOf(product, product_count, args.chunks);
  return true;
}

}  // namespace hlo::cuda
