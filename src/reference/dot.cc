// dot (semantics 6.1).

#include "absl/algorithm/container.h"
#include "base/status.h"
#include "reference/contraction.h"
#include "reference/op.h"

namespace hlo::reference {
namespace {

// Dimensions of one operand, by what the dot does with them.
struct DotDims {
  Index batch, contracting, free;
};

DotDims DimsOf(const Literal& operand, IntList batch, IntList contracting) {
  return {batch, contracting, OtherDims(operand.rank(), batch, contracting)};
}

Index Concat(Index a, const Index& b, const Index& c) {
  a.insert(a.end(), b.begin(), b.end());
  a.insert(a.end(), c.begin(), c.end());
  return a;
}

// out[m, n] = sum over k of a[m, k] * b[k, n], k ascending.
template <Wide W>
void MultiplyMatrices(int64_t m_size, int64_t k_size, int64_t n_size, const W* a, const W* b, W* out) {
  std::fill_n(out, m_size * n_size, W{});
  for (int64_t m = 0; m < m_size; ++m) {
    for (int64_t k = 0; k < k_size; ++k)
      AddScaled(a[m * k_size + k], b + k * n_size, n_size, out + m * n_size);
  }
}

}  // namespace

// out[b, m, n] = sum over k of lhs[b, m, k] * rhs[b, k, n]: batch dimensions, then the free ones of lhs, then
// those of rhs. Contracting positions are row-major in the order in which their dimensions are listed.
absl::StatusOr<Literal> Dot(OpContext& context) {
  const Instruction& dot = context.instruction;
  const Literal &lhs = context.operands[0], &rhs = context.operands[1];
  const DotDims l = DimsOf(lhs, dot.Get<attr::lhs_batch_dims>(), dot.Get<attr::lhs_contracting_dims>());
  const DotDims r = DimsOf(rhs, dot.Get<attr::rhs_batch_dims>(), dot.Get<attr::rhs_contracting_dims>());
  const ElementType type = ContractionType(lhs.type(), rhs.type(), context.shape().type());
  HLO_ASSIGN_OR_RETURN(Literal a, Widened(lhs, type));
  HLO_ASSIGN_OR_RETURN(Literal b, Widened(rhs, type));
  HLO_ASSIGN_OR_RETURN(a, Transposed(a, Concat(l.batch, l.free, l.contracting)));
  HLO_ASSIGN_OR_RETURN(b, Transposed(b, Concat(r.batch, r.contracting, r.free)));
  HLO_ASSIGN_OR_RETURN(Literal sum, Literal::Create(Shape::Array(type, context.shape().dims())));

  const int64_t batches = Product(Pick(lhs.dims(), l.batch)), k = Product(Pick(lhs.dims(), l.contracting));
  const int64_t m = Product(Pick(lhs.dims(), l.free)), n = Product(Pick(rhs.dims(), r.free));
  DispatchWide(type, [&]<class W>() {
    for (int64_t i = 0; i < batches; ++i) {
      MultiplyMatrices(m, k, n, a.span<W>().data() + i * m * k, b.span<W>().data() + i * k * n,
                       sum.mutable_span<W>().data() + i * m * n);
    }
  });
  return RoundedSum(sum, lhs.type(), rhs.type(), context.shape());
}

}  // namespace hlo::reference
