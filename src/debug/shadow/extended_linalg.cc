#include "debug/shadow/extended_linalg.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/deadline.h"
#include "base/status.h"
#include "debug/shadow/extended_array.h"
#include "debug/shadow/features.h"

namespace hlo::debug {
namespace {

bool IsRegular(const DoubleDouble& x) { return std::isfinite(x.high) && x.high != 0; }

// The elements of one matrix of a batch, of which a triangle is read: element (i, j) of the lower triangle of
// the matrix or of its transpose.
class Triangle {
 public:
  Triangle(const ExtendedView& elements, int64_t start, int64_t order, bool is_transposed)
      : elements_(elements), start_(start), order_(order), is_transposed_(is_transposed) {}
  int64_t At(int64_t i, int64_t j) const {
    return start_ + (is_transposed_ ? j * order_ + i : i * order_ + j);
  }
  DoubleDouble operator()(int64_t i, int64_t j) const { return elements_[At(i, j)]; }

 private:
  const ExtendedView& elements_;
  int64_t start_, order_;
  bool is_transposed_;
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

}  // namespace

// The factor of A = L L^T by columns; an upper factor is the transpose of that of the upper triangle.
absl::StatusOr<std::optional<ExtendedValue>> ExtendedCholesky(const RuleContext& context,
                                                              absl::Span<const ShadowValue> operands) {
  const bool is_upper = !context.instruction.Get<attr::lower>();
  HLO_ASSIGN_OR_RETURN(ExtendedValue result, NewValue(context.declared.dims()));
  const int64_t order = context.declared.dim(context.declared.rank() - 1), size = order * order;
  const ExtendedView elements(operands[0]), factors(result.high, result.low);
  for (int64_t start = 0; size > 0 && start < context.declared.element_count(); start += size) {
    const Triangle a(elements, start, order, is_upper), l(factors, start, order, is_upper);
    for (int64_t j = 0; j < order; ++j) {
      HLO_RETURN_IF_ERROR(Deadline::Check());
      for (int64_t i = j; i < order; ++i) {
        DoubleDouble rest = a(i, j);
        for (int64_t k = 0; k < j; ++k) rest = rest - l(i, k) * l(j, k);
        if (i == j && !(rest.high > 0 && std::isfinite(rest.high))) return std::nullopt;
        Store(result, l.At(i, j), i == j ? Sqrt(rest) : rest / l(j, j));
      }
    }
  }
  return result;
}

// Solves op(A) x = b for each column of B, or for each row, where X op(A) = B is op(A)^T X^T = B^T.
absl::StatusOr<std::optional<ExtendedValue>> ExtendedTriangularSolve(const RuleContext& context,
                                                                     absl::Span<const ShadowValue> operands) {
  const Instruction& solve = context.instruction;
  const bool is_left = solve.Get<attr::left_side>(), is_unit = solve.Get<attr::unit_diagonal>();
  const bool transposes = solve.Get<attr::transpose_a>() != TransposeA::kNoTranspose;
  // op(A) or its transpose reads A by rows or by columns; the other order of the triangle solves from the
  // end.
  const bool by_columns = transposes == is_left;
  const bool is_forward = solve.Get<attr::lower>() != by_columns;
  const Literal& a_array = operands[0].wide;
  const int64_t rank = a_array.rank(), order = a_array.dim(rank - 1);
  const int64_t rows = context.declared.dim(rank - 2), columns = context.declared.dim(rank - 1);
  HLO_ASSIGN_OR_RETURN(ExtendedValue result, NewValue(context.declared.dims()));
  const ExtendedView elements(operands[0]), b(operands[1]), x(result.high, result.low);
  const int64_t count = rows * columns > 0 ? context.declared.element_count() / (rows * columns) : 0;
  for (int64_t batch = 0; batch < count; ++batch) {
    const Triangle a(elements, batch * order * order, order, by_columns);
    for (int64_t vector = 0; vector < (is_left ? columns : rows); ++vector) {
      HLO_RETURN_IF_ERROR(Deadline::Check());
      const int64_t start = batch * rows * columns;
      const Line line = is_left ? Line{start + vector, columns} : Line{start + vector * columns, 1};
      for (int64_t step = 0; step < order; ++step) {
        const int64_t i = is_forward ? step : order - 1 - step;
        DoubleDouble rest = b[line[i]];
        for (int64_t k = is_forward ? 0 : i + 1; k < (is_forward ? i : order); ++k)
          rest = rest - a(i, k) * x[line[k]];
        if (!is_unit && !IsRegular(a(i, i))) return std::nullopt;
        Store(result, line[i], is_unit ? rest : rest / a(i, i));
      }
    }
  }
  return result;
}

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
