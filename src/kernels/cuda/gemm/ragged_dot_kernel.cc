// Registers the ragged-dot kernel (semantics 6.2).

#include "kernels/cuda/gemm/ragged_dot_kernel.h"

#include <algorithm>
#include <vector>

#include "base/arithmetic.h"
#include "base/status.h"
#include "kernels/cuda/gemm/gemm_plan.h"
#include "kernels/cuda/gemm/ragged_dot_body.h"
#include "kernels/cuda/launch/launch.h"
#include "loops/gemm_problem.h"
#include "types/index.h"

namespace hlo::cuda {
namespace {

// The dimensions of lhs, rhs and the result that belong to one index of the product.
struct Shared {
  Index lhs, rhs, result;
};

// Returns the index map of dimensions with these sizes and strides.
std::optional<IndexMap> RaggedMapOf(const Index& sizes, const Index& strides) {
  PairedDims dims;
  for (size_t k = 0; k < sizes.size(); ++k)
    dims.dims.push_back({.size = sizes[static_cast<int64_t>(k)], .first = strides[static_cast<int64_t>(k)]});
  return dims.First();
}

class RaggedPlan {
 public:
  explicit RaggedPlan(const Instruction& dot)
      : lhs_(dot.operand(0)->shape()),
        rhs_(dot.operand(1)->shape()),
        sizes_(dot.operand(2)->shape()),
        result_(dot.shape()),
        ragged_(dot.Get<attr::lhs_ragged_dims>()[0]),
        group_dims_(dot.Get<attr::rhs_group_dims>()) {
    batch_.lhs = Index(dot.Get<attr::lhs_batch_dims>());
    batch_.rhs = Index(dot.Get<attr::rhs_batch_dims>());
    terms_.lhs = Index(dot.Get<attr::lhs_contracting_dims>());
    terms_.rhs = Index(dot.Get<attr::rhs_contracting_dims>());
    rows_.lhs = OtherDims(lhs_.rank(), batch_.lhs, terms_.lhs);
    Index taken = batch_.rhs;
    taken.insert(taken.end(), terms_.rhs.begin(), terms_.rhs.end());
    columns_.rhs = OtherDims(rhs_.rank(), taken, group_dims_);
    by_terms_ = Contains(terms_.lhs, ragged_);
    // The result's dimensions: groups, batch, rows, columns.
    int64_t d = by_terms_ ? 1 : 0;
    for (size_t k = 0; k < batch_.lhs.size(); ++k) batch_.result.push_back(d++);
    for (size_t k = 0; k < rows_.lhs.size(); ++k) rows_.result.push_back(d++);
    for (size_t k = 0; k < columns_.rhs.size(); ++k) columns_.result.push_back(d++);
  }

  // Returns false if there are too many dimensions or elements, or the shapes are inconsistent.
  bool Make(RaggedArgs* args, RaggedGroupsArgs* groups) const {
    const Index lhs = RowMajorStrides(lhs_.dims()), rhs = RowMajorStrides(rhs_.dims()),
                result = RowMajorStrides(result_.dims()), group = GroupStrides();
    const int64_t rank = (by_terms_ ? 1 : 0) + batch_.lhs.rank() + rows_.lhs.rank() + columns_.rhs.rank();
    if (group_dims_.size() > 1 || sizes_.rank() == 0 || result_.rank() != rank) return false;
    Gemm& p = args->gemm;
    const std::pair<IndexMap*, std::optional<IndexMap>> maps[] = {
        {&p.a.batch, RaggedMapOf(Pick(lhs_.dims(), batch_.lhs), Pick(lhs, batch_.lhs))},
        {&p.a.mn, RaggedMapOf(Pick(lhs_.dims(), rows_.lhs), Pick(lhs, rows_.lhs))},
        {&p.a.k, RaggedMapOf(Pick(lhs_.dims(), terms_.lhs), Pick(lhs, terms_.lhs))},
        {&p.b.batch, RaggedMapOf(Pick(lhs_.dims(), batch_.lhs), Pick(rhs, batch_.rhs))},
        {&p.b.mn, RaggedMapOf(Pick(rhs_.dims(), columns_.rhs), Pick(rhs, columns_.rhs))},
        {&p.b.k, RaggedMapOf(Pick(lhs_.dims(), terms_.lhs), Pick(rhs, terms_.rhs))},
        {&p.result.batch, RaggedMapOf(Pick(lhs_.dims(), batch_.lhs), Pick(result, batch_.result))},
        {&p.result.rows, RaggedMapOf(Pick(lhs_.dims(), rows_.lhs), Pick(result, rows_.result))},
        {&p.result.columns, RaggedMapOf(Pick(rhs_.dims(), columns_.rhs), Pick(result, columns_.result))},
        {&args->batch, RaggedMapOf(Pick(lhs_.dims(), batch_.lhs), Pick(group, batch_.lhs))},
        {&args->rows, RaggedMapOf(Pick(lhs_.dims(), rows_.lhs), Pick(group, rows_.lhs))},
        {&args->terms, RaggedMapOf(Pick(lhs_.dims(), terms_.lhs), Pick(group, terms_.lhs))}};
    for (const auto& [to, map] : maps) {
      if (!map.has_value()) return false;
      *to = *map;
    }
    const int64_t batch = hlo::Product(Pick(lhs_.dims(), batch_.lhs)),
                  m = hlo::Product(Pick(lhs_.dims(), rows_.lhs)),
                  n = hlo::Product(Pick(rhs_.dims(), columns_.rhs)),
                  k = hlo::Product(Pick(lhs_.dims(), terms_.lhs));
    groups->groups = sizes_.dim(sizes_.rank() - 1);
    groups->extent = lhs_.dim(ragged_);
    groups->positions = groups->extent * Prefixes();
    if (hlo::Product(result_.dims()) > INT32_MAX || k > INT32_MAX || groups->positions > INT32_MAX ||
        groups->groups > INT32_MAX)
      return false;
    p.batch = static_cast<uint32_t>(batch);
    p.m = static_cast<uint32_t>(m);
    p.n = static_cast<uint32_t>(n);
    p.k = static_cast<uint32_t>(k);
    p.a.type = lhs_.type();
    p.b.type = rhs_.type();
    p.result.type = result_.type();
    args->by_terms = by_terms_;
    args->result_groups = by_terms_ ? static_cast<uint32_t>(result_.dim(0)) : 1;
    args->result_group = by_terms_ ? result[0] : 0;
    args->b_group = group_dims_.empty() ? 0 : rhs[group_dims_[0]];
    groups->byte_count = static_cast<uint32_t>(ByteCount(sizes_.type()));
    groups->is_signed = IsSigned(sizes_.type());
    return true;
  }

