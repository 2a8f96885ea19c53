// Rules for complex numbers, sorts, and estimates from perturbed operands.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/status.h"
#include "debug/shadow/linear_rules.h"
#include "reference/apply.h"
#include "reference/arrays.h"
#include "reference/program.h"
#include "reference/scalar_function.h"
#include "reference/wide_scalar.h"
#include "types/index.h"

namespace hlo::debug {
namespace {

// A perturbed result is rarely the worst one.
constexpr double kSafety = 8;

// Raises the bounds of a result to the distance of a perturbed one; other types become uncertain.
void RaiseBounds(ShadowValue& result, ShadowValue& perturbed) {
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
        distance = std::abs(leaves[k]->wide.span<std::complex<double>>()[i] -
                            others[k]->wide.span<std::complex<double>>()[i]);
      } else {
        distance = std::fabs(Doubles(leaves[k]->wide)[i] - Doubles(others[k]->wide)[i]);
      }
      bound[i] = std::max(bound[i], std::isnan(distance) ? 0 : kSafety * distance);
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

absl::StatusOr<ShadowValue> Estimate(RuleContext& context, ShadowValue result, bool declared) {
  context.is_estimated = true;
  for (ShadowValue* leaf : ShadowLeaves(result)) {
    HLO_ASSIGN_OR_RETURN(leaf->bound, F64Array(leaf->declared.dims()));
  }
  for (int64_t trial = 0; trial < kPerturbations; ++trial) {
    PerturbationSigns signs(static_cast<uint64_t>(trial) + 1);
    std::vector<Literal> operands;
    for (const ShadowValue& operand : context.operands) {
      Literal value = Declared(operand);
      if (operand.is_float()) {
        HLO_ASSIGN_OR_RETURN(value, Perturbed(operand, OperandEpsilon(context), signs));
      }
      operands.push_back(std::move(value));
    }
    absl::StatusOr<Literal> value =
        declared ? ApplyDeclared(context, operands) : ApplyWide(context, operands);
    if (!value.ok()) return value.status();
    HLO_ASSIGN_OR_RETURN(ShadowValue perturbed, ExactShadow(*value));
    RaiseBounds(result, perturbed);
  }
  HLO_RETURN_IF_ERROR(AddOwnRounding(result));
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

// The positions along a dimension of one line of an array, and their order after the sort.
struct Lines {
  int64_t length, stride;
  std::vector<int64_t> starts;
};
Lines LinesOf(const Literal& array, int64_t dimension) {
  const Index strides = RowMajorStrides(array.dims());
  Lines lines{array.dim(dimension), strides[dimension], {}};
  Index sizes(array.dims());
  sizes[dimension] = 1;
  for (const Index& i : EachIndex(sizes)) lines.starts.push_back(Offset(i, strides));
  return lines;
}

// Returns array[from[i]] for each i.
absl::StatusOr<Literal> Permuted(const Literal& array, const std::vector<int64_t>& from,
                                 absl::Span<const int64_t> dims) {
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(Shape::Array(array.type(), dims)));
  const int64_t width = ByteCount(array.type());
  for (size_t i = 0; i < from.size(); ++i)
    std::copy_n(array.data() + from[i] * width, width,
                result.mutable_data() + static_cast<int64_t>(i) * width);
  return result;
}

absl::StatusOr<ShadowValue> PermutedShadow(const ShadowValue& operand, const Literal& declared,
                                           const std::vector<int64_t>& from) {
  HLO_ASSIGN_OR_RETURN(ShadowValue result, ExactShadow(declared));
  if (operand.is_float()) {
    HLO_ASSIGN_OR_RETURN(result.wide, Permuted(operand.wide, from, declared.dims()));
  }
  if (!operand.is_exact()) {
    HLO_ASSIGN_OR_RETURN(result.bound, Permuted(operand.bound, from, declared.dims()));
  }
  if (operand.low.shape().IsValid()) {
    HLO_ASSIGN_OR_RETURN(result.low, Permuted(operand.low, from, declared.dims()));
  }
  for (const Literal& trial : operand.trials) {
    HLO_ASSIGN_OR_RETURN(Literal permuted, Permuted(trial, from, declared.dims()));
    result.trials.push_back(std::move(permuted));
  }
  return result;
}

// Returns for each position of the sorted arrays the one it comes from, by the declared keys.
absl::StatusOr<std::vector<int64_t>> SortedPositions(RuleContext& context, const Lines& lines) {
  const Instruction& sort = context.instruction;
  HLO_ASSIGN_OR_RETURN(const auto less,
                       reference::ScalarFunction::Make(*sort.Get<attr::to_apply>(), context.declared_caller));
  std::vector<int64_t> from(static_cast<size_t>(context.operands[0].declared.element_count()));
  std::vector<reference::WideScalar> arguments(2 * context.operands.size());
  absl::Status failure;
  const auto comes_first = [&](int64_t a, int64_t b) {
    for (size_t k = 0; k < context.operands.size(); ++k) {
      arguments[2 * k] = reference::LoadScalar(context.operands[k].declared, a);
      arguments[2 * k + 1] = reference::LoadScalar(context.operands[k].declared, b);
    }
    reference::WideScalar result;
    if (const absl::Status status = less->Run(arguments, absl::MakeSpan(&result, 1)); !status.ok())
      failure = status;
    return result.u != 0;
  };
  std::vector<int64_t> order(static_cast<size_t>(lines.length));
  for (const int64_t start : lines.starts) {
    for (int64_t i = 0; i < lines.length; ++i) order[static_cast<size_t>(i)] = start + i * lines.stride;
    std::stable_sort(order.begin(), order.end(), comes_first);
    for (int64_t i = 0; i < lines.length; ++i)
      from[static_cast<size_t>(start + i * lines.stride)] = order[static_cast<size_t>(i)];
  }
  HLO_RETURN_IF_ERROR(failure);
  return from;
}

// The wide keys of these neighbours have the reverse order or are equal within their bounds, so the positions
// of keys and payloads are uncertain.
void RecordReversals(RuleContext& context, const Lines& lines, ShadowValue& keys,
                     std::vector<bool>& uncertain) {
  if (!keys.is_float() || keys.is_exact() || keys.wide.type() != ElementType::kF64) return;
  const absl::Span<const double> wide = Doubles(keys.wide), bound = Doubles(keys.bound);
  for (const int64_t start : lines.starts) {
    for (int64_t i = 0; i + 1 < lines.length; ++i) {
      const int64_t a = start + i * lines.stride, b = a + lines.stride;
      const double declared_step =
          reference::LoadScalar(keys.declared, b).f - reference::LoadScalar(keys.declared, a).f;
      const double wide_step = wide[b] - wide[a];
      if (declared_step * wide_step < 0 && context.decision.count++ == 0) context.decision.position = a;
      if (std::fabs(wide_step) > bound[a] + bound[b]) continue;
      uncertain[static_cast<size_t>(a)] = uncertain[static_cast<size_t>(b)] = true;
      context.is_uncertain = true;
    }
  }
}

// Widens the bounds of payloads: where the order of keys is uncertain, a payload may be that of any
// neighbour.
absl::Status WidenPayload(ShadowValue& payload, const std::vector<bool>& uncertain) {
  HLO_ASSIGN_OR_RETURN(Literal bound, BoundOf(payload));
  HLO_RETURN_IF_ERROR(bound.MakeUnique());
  bool any = !payload.is_exact();
  for (size_t i = 0; i < uncertain.size(); ++i) {
    if (!uncertain[i]) continue;
    MutableDoubles(bound)[static_cast<int64_t>(i)] = kInfinity;
    any = true;
  }
  if (any) payload.bound = std::move(bound);
  return absl::OkStatus();
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
    RaiseBounds(leaf, other);
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

absl::StatusOr<ShadowValue> SortRule(RuleContext& context) {
  context.has_trials = true;
  const IntList dimensions = context.instruction.Get<attr::dimensions>();
  const Lines lines = LinesOf(context.operands[0].declared, dimensions[0]);
  HLO_ASSIGN_OR_RETURN(const std::vector<int64_t> from, SortedPositions(context, lines));
  ShadowValue result;
  result.is_tuple = context.declared.shape().IsTuple();
  std::vector<bool> uncertain(from.size(), false);
  for (size_t k = 0; k < context.operands.size(); ++k) {
    const Literal& declared =
        result.is_tuple ? context.declared.element(static_cast<int64_t>(k)) : context.declared;
    HLO_ASSIGN_OR_RETURN(ShadowValue sorted, PermutedShadow(context.operands[k], declared, from));
    if (k == 0)
      RecordReversals(context, lines, sorted, uncertain);
    else
      HLO_RETURN_IF_ERROR(WidenPayload(sorted, uncertain));
    if (!result.is_tuple) return sorted;
    result.elements.push_back(std::move(sorted));
  }
  return result;
}

// The declared indices choose the wide values.
absl::StatusOr<ShadowValue> TopkRule(RuleContext& context) {
  context.has_trials = true;
  const ShadowValue& operand = context.operands[0];
  const Literal &values = context.declared.element(0), &indices = context.declared.element(1);
  const int64_t k = values.dim(values.rank() - 1), length = operand.declared.dim(operand.declared.rank() - 1);
  std::vector<int64_t> from;
  for (int64_t i = 0; i < values.element_count(); ++i)
    from.push_back(i / k * length + reference::LoadScalar(indices, i).s);
  ShadowValue result;
  result.is_tuple = true;
  HLO_ASSIGN_OR_RETURN(ShadowValue chosen, PermutedShadow(operand, values, from));
  HLO_ASSIGN_OR_RETURN(ShadowValue places, ExactShadow(indices));
  if (chosen.is_float() && !chosen.is_exact()) {
    const Lines lines = LinesOf(values, values.rank() - 1);
    std::vector<bool> uncertain(from.size(), false);
    RecordReversals(context, lines, chosen, uncertain);
    HLO_RETURN_IF_ERROR(WidenPayload(places, uncertain));
  }
  result.elements = {std::move(chosen), std::move(places)};
  return result;
}

}  // namespace hlo::debug
