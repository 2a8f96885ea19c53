// The bound of batch-norm-training.

#include <cmath>

#include "base/status.h"
#include "debug/shadow/features.h"
#include "debug/shadow/linear_rules.h"

namespace hlo::debug {
namespace {

absl::Status Raise(ShadowValue& leaf, const Literal& error) {
  HLO_RETURN_IF_ERROR(leaf.bound.MakeUnique());
  for (int64_t i = 0; i < error.element_count(); ++i) MutableDoubles(leaf.bound)[i] += Doubles(error)[i];
  return absl::OkStatus();
}

}  // namespace

// An evaluation may compute the variance as sum(x^2) / n - mean^2, which cancels. Perturbed operands do not
// show that error, so it is added to the estimate.
absl::StatusOr<ShadowValue> BatchNormTrainingRule(RuleContext& context) {
  HLO_ASSIGN_OR_RETURN(ShadowValue result, PerturbationRule(context));
  const Literal& operand = context.operands[0].wide;
  const Features features(operand, context.instruction.Get<attr::feature_index>());
  const double n = features.size(), u = PrecisionOf(context.operands[0].declared.type()).epsilon / 2;
  const double epsilon = context.instruction.Get<attr::epsilon>();
  const double *x = Doubles(operand).data(), *scale = Doubles(context.operands[1].wide).data(),
               *offset = Doubles(context.operands[2].wide).data();
  context.own_errors.clear();
  for (const ShadowValue& leaf : result.elements) {
    HLO_ASSIGN_OR_RETURN(context.own_errors.emplace_back(), F64Array(leaf.declared.dims()));
  }
  double *y_error = MutableDoubles(context.own_errors[0]).data(),
         *mean_error = MutableDoubles(context.own_errors[1]).data(),
         *variance_error = MutableDoubles(context.own_errors[2]).data();
  const double *y = Doubles(result.elements[0].wide).data(), *mean = Doubles(result.elements[1].wide).data(),
               *variance = Doubles(result.elements[2].wide).data();
  for (int64_t f = 0; f < features.count; ++f) {
    const double size = features.SumOf<double>(f, [&](int64_t i) { return std::fabs(x[i]); }) / n;
    const double square = features.SumOf<double>(f, [&](int64_t i) { return x[i] * x[i]; }) / n;
    mean_error[f] = (n + 1) * u * size;
    variance_error[f] = (n + 3) * u * square + (2 * std::fabs(mean[f]) + mean_error[f]) * mean_error[f] +
                        u * mean[f] * mean[f];
    const double spread = variance[f] + epsilon, factor = std::fabs(scale[f]) / std::sqrt(spread);
    const double relative = variance_error[f] < spread / 2 ? variance_error[f] / spread : kInfinity;
    features.Each(f, [&](int64_t i) {
      const double distance = std::fabs(x[i] - mean[f]);
      y_error[i] = factor * mean_error[f] + (distance == 0 ? 0 : distance * factor * (relative + 5 * u)) +
                   2 * u * (std::fabs(y[i]) + std::fabs(offset[f]));
    });
  }
  for (size_t k = 0; k < 3; ++k) HLO_RETURN_IF_ERROR(Raise(result.elements[k], context.own_errors[k]));
  return result;
}

}  // namespace hlo::debug