 private:
  // Returns the dimensions of lhs along which group sizes may differ: those before the ragged one, batch
  // dimensions first.
  Index PrefixDims() const {
    Index prefix;
    if (sizes_.rank() == 1) return prefix;
    for (const Index* dims : {&batch_.lhs, by_terms_ ? &terms_.lhs : &rows_.lhs}) {
      for (const int64_t d : *dims) {
        if (d == ragged_) return prefix;
        prefix.push_back(d);
      }
    }
    return prefix;
  }
  int64_t Prefixes() const { return hlo::Product(Pick(lhs_.dims(), PrefixDims())); }
  // Returns the strides of lhs positions in group_of.
  Index GroupStrides() const {
    Index strides = Zeros(lhs_.rank());
    strides[ragged_] = 1;
    int64_t stride = lhs_.dim(ragged_);
    const Index prefix = PrefixDims();
    for (int64_t k = prefix.rank() - 1; k >= 0; --k) {
      strides[prefix[k]] = stride;
      stride *= lhs_.dim(prefix[k]);
    }
    return strides;
  }

  const Shape &lhs_, &rhs_, &sizes_, &result_;
  int64_t ragged_;
  Index group_dims_;
  Shared batch_, terms_, rows_, columns_;
  bool by_terms_ = false;
};

LaunchShape EachOf(int64_t count) {
  return {{static_cast<uint32_t>(CeilDiv(count, kRaggedThreads))}, kRaggedThreads};
}

absl::Status LaunchRagged(ElementType compute, const RaggedArgs& args, int64_t count, Stream stream) {
  switch (compute) {
    case ElementType::kF32:
      return Launch<RaggedGemm<float>>(EachOf(count), args, stream);
    case ElementType::kF64:
      return Launch<RaggedGemm<double>>(EachOf(count), args, stream);
    case ElementType::kU32:
      return Launch<RaggedGemm<uint32_t>>(EachOf(count), args, stream);
    case ElementType::kU64:
      return Launch<RaggedGemm<uint64_t>>(EachOf(count), args, stream);
    case ElementType::kC64:
      return Launch<RaggedGemm<ComplexNumber<float>>>(EachOf(count), args, stream);
    default:
      return Launch<RaggedGemm<ComplexNumber<double>>>(EachOf(count), args, stream);
  }
}

}  // namespace

std::optional<CudaKernel> FindRaggedDotKernel(const Instruction& dot, const DeviceProperties& /*device*/) {
  const ElementType a = dot.operand(0)->shape().type(), b = dot.operand(1)->shape().type(),
                    result = dot.shape().type();
  RaggedArgs args;
  RaggedGroupsArgs groups;
  if (!loops::GemmSupports(a, b, result) || !IsIntegral(dot.operand(2)->shape().type()) ||
      IsSubByte(dot.operand(2)->shape().type()) || !RaggedPlan(dot).Make(&args, &groups))
    return std::nullopt;
  const int64_t count = hlo::Product(dot.shape().dims());
  return CudaKernel{"ragged-dot, an element a thread", 4 * groups.positions,
                    [args, groups, count, compute = loops::GemmComputeType(a, b, result)](
                        absl::Span<const void* const> operands, absl::Span<void* const> results,
                        void* workspace, Stream stream) mutable -> absl::Status {
                      if (count == 0) return absl::OkStatus();
                      groups.sizes = operands[2];
                      groups.group_of = static_cast<int32_t*>(workspace);
                      if (groups.positions > 0)
                        HLO_RETURN_IF_ERROR(Launch<RaggedGroups>(EachOf(groups.positions), groups, stream));
                      args.a = operands[0];
                      args.b = operands[1];
                      args.result = results[0];
                      args.group_of = groups.group_of;
                      return LaunchRagged(compute, args, count, stream);
                    }};
}

}  // namespace hlo::cuda
