#include "debug/shadow/shadow_rules.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numeric>

#include "base/status.h"
#include "debug/shadow/discrete_rules.h"
#include "debug/shadow/element_bounds.h"
#include "debug/shadow/extended_linalg.h"
#include "debug/shadow/linear_rules.h"
#include "debug/shadow/wide_elementwise.h"
#include "reference/apply.h"
#include "reference/elementwise.h"
#include "reference/program.h"
#include "types/wide.h"

namespace hlo::debug {
namespace {

// Returns the literals that a wide instruction takes: wide floats and declared values of other types.
std::vector<Literal> WideOperands(const RuleContext& context) {
  std::vector<Literal> operands;
  for (const ShadowValue& operand : context.operands) operands.push_back(WideOrDeclared(operand));
  return operands;
}

bool AllExact(const RuleContext& context) {
  return std::all_of(context.operands.begin(), context.operands.end(),
                     [](const ShadowValue& operand) { return operand.is_tuple || operand.is_exact(); });
}

// Returns the bounds in place of the floats, as complex numbers if the floats are complex.
absl::StatusOr<std::vector<Literal>> BoundOperands(const RuleContext& context) {
  std::vector<Literal> operands;
  for (const ShadowValue& operand : context.operands) {
    if (!operand.is_float()) {
      operands.push_back(operand.declared);
      continue;
    }
    HLO_ASSIGN_OR_RETURN(Literal bound, BoundOf(operand));
    HLO_ASSIGN_OR_RETURN(bound, AsWideType(bound, operand.wide.type()));
    operands.push_back(std::move(bound));
  }
  return operands;
}

// Counts the elements that differ between the declared and the wide result of a discrete type.
void CompareDecisions(RuleContext& context, const Literal& wide) {
  const int64_t width = ByteCount(wide.type());
  for (int64_t i = 0; i < wide.element_count(); ++i) {
    if (std::equal(wide.data() + i * width, wide.data() + (i + 1) * width,
                   context.declared.data() + i * width))
      continue;
    if (context.decision.count++ == 0) context.decision.position = i;
  }
}

// A comparison of floats: it may have the other outcome where the bounds overlap.
absl::StatusOr<ShadowValue> CompareRule(RuleContext& context) {
  const ShadowValue &a = context.operands[0], &b = context.operands[1];
  if (!a.is_float() || AllExact(context)) return DiscreteResult(context);
  HLO_ASSIGN_OR_RETURN(const Literal wide, ApplyWide(context, WideOperands(context)));
  CompareDecisions(context, wide);
  HLO_ASSIGN_OR_RETURN(ShadowValue result, ExactShadow(context.declared));
  if (a.wide.type() != ElementType::kF64) {
    context.is_estimated = true;
    return result;
  }
  HLO_ASSIGN_OR_RETURN(const Literal bound_a, BoundOf(a));
  HLO_ASSIGN_OR_RETURN(const Literal bound_b, BoundOf(b));
  HLO_ASSIGN_OR_RETURN(result.bound, F64Array(context.declared.dims()));
  const ElementView x(a.wide), y(b.wide), bx(bound_a), by(bound_b);
  bool may_differ = false;
  for (int64_t i = 0; i < context.declared.element_count(); ++i) {
    const double both = bx[i] + by[i];
    const bool overlap = both > 0 && !(std::fabs(x[i] - y[i]) > both);
    MutableDoubles(result.bound)[i] = overlap ? 1 : 0;
    may_differ = may_differ || overlap;
  }
  context.is_uncertain = may_differ;
  if (!may_differ) result.bound = Literal();
  return result;
}

// A conversion from floats to integers truncates: it may differ where the bounds straddle an integer.
absl::StatusOr<ShadowValue> ToIntegerRule(RuleContext& context) {
  const ShadowValue& operand = context.operands[0];
  if (!operand.is_float() || operand.is_exact()) return DiscreteResult(context);
  HLO_ASSIGN_OR_RETURN(const Literal wide, ApplyWide(context, WideOperands(context)));
  CompareDecisions(context, wide);
  HLO_ASSIGN_OR_RETURN(ShadowValue result, ExactShadow(context.declared));
  if (operand.wide.type() != ElementType::kF64) return result;
  HLO_ASSIGN_OR_RETURN(result.bound, F64Array(context.declared.dims()));
  const ElementView x(operand.wide), bound(operand.bound);
  bool may_differ = false;
  for (int64_t i = 0; i < context.declared.element_count(); ++i) {
    const double distance = std::trunc(x[i] + bound[i]) - std::trunc(x[i] - bound[i]);
    MutableDoubles(result.bound)[i] = std::isnan(distance) ? kInfinity : distance;
    may_differ = may_differ || distance != 0;
  }
  context.is_uncertain = may_differ;
  if (!may_differ) result.bound = Literal();
  return result;
}

// The relative bound of an operand element.
double Relative(const Bounded& x) {
  return x.bound == 0 ? 0 : x.value == 0 ? kInfinity : x.bound / std::fabs(x.value);
}

class ElementwiseRule {
 public:
  explicit ElementwiseRule(RuleContext& context)
      : context_(context), precision_(PrecisionOf(context.declared.type())) {
    if (context.instruction.opcode() == Opcode::kReducePrecision) {
      const double reduced =
          std::ldexp(1.0, -static_cast<int>(context.instruction.Get<attr::mantissa_bits>()));
      precision_.epsilon = std::max(precision_.epsilon, reduced);
    }
  }

