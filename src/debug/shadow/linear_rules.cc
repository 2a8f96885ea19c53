#include "debug/shadow/linear_rules.h"

#include <algorithm>
#include <cmath>

#include "base/status.h"
#include "ir/combiners.h"
#include "reference/arrays.h"
#include "types/index.h"

namespace hlo::debug {
namespace {

// To first order, the error of a sum of n terms in any order is at most n u sum |x|, where u is half an
// epsilon. The additional term accounts for the product or the initial value.
double SumFactor(double terms, double epsilon) { return (terms + 1) * epsilon / 2; }

// The number of terms in an element of a dot or convolution.
double TermCount(const Instruction& instruction) {
  const Shape &lhs = instruction.operand(0)->shape(), &rhs = instruction.operand(1)->shape();
  double count = 1;
  if (instruction.opcode() != Opcode::kConvolution) {
    for (const int64_t d : instruction.Get<attr::lhs_contracting_dims>())
      count *= static_cast<double>(lhs.dim(d));
    return count;
  }
  const DimLabels& labels = *instruction.Get<attr::dim_labels>();
  for (const int64_t d : labels.kernel_spatial) count *= static_cast<double>(rhs.dim(d));
  return count * static_cast<double>(rhs.dim(labels.kernel_input_feature));
}

// Products of f32 and narrower types accumulate in f32 at least.
double AccumulationEpsilon(ElementType type) {
  return std::min(PrecisionOf(type).epsilon, PrecisionOf(ElementType::kF32).epsilon);
}

absl::StatusOr<Literal> AbsoluteProducts(const RuleContext& context, const Literal& lhs, const Literal& rhs) {
  std::vector<Literal> operands = WideOperandsOf(context);
  for (const auto& [k, sizes] : {std::pair(size_t{0}, &lhs), std::pair(size_t{1}, &rhs)}) {
    if (operands[k].type() == ElementType::kC128) {
      HLO_ASSIGN_OR_RETURN(operands[k], AsWideType(*sizes, ElementType::kC128));
    } else {
      operands[k] = *sizes;
    }
  }
  HLO_ASSIGN_OR_RETURN(const Literal products, ApplyWide(context, std::move(operands)));
  return ToF64(products);
}

void AddTo(Literal& sum, const Literal& addend) {
  double* sums = MutableDoubles(sum).data();
  const double* addends = Doubles(addend).data();
  for (int64_t i = 0; i < sum.element_count(); ++i) sums[i] += addends[i];
}

double ReducedCount(const RuleContext& context) {
  const Shape& shape = context.instruction.operand(0)->shape();
  double count = 1;
  if (context.instruction.opcode() == Opcode::kReduceWindow) {
    for (const WindowDim& dim : context.instruction.Get<attr::window>())
      count *= static_cast<double>(dim.size);
    return count;
  }
  for (const int64_t d : context.instruction.Get<attr::dimensions>())
    count *= static_cast<double>(shape.dim(d));
  return count;
}

absl::StatusOr<Literal> ApplyToBounds(const RuleContext& context, Literal array, Literal init) {
  const ElementType type = context.operands[0].wide.type();
  HLO_ASSIGN_OR_RETURN(array, AsWideType(array, type));
  HLO_ASSIGN_OR_RETURN(init, AsWideType(init, type));
  HLO_ASSIGN_OR_RETURN(const Literal result, ApplyWide(context, {std::move(array), std::move(init)}));
  return ToF64(result);
}

absl::StatusOr<ShadowValue> SumRule(RuleContext& context) {
  HLO_ASSIGN_OR_RETURN(ShadowValue result, ExactShadow(context.declared));
  HLO_ASSIGN_OR_RETURN(result.wide, ApplyWide(context, WideOperandsOf(context)));
  const double factor = SumFactor(ReducedCount(context), PrecisionOf(context.declared.type()).epsilon);
  const ShadowValue &array = context.operands[0], &init = context.operands[1];
  HLO_ASSIGN_OR_RETURN(const Literal terms, TermError(array, factor));
  HLO_ASSIGN_OR_RETURN(const Literal first, TermError(init, factor));
  HLO_ASSIGN_OR_RETURN(result.bound, ApplyToBounds(context, terms, first));
  if (array.is_exact() && init.is_exact()) {
    if (factor > 0) context.ill_condition = SumCondition(result, result.bound, result.bound, 1 / factor);
    AddRounding(result, result.bound);
    context.own_error = result.bound;
    return result;
  }
  AddRounding(result, result.bound);
  HLO_ASSIGN_OR_RETURN(const Literal array_size, AbsoluteOf(array.wide));
  HLO_ASSIGN_OR_RETURN(const Literal init_size, AbsoluteOf(init.wide));
  HLO_ASSIGN_OR_RETURN(const Literal sizes, ApplyToBounds(context, array_size, init_size));
  context.ill_condition = SumCondition(result, result.bound, sizes);
  HLO_ASSIGN_OR_RETURN(context.own_error, SumError(result, factor, sizes));
  return result;
}

// The bound of a maximum is at most the largest bound of its terms; a minimum is the maximum of negatives.
absl::StatusOr<ShadowValue> ExtremumRule(RuleContext& context, bool is_maximum) {
  HLO_ASSIGN_OR_RETURN(ShadowValue result, ExactShadow(context.declared));
  HLO_ASSIGN_OR_RETURN(result.wide, ApplyWide(context, WideOperandsOf(context)));
  if (context.operands[0].is_exact() && context.operands[1].is_exact()) return result;
  HLO_ASSIGN_OR_RETURN(Literal array, TermError(context.operands[0], 0));
  HLO_ASSIGN_OR_RETURN(Literal init, TermError(context.operands[1], 0));
  const auto negate = [&](Literal& values) {
    for (int64_t i = 0; !is_maximum && i < values.element_count(); ++i) MutableDoubles(values)[i] *= -1;
  };
  negate(array);
  negate(init);
  HLO_ASSIGN_OR_RETURN(result.bound, ApplyToBounds(context, array, init));
  HLO_RETURN_IF_ERROR(result.bound.MakeUnique());
  negate(result.bound);
  return result;
}

// A multiple of the number of updates that each element receives.
absl::StatusOr<Literal> UpdateCounts(const RuleContext& context) {
  std::vector<Literal> operands = WideOperandsOf(context);
  HLO_ASSIGN_OR_RETURN(Literal zeros, F64Array(operands[0].dims()));
  HLO_ASSIGN_OR_RETURN(Literal ones, F64Array(operands[2].dims(), 1));
  HLO_ASSIGN_OR_RETURN(operands[0], AsWideType(zeros, operands[0].type()));
  HLO_ASSIGN_OR_RETURN(operands[2], AsWideType(ones, operands[2].type()));
  HLO_ASSIGN_OR_RETURN(const Literal counts, ApplyWide(context, std::move(operands)));
  return ToF64(counts);
}

absl::StatusOr<Literal> ScatteredBounds(const RuleContext& context, const Literal& base,
                                        const Literal& updates) {
  std::vector<Literal> operands = WideOperandsOf(context);
  HLO_ASSIGN_OR_RETURN(operands[0], AsWideType(base, operands[0].type()));
  HLO_ASSIGN_OR_RETURN(operands[2], AsWideType(updates, operands[2].type()));
  HLO_ASSIGN_OR_RETURN(const Literal bounds, ApplyWide(context, std::move(operands)));
  return ToF64(bounds);
}

}  // namespace

bool AppliesToParameters(const Computation& computation, Opcode opcode) {
  const Instruction& root = *computation.root();
  return root.opcode() == opcode && IsOnTwoParameters(root);
}

absl::StatusOr<Literal> TermError(const ShadowValue& value, double factor) {
  HLO_ASSIGN_OR_RETURN(Literal error, BoundOf(value));
  HLO_RETURN_IF_ERROR(error.MakeUnique());
  const ElementView magnitude(value.wide);
  double* errors = MutableDoubles(error).data();
  for (int64_t i = 0; factor > 0 && i < error.element_count(); ++i)
    errors[i] += factor * std::fabs(magnitude[i]);
  return error;
}

void AddRounding(const ShadowValue& value, Literal& bound) {
  const FloatPrecision precision = PrecisionOf(value.declared.type());
  const ElementView wide(value.wide);
  double* bounds = MutableDoubles(bound).data();
  for (int64_t i = 0; i < bound.element_count(); ++i)
    bounds[i] += precision.epsilon * (std::fabs(wide[i]) + precision.least_normal);
}

absl::StatusOr<Literal> SumError(const ShadowValue& value, double factor, const Literal& magnitudes) {
  HLO_ASSIGN_OR_RETURN(Literal error, F64Array(value.declared.dims()));
  double* errors = MutableDoubles(error).data();
  const double* sizes = Doubles(magnitudes).data();
  for (int64_t i = 0; i < magnitudes.element_count(); ++i) errors[i] = factor * sizes[i];
  AddRounding(value, error);
  return error;
}

IllCondition SumCondition(const ShadowValue& value, const Literal& inherited, const Literal& magnitudes,
                          double scale) {
  const ElementView wide(value.wide);
  const double *bounds = Doubles(inherited).data(), *sizes = Doubles(magnitudes).data();
  IllCondition worst;
  for (int64_t i = 0; i < inherited.element_count(); ++i) {
    const double result = std::fabs(wide[i]), bound = bounds[i];
    if (result == 0 || !std::isfinite(result) || !std::isfinite(bound) || bound / result <= worst.relative)
      continue;
    worst = {scale * sizes[i] / result, bound / result, i};
  }
  return worst;
}

absl::StatusOr<Literal> ToF64(const Literal& array) {
  if (array.type() != ElementType::kC128) return reference::Widened(array, ElementType::kF64);
  HLO_ASSIGN_OR_RETURN(Literal result, F64Array(array.dims()));
  for (int64_t i = 0; i < array.element_count(); ++i)
    MutableDoubles(result)[i] = array.span<std::complex<double>>()[i].real();
  return result;
}

absl::StatusOr<Literal> AsWideType(const Literal& array, ElementType wide_type) {
  if (array.type() == wide_type) return array;
  if (wide_type == ElementType::kF64) return ToF64(array);
  return reference::Widened(array, wide_type);
}

absl::StatusOr<ShadowValue> ContractionRule(RuleContext& context) {
  HLO_ASSIGN_OR_RETURN(ShadowValue result, ExactShadow(context.declared));
  const ShadowValue &lhs = context.operands[0], &rhs = context.operands[1];
  if (!lhs.is_float() || !rhs.is_float()) return PerturbationRule(context);
  HLO_ASSIGN_OR_RETURN(result.wide, ApplyWide(context, WideOperandsOf(context)));
  const double factor =
      SumFactor(TermCount(context.instruction), AccumulationEpsilon(context.declared.type()));
  HLO_ASSIGN_OR_RETURN(const Literal lhs_size, AbsoluteOf(WideOrDeclared(lhs)));
  HLO_ASSIGN_OR_RETURN(Literal rhs_size, AbsoluteOf(WideOrDeclared(rhs)));
  HLO_ASSIGN_OR_RETURN(const Literal sizes, AbsoluteProducts(context, lhs_size, rhs_size));
  HLO_ASSIGN_OR_RETURN(result.bound, F64Array(context.declared.dims()));
  double* bounds = MutableDoubles(result.bound).data();
  for (int64_t i = 0; i < sizes.element_count(); ++i) bounds[i] = factor * Doubles(sizes)[i];
  if (!rhs.is_exact()) {
    HLO_ASSIGN_OR_RETURN(const Literal from_rhs, AbsoluteProducts(context, lhs_size, rhs.bound));
    AddTo(result.bound, from_rhs);
    AddTo(rhs_size, rhs.bound);
  }
  if (!lhs.is_exact()) {
    HLO_ASSIGN_OR_RETURN(const Literal from_lhs, AbsoluteProducts(context, lhs.bound, rhs_size));
    AddTo(result.bound, from_lhs);
  }
  context.ill_condition = SumCondition(result, result.bound, sizes);
  AddRounding(result, result.bound);
  HLO_ASSIGN_OR_RETURN(context.own_error, SumError(result, factor, sizes));
  return result;
}

absl::StatusOr<ShadowValue> ReductionRule(RuleContext& context) {
  const Computation& to_apply = *context.instruction.Get<attr::to_apply>();
  if (context.operands.size() != 2 || context.declared.shape().IsTuple()) return ReducerRule(context);
  if (AppliesToParameters(to_apply, Opcode::kAdd)) return SumRule(context);
  const bool is_maximum = AppliesToParameters(to_apply, Opcode::kMaximum);
  if (is_maximum || AppliesToParameters(to_apply, Opcode::kMinimum)) return ExtremumRule(context, is_maximum);
  return ReducerRule(context);
}

absl::StatusOr<ShadowValue> ScatterRule(RuleContext& context) {
  const Computation& to_apply = *context.instruction.Get<attr::to_apply>();
  if (context.operands.size() != 3 || context.declared.shape().IsTuple()) return ReducerRule(context);
  if (!AppliesToParameters(to_apply, Opcode::kAdd)) return ReducerRule(context);
  HLO_ASSIGN_OR_RETURN(ShadowValue result, ExactShadow(context.declared));
  HLO_ASSIGN_OR_RETURN(result.wide, ApplyWide(context, WideOperandsOf(context)));
  const ShadowValue &base = context.operands[0], &updates = context.operands[2];
  if (!context.operands[1].is_exact()) {
    HLO_ASSIGN_OR_RETURN(result.bound, F64Array(context.declared.dims(), kInfinity));
    return result;
  }
  HLO_ASSIGN_OR_RETURN(const Literal base_bound, BoundOf(base));
  HLO_ASSIGN_OR_RETURN(const Literal update_bound, BoundOf(updates));
  HLO_ASSIGN_OR_RETURN(result.bound, ScatteredBounds(context, base_bound, update_bound));
  HLO_RETURN_IF_ERROR(result.bound.MakeUnique());
  HLO_ASSIGN_OR_RETURN(const Literal base_size, AbsoluteOf(base.wide));
  HLO_ASSIGN_OR_RETURN(const Literal update_size, AbsoluteOf(updates.wide));
  HLO_ASSIGN_OR_RETURN(const Literal sizes, ScatteredBounds(context, base_size, update_size));
  HLO_ASSIGN_OR_RETURN(const Literal counts, UpdateCounts(context));
  const double epsilon = PrecisionOf(context.declared.type()).epsilon;
  HLO_ASSIGN_OR_RETURN(context.own_error, F64Array(result.declared.dims()));
  double* errors = MutableDoubles(context.own_error).data();
  for (int64_t i = 0; i < sizes.element_count(); ++i)
    errors[i] = Doubles(counts)[i] * epsilon * Doubles(sizes)[i];
  AddTo(result.bound, context.own_error);
  context.ill_condition = SumCondition(result, result.bound, sizes);
  return result;
}

// The declared operand decides which element of a window is selected.
absl::StatusOr<ShadowValue> SelectAndScatterRule(RuleContext& context) {
  if (!context.operands[0].is_float() ||
      !AppliesToParameters(*context.instruction.Get<attr::scatter>(), Opcode::kAdd))
    return ReducerRule(context);
  context.is_estimated = !context.operands[0].is_exact();
  HLO_ASSIGN_OR_RETURN(ShadowValue result, ExactShadow(context.declared));
  std::vector<Literal> operands = WideOperandsOf(context);
  HLO_ASSIGN_OR_RETURN(operands[0], ToWide(context.operands[0].declared));
  const Literal keys = operands[0];
  HLO_ASSIGN_OR_RETURN(result.wide, ApplyWide(context, operands));
  double window = 1;
  for (const WindowDim& dim : context.instruction.Get<attr::window>())
    window *= static_cast<double>(dim.size);
  const double factor = window * PrecisionOf(context.declared.type()).epsilon;
  HLO_ASSIGN_OR_RETURN(Literal source, TermError(context.operands[1], factor));
  HLO_ASSIGN_OR_RETURN(Literal init, TermError(context.operands[2], factor));
  HLO_ASSIGN_OR_RETURN(source, AsWideType(source, keys.type()));
  HLO_ASSIGN_OR_RETURN(init, AsWideType(init, keys.type()));
  HLO_ASSIGN_OR_RETURN(const Literal bound, ApplyWide(context, {keys, source, init}));
  HLO_ASSIGN_OR_RETURN(result.bound, ToF64(bound));
  for (size_t trial = 0; trial < context.operands[1].trials.size(); ++trial) {
    operands[1] = context.operands[1].trials[trial];
    HLO_ASSIGN_OR_RETURN(Literal value, ApplyWide(context, operands));
    result.trials.push_back(std::move(value));
  }
  context.has_trials = true;
  return result;
}

// Every output of a transform is a sum of all inputs with factors of modulus 1, in log2(n) levels.
absl::StatusOr<ShadowValue> FftRule(RuleContext& context) {
  HLO_ASSIGN_OR_RETURN(ShadowValue result, ExactShadow(context.declared));
  HLO_ASSIGN_OR_RETURN(result.wide, ApplyWide(context, WideOperandsOf(context)));
  const IntList lengths = context.instruction.Get<attr::fft_length>();
  double points = 1;
  for (const int64_t length : lengths) points *= static_cast<double>(length);
  const double rounding =
      (std::log2(std::max(points, 2.0)) + 1) * PrecisionOf(context.declared.type()).epsilon;
  HLO_ASSIGN_OR_RETURN(const Literal error, TermError(context.operands[0], 8 * rounding));
  const FftType type = context.instruction.Get<attr::fft_type>();
  const bool is_inverse = type == FftType::kIfft || type == FftType::kIrfft;
  // Half of the inputs of a real inverse transform are implied.
  const double scale = is_inverse ? (type == FftType::kIrfft ? 2 : 1) / points : 1;
  int64_t batch = 1;
  for (int64_t d = 0; d + static_cast<int64_t>(lengths.size()) < error.rank(); ++d) batch *= error.dim(d);
  if (batch == 0 || error.element_count() == 0) return result;
  const int64_t inputs = error.element_count() / batch, outputs = context.declared.element_count() / batch;
  HLO_ASSIGN_OR_RETURN(result.bound, F64Array(context.declared.dims()));
  HLO_ASSIGN_OR_RETURN(context.own_error, F64Array(context.declared.dims()));
  const ElementView input(context.operands[0].wide);
  for (int64_t b = 0; b < batch; ++b) {
    double sum = 0, squares = 0;
    for (int64_t i = b * inputs; i < (b + 1) * inputs; ++i) {
      sum += Doubles(error)[i];
      squares += input[i] * input[i];
    }
    // Typical errors of the outputs are alike, also where an output cancels.
    std::fill_n(&MutableDoubles(context.own_error)[b * outputs], outputs,
                rounding * std::sqrt(squares) * scale);
    std::fill_n(&MutableDoubles(result.bound)[b * outputs], outputs, sum * scale);
  }
  return result;
}

}  // namespace hlo::debug
