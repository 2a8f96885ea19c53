// Rules for complex numbers, and estimates from perturbed operands.

#include <algorithm>
#include <cmath>

#include "base/status.h"
#include "debug/shadow/extended_linalg.h"
#include "debug/shadow/linear_rules.h"
#include "reference/apply.h"
#include "reference/arrays.h"
#include "reference/program.h"

namespace hlo::debug {
namespace {

// A perturbed result is rarely the worst one.
constexpr double kSafety = 8;

// Returns the distance of two values; 0 for two equal special values, and infinity if only one is special.
template <class T>
double DistanceOf(const T& a, const T& b) {
  if (a == b || (std::isnan(std::abs(a)) && std::isnan(std::abs(b)))) return 0;
  const double distance = std::abs(a - b);
  return std::isnan(distance) ? kInfinity : distance;
}

// Raises the bounds of a result to a multiple of the distance of a perturbed one; other types become
// uncertain.
void RaiseBounds(ShadowValue& result, ShadowValue& perturbed, double safety) {
  const std::vector<ShadowValue*> leaves = ShadowLeaves(result), others = ShadowLeaves(perturbed);
  for (size_t k = 0; k < leaves.size() && k < others.size(); ++k) {
    double* bound = MutableDoubles(leaves[k]->bound).data();
    for (int64_t i = 0; i < leaves[k]->bound.element_count(); ++i) {
      double distance = 0;
      if (!leaves[k]->is_float()) {
        const int64_t width = ByteCount(leaves[k]->declared.type());
        const std::byte *a = leaves[k]->declared.data() + i * width,
                        *b = others[k]->declared.data() + i * width;
        distance = std::equal(a, a + width, b) ? 0 : kInfinity;
      } else if (leaves[k]->wide.type() == ElementType::kC128) {
        distance = DistanceOf(leaves[k]->wide.span<std::complex<double>>()[i],
                              others[k]->wide.span<std::complex<double>>()[i]);
      } else {
        distance = DistanceOf(Doubles(leaves[k]->wide)[i], Doubles(others[k]->wide)[i]);
      }
      bound[i] = std::max(bound[i], safety * distance);
    }
  }
}

absl::Status AddOwnRounding(ShadowValue& result) {
  for (ShadowValue* leaf : ShadowLeaves(result)) {
    if (!leaf->is_float()) continue;
    const FloatPrecision precision = PrecisionOf(leaf->declared.type());
    const ElementView wide(leaf->wide);
    double largest = 0;
    for (int64_t i = 0; i < leaf->wide.element_count(); ++i) {
      if (std::isfinite(wide[i])) largest = std::max(largest, std::fabs(wide[i]));
    }
    for (int64_t i = 0; i < leaf->bound.element_count(); ++i)
      MutableDoubles(leaf->bound)[i] += 4 * precision.epsilon * (largest + precision.least_normal);
  }
  return absl::OkStatus();
}

double OperandEpsilon(const RuleContext& context) {
  double epsilon = 0;
  for (const ShadowValue& operand : context.operands) {
    if (operand.is_float()) epsilon = std::max(epsilon, PrecisionOf(operand.declared.type()).epsilon);
  }
  return epsilon;
}

absl::StatusOr<Literal> ApplyDeclared(const RuleContext& context, const std::vector<Literal>& wide) {
  std::vector<Literal> operands;
  for (size_t k = 0; k < wide.size(); ++k) {
    const ShadowValue& operand = context.operands[k];
    if (!operand.is_float()) {
      operands.push_back(Declared(operand));
      continue;
    }
    HLO_ASSIGN_OR_RETURN(Literal rounded, reference::Rounded(wide[k], operand.declared.shape()));
    operands.push_back(std::move(rounded));
  }
  reference::OpContext op{context.instruction, absl::MakeSpan(operands), context.declared_caller};
  return reference::Apply(op, reference::Reference(context.instruction.opcode()));
}

// Operands cannot be moved by an infinite bound.
bool HasFiniteBounds(const ShadowValue& operand) {
  if (operand.is_tuple) return std::all_of(operand.elements.begin(), operand.elements.end(), HasFiniteBounds);
  if (operand.is_exact()) return true;
  const absl::Span<const double> bounds = Doubles(operand.bound);
  return std::all_of(bounds.begin(), bounds.end(), [](double bound) { return std::isfinite(bound); });
}

// The number of roundings of a sum in factorisations and triangular solves is the order of the matrix. Their
// errors typically grow with its root.
double RoundingCount(const RuleContext& context) {
  const Opcode opcode = context.instruction.opcode();
  const bool is_factor = opcode == Opcode::kCholesky || opcode == Opcode::kTriangularSolve ||
                         (opcode == Opcode::kCustomCall && IsContinuousMatrixCall(context));
  if (!is_factor) return 1;
  const absl::Span<const int64_t> dims = context.operands[0].declared.dims();
  return dims.empty() ? 1 : std::sqrt(static_cast<double>(std::max<int64_t>(1, dims.back())));
}

struct Perturbation {
  int64_t number = 0;
  bool declared = false;  // The instruction is evaluated in the declared types.
  bool inherits = true;   // The operands move by their bounds too, not by roundings only.
};

absl::StatusOr<ShadowValue> PerturbedResult(const RuleContext& context, const Perturbation& perturbation) {
  PerturbationSigns signs(static_cast<uint64_t>(perturbation.number) + 1);
  const double epsilon = OperandEpsilon(context) * RoundingCount(context);
  std::vector<Literal> operands;
  for (const ShadowValue& operand : context.operands) {
    Literal value = Declared(operand);
    if (operand.is_float()) {
      ShadowValue source = operand;
      if (!perturbation.inherits) source.bound = Literal();
      HLO_ASSIGN_OR_RETURN(value, Perturbed(source, epsilon, signs));
    }
    operands.push_back(std::move(value));
  }
  HLO_ASSIGN_OR_RETURN(const Literal value, perturbation.declared ? ApplyDeclared(context, operands)
                                                                  : ApplyWide(context, std::move(operands)));
  return ExactShadow(value);
}

// Sets the errors that trials add: those of perturbations by roundings alone. An error relative to a result
// that cancels would be too small.
absl::Status SetOwnErrors(RuleContext& context, const ShadowValue& result, bool declared) {
  constexpr int64_t kOwnPerturbations = 2;
  ShadowValue own = result;
  for (ShadowValue* leaf : ShadowLeaves(own)) {
    HLO_ASSIGN_OR_RETURN(leaf->bound, F64Array(leaf->declared.dims()));
  }
  for (int64_t number = 0; number < kOwnPerturbations; ++number) {
    HLO_ASSIGN_OR_RETURN(
        ShadowValue perturbed,
        PerturbedResult(context, {.number = number, .declared = declared, .inherits = false}));
    RaiseBounds(own, perturbed, 1);
  }
  context.own_errors.clear();
  for (ShadowValue* leaf : ShadowLeaves(own)) {
    if (leaf->is_float()) AddRounding(*leaf, leaf->bound);
    context.own_errors.push_back(leaf->bound);
  }
  return absl::OkStatus();
}

absl::StatusOr<ShadowValue> Estimate(RuleContext& context, ShadowValue result, bool declared) {
  context.is_estimated = true;
  const bool is_bounded = std::all_of(context.operands.begin(), context.operands.end(), HasFiniteBounds);
  for (ShadowValue* leaf : ShadowLeaves(result)) {
    HLO_ASSIGN_OR_RETURN(leaf->bound, F64Array(leaf->declared.dims(), is_bounded ? 0 : kInfinity));
  }
  for (int64_t number = 0; number < kPerturbations; ++number) {
    HLO_ASSIGN_OR_RETURN(ShadowValue perturbed,
                         PerturbedResult(context, {.number = number, .declared = declared}));
    RaiseBounds(result, perturbed, kSafety);
  }
  HLO_RETURN_IF_ERROR(AddOwnRounding(result));
  if (!context.is_anchored) HLO_RETURN_IF_ERROR(SetOwnErrors(context, result, declared));
  return result;
}

// Sets the wide leaves of a result to those of the wide one.
void SetWide(ShadowValue& result, ShadowValue& wide) {
  const std::vector<ShadowValue*> leaves = ShadowLeaves(result), values = ShadowLeaves(wide);
  for (size_t k = 0; k < leaves.size() && k < values.size(); ++k) {
    if (leaves[k]->is_float()) leaves[k]->wide = values[k]->wide;
  }
}

// A conversion from integers to complex numbers rounds; an uncertain integer gives an uncertain number.
absl::StatusOr<ShadowValue> ConvertedInteger(RuleContext& context, ShadowValue result) {
  const double epsilon = PrecisionOf(result.declared.type()).epsilon;
  HLO_ASSIGN_OR_RETURN(context.own_error, AbsoluteOf(result.wide));
  for (int64_t i = 0; i < context.own_error.element_count(); ++i) {
    double& error = MutableDoubles(context.own_error)[i];
    error = context.operands[0].is_exact() ? error * epsilon : kInfinity;
  }
  result.bound = context.own_error;
  return result;
}

}  // namespace

absl::StatusOr<Literal> Perturbed(const ShadowValue& operand, double epsilon, PerturbationSigns& signs) {
  HLO_ASSIGN_OR_RETURN(const Literal bound, BoundOf(operand));
  Literal result = operand.wide;
  HLO_RETURN_IF_ERROR(result.MakeUnique());
  const ElementView magnitude(operand.wide), error(bound);
  for (int64_t i = 0; i < result.element_count(); ++i) {
    const double step = signs.Next() * (error[i] + epsilon * std::fabs(magnitude[i]));
    if (!std::isfinite(step)) continue;
    if (result.type() == ElementType::kC128)
      result.mutable_span<std::complex<double>>()[i] += step;
    else
      result.mutable_span<double>()[i] += step;
  }
  return result;
}

absl::Status EstimateBound(ShadowValue& leaf, absl::Span<const Literal> perturbed) {
  HLO_ASSIGN_OR_RETURN(leaf.bound, F64Array(leaf.declared.dims()));
  for (const Literal& value : perturbed) {
    ShadowValue other;
    other.declared = other.wide = value;
    RaiseBounds(leaf, other, kSafety);
  }
  return AddOwnRounding(leaf);
}

namespace {

absl::StatusOr<ShadowValue> WideResult(const RuleContext& context) {
  HLO_ASSIGN_OR_RETURN(ShadowValue result, ExactShadow(context.declared));
  HLO_ASSIGN_OR_RETURN(const Literal value, ApplyWide(context, WideOperandsOf(context)));
  HLO_ASSIGN_OR_RETURN(ShadowValue wide, ExactShadow(value));
  SetWide(result, wide);
  return result;
}

}  // namespace

absl::StatusOr<ShadowValue> PerturbationRule(RuleContext& context) {
  HLO_ASSIGN_OR_RETURN(ShadowValue result, WideResult(context));
  return Estimate(context, std::move(result), /*declared=*/false);
}

absl::StatusOr<ShadowValue> ReducerRule(RuleContext& context) {
  HLO_ASSIGN_OR_RETURN(ShadowValue result, WideResult(context));
  return Estimate(context, std::move(result), /*declared=*/true);
}

absl::StatusOr<ShadowValue> AnchoredPerturbationRule(RuleContext& context) {
  HLO_ASSIGN_OR_RETURN(ShadowValue result, ExactShadow(context.declared));
  context.is_anchored = true;
  return Estimate(context, std::move(result), /*declared=*/true);
}

namespace {

// The inherited bound of an operation on complex numbers x and y with errors dx and dy. The arguments are
// magnitudes; z is the magnitude of the result.
using ComplexBoundFn = double (*)(double x, double dx, double y, double dy, double z);

double BoundOfSum(double, double dx, double, double dy, double) { return dx + dy; }
double BoundOfProduct(double x, double dx, double y, double dy, double) { return x * dy + y * dx + dx * dy; }
double BoundOfQuotient(double, double dx, double y, double dy, double z) {
  return y > dy ? (dx + z * dy) / (y - dy) : kInfinity;
}
double BoundOfOperand(double, double dx, double, double, double) { return dx; }

// Returns nullptr if there is no bound.
ComplexBoundFn FindComplexBound(Opcode opcode) {
  static constexpr std::pair<Opcode, ComplexBoundFn> kBounds[] = {
      {Opcode::kAbs, BoundOfOperand},    {Opcode::kAdd, BoundOfSum},
      {Opcode::kComplex, BoundOfSum},    {Opcode::kConvert, BoundOfOperand},
      {Opcode::kCopy, BoundOfOperand},   {Opcode::kDivide, BoundOfQuotient},
      {Opcode::kImag, BoundOfOperand},   {Opcode::kMultiply, BoundOfProduct},
      {Opcode::kNegate, BoundOfOperand}, {Opcode::kReal, BoundOfOperand},
      {Opcode::kSubtract, BoundOfSum},
  };
  for (const auto& [known, bound] : kBounds) {
    if (known == opcode) return bound;
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<ShadowValue> ComplexRule(RuleContext& context, ShadowValue result) {
  const FloatPrecision precision = PrecisionOf(result.declared.type());
  if (!context.operands[0].is_float()) return ConvertedInteger(context, std::move(result));
  std::vector<Literal> bounds;
  for (const ShadowValue& operand : context.operands) {
    HLO_ASSIGN_OR_RETURN(Literal bound, BoundOf(operand));
    bounds.push_back(std::move(bound));
  }
  const size_t count = context.operands.size();
  const ElementView a(context.operands[0].wide), a_bound(bounds[0]), b(context.operands[count - 1].wide),
      b_bound(bounds[count - 1]), value(result.wide);
  const ComplexBoundFn inherit = FindComplexBound(context.instruction.opcode());
  if (inherit == nullptr) return PerturbationRule(context);
  HLO_ASSIGN_OR_RETURN(result.bound, F64Array(result.declared.dims()));
  HLO_ASSIGN_OR_RETURN(context.own_error, F64Array(result.declared.dims()));
  for (int64_t i = 0; i < result.bound.element_count(); ++i) {
    const double size = std::fabs(value[i]) + (context.instruction.opcode() == Opcode::kAdd ||
                                                       context.instruction.opcode() == Opcode::kSubtract
                                                   ? std::fabs(a[i]) + std::fabs(b[i])
                                                   : 0);
    MutableDoubles(context.own_error)[i] = 4 * precision.epsilon * (size + precision.least_normal);
    MutableDoubles(result.bound)[i] =
        Doubles(context.own_error)[i] +
        inherit(std::fabs(a[i]), a_bound[i], std::fabs(b[i]), b_bound[i], std::fabs(value[i]));
  }
  return result;
}

}  // namespace hlo::debug