  // Returns false if an opcode has no bound of its own.
  absl::StatusOr<bool> Run(const Literal& wide, Literal& bounds) {
    const Opcode opcode = context_.instruction.opcode();
    const bool rounds = Rounds();
    if (!rounds && AllExact(context_)) return true;
    HLO_RETURN_IF_ERROR(Prepare());
    HLO_ASSIGN_OR_RETURN(bounds, F64Array(wide.dims()));
    HLO_ASSIGN_OR_RETURN(context_.own_error, F64Array(wide.dims()));
    const double* results = Doubles(wide).data();
    double *all_bounds = MutableDoubles(bounds).data(),
           *own_errors = MutableDoubles(context_.own_error).data();
    bool is_exact = true;
    std::array<Bounded, 3> x;
    for (int64_t i = 0; i < wide.element_count(); ++i) {
      for (size_t k = 0; k < values_.size(); ++k) x[k] = {values_[k][i], bounds_[k][i]};
      const double result = results[i];
      const double inherited = any_bound_ ? InheritedBound(opcode, x.data(), result) : 0;
      if (inherited < 0) return false;
      const OwnError own = OwnErrorOf(opcode, x.data(), result);
      const double added = rounds && own.epsilons > 0 ? own.epsilons * precision_.epsilon * own.scale +
                                                            precision_.least_normal * precision_.epsilon
                                                      : 0;
      is_exact = is_exact && inherited + added == 0;
      all_bounds[i] = inherited + added;
      own_errors[i] = std::isinf(inherited) && AreBounded(x) ? kInfinity : added;
      if (any_bound_) NoteCondition(x, inherited, result, i);
    }
    if (is_exact) bounds = Literal();
    return true;
  }

 private:
  absl::Status Prepare() {
    for (const ShadowValue& operand : context_.operands) {
      any_bound_ = any_bound_ || !operand.is_exact();
      HLO_ASSIGN_OR_RETURN(Literal bound, BoundOf(operand));
      if (operand.is_float()) {
        wide_.push_back(operand.wide);
      } else {
        HLO_ASSIGN_OR_RETURN(Literal value, ToF64(operand.declared));
        wide_.push_back(std::move(value));
      }
      bound_literals_.push_back(std::move(bound));
    }
    for (size_t k = 0; k < wide_.size(); ++k) {
      values_.emplace_back(wide_[k]);
      bounds_.emplace_back(bound_literals_[k]);
    }
    return absl::OkStatus();
  }
  // A conversion to a type that is as precise does not round.
  bool Rounds() const {
    const Opcode opcode = context_.instruction.opcode();
    if (opcode != Opcode::kConvert && opcode != Opcode::kCopy) return true;
    const ElementType from = context_.operands[0].declared.type();
    if (!IsFloatOrComplex(from)) return BitWidth(from) > 8;
    return PrecisionOf(from).epsilon < precision_.epsilon ||
           PrecisionOf(from).least_normal < precision_.least_normal;
  }
  // True if no operand has an infinite bound. If the result has one nevertheless, its operands may be at a
  // pole, which the trials are unlikely to hit.
  bool AreBounded(const std::array<Bounded, 3>& x) const {
    return std::all_of(x.begin(), x.begin() + static_cast<int64_t>(values_.size()),
                       [](const Bounded& operand) { return std::isfinite(operand.bound); });
  }
  void NoteCondition(const std::array<Bounded, 3>& x, double inherited, double result, int64_t position) {
    if (inherited == 0 || result == 0 || !std::isfinite(result)) return;
    // An unbounded error is noted at the instruction that makes it.
    if (std::any_of(x.begin(), x.begin() + values_.size(),
                    [](const Bounded& b) { return std::isinf(b.bound); }))
      return;
    const double relative = inherited / std::fabs(result);
    if (relative <= context_.ill_condition.relative) return;
    double before = 0;
    for (size_t k = 0; k < values_.size(); ++k) before = std::max(before, Relative(x[k]));
    context_.ill_condition = {relative / std::max(before, precision_.epsilon / 2), relative, position};
  }

