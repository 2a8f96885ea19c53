#include "debug/shadow/extended_linalg.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/deadline.h"
#include "base/status.h"
#include "debug/shadow/extended_array.h"
#include "debug/shadow/features.h"
#include "ir/triangle_options.h"
#include "reference/custom/matrix_calls.h"

namespace hlo::debug {
namespace {

template <class T>
bool IsRegular(const T& x) {
  return IsFinite(x) && !IsZero(x);
}

// The elements of one matrix of a batch, of which a triangle is read: element (i, j) of the lower triangle of
// the matrix, its transpose or its adjoint.
template <class T>
class Triangle {
 public:
  Triangle(const ExtendedViewOf<T>& elements, int64_t start, int64_t order, bool is_transposed,
           bool is_conjugate = false)
      : elements_(elements),
        start_(start),
        order_(order),
        is_transposed_(is_transposed),
        is_conjugate_(is_conjugate) {}
  int64_t At(int64_t i, int64_t j) const {
    return start_ + (is_transposed_ ? j * order_ + i : i * order_ + j);
  }
  T operator()(int64_t i, int64_t j) const {
    const T element = elements_[At(i, j)];
    return is_conjugate_ ? Conjugate(element) : element;
  }

 private:
  const ExtendedViewOf<T>& elements_;
  int64_t start_, order_;
  bool is_transposed_, is_conjugate_;
};

// Reads element i of a vector within an array: start + i * stride.
struct Line {
  int64_t start, stride;
  int64_t operator[](int64_t i) const { return start + i * stride; }
};

Features FeaturesOf(const RuleContext& context, const ShadowValue& operand) {
  return Features(operand.wide, context.instruction.Get<attr::feature_index>());
}

// The attribute is an f32.
double EpsilonOf(const RuleContext& context) {
  return static_cast<float>(context.instruction.Get<attr::epsilon>());
}

// The factor of A = L L^H by columns; an upper factor is the adjoint of that of the upper triangle, so its
// transpose has the same formulas. The other triangle of `result` is not changed.
template <class T>
absl::StatusOr<bool> Factor(const ShadowValue& matrices, bool is_lower, ExtendedValue& result) {
  const int64_t order = result.high.dim(result.high.rank() - 1), size = order * order;
  const ExtendedViewOf<T> elements(matrices), factors(result.high, result.low);
  for (int64_t start = 0; size > 0 && start < result.high.element_count(); start += size) {
    const Triangle<T> a(elements, start, order, !is_lower), l(factors, start, order, !is_lower);
    for (int64_t j = 0; j < order; ++j) {
      HLO_RETURN_IF_ERROR(Deadline::Check());
      for (int64_t i = j; i < order; ++i) {
        T rest = i == j ? T(RealPart(a(i, j))) : a(i, j);
        for (int64_t k = 0; k < j; ++k) rest = rest - l(i, k) * Conjugate(l(j, k));
        const DoubleDouble pivot = RealPart(rest);
        if (i == j && !(pivot.high > 0 && std::isfinite(pivot.high))) return false;
        Store(result, l.At(i, j), i == j ? T(Sqrt(pivot)) : rest / RealPart(l(j, j)));
      }
    }
  }
  return true;
}

// Solves op(A) x = b for each column of B, or for each row, where X op(A) = B is op(A)^T X^T = B^T.
template <class T>
absl::StatusOr<std::optional<ExtendedValue>> Solution(const ShadowValue& matrices,
                                                      const ShadowValue& right_sides, T scale,
                                                      const TriangleOptions& options) {
  // op(A) or its transpose reads A by rows or by columns; the other order of the triangle solves from the
  // end.
  const bool by_columns = (options.op != MatrixOp::kNone) == options.left;
  const bool is_forward = options.lower != by_columns;
  const Literal &a_array = matrices.wide, &b_array = right_sides.wide;
  const int64_t rank = a_array.rank(), order = a_array.dim(rank - 1);
  const int64_t rows = b_array.dim(rank - 2), columns = b_array.dim(rank - 1);
  HLO_ASSIGN_OR_RETURN(ExtendedValue result, NewValue<T>(b_array.dims()));
  const ExtendedViewOf<T> elements(matrices), b(right_sides), x(result.high, result.low);
  const int64_t count = rows * columns > 0 ? b_array.element_count() / (rows * columns) : 0;
  for (int64_t batch = 0; batch < count; ++batch) {
    const Triangle<T> a(elements, batch * order * order, order, by_columns, options.op == MatrixOp::kAdjoint);
    for (int64_t vector = 0; vector < (options.left ? columns : rows); ++vector) {
      HLO_RETURN_IF_ERROR(Deadline::Check());
      const int64_t start = batch * rows * columns;
      const Line line = options.left ? Line{start + vector, columns} : Line{start + vector * columns, 1};
      for (int64_t step = 0; step < order; ++step) {
        const int64_t i = is_forward ? step : order - 1 - step;
        T rest = scale * b[line[i]];
        for (int64_t k = is_forward ? 0 : i + 1; k < (is_forward ? i : order); ++k)
          rest = rest - a(i, k) * x[line[k]];
        if (!options.unit_diagonal && !IsRegular(a(i, i))) return std::nullopt;
        Store(result, line[i], options.unit_diagonal ? rest : rest / a(i, i));
      }
    }
  }
  return result;
}

}  // namespace

template <class T>
absl::StatusOr<std::optional<ExtendedValue>> ExtendedCholesky(const RuleContext& context,
                                                              absl::Span<const ShadowValue> operands) {
  HLO_ASSIGN_OR_RETURN(ExtendedValue result, NewValue<T>(context.declared.dims()));
  HLO_ASSIGN_OR_RETURN(const bool is_regular,
                       Factor<T>(operands[0], context.instruction.Get<attr::lower>(), result));
  if (!is_regular) return std::nullopt;
  return result;
}

template <class T>
absl::StatusOr<std::optional<ExtendedValue>> ExtendedTriangularSolve(const RuleContext& context,
                                                                     absl::Span<const ShadowValue> operands) {
  return Solution<T>(operands[0], operands[1], T(1.0), TriangleOf(context.instruction));
}

template <class T>
absl::StatusOr<std::optional<ExtendedValues>> ExtendedMatrixCall(const RuleContext& context,
                                                                 absl::Span<const ShadowValue> operands) {
  using reference::custom::MatrixCall;
  const std::optional<MatrixCall> call = reference::custom::MatrixCallOf(context.instruction);
  const ShadowValue& matrices = operands[static_cast<size_t>(call->array)];
  if (call->function == MatrixCall::Function::kTrsm) {
    const T scale =
        call->scale.has_value() ? ExtendedViewOf<T>(operands[static_cast<size_t>(*call->scale)])[0] : T(1.0);
    HLO_ASSIGN_OR_RETURN(
        std::optional<ExtendedValue> solution,
        Solution<T>(matrices, operands[static_cast<size_t>(call->array) + 1], scale, call->triangle));
    if (!solution) return std::nullopt;
    return ExtendedValues{*std::move(solution)};
  }
  // The other triangle keeps the elements of the operand. Further results are integers.
  ExtendedValues values(context.declared.shape().elements().size());
  values[0].high = matrices.wide;
  HLO_ASSIGN_OR_RETURN(values[0].low, LowOf(matrices));
  HLO_RETURN_IF_ERROR(values[0].high.MakeUnique());
  HLO_RETURN_IF_ERROR(values[0].low.MakeUnique());
  HLO_ASSIGN_OR_RETURN(const bool is_regular, Factor<T>(matrices, call->lower, values[0]));
  if (!is_regular) return std::nullopt;
  return values;
}

bool IsContinuousMatrixCall(const RuleContext& context) {
  using Function = reference::custom::MatrixCall::Function;
  // The target may have been replaced.
  if (context.declared_caller.custom_calls() != nullptr) return false;
  const auto call = reference::custom::MatrixCallOf(context.instruction);
  return call.has_value() && (call->function == Function::kPotrf || call->function == Function::kTrsm);
}

#define HLO_INSTANTIATE(T)                                                                                  \
  template absl::StatusOr<std::optional<ExtendedValue>> ExtendedCholesky<T>(const RuleContext&,             \
                                                                            absl::Span<const ShadowValue>); \
  template absl::StatusOr<std::optional<ExtendedValue>> ExtendedTriangularSolve<T>(                         \
      const RuleContext&, absl::Span<const ShadowValue>);                                                   \
  template absl::StatusOr<std::optional<ExtendedValues>> ExtendedMatrixCall<T>(                             \
      const RuleContext&, absl::Span<const ShadowValue>);
HLO_INSTANTIATE(DoubleDouble)
HLO_INSTANTIATE(ComplexDoubleDouble)
#undef HLO_INSTANTIATE

// y = (x - mean) * scale / sqrt(variance + epsilon) + offset
absl::StatusOr<std::optional<ExtendedValue>> ExtendedBatchNormInference(
    const RuleContext& context, absl::Span<const ShadowValue> operands) {
  const Features features = FeaturesOf(context, operands[0]);
  const ExtendedView x(operands[0]), scale(operands[1]), offset(operands[2]), mean(operands[3]),
      variance(operands[4]);
  HLO_ASSIGN_OR_RETURN(ExtendedValue result, NewValue(context.declared.dims()));
  for (int64_t f = 0; f < features.count; ++f) {
    const DoubleDouble factor = scale[f] / Sqrt(variance[f] + EpsilonOf(context));
    features.Each(f, [&](int64_t i) { Store(result, i, (x[i] - mean[f]) * factor + offset[f]); });
  }
  return result;
}

absl::StatusOr<std::optional<ExtendedValues>> ExtendedBatchNormTraining(
    const RuleContext& context, absl::Span<const ShadowValue> operands) {
  const Features features = FeaturesOf(context, operands[0]);
  const ExtendedView x(operands[0]), scale(operands[1]), offset(operands[2]);
  ExtendedValues results;
  for (const Literal& declared : context.declared.elements()) {
    HLO_ASSIGN_OR_RETURN(results.emplace_back(), NewValue(declared.dims()));
  }
  for (int64_t f = 0; f < features.count; ++f) {
    HLO_RETURN_IF_ERROR(Deadline::Check());
    const DoubleDouble mean =
        features.SumOf<DoubleDouble>(f, [&](int64_t i) { return x[i]; }) / features.size();
    const DoubleDouble variance = features.SumOf<DoubleDouble>(f, [&](int64_t i) {
      const DoubleDouble distance = x[i] - mean;
      return distance * distance;
    }) / features.size();
    const DoubleDouble factor = scale[f] / Sqrt(variance + EpsilonOf(context));
    features.Each(f, [&](int64_t i) { Store(results[0], i, (x[i] - mean) * factor + offset[f]); });
    Store(results[1], f, mean);
    Store(results[2], f, variance);
  }
  return results;
}

// S = sum(dy * (x - mean)); doffset = sum(dy); dscale = S / sqrt(variance + epsilon);
// dx = scale / sqrt(variance + epsilon) * (dy - doffset / n - (x - mean) * S / (variance + epsilon) / n)
absl::StatusOr<std::optional<ExtendedValues>> ExtendedBatchNormGrad(const RuleContext& context,
                                                                    absl::Span<const ShadowValue> operands) {
  const Features features = FeaturesOf(context, operands[0]);
  const ExtendedView x(operands[0]), scale(operands[1]), mean(operands[2]), variance(operands[3]),
      dy(operands[4]);
  ExtendedValues results;
  for (const Literal& declared : context.declared.elements()) {
    HLO_ASSIGN_OR_RETURN(results.emplace_back(), NewValue(declared.dims()));
  }
  const DoubleDouble n = features.size();
  for (int64_t f = 0; f < features.count; ++f) {
    HLO_RETURN_IF_ERROR(Deadline::Check());
    const DoubleDouble spread = variance[f] + EpsilonOf(context), deviation = Sqrt(spread);
    const DoubleDouble sum =
        features.SumOf<DoubleDouble>(f, [&](int64_t i) { return dy[i] * (x[i] - mean[f]); });
    const DoubleDouble doffset = features.SumOf<DoubleDouble>(f, [&](int64_t i) { return dy[i]; });
    features.Each(f, [&](int64_t i) {
      const DoubleDouble rest = dy[i] - doffset / n - (x[i] - mean[f]) * sum / spread / n;
      Store(results[0], i, scale[f] / deviation * rest);
    });
    Store(results[1], f, sum / deviation);
    Store(results[2], f, doffset);
  }
  return results;
}

absl::StatusOr<std::optional<ExtendedValue>> ReducedPrecision(const RuleContext& context,
                                                              absl::Span<const ShadowValue> operands) {
  constexpr int64_t kMantissaBits = 52;
  if (context.instruction.Get<attr::mantissa_bits>() >= kMantissaBits || !operands[0].low.shape().IsValid())
    return std::nullopt;
  // The next double decides a tie as the low part does, and lies between the same two results otherwise.
  Literal nudged = operands[0].wide;
  HLO_RETURN_IF_ERROR(nudged.MakeUnique());
  const absl::Span<const double> low = Doubles(operands[0].low);
  for (int64_t i = 0; i < nudged.element_count(); ++i) {
    double& value = MutableDoubles(nudged)[i];
    if (low[i] != 0) value = std::nextafter(value, low[i] > 0 ? kInfinity : -kInfinity);
  }
  ExtendedValue result;
  HLO_ASSIGN_OR_RETURN(result.high, ApplyWide(context, {std::move(nudged)}));
  return result;
}

}  // namespace hlo::debug
