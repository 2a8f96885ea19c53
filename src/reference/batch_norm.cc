// Batch normalisation (semantics 6.8). Sums run over the n elements of one feature.

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/status.h"
#include "reference/arrays.h"
#include "reference/op.h"

namespace hlo::reference {
namespace {

using Doubles = absl::Span<const double>;

// The attribute is an f32 for all operand types.
double Epsilon(const OpContext& context) {
  return static_cast<float>(context.instruction.Get<attr::epsilon>());
}

// Returns the operands as f64.
absl::StatusOr<std::vector<Literal>> WidenedOperands(const OpContext& context) {
  std::vector<Literal> wide;
  for (const Literal& operand : context.operands) {
    HLO_ASSIGN_OR_RETURN(Literal each, Widened(operand, ElementType::kF64));
    wide.push_back(std::move(each));
  }
  return wide;
}

// An array with dimensions [outer, feature, inner].
struct FeatureView {
  int64_t outer = 1, features = 1, inner = 1;

  FeatureView(const Shape& shape, int64_t feature_index) : features(shape.dim(feature_index)) {
    for (int64_t d = 0; d < feature_index; ++d) outer *= shape.dim(d);
    for (int64_t d = feature_index + 1; d < shape.rank(); ++d) inner *= shape.dim(d);
  }
  double n() const { return static_cast<double>(outer * inner); }
  // Calls visit(i) with the offset of every element of a feature.
  template <class Visit>
  void Each(int64_t feature, Visit&& visit) const {
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t k = 0; k < inner; ++k) visit((o * features + feature) * inner + k);
    }
  }
  // Returns the sum of term(i) over a feature.
  template <class Term>
  double Sum(int64_t feature, Term&& term) const {
    double sum = 0;
    Each(feature, [&](int64_t i) { sum += term(i); });
    return sum;
  }
};

absl::StatusOr<std::vector<Literal>> WideResults(const Shape& shape) {
  std::vector<Literal> results;
  for (Shape each : shape.elements()) {
    each.set_type(ElementType::kF64);
    HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(each));
    results.push_back(std::move(result));
  }
  return results;
}

absl::StatusOr<Literal> RoundedTuple(std::vector<Literal> wide, const Shape& shape) {
  for (size_t k = 0; k < wide.size(); ++k) {
    HLO_ASSIGN_OR_RETURN(wide[k], Rounded(wide[k], shape.element(static_cast<int64_t>(k))));
  }
  return Literal::Tuple(std::move(wide));
}

}  // namespace

// mean = sum(x) / n; var = sum(x^2) / n - mean^2; y = (x - mean) / sqrt(var + epsilon) * scale + offset
absl::StatusOr<Literal> BatchNormTraining(OpContext& context) {
  HLO_ASSIGN_OR_RETURN(const std::vector<Literal> operands, WidenedOperands(context));
  const Doubles x = operands[0].span<double>(), scale = operands[1].span<double>(),
                offset = operands[2].span<double>();
  const double epsilon = Epsilon(context);
  const FeatureView view(operands[0].shape(), context.instruction.Get<attr::feature_index>());
  HLO_ASSIGN_OR_RETURN(std::vector<Literal> results, WideResults(context.shape()));
  const auto y = results[0].mutable_span<double>(), means = results[1].mutable_span<double>(),
             variances = results[2].mutable_span<double>();
  for (int64_t f = 0; f < view.features; ++f) {
    const double mean = view.Sum(f, [&](int64_t i) { return x[i]; }) / view.n();
    const double variance = view.Sum(f, [&](int64_t i) { return x[i] * x[i]; }) / view.n() - mean * mean;
    const double factor = scale[f] / std::sqrt(variance + epsilon);
    view.Each(f, [&](int64_t i) { y[i] = (x[i] - mean) * factor + offset[f]; });
    means[f] = mean;
    variances[f] = variance;
  }
  return RoundedTuple(std::move(results), context.shape());
}

// s = scale / sqrt(var + epsilon); y = x * s + (offset - mean * s)
absl::StatusOr<Literal> BatchNormInference(OpContext& context) {
  HLO_ASSIGN_OR_RETURN(std::vector<Literal> operands, WidenedOperands(context));
  const Doubles scale = operands[1].span<double>(), offset = operands[2].span<double>(),
                mean = operands[3].span<double>(), variance = operands[4].span<double>();
  const double epsilon = Epsilon(context);
  const FeatureView view(operands[0].shape(), context.instruction.Get<attr::feature_index>());
  if (std::min(mean.size(), variance.size()) < static_cast<size_t>(view.features))
    return absl::UnimplementedError("a mean or variance with fewer elements than features");
  HLO_RETURN_IF_ERROR(operands[0].MakeUnique());
  const auto y = operands[0].mutable_span<double>();
  for (int64_t f = 0; f < view.features; ++f) {
    const double s = scale[f] / std::sqrt(variance[f] + epsilon);
    view.Each(f, [&](int64_t i) { y[i] = y[i] * s + (offset[f] - mean[f] * s); });
  }
  return Rounded(operands[0], context.shape());
}

// S = sum(dy * (x - mean)); doffset = sum(dy); dscale = S / sqrt(var + epsilon);
// dx = scale / sqrt(var + epsilon) / n * (n * dy - doffset - (x - mean) * S / (var + epsilon))
absl::StatusOr<Literal> BatchNormGrad(OpContext& context) {
  HLO_ASSIGN_OR_RETURN(const std::vector<Literal> operands, WidenedOperands(context));
  const Doubles x = operands[0].span<double>(), scale = operands[1].span<double>(),
                mean = operands[2].span<double>(), variance = operands[3].span<double>(),
                dy = operands[4].span<double>();
  const double epsilon = Epsilon(context);
  const FeatureView view(operands[0].shape(), context.instruction.Get<attr::feature_index>());
  HLO_ASSIGN_OR_RETURN(std::vector<Literal> results, WideResults(context.shape()));
  const auto dx = results[0].mutable_span<double>(), dscale = results[1].mutable_span<double>(),
             doffset = results[2].mutable_span<double>();
  for (int64_t f = 0; f < view.features; ++f) {
    const double spread = variance[f] + epsilon, n = view.n();
    const double s = view.Sum(f, [&](int64_t i) { return dy[i] * (x[i] - mean[f]); });
    doffset[f] = view.Sum(f, [&](int64_t i) { return dy[i]; });
    dscale[f] = s / std::sqrt(spread);
    view.Each(f, [&](int64_t i) {
      dx[i] = scale[f] / std::sqrt(spread) / n * (n * dy[i] - doffset[f] - (x[i] - mean[f]) * s / spread);
    });
  }
  return RoundedTuple(std::move(results), context.shape());
}

}  // namespace hlo::reference