  RuleContext& context_;
  FloatPrecision precision_;
  std::vector<Literal> wide_, bound_literals_;
  std::vector<ElementView> values_, bounds_;
  bool any_bound_ = false;
};

absl::StatusOr<ShadowValue> ElementwiseFloatRule(RuleContext& context) {
  ShadowValue result;
  result.declared = context.declared;
  HLO_ASSIGN_OR_RETURN(result.wide, ApplyWide(context, WideOperands(context)));
  const bool is_complex =
      std::any_of(context.operands.begin(), context.operands.end(),
                  [](const ShadowValue& x) { return x.is_float() && IsComplex(x.wide.type()); });
  if (is_complex || result.wide.type() != ElementType::kF64) return ComplexRule(context, std::move(result));
  ElementwiseRule rule(context);
  HLO_ASSIGN_OR_RETURN(const bool is_known, rule.Run(result.wide, result.bound));
  return is_known ? std::move(result) : PerturbationRule(context);
}

// The declared predicate selects on_true or on_false. If the predicate is uncertain, both results are
// possible.
absl::StatusOr<ShadowValue> SelectRule(RuleContext& context) {
  HLO_ASSIGN_OR_RETURN(ShadowValue result, MovementRule(context));
  const ShadowValue& predicate = context.operands[0];
  if (predicate.is_exact()) return result;
  if (result.wide.type() != ElementType::kF64) {
    context.is_estimated = true;
    return result;
  }
  HLO_ASSIGN_OR_RETURN(Literal bound, BoundOf(result));
  HLO_ASSIGN_OR_RETURN(const Literal on_true, BoundOf(context.operands[1]));
  HLO_ASSIGN_OR_RETURN(const Literal on_false, BoundOf(context.operands[2]));
  const ElementView uncertain(predicate.bound), a(context.operands[1].wide), b(context.operands[2].wide),
      bound_a(on_true), bound_b(on_false);
  for (int64_t i = 0; i < bound.element_count(); ++i) {
    if (uncertain[i] == 0) continue;
    MutableDoubles(bound)[i] = a[i] == b[i] ? std::max(bound_a[i], bound_b[i])
                                            : std::fabs(a[i] - b[i]) + std::max(bound_a[i], bound_b[i]);
  }
  result.bound = std::move(bound);
  return result;
}

// Bits that are converted from a float have its uncertainty; the wide value of a float that is converted from
// bits is the declared one.
absl::StatusOr<ShadowValue> AnchoredRule(RuleContext& context) {
  HLO_ASSIGN_OR_RETURN(ShadowValue result, ExactShadow(context.declared));
  context.is_anchored = !AllExact(context);
  if (!context.is_anchored) return result;
  for (ShadowValue* leaf : ShadowLeaves(result)) {
    HLO_ASSIGN_OR_RETURN(leaf->bound, F64Array(leaf->declared.dims(), kInfinity));
  }
  return result;
}

// Floats that a generator draws are the same in every evaluation with its seed.
absl::StatusOr<ShadowValue> GivenRule(RuleContext& context) { return ExactShadow(context.declared); }

absl::StatusOr<ShadowValue> CustomCallRule(RuleContext& context) {
  return IsContinuousMatrixCall(context) ? PerturbationRule(context) : AnchoredPerturbationRule(context);
}

bool IsFloatResult(const Literal& declared) {
  return declared.shape().IsArray() && IsFloatOrComplex(declared.type());
}

absl::StatusOr<ShadowValue> BitcastRule(RuleContext& context) {
  const bool keeps_type = context.operands[0].declared.type() == context.declared.type();
  return keeps_type ? MovementRule(context) : AnchoredRule(context);
}

absl::StatusOr<ShadowValue> SelectOrDiscreteRule(RuleContext& context) {
  return IsFloatResult(context.declared) ? SelectRule(context) : DiscreteResult(context);
}

// The results to which a rule applies: all, or floats and tuples.
enum class RuleScope : uint8_t { kAll, kFloats };

struct OpcodeRule {
  Opcode opcode;
  RuleScope scope;
  absl::StatusOr<ShadowValue> (*apply)(RuleContext& context);
};

constexpr OpcodeRule kOpcodeRules[] = {
    {Opcode::kBitcast, RuleScope::kAll, BitcastRule},
    {Opcode::kBitcastConvert, RuleScope::kAll, AnchoredRule},
    {Opcode::kCompare, RuleScope::kAll, CompareRule},
    {Opcode::kInfeed, RuleScope::kAll, GivenRule},
    {Opcode::kIota, RuleScope::kAll, GivenRule},
    {Opcode::kRng, RuleScope::kAll, GivenRule},
    {Opcode::kSelect, RuleScope::kAll, SelectOrDiscreteRule},
    {Opcode::kSelectAndScatter, RuleScope::kAll, SelectAndScatterRule},
    {Opcode::kSort, RuleScope::kAll, SortRule},
    {Opcode::kTopk, RuleScope::kAll, TopkRule},
    {Opcode::kBatchNormTraining, RuleScope::kFloats, BatchNormTrainingRule},
    {Opcode::kConvolution, RuleScope::kFloats, ContractionRule},
    {Opcode::kCustomCall, RuleScope::kFloats, CustomCallRule},
    {Opcode::kDot, RuleScope::kFloats, ContractionRule},
    {Opcode::kFft, RuleScope::kFloats, FftRule},
    {Opcode::kRaggedDot, RuleScope::kFloats, ContractionRule},
    {Opcode::kReduce, RuleScope::kFloats, ReductionRule},
    {Opcode::kReduceWindow, RuleScope::kFloats, ReductionRule},
    {Opcode::kScatter, RuleScope::kFloats, ScatterRule},
};

// Returns the row of the opcode, or nullptr.
const OpcodeRule* FindOpcodeRule(Opcode opcode) {
  const auto* const found = std::find_if(std::begin(kOpcodeRules), std::end(kOpcodeRules),
                                         [&](const OpcodeRule& rule) { return rule.opcode == opcode; });
  return found == std::end(kOpcodeRules) ? nullptr : found;
}

absl::StatusOr<ShadowValue> ApplyMatchingRule(RuleContext& context) {
  const Opcode opcode = context.instruction.opcode();
  const OpcodeRule* rule = FindOpcodeRule(opcode);
  if (rule != nullptr && rule->scope == RuleScope::kAll) return rule->apply(context);
  if (opcode == Opcode::kConvert && IsIntegral(context.declared.type())) return ToIntegerRule(context);
  if (!context.declared.shape().IsTuple() && !IsFloatResult(context.declared)) return DiscreteResult(context);
  if (MovesValues(context.instruction)) return MovementRule(context);
  if (rule != nullptr) return rule->apply(context);
  if (reference::IsElementwise(opcode) && opcode != Opcode::kStochasticConvert)
    return ElementwiseFloatRule(context);
  if (Info(opcode).has(kCollective) || Info(opcode).has(kAsync) || Info(opcode).has(kSideEffect))
    return AnchoredRule(context);
  return PerturbationRule(context);
}

}  // namespace

absl::StatusOr<Literal> ApplyWide(const RuleContext& context, std::vector<Literal> operands) {
  if (context.wide.shape().IsArray(ElementType::kF64)) {
    HLO_ASSIGN_OR_RETURN(Literal fast, FastElementwise(context.wide.opcode(), operands));
    if (fast.shape().IsValid()) return fast;
  }
  reference::OpContext wide{context.wide, absl::MakeSpan(operands), context.wide_caller};
  return reference::Apply(wide, reference::Reference(context.wide.opcode()));
}

bool MovesValues(const Instruction& instruction) {
  if (Info(instruction.opcode()).has(kMovesElements)) return true;
  if (instruction.opcode() != Opcode::kScatter || instruction.operand_count() != 3) return false;
  const Instruction& root = *instruction.Get<attr::to_apply>()->root();
  return root.opcode() == Opcode::kParameter && root.Get<attr::number>() == 1;
}

// Moves the bounds as it moves the values. If an index is uncertain, elements may be any of the operands.
absl::StatusOr<ShadowValue> MovementRule(RuleContext& context) {
  if (!IsFloatResult(context.declared)) return AnchoredRule(context);
  ShadowValue result;
  result.declared = context.declared;
  HLO_ASSIGN_OR_RETURN(result.wide, ApplyWide(context, WideOperands(context)));
  if (AllExact(context)) return result;
  HLO_ASSIGN_OR_RETURN(std::vector<Literal> bounds, BoundOperands(context));
  HLO_ASSIGN_OR_RETURN(const Literal moved, ApplyWide(context, std::move(bounds)));
  HLO_ASSIGN_OR_RETURN(result.bound, AsWideType(moved, ElementType::kF64));
  if (context.instruction.opcode() == Opcode::kSelect) return result;
  const auto index = std::find_if(context.operands.begin(), context.operands.end(), IsUncertainIndex);
  if (index == context.operands.end()) return result;
  context.uncertain_index = index - context.operands.begin();
  HLO_RETURN_IF_ERROR(BoundUncertainMove(context.instruction, context.operands, result));
  return result;
}

namespace {

// Legal evaluations may give other infinite and NaN parts where a complex number overflows or is not finite,
// so it has no bound.
void BoundComplexSpecials(ShadowValue& leaf) {
  const double largest = PrecisionOf(leaf.declared.type()).largest;
  const absl::Span<const std::complex<double>> wide = leaf.wide.span<std::complex<double>>();
  double* bound = MutableDoubles(leaf.bound).data();
  for (size_t i = 0; i < wide.size(); ++i) {
    if (!IsFinite(wide[i]) || !(std::abs(wide[i]) + bound[i] <= largest)) bound[i] = kInfinity;
  }
}

}  // namespace

void BoundSpecials(ShadowValue& leaf) {
  if (!leaf.is_float() || leaf.is_exact()) return;
  if (leaf.wide.type() == ElementType::kC128) {
    BoundComplexSpecials(leaf);
    return;
  }
  const FloatPrecision precision = PrecisionOf(leaf.declared.type());
  const LoadFn<double> declared = Loader<double>(leaf.declared.type());
  const double* wide = Doubles(leaf.wide).data();
  double* bound = MutableDoubles(leaf.bound).data();
  for (int64_t i = 0; i < leaf.wide.element_count(); ++i) {
    const double x = wide[i];
    if (std::isfinite(x) && std::fabs(x) + bound[i] <= precision.largest) continue;
    // A special value that both evaluations give is certain unless an operand is uncertain.
    const double value = declared(leaf.declared.data(), i);
    const bool are_nan = std::isnan(x) && std::isnan(value);
    bound[i] = are_nan || (x == value && bound[i] == 0) ? 0 : kInfinity;
  }
}

std::vector<Literal> WideOperandsOf(const RuleContext& context) { return WideOperands(context); }

absl::StatusOr<ShadowValue> ApplyRule(RuleContext& context) {
  HLO_ASSIGN_OR_RETURN(ShadowValue result, ApplyMatchingRule(context));
  const Opcode opcode = context.instruction.opcode();
  if (MovesValues(context.instruction) && opcode != Opcode::kSelect) return result;
  for (ShadowValue* leaf : ShadowLeaves(result)) BoundSpecials(*leaf);
  return result;
}

}  // namespace hlo::debug
