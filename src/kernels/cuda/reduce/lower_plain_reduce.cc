#include "kernels/cuda/reduce/lower_plain_reduce.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/arithmetic.h"
#include "base/status.h"
#include "device/align.h"
#include "fmt/format.h"
#include "kernels/cuda/gemm/gemm_plan.h"
#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/reduce/match_reduce_op.h"
#include "kernels/cuda/reduce/reduce_body.h"

namespace hlo::cuda {
namespace {

using loops::ReduceProgram;

constexpr uint32_t kChunk = 32 << 10;  // Elements per chunk of a row.
constexpr int64_t kMaxReducedElements = int64_t{1} << 31;

// Returns the load of the array if the body consists of one load only.
const loops::Access* OnlyLoad(const loops::LoopProgram& body) {
  if (body.steps().size() != 1 || body.yields().size() != 1 || !body.stores().empty()) return nullptr;
  const loops::LoopProgram::Step& step = body.steps()[0];
  if (!step.IsLoad()) return nullptr;
  const loops::Access& access = body.access(step.access);
  const bool is_plain = access.IsArray() && access.IsRegular() && access.starts.empty() && access.next < 0 &&
                        access.outer.size() == body.outer_dims().size() &&
                        access.inner.size() == body.inner_dims().size();
  return is_plain && HasElement(access.type) ? &access : nullptr;
}

std::optional<ReduceOp> ReduceOpOf(const ReduceProgram& program, ElementType type) {
  if (program.reassociation != loops::Reassociation::kAny || program.part_length != 1 ||
      program.results.size() != 1 || program.BinaryOperation() == nullptr)
    return std::nullopt;
  const ReduceProgram::Result& result = program.results[0];
  for (const ElementType scalar : {result.init_type, result.output_type}) {
    if (!HasElement(scalar) || loops::ComputeTypeOf(scalar) != loops::ComputeTypeOf(type))
      return std::nullopt;
  }
  return MatchReduceOp(program.BinaryOperation()->opcode, type);
}

std::optional<IndexMap> MapOf(absl::Span<const int64_t> sizes, const loops::Strides& strides) {
  PairedDims dims;
  for (size_t d = 0; d < sizes.size(); ++d) dims.dims.push_back({.size = sizes[d], .first = strides[d]});
  dims.Merge();
  return dims.First();
}

// True if 16-byte vectors along one index are contiguous and aligned for every value of the other index.
bool HasVectors(const ReduceArgs& args, const IndexMap& along, const IndexMap& other, uint32_t vector) {
  return HasTermRuns({.origin = args.offset, .mn = other, .k = along}, vector);
}

bool HasNeighbours(const IndexMap& map) { return map.rank > 0 && map.dims[map.rank - 1].stride == 1; }

// Returns the threads per group, a power of two.
uint32_t GroupOf(uint32_t reduced, uint32_t vector) {
  const uint32_t most = reduced / (4 * vector);
  return most >= kReduceThreads ? kReduceThreads : std::min(std::bit_floor(std::max(most, 1u)), kWarpSize);
}

void CutRows(ReduceArgs* args, uint32_t vector) {
  const bool cuts = args->kept_count < 1024 && args->reduced_count >= 2 * kChunk;
  args->chunk_length = cuts ? kChunk : args->reduced_count;
  args->chunks = CeilDiv(args->reduced_count, args->chunk_length);
  args->group = GroupOf(args->chunk_length, vector);
}

void CutColumns(ReduceArgs* args, uint32_t vector) {
  const uint32_t vectors = CeilDiv(args->kept_count, vector);
  args->group = std::min(std::bit_ceil(vectors), kWarpSize);
  const uint32_t rows = kReduceThreads / args->group;
  const Chunks chunks = CutTerms(args->reduced_count, CeilDiv(vectors, args->group), 2112, 8 * rows, rows);
  args->chunks = chunks.count;
  args->chunk_length = std::min(chunks.length, args->reduced_count);
}

int64_t BlocksOf(const ReduceArgs& args, bool rows, uint32_t vector) {
  const int64_t each = rows ? kReduceThreads / args.group : int64_t{args.group} * vector;
  if (rows) return CeilDiv(int64_t{args.kept_count} * args.chunks, each);
  return CeilDiv(args.kept_count, each) * args.chunks;
}

using LaunchPlainReduce = absl::Status (*)(const LaunchShape&, const ReduceArgs&, device::Stream);
struct ReduceKernel {
  LaunchPlainReduce launch = nullptr;
  size_t shared_bytes = 0;
  uint32_t vector = 1;
  int64_t sum_bytes = 0;
};
template <class F>
ReduceKernel KernelOf(bool rows) {
  constexpr uint32_t kVector = ReduceBody<F, ReduceOp::kAdd>::kVector;
  constexpr int64_t kSumBytes = sizeof(typename F::Sum);
  return rows ? ReduceKernel{&Launch<ReduceRows<F>>, ReduceRows<F>::kSharedBytes, kVector, kSumBytes}
              : ReduceKernel{&Launch<ReduceColumns<F>>, ReduceColumns<F>::kSharedBytes, kVector, kSumBytes};
}
ReduceKernel KernelFor(ElementType type, bool in_f64, bool rows) {
  if (in_f64)
    return type == ElementType::kF32 ? KernelOf<WideSum<FloatElement<float>>>(rows)
                                     : KernelOf<WideSum<HalfElement>>(rows);
  return WithElement(type, [&]<class E>() { return KernelOf<PlainReduction<E>>(rows); });
}

// Returns the accumulator type, in which partial results are stored.
ElementType SumType(ElementType type, bool in_f64) {
  if (in_f64) return ElementType::kF64;
  if (IsFloat(type)) return type == ElementType::kF64 ? type : ElementType::kF32;
  return !IsComplex(type) && ByteCount(type) < 4 ? ElementType::kU32 : type;
}

// Returns the launch that folds the partial results of `first`.
ReduceArgs JoinOf(const ReduceArgs& first, uint32_t vector) {
  ReduceArgs join = first;
  join.partials = nullptr;
  join.offset = 0;
  join.kept = *MapOf({int64_t{first.kept_count}}, {int64_t{first.chunks}});
  join.reduced = *MapOf({int64_t{first.chunks}}, {int64_t{1}});
  join.reduced_count = join.chunk_length = first.chunks;
  join.chunks = 1;
  join.group = GroupOf(first.chunks, vector);
  join.vectors = HasVectors(join, join.reduced, join.kept, vector);
  return join;
}

absl::Status LaunchAt(const ReduceKernel& kernel, bool rows, ReduceArgs args, device::Stream stream) {
  args.vectors = args.vectors && reinterpret_cast<uintptr_t>(args.in) % 16 == 0;
  const auto blocks = static_cast<uint32_t>(BlocksOf(args, rows, kernel.vector));
  return kernel.launch({{blocks}, kReduceThreads, kernel.shared_bytes}, args, stream);
}

}  // namespace

std::optional<LoweredProgram> LowerPlainReduce(const ReduceProgram& program) {
  const loops::Access* load = OnlyLoad(program.body);
  if (load == nullptr) return std::nullopt;
  const ElementType type = load->type;
  const std::optional<ReduceOp> fold = ReduceOpOf(program, type);
  const int64_t kept_count = program.kept_count(), reduced_count = program.reduced_count();
  if (!fold.has_value() || kept_count == 0 || reduced_count == 0 ||
      std::max(kept_count, reduced_count) >= kMaxReducedElements)
    return std::nullopt;
  const auto outer = MapOf(program.body.outer_dims(), load->outer),
             inner = MapOf(program.body.inner_dims(), load->inner);
  if (!outer.has_value() || !inner.has_value()) return std::nullopt;

  const ReduceProgram::Result& result = program.results[0];
  const bool in_f64 = *fold == ReduceOp::kAdd && loops::ComputeTypeOf(type) == loops::ComputeType::kF32;
  const ElementType sum_type = SumType(type, in_f64);
  ReduceArgs args{.fold = *fold,
                  .kind = KindOf(type),
                  .init_kind = KindOf(result.init_type),
                  .result_kind = KindOf(result.output_type),
                  .init_bytes = static_cast<uint32_t>(ByteCount(result.init_type)),
                  .result_bytes = static_cast<uint32_t>(ByteCount(result.output_type)),
                  .offset = load->offset,
                  .kept = program.rows ? *outer : *inner,
                  .reduced = program.rows ? *inner : *outer,
                  .kept_count = static_cast<uint32_t>(kept_count),
                  .reduced_count = static_cast<uint32_t>(reduced_count)};
  const std::vector<std::byte> identity = IdentityOf(*fold, sum_type == ElementType::kU32 ? type : sum_type);
  std::memcpy(args.identity, identity.data(), identity.size());
  const bool rows = HasNeighbours(args.reduced) || !HasNeighbours(args.kept);
  const ReduceKernel kernel = KernelFor(type, in_f64, rows),
                     joining = KernelFor(sum_type, /*in_f64=*/false, /*rows=*/true);
  rows ? CutRows(&args, kernel.vector) : CutColumns(&args, kernel.vector);
  args.vectors =
      rows ? HasVectors(args, args.reduced, args.kept, kernel.vector)
           : HasVectors(args, args.kept, args.reduced, kernel.vector) && args.kept_count % kernel.vector == 0;
  if (BlocksOf(args, rows, kernel.vector) >= kMaxReducedElements) return std::nullopt;
  const int64_t workspace = args.chunks > 1 ? kernel.sum_bytes * kept_count * args.chunks : 0;
  return LoweredProgram{fmt::format("reduce {} {}{}{}", rows ? "rows by" : "columns by", args.group,
                                    args.chunks > 1 ? fmt::format(", {} chunks", args.chunks) : "",
                                    in_f64 ? ", sums in f64" : ""),
                        [=, in = load->argument, init = result.init, out = result.output](
                            void* const* pointers, void* partials, device::Stream stream) -> absl::Status {
                          ReduceArgs run = args;
                          run.in = pointers[in];
                          run.init = pointers[init];
                          run.out = pointers[out];
                          if (run.chunks == 1) return LaunchAt(kernel, rows, run, stream);
                          run.partials = partials;
                          HLO_RETURN_IF_ERROR(LaunchAt(kernel, rows, run, stream));
                          ReduceArgs join = JoinOf(run, joining.vector);
                          join.in = partials;
                          return LaunchAt(joining, /*rows=*/true, join, stream);
                        },
                        workspace};
}

}  // namespace hlo::cuda
