// dot, ragged-dot and scaled-dot (semantics 6.1 to 6.3).

#include <algorithm>
#include <vector>

#include "base/deadline.h"
#include "base/status.h"
#include "reference/contraction.h"
#include "reference/dot_algorithm.h"
#include "reference/op.h"
#include "types/promotion.h"

namespace hlo::reference {
namespace {

// Maps positions of the ragged dimension to the groups that group_sizes defines. The sizes may differ along
// other dimensions, the prefix.
class Groups {
 public:
  static constexpr int64_t kNone = -1;

  // group_sizes is [sizes] for every prefix, or [prefix dimensions..., sizes].
  static absl::StatusOr<Groups> Make(const Literal& lhs, int64_t ragged_dim, Index prefix_dims,
                                     const Literal& group_sizes) {
    if (group_sizes.rank() == 1) prefix_dims.clear();
    HLO_ASSIGN_OR_RETURN(const Literal sizes, AsIndices(group_sizes));
    Groups groups;
    groups.strides_ = Zeros(lhs.rank());
    groups.strides_[ragged_dim] = 1;
    int64_t stride = lhs.dim(ragged_dim);
    for (int64_t k = prefix_dims.rank() - 1; k >= 0; --k) {
      groups.strides_[prefix_dims[k]] = stride;
      stride *= lhs.dim(prefix_dims[k]);
    }
    groups.count_ = group_sizes.dim(group_sizes.rank() - 1);
    groups.FillIn(sizes.span<int64_t>(), lhs.dim(ragged_dim), Product(Pick(lhs.dims(), prefix_dims)));
    return groups;
  }

  int64_t Of(const Index& lhs_position) const { return group_of_[Offset(lhs_position, strides_)]; }

 private:
  // Group g contains the positions from the end of group g - 1 up to sizes[0] + ... + sizes[g].
  void FillIn(absl::Span<const int64_t> sizes, int64_t extent, int64_t prefixes) {
    group_of_.assign(prefixes * extent, kNone);
    for (int64_t p = 0; p < prefixes; ++p) {
      int64_t end = 0;
      for (int64_t g = 0; g < count_; ++g) {
        const int64_t start = end;
        end = std::clamp<int64_t>(start + std::clamp(sizes[p * count_ + g], -extent, extent), 0, extent);
        for (int64_t r = start; r < end; ++r) group_of_[p * extent + r] = g;
      }
    }
  }

  Index strides_;  // Strides of the ragged and the prefix dimensions, by dimension of lhs.
  int64_t count_ = 0;
  std::vector<int64_t> group_of_;
};

// Returns the dimensions along which group sizes may differ: those before the ragged one, batch dimensions
// first.
Index PrefixDims(const DotDims& l, int64_t ragged_dim) {
  Index prefix;
  for (const Index* dims : {&l.batch, Contains(l.contracting, ragged_dim) ? &l.contracting : &l.free}) {
    for (int64_t d : *dims) {
      if (d == ragged_dim) return prefix;
      prefix.push_back(d);
    }
  }
  return prefix;
}

// Returns an operand of a scaled-dot times its scale: result[i] = x[i] * scale[i / block], block[d] = dim(x,
// d) / dim(scale, d). A scalar scale means no scaling.
absl::StatusOr<Literal> Scaled(const Literal& x, const Literal& scale) {
  if (scale.rank() != x.rank()) return x;
  Index block;
  for (int64_t d = 0; d < x.rank(); ++d)
    block.push_back(std::max<int64_t>(1, x.dim(d) / std::max<int64_t>(1, scale.dim(d))));
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(x.shape()));
  const Index strides = RowMajorStrides(scale.dims());
  DispatchWide(x.type(), [&]<class W>() {
    int64_t place = 0;
    for (Index i : EachIndex(x.dims())) {
      for (int64_t d = 0; d < i.rank(); ++d) i[d] /= block[d];
      W* out = &result.mutable_span<W>()[place];
      *out = W{};
      AddScaled(x.span<W>()[place], &scale.span<W>()[Offset(i, strides)], 1, out);
      ++place;
    }
  });
  return result;
}

}  // namespace

// result[b, m, n] = sum over k of lhs[b, m, k] * rhs[b, k, n]; emulates `algorithm` if the run's options
// request it.
absl::StatusOr<Literal> Dot(OpContext& context) {
  const ElementType lhs_type = context.operands[0].type(), rhs_type = context.operands[1].type();
  const ElementType product = ProductType(lhs_type, rhs_type, context.shape().type());
  const ElementType type = ContractionType(product);
  const auto sum = [&](const Literal& lhs, const Literal& rhs) {
    return DotSum(lhs, LhsDims(context.instruction), rhs, RhsDims(context.instruction), type);
  };
  const PrecisionAlgorithm algorithm = context.instruction.Get<attr::dot_algorithm>();
  const bool emulates = context.caller.emulates_dot_algorithms() && algorithm != PrecisionAlgorithm::kUnset;
  if (emulates && IsFloat(lhs_type) && IsFloat(rhs_type)) {
    HLO_ASSIGN_OR_RETURN(const Literal total,
                         SumByAlgorithm(algorithm, context.operands[0], context.operands[1], sum));
    return RoundedSum(total, product, context.shape());
  }
  HLO_ASSIGN_OR_RETURN(const Literal total, sum(context.operands[0], context.operands[1]));
  return RoundedSum(total, product, context.shape());
}

