#include "debug/shadow/extended.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <utility>

#include "base/status.h"
#include "debug/shadow/extended_array.h"
#include "debug/shadow/extended_complex.h"
#include "debug/shadow/extended_contraction.h"
#include "debug/shadow/extended_function.h"
#include "debug/shadow/extended_linalg.h"
#include "debug/shadow/extended_pairs.h"
#include "reference/apply.h"
#include "reference/program.h"
#include "reference/scalar_function.h"

namespace hlo::debug {
namespace {

bool IsStaticArray(const Literal& value) { return value.shape().IsArray() && !value.has_dynamic_sizes(); }
bool IsExtended(ElementType type) { return type == ElementType::kF64 || type == ElementType::kC128; }

bool AreF64(absl::Span<const ShadowValue> operands) {
  return std::all_of(operands.begin(), operands.end(), [](const ShadowValue& operand) {
    return IsStaticArray(operand.declared) && operand.declared.type() == ElementType::kF64;
  });
}

absl::StatusOr<std::optional<ExtendedValue>> Clamped(const RuleContext& context,
                                                     absl::Span<const ShadowValue> operands) {
  HLO_ASSIGN_OR_RETURN(ExtendedValue result, NewValue(context.declared.dims()));
  const ExtendedView low(operands[0]), x(operands[1]), high(operands[2]);
  for (int64_t i = 0; i < result.high.element_count(); ++i) {
    const DoubleDouble raised = *EvaluateExtended(Opcode::kMaximum, low[i], x[i]);
    Store(result, i, *EvaluateExtended(Opcode::kMinimum, raised, high[i]));
  }
  return result;
}

absl::StatusOr<std::optional<ExtendedValue>> Elementwise(const RuleContext& context,
                                                         absl::Span<const ShadowValue> operands) {
  const Opcode opcode = context.instruction.opcode();
  if (opcode == Opcode::kClamp) return Clamped(context, operands);
  if (operands.empty() || operands.size() > 2 || !EvaluateExtended(opcode, 1.0, 1.0)) return std::nullopt;
  HLO_ASSIGN_OR_RETURN(ExtendedValue result, NewValue(context.declared.dims()));
  const ExtendedView a(operands.front()), b(operands.back());
  for (int64_t i = 0; i < result.high.element_count(); ++i)
    Store(result, i, *EvaluateExtended(opcode, a[i], b[i]));
  return result;
}

// Applies the data movement to the high parts and to the low parts.
absl::StatusOr<std::optional<ExtendedValue>> Moved(const RuleContext& context,
                                                   absl::Span<const ShadowValue> operands) {
  std::vector<Literal> highs, lows;
  for (const ShadowValue& operand : operands) {
    highs.push_back(operand.is_float() ? operand.wide : operand.declared);
    Literal low = operand.declared;
    if (operand.is_float()) {
      HLO_ASSIGN_OR_RETURN(low, LowOf(operand));
    }
    lows.push_back(std::move(low));
  }
  ExtendedValue result;
  HLO_ASSIGN_OR_RETURN(result.high, ApplyWide(context, std::move(highs)));
  HLO_ASSIGN_OR_RETURN(result.low, ApplyWide(context, std::move(lows)));
  return result;
}

// The reference applies the functions to pairs.
absl::StatusOr<std::optional<ExtendedValues>> Applied(const RuleContext& context,
                                                      absl::Span<const ShadowValue> operands) {
  if (context.pairs == nullptr || !HaveExtendedFunctions(context.instruction)) return std::nullopt;
  ComplexTable table;
  std::vector<Literal> literals;
  for (const ShadowValue& operand : operands) {
    HLO_ASSIGN_OR_RETURN(literals.emplace_back(), Paired(operand, table));
  }
  // As in the declared precision, the declared operand decides which element of a window is selected.
  if (context.instruction.opcode() == Opcode::kSelectAndScatter) {
    HLO_ASSIGN_OR_RETURN(const ShadowValue keys, ExactShadow(operands[0].declared));
    HLO_ASSIGN_OR_RETURN(literals[0], Paired(keys, table));
  }
  PairCaller caller(context.instruction, *context.pairs, table);
  reference::OpContext op{*context.pairs, absl::MakeSpan(literals), caller};
  HLO_ASSIGN_OR_RETURN(const Literal pairs,
                       reference::Apply(op, reference::Reference(context.pairs->opcode())));
  ExtendedValues values;
  if (!pairs.shape().IsTuple()) {
    HLO_ASSIGN_OR_RETURN(values.emplace_back(), Unpaired(pairs, context.declared.type(), table));
    return values;
  }
  for (size_t k = 0; k < pairs.elements().size(); ++k) {
    HLO_ASSIGN_OR_RETURN(values.emplace_back(),
                         Unpaired(pairs.elements()[k], context.declared.elements()[k].type(), table));
  }
  return values;
}

// Operands of other floats have wide values without low parts.
bool AreExtendedOrDiscrete(absl::Span<const ShadowValue> operands) {
  return std::all_of(operands.begin(), operands.end(), [](const ShadowValue& operand) {
    return IsStaticArray(operand.declared) && (!operand.is_float() || IsExtended(operand.declared.type()));
  });
}

// True if a float of the operands or the result is a c128, and all of them are f64 or c128.
bool AreComplex(const Literal& declared, absl::Span<const ShadowValue> operands) {
  bool has_complex = declared.shape().IsArray(ElementType::kC128);
  for (const ShadowValue& operand : operands) {
    if (!IsStaticArray(operand.declared) || !IsExtended(operand.declared.type())) return false;
    has_complex = has_complex || operand.declared.type() == ElementType::kC128;
  }
  return has_complex;
}

// Returns the result of an instruction that computes sums of products. T is the type of the operands.
template <class T>
absl::StatusOr<std::optional<ExtendedValue>> LinearResult(const RuleContext& context,
                                                          absl::Span<const ShadowValue> operands) {
  switch (context.instruction.opcode()) {
    case Opcode::kDot:
      return ExtendedDot<T>(context, operands);
    case Opcode::kRaggedDot:
      return ExtendedRaggedDot<T>(context, operands);
    case Opcode::kConvolution:
      return ExtendedConvolution<T>(context, operands);
    case Opcode::kCholesky:
      return ExtendedCholesky<T>(context, operands);
    case Opcode::kTriangularSolve:
      return ExtendedTriangularSolve<T>(context, operands);
    case Opcode::kReduce:
      if (operands.size() == 2 && reference::IsSumOfParameters(*context.instruction.Get<attr::to_apply>()))
        return ExtendedSum<T>(context, operands);
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

// The rules of infinities and of overflow in products of complex numbers are those of the wide type.
bool AreFinite(const Literal& array) {
  const auto elements = array.span<std::complex<double>>();
  return std::all_of(elements.begin(), elements.end(), [](const std::complex<double>& x) {
    return std::isfinite(x.real()) && std::isfinite(x.imag());
  });
}

// Returns the result of an instruction whose result is one array.
absl::StatusOr<std::optional<ExtendedValue>> ArrayResult(const RuleContext& context,
                                                         absl::Span<const ShadowValue> operands) {
  const Opcode opcode = context.instruction.opcode();
  if (MovesValues(context.instruction)) {
    const bool has_low = std::any_of(operands.begin(), operands.end(), [](const ShadowValue& operand) {
      return operand.low.shape().IsValid();
    });
    return has_low ? Moved(context, operands) : std::nullopt;
  }
  // The group sizes of a ragged dot are integers.
  const auto floats = opcode == Opcode::kRaggedDot ? operands.first(2) : operands;
  if (AreComplex(context.declared, floats)) {
    HLO_ASSIGN_OR_RETURN(std::optional<ExtendedValue> linear,
                         LinearResult<ComplexDoubleDouble>(context, operands));
    if (linear && !AreFinite(linear->high)) return std::nullopt;
    return linear ? std::move(linear) : ExtendedComplexResult(context, operands);
  }
  if (!AreF64(floats)) return std::nullopt;
  if (opcode == Opcode::kBatchNormInference) return ExtendedBatchNormInference(context, operands);
  if (opcode == Opcode::kReducePrecision) return ReducedPrecision(context, operands);
  HLO_ASSIGN_OR_RETURN(std::optional<ExtendedValue> linear, LinearResult<DoubleDouble>(context, operands));
  return linear ? std::move(linear) : Elementwise(context, operands);
}

absl::StatusOr<std::optional<ExtendedValues>> MatrixCallResult(const RuleContext& context,
                                                               absl::Span<const ShadowValue> operands) {
  // Older targets have flags before their arrays.
  const bool is_complex = operands.back().declared.shape().IsArray(ElementType::kC128);
  return is_complex ? ExtendedMatrixCall<ComplexDoubleDouble>(context, operands)
                    : ExtendedMatrixCall<DoubleDouble>(context, operands);
}

bool HasExtended(const Literal& value) {
  if (!value.shape().IsTuple()) return IsStaticArray(value) && IsExtended(value.type());
  return std::any_of(value.elements().begin(), value.elements().end(), HasExtended);
}

}  // namespace

bool AppliesScalarComputations(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kMap:
    case Opcode::kReduce:
    case Opcode::kReduceWindow:
    case Opcode::kScatter:
    case Opcode::kSelectAndScatter:
      return true;
    default:
      return Info(instruction.opcode()).has(kCollective) && instruction.Has<attr::to_apply>();
  }
}

absl::StatusOr<std::optional<ExtendedValues>> ExtendedResult(const RuleContext& context,
                                                             absl::Span<const ShadowValue> operands) {
  if (!HasExtended(context.declared)) return std::nullopt;
  if (!context.declared.shape().IsTuple()) {
    HLO_ASSIGN_OR_RETURN(std::optional<ExtendedValue> array, ArrayResult(context, operands));
    if (array) return ExtendedValues{*std::move(array)};
  }
  const Opcode opcode = context.instruction.opcode();
  if (opcode == Opcode::kBatchNormTraining && AreF64(operands))
    return ExtendedBatchNormTraining(context, operands);
  if (opcode == Opcode::kBatchNormGrad && AreF64(operands)) return ExtendedBatchNormGrad(context, operands);
  if (AppliesScalarComputations(context.instruction) && !MovesValues(context.instruction) &&
      AreExtendedOrDiscrete(operands))
    return Applied(context, operands);
  if (opcode == Opcode::kCustomCall && IsContinuousMatrixCall(context))
    return MatrixCallResult(context, operands);
  return std::nullopt;
}

}  // namespace hlo::debug
