#include "debug/shadow/extended.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <memory>
#include <utility>

#include "base/deadline.h"
#include "base/status.h"
#include "debug/shadow/extended_array.h"
#include "debug/shadow/extended_complex.h"
#include "debug/shadow/extended_function.h"
#include "debug/shadow/extended_linalg.h"
#include "debug/shadow/extended_pairs.h"
#include "debug/shadow/linear_rules.h"
#include "reference/apply.h"
#include "reference/arrays.h"
#include "reference/contraction.h"
#include "reference/program.h"
#include "reference/ragged_rows.h"
#include "reference/window.h"
#include "types/index.h"

namespace hlo::debug {
namespace {

bool AreF64(absl::Span<const ShadowValue> operands) {
  return std::all_of(operands.begin(), operands.end(), [](const ShadowValue& operand) {
    return operand.declared.shape().IsArray(ElementType::kF64) && !operand.declared.has_dynamic_sizes();
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

absl::StatusOr<std::optional<ExtendedValue>> Sum(const RuleContext& context,
                                                 absl::Span<const ShadowValue> operands) {
  const Literal& array = operands[0].wide;
  const IntList reduced = context.instruction.Get<attr::dimensions>();
  const Index strides = RowMajorStrides(array.dims());
  Index kept_dims, kept_strides;
  for (int64_t d = 0; d < array.rank(); ++d) {
    if (Contains(reduced, d)) continue;
    kept_dims.push_back(array.dim(d));
    kept_strides.push_back(strides[d]);
  }
  const Index reduced_dims = Pick(array.dims(), reduced), reduced_strides = Pick(strides, reduced);
  HLO_ASSIGN_OR_RETURN(ExtendedValue result, NewValue(context.declared.dims()));
  const ExtendedView x(operands[0]), init(operands[1]);
  int64_t out = 0;
  for (const Index& i : EachIndex(kept_dims)) {
    DoubleDouble sum = init[0];
    const int64_t base = Offset(i, kept_strides);
    for (const Index& r : EachIndex(reduced_dims)) sum = sum + x[base + Offset(r, reduced_strides)];
    Store(result, out++, sum);
    HLO_RETURN_IF_ERROR(Deadline::Check());
  }
  return result;
}

// Returns an operand of a dot, with its low part, transposed to this order of dimensions.
absl::StatusOr<ExtendedValue> Transposed(const ShadowValue& operand, const Index& order) {
  ExtendedValue result;
  HLO_ASSIGN_OR_RETURN(result.high, reference::Transposed(operand.wide, order));
  if (operand.low.shape().IsValid()) {
    HLO_ASSIGN_OR_RETURN(result.low, reference::Transposed(operand.low, order));
  }
  return result;
}

// result[b, m, n] = sum over k of lhs[b, m, k] rhs[b, k, n].
absl::StatusOr<std::optional<ExtendedValue>> Dot(const RuleContext& context,
                                                 absl::Span<const ShadowValue> operands) {
  const reference::DotDims l = reference::LhsDims(context.wide), r = reference::RhsDims(context.wide);
  HLO_ASSIGN_OR_RETURN(const ExtendedValue lhs,
                       Transposed(operands[0], reference::Concat(l.batch, l.free, l.contracting)));
  HLO_ASSIGN_OR_RETURN(const ExtendedValue rhs,
                       Transposed(operands[1], reference::Concat(r.batch, r.contracting, r.free)));
  const auto size = [&](const ShadowValue& operand, const Index& dims) {
    int64_t count = 1;
    for (const int64_t d : dims) count *= operand.wide.dim(d);
    return count;
  };
  const int64_t batch = size(operands[0], l.batch), rows = size(operands[0], l.free),
                depth = size(operands[0], l.contracting), columns = size(operands[1], r.free);
  HLO_ASSIGN_OR_RETURN(ExtendedValue result, NewValue(context.declared.dims()));
  const ExtendedView a(lhs.high, lhs.low), b(rhs.high, rhs.low);
  for (int64_t row = 0; row < batch * rows; ++row) {
    HLO_RETURN_IF_ERROR(Deadline::Check());
    for (int64_t n = 0; n < columns; ++n) {
      DoubleDouble sum;
      for (int64_t k = 0; k < depth; ++k)
        sum = sum + a[row * depth + k] * b[(row / rows * depth + k) * columns + n];
      Store(result, row * columns + n, sum);
    }
  }
  return result;
}

absl::StatusOr<std::optional<ExtendedValue>> RaggedDot(const RuleContext& context,
                                                       absl::Span<const ShadowValue> operands) {
  HLO_ASSIGN_OR_RETURN(const reference::RaggedRows rows,
                       reference::RaggedRows::Make(context.instruction, operands[0].wide, operands[1].wide,
                                                   operands[2].declared));
  HLO_ASSIGN_OR_RETURN(const ExtendedValue lhs, Transposed(operands[0], rows.lhs_order()));
  HLO_ASSIGN_OR_RETURN(const ExtendedValue rhs, Transposed(operands[1], rows.rhs_order()));
  HLO_ASSIGN_OR_RETURN(ExtendedValue result, NewValue(context.declared.dims()));
  const ExtendedView a(lhs.high, lhs.low), b(rhs.high, rhs.low), sum(result.high, result.low);
  HLO_RETURN_IF_ERROR(rows.Each([&](const reference::RaggedRows::Row& row) {
    for (int64_t n = 0; n < rows.length(); ++n)
      Store(result, row.result + n, sum[row.result + n] + a[row.lhs] * b[row.rhs + n]);
    return Deadline::Check();
  }));
  return result;
}

// out[n, o, z] = sum over the taps and input features r of input[n, tap, r] * kernel[tap, r, z].
absl::StatusOr<std::optional<ExtendedValue>> Convolution(const RuleContext& context,
                                                         absl::Span<const ShadowValue> operands) {
  const Instruction& convolution = context.instruction;
  if (convolution.Get<attr::sparsity_config>() != nullptr) return std::nullopt;
  const DimLabels& labels = *convolution.Get<attr::dim_labels>();
  const Index output_order =
      reference::Concat({labels.output_batch}, labels.output_spatial, {labels.output_feature});
  HLO_ASSIGN_OR_RETURN(const ExtendedValue input,
                       Transposed(operands[0], reference::Concat({labels.input_batch}, labels.input_spatial,
                                                                 {labels.input_feature})));
  HLO_ASSIGN_OR_RETURN(
      const ExtendedValue kernel,
      Transposed(operands[1], reference::Concat(labels.kernel_spatial, {labels.kernel_input_feature},
                                                {labels.kernel_output_feature})));
  HLO_ASSIGN_OR_RETURN(ExtendedValue result, NewValue(Pick(context.declared.dims(), output_order)));
  const auto spatial = static_cast<int64_t>(labels.input_spatial.size());
  const Index input_strides = RowMajorStrides(input.high.dims());
  HLO_ASSIGN_OR_RETURN(
      reference::WindowTaps taps,
      reference::WindowTaps::Make(convolution.Get<attr::window>(), input.high.dims().subspan(1, spatial),
                                  absl::MakeSpan(input_strides).subspan(1, spatial),
                                  RowMajorStrides(kernel.high.dims())));
  const int64_t batch = result.high.dim(0), features = result.high.dim(spatial + 1),
                depth = kernel.high.dim(spatial);
  const int64_t feature_groups = convolution.Get<attr::feature_group_count>(1),
                batch_groups = convolution.Get<attr::batch_group_count>(1);
  const int64_t group_size = features / std::max(feature_groups, batch_groups);
  const Index places = result.high.dims().subspan(1, spatial);
  const int64_t place_count = Product(places);
  const ExtendedView x(input.high, input.low), w(kernel.high, kernel.low);
  int64_t place = 0;
  for (const Index& o : EachIndex(places)) {
    HLO_RETURN_IF_ERROR(Deadline::Check());
    const absl::Span<const reference::Tap> window = taps.At(o);
    for (int64_t n = 0; n < batch; ++n) {
      for (int64_t z = 0; z < features; ++z) {
        const int64_t group = z / group_size;
        const int64_t image = n + (batch_groups > 1 ? group * batch : 0);
        const int64_t start = image * input_strides[0] + (feature_groups > 1 ? group * depth : 0);
        DoubleDouble sum;
        for (const reference::Tap& tap : window) {
          for (int64_t r = 0; r < depth; ++r)
            sum = sum + x[start + tap.base + r] * w[tap.window + r * features + z];
        }
        Store(result, (n * place_count + place) * features + z, sum);
      }
    }
    ++place;
  }
  HLO_ASSIGN_OR_RETURN(result.high, reference::Transposed(result.high, Inverse(output_order)));
  HLO_ASSIGN_OR_RETURN(result.low, reference::Transposed(result.low, Inverse(output_order)));
  return result;
}

// The reference applies the functions to pairs.
absl::StatusOr<std::optional<ExtendedValues>> Applied(const RuleContext& context,
                                                      absl::Span<const ShadowValue> operands) {
  if (context.pairs == nullptr || !HaveExtendedFunctions(context.instruction)) return std::nullopt;
  std::vector<Literal> literals;
  for (const ShadowValue& operand : operands) {
    HLO_ASSIGN_OR_RETURN(literals.emplace_back(), Paired(operand));
  }
  // As in the declared precision, the declared operand decides which element of a window is selected.
  if (context.instruction.opcode() == Opcode::kSelectAndScatter) {
    HLO_ASSIGN_OR_RETURN(const ShadowValue keys, ExactShadow(operands[0].declared));
    HLO_ASSIGN_OR_RETURN(literals[0], Paired(keys));
  }
  PairCaller caller(context.instruction, *context.pairs);
  reference::OpContext op{*context.pairs, absl::MakeSpan(literals), caller};
  HLO_ASSIGN_OR_RETURN(const Literal pairs,
                       reference::Apply(op, reference::Reference(context.pairs->opcode())));
  ExtendedValues values;
  if (!pairs.shape().IsTuple()) {
    HLO_ASSIGN_OR_RETURN(values.emplace_back(), Unpaired(pairs));
    return values;
  }
  for (const Literal& element : pairs.elements()) {
    HLO_ASSIGN_OR_RETURN(values.emplace_back(), Unpaired(element));
  }
  return values;
}

bool IsSum(const Computation& computation) {
  const Instruction& root = *computation.root();
  return root.opcode() == Opcode::kAdd && root.operand(0)->opcode() == Opcode::kParameter &&
         root.operand(1)->opcode() == Opcode::kParameter && root.operand(0) != root.operand(1);
}

// Operands of other floats have wide values without low parts.
bool AreF64OrDiscrete(absl::Span<const ShadowValue> operands) {
  return std::all_of(operands.begin(), operands.end(), [](const ShadowValue& operand) {
    return operand.declared.shape().IsArray() && !operand.declared.has_dynamic_sizes() &&
           (!operand.is_float() || operand.declared.type() == ElementType::kF64);
  });
}

bool IsExtended(ElementType type) { return type == ElementType::kF64 || type == ElementType::kC128; }

// True if a float of the instruction is a c128, and all of them are f64 or c128.
bool HasComplex(const RuleContext& context, absl::Span<const ShadowValue> operands) {
  const auto is_extended = [](const ShadowValue& operand) {
    return operand.declared.shape().IsArray() && !operand.declared.has_dynamic_sizes() &&
           IsExtended(operand.declared.type());
  };
  return std::all_of(operands.begin(), operands.end(), is_extended) &&
         (context.declared.type() == ElementType::kC128 ||
          std::any_of(operands.begin(), operands.end(), [](const ShadowValue& operand) {
            return operand.declared.type() == ElementType::kC128;
          }));
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
  if (HasComplex(context, operands)) return ExtendedComplexResult(context, operands);
  if (opcode == Opcode::kRaggedDot && AreF64(operands.first(2))) return RaggedDot(context, operands);
  if (!AreF64(operands)) return std::nullopt;
  if (opcode == Opcode::kDot) return Dot(context, operands);
  if (opcode == Opcode::kConvolution) return Convolution(context, operands);
  if (opcode == Opcode::kCholesky) return ExtendedCholesky(context, operands);
  if (opcode == Opcode::kTriangularSolve) return ExtendedTriangularSolve(context, operands);
  if (opcode == Opcode::kBatchNormInference) return ExtendedBatchNormInference(context, operands);
  if (opcode == Opcode::kReducePrecision) return ReducedPrecision(context, operands);
  if (opcode == Opcode::kReduce && operands.size() == 2 && IsSum(*context.instruction.Get<attr::to_apply>()))
    return Sum(context, operands);
  return Elementwise(context, operands);
}

bool HasExtended(const Literal& value) {
  if (!value.shape().IsTuple())
    return value.shape().IsArray() && IsExtended(value.type()) && !value.has_dynamic_sizes();
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
      AreF64OrDiscrete(operands))
    return Applied(context, operands);
  return std::nullopt;
}

}  // namespace hlo::debug