// The group of position [b, m, k] of lhs is g; positions outside all groups contribute nothing:
//   ragged free dimension:         result[b, m, n] = sum over k of lhs[b, m, k] * rhs[g, b, k, n]
//   ragged contracting dimension:  result[g, b, m, n] = sum over the k in g of lhs[b, m, k] * rhs[b, k, n]
//   ragged batch dimension:        result[b, m, n] = sum over k of lhs[b, m, k] * rhs[b, k, n]
absl::StatusOr<Literal> RaggedDot(OpContext& context) {
  const Instruction& dot = context.instruction;
  const ElementType lhs_type = context.operands[0].type(), rhs_type = context.operands[1].type();
  const ElementType product = ProductType(lhs_type, rhs_type, context.shape().type());
  const ElementType type = ContractionType(product);
  const DotDims l = LhsDims(dot);
  DotDims r = RhsDims(dot);
  const Index group_dims = dot.Get<attr::rhs_group_dims>();
  r.free = OtherDims(context.operands[1].rank(), Concat(r.batch, r.contracting, group_dims));
  const int64_t ragged_dim = dot.Get<attr::lhs_ragged_dims>()[0];
  HLO_ASSIGN_OR_RETURN(const Groups groups, Groups::Make(context.operands[0], ragged_dim,
                                                         PrefixDims(l, ragged_dim), context.operands[2]));

  HLO_ASSIGN_OR_RETURN(Literal lhs, Widened(context.operands[0], type));
  HLO_ASSIGN_OR_RETURN(Literal rhs, Widened(context.operands[1], type));
  const Index lhs_order = Concat(l.batch, l.free, l.contracting);
  HLO_ASSIGN_OR_RETURN(lhs, Transposed(lhs, lhs_order));
  HLO_ASSIGN_OR_RETURN(rhs, Transposed(rhs, Concat(Concat(group_dims, r.batch, r.contracting), r.free, {})));
  HLO_ASSIGN_OR_RETURN(Literal sum, Literal::CreateZeros(Shape::Array(type, context.shape().dims())));

  const absl::Span<const int64_t> lhs_dims = context.operands[0].dims(),
                                  rhs_dims = context.operands[1].dims();
  const int64_t k_size = Product(Pick(lhs_dims, l.contracting)), n_size = Product(Pick(rhs_dims, r.free));
  const int64_t rows = Product(Pick(lhs_dims, Concat(l.batch, l.free, {}))),
                m_size = Product(Pick(lhs_dims, l.free));
  const int64_t rhs_group = group_dims.empty() ? 0 : rhs.element_count() / std::max<int64_t>(1, rhs.dim(0));
  const int64_t sum_group = Contains(l.contracting, ragged_dim) ? rows * n_size : 0;
  const Index to_lhs_dims = Inverse(lhs_order);
  Pace pace;
  HLO_RETURN_IF_ERROR(DispatchWide(type, [&]<class W>() {
    int64_t place = 0;
    for (const Index& bmk : EachIndex(lhs.dims())) {
      const int64_t bm = place / k_size, bk = bm / m_size * k_size + place % k_size;
      const W factor = lhs.span<W>()[place++];
      const int64_t g = groups.Of(Pick(bmk, to_lhs_dims));
      HLO_RETURN_IF_ERROR(pace.Spend(n_size + 16));
      if (g == Groups::kNone) continue;
      AddScaled(factor, rhs.span<W>().data() + g * rhs_group + bk * n_size, n_size,
                sum.mutable_span<W>().data() + g * sum_group + bm * n_size);
    }
    return absl::OkStatus();
  }));
  return RoundedSum(sum, product, context.shape());
}

// The dot of lhs[i] * lhs_scale[i / block] and rhs[j] * rhs_scale[j / block], after conversion of all four to
// the result type.
absl::StatusOr<Literal> ScaledDot(OpContext& context) {
  const ElementType lhs_type = context.operands[0].type(), rhs_type = context.operands[1].type();
  const bool floats_to_integer =
      IsIntegral(context.shape().type()) && (IsFloat(lhs_type) || IsFloat(rhs_type));
  const ElementType declared = floats_to_integer ? ElementType::kF32 : context.shape().type();
  const ElementType type = ContractionType(declared);
  std::vector<Literal> operands(context.operands.begin(), context.operands.end());
  for (Literal& operand : operands) {
    HLO_ASSIGN_OR_RETURN(operand, WithType(operand, declared));
    HLO_ASSIGN_OR_RETURN(operand, Widened(operand, type));
  }
  HLO_ASSIGN_OR_RETURN(const Literal lhs, Scaled(operands[0], operands[2]));
  HLO_ASSIGN_OR_RETURN(const Literal rhs, Scaled(operands[1], operands[3]));
  HLO_ASSIGN_OR_RETURN(const Literal sum,
                       DotSum(lhs, LhsDims(context.instruction), rhs, RhsDims(context.instruction), type));
  return RoundedSum(sum, declared, context.shape());
}

}  // namespace hlo::reference
