#include "debug/shadow/shadow_trials.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <utility>

#include "base/status.h"
#include "debug/shadow/linear_rules.h"

namespace hlo::debug {
namespace {

// Moves each element of a trial by the instruction's own error, up or down.
absl::Status Perturb(const RuleContext& context, TrialSigns& signs, const ShadowValue& leaf,
                     const Literal& own_error, Literal& trial) {
  HLO_RETURN_IF_ERROR(trial.MakeUnique());
  const FloatPrecision precision = PrecisionOf(leaf.declared.type());
  const bool has_error = own_error.shape().IsValid();
  const Literal& error = context.is_anchored ? leaf.bound : own_error;
  const ElementView wide(leaf.wide);
  const double* errors = has_error || context.is_anchored ? Doubles(error).data() : nullptr;
  const auto step_at = [&](int64_t i) {
    if (std::isinf(wide[i])) return 0.0;  // An infinity is not rounded.
    const double step = errors != nullptr ? errors[i] : 4 * precision.epsilon * std::fabs(wide[i]);
    // After an unbounded error, a trial is meaningless.
    return std::isfinite(step) ? step * signs.Next() : std::numeric_limits<double>::quiet_NaN();
  };
  const int64_t count = trial.element_count();
  if (trial.type() == ElementType::kC128) {
    auto* out = trial.mutable_span<std::complex<double>>().data();
    for (int64_t i = 0; i < count; ++i) out[i] += step_at(i);
  } else {
    double* out = MutableDoubles(trial).data();
    for (int64_t i = 0; i < count; ++i) out[i] += step_at(i);
  }
  return absl::OkStatus();
}

bool IsSameSpecial(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (std::isinf(a) && a == b);
}

// Returns the distance of an element of a trial to the wide value; infinity if only one of them is special.
double TrialDistance(const Literal& trial, const Literal& wide, int64_t i) {
  double distance = 0;
  if (wide.type() == ElementType::kC128) {
    const auto a = trial.span<std::complex<double>>()[i], b = wide.span<std::complex<double>>()[i];
    if (!IsFinite(a) && !IsFinite(b)) return 0;
    distance = std::abs(a - b);
  } else {
    const double a = Doubles(trial)[i], b = Doubles(wide)[i];
    if (IsSameSpecial(a, b)) return 0;
    distance = std::fabs(a - b);
  }
  return std::isfinite(distance) ? distance : kInfinity;
}

// Returns the largest distance of each element of a trial to the wide value.
std::vector<double> SpreadOf(const ShadowValue& leaf) {
  std::vector<double> spread(static_cast<size_t>(leaf.wide.element_count()));
  for (const Literal& trial : leaf.trials) {
    for (size_t i = 0; i < spread.size(); ++i)
      spread[i] = std::max(spread[i], TrialDistance(trial, leaf.wide, static_cast<int64_t>(i)));
  }
  return spread;
}

}  // namespace

absl::Status SetTrials(const RuleContext& context, TrialSigns& signs, ShadowValue& result) {
  const std::vector<ShadowValue*> leaves = ShadowLeaves(result);
  if (std::none_of(leaves.begin(), leaves.end(), [](const ShadowValue* leaf) { return leaf->is_float(); }))
    return absl::OkStatus();
  const bool has_trials = std::any_of(context.operands.begin(), context.operands.end(),
                                      [](const ShadowValue& operand) { return !operand.trials.empty(); });
  const bool moves = MovesValues(context.instruction);
  const bool errs = !moves && std::any_of(leaves.begin(), leaves.end(),
                                          [](const ShadowValue* leaf) { return !leaf->is_exact(); });
  if (!has_trials && !errs) return absl::OkStatus();
  for (size_t t = 0; t < kTrialCount; ++t) {
    ShadowValue values = result;
    if (has_trials && !context.is_anchored) {
      std::vector<Literal> operands;
      for (const ShadowValue& operand : context.operands)
        operands.push_back(operand.is_tuple         ? Declared(operand)
                           : operand.trials.empty() ? WideOrDeclared(operand)
                                                    : operand.trials[t]);
      HLO_ASSIGN_OR_RETURN(const Literal value, ApplyWide(context, std::move(operands)));
      HLO_ASSIGN_OR_RETURN(values, ExactShadow(value));
    }
    const std::vector<ShadowValue*> trial_leaves = ShadowLeaves(values);
    for (size_t k = 0; k < leaves.size() && k < trial_leaves.size(); ++k) {
      if (!leaves[k]->is_float()) continue;
      Literal trial = trial_leaves[k]->wide;
      const Literal& error = context.own_errors.empty() ? context.own_error : context.own_errors[k];
      if (errs) HLO_RETURN_IF_ERROR(Perturb(context, signs, *leaves[k], error, trial));
      leaves[k]->trials.push_back(std::move(trial));
    }
  }
  return absl::OkStatus();
}

absl::Status PerturbTrials(const RuleContext& context, TrialSigns& signs, ShadowValue& leaf) {
  if (leaf.trials.empty()) leaf.trials.assign(kTrialCount, leaf.wide);
  for (Literal& trial : leaf.trials)
    HLO_RETURN_IF_ERROR(Perturb(context, signs, leaf, context.own_error, trial));
  return absl::OkStatus();
}

// The bound ignores that errors of opposite signs cancel, so it is too large for long chains of sums. Trials
// show typical changes of the results. Their largest distance is multiplied because a few trials rarely reach
// the worst case.
absl::Status TightenByTrials(ShadowValue& result) {
  constexpr double kSafety = 8;
  for (ShadowValue* leaf : ShadowLeaves(result)) {
    if (!leaf->is_float() || leaf->is_exact() || leaf->trials.empty()) continue;
    leaf->proven_bound = leaf->bound;
    HLO_RETURN_IF_ERROR(leaf->bound.MakeUnique());
    const std::vector<double> spread = SpreadOf(*leaf);
    const double typical = RootMeanSquare(spread);
    for (size_t i = 0; i < spread.size(); ++i) {
      double& bound = MutableDoubles(leaf->bound)[i];
      bound = std::min(bound, kSafety * std::max(spread[i], typical));
    }
    leaf->special_bound = leaf->bound;
    HLO_RETURN_IF_ERROR(leaf->bound.MakeUnique());
    BoundSpecials(*leaf);
  }
  return absl::OkStatus();
}

}  // namespace hlo::debug
