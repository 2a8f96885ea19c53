#include "debug/extended.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/deadline.h"
#include "base/status.h"
#include "debug/double_double.h"
#include "debug/linear_rules.h"
#include "reference/arrays.h"
#include "reference/contraction.h"
#include "types/index.h"

namespace hlo::debug {
namespace {

using ExtendedFn = std::optional<DoubleDouble> (*)(const DoubleDouble& a, const DoubleDouble& b);

constexpr std::array<ExtendedFn, kOpcodeCount> MakeExtendedFunctions() {
  std::array<ExtendedFn, kOpcodeCount> functions = {};
#define ERROR_RULE(name, inheritance, rounding, ...) \
  functions[static_cast<size_t>(Opcode::k##name)] =  \
      []([[maybe_unused]] const DoubleDouble& a,     \
         [[maybe_unused]] const DoubleDouble& b) -> std::optional<DoubleDouble> { return __VA_ARGS__; };
#include "debug/error_rules.def"
  return functions;
}

// Returns the function of up to two operands, or nullopt if it has no form in double-double.
std::optional<DoubleDouble> Evaluate(Opcode opcode, const DoubleDouble& a, const DoubleDouble& b) {
  static constexpr std::array<ExtendedFn, kOpcodeCount> kFunctions = MakeExtendedFunctions();
  const ExtendedFn function = kFunctions[static_cast<size_t>(opcode)];
  return function == nullptr ? std::nullopt : function(a, b);
}

// Reads f64 elements with their low parts; broadcasts a single element.
class ExtendedView {
 public:
  ExtendedView(const Literal& high, const Literal& low)
      : high_(high.span<double>().data()),
        low_(low.shape().IsValid() ? low.span<double>().data() : nullptr),
        is_scalar_(high.element_count() == 1) {}
  explicit ExtendedView(const ShadowValue& value) : ExtendedView(value.wide, value.low) {}
  DoubleDouble operator[](int64_t i) const {
    const int64_t at = is_scalar_ ? 0 : i;
    return {high_[at], low_ == nullptr ? 0 : low_[at]};
  }

 private:
  const double *high_, *low_;
  bool is_scalar_;
};

absl::StatusOr<ExtendedValue> NewValue(absl::Span<const int64_t> dims) {
  ExtendedValue value;
  HLO_ASSIGN_OR_RETURN(value.high, F64Array(dims));
  HLO_ASSIGN_OR_RETURN(value.low, F64Array(dims));
  return value;
}

void Store(ExtendedValue& value, int64_t i, const DoubleDouble& x) {
  MutableDoubles(value.high)[i] = x.high;
  MutableDoubles(value.low)[i] = std::isfinite(x.high) ? x.low : 0;
}

bool AreF64(absl::Span<const ShadowValue> operands) {
  return std::all_of(operands.begin(), operands.end(), [](const ShadowValue& operand) {
    return operand.declared.shape().IsArray(ElementType::kF64) && !operand.declared.has_dynamic_sizes();
  });
}

absl::StatusOr<std::optional<ExtendedValue>> Elementwise(const RuleContext& context,
                                                         absl::Span<const ShadowValue> operands) {
  const Opcode opcode = context.instruction.opcode();
  if (operands.empty() || operands.size() > 2 || !Evaluate(opcode, 1.0, 1.0)) return std::nullopt;
  HLO_ASSIGN_OR_RETURN(ExtendedValue result, NewValue(context.declared.dims()));
  const ExtendedView a(operands.front()), b(operands.back());
  for (int64_t i = 0; i < result.high.element_count(); ++i) Store(result, i, *Evaluate(opcode, a[i], b[i]));
  return result;
}

// Applies the data movement to the high parts and to the low parts.
absl::StatusOr<std::optional<ExtendedValue>> Moved(const RuleContext& context,
                                                   absl::Span<const ShadowValue> operands) {
  std::vector<Literal> highs, lows;
  for (const ShadowValue& operand : operands) {
    highs.push_back(operand.is_float() ? operand.wide : operand.declared);
    Literal low = operand.low;
    if (!operand.is_float()) {
      low = operand.declared;
    } else if (!low.shape().IsValid()) {
      HLO_ASSIGN_OR_RETURN(low, F64Array(operand.declared.dims()));
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
    if (std::find(reduced.begin(), reduced.end(), d) != reduced.end()) continue;
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

bool IsSum(const Computation& computation) {
  const Instruction& root = *computation.root();
  return root.opcode() == Opcode::kAdd && root.operand(0)->opcode() == Opcode::kParameter &&
         root.operand(1)->opcode() == Opcode::kParameter && root.operand(0) != root.operand(1);
}

}  // namespace

absl::StatusOr<std::optional<ExtendedValue>> ExtendedResult(const RuleContext& context,
                                                            absl::Span<const ShadowValue> operands) {
  const Opcode opcode = context.instruction.opcode();
  if (!context.declared.shape().IsArray(ElementType::kF64) || context.declared.has_dynamic_sizes())
    return std::nullopt;
  if (MovesValues(context.instruction)) {
    const bool has_low = std::any_of(operands.begin(), operands.end(), [](const ShadowValue& operand) {
      return operand.low.shape().IsValid();
    });
    return has_low ? Moved(context, operands) : std::nullopt;
  }
  if (!AreF64(operands)) return std::nullopt;
  if (opcode == Opcode::kDot) return Dot(context, operands);
  if (opcode == Opcode::kReduce && operands.size() == 2 && IsSum(*context.instruction.Get<attr::to_apply>()))
    return Sum(context, operands);
  return Elementwise(context, operands);
}

}  // namespace hlo::debug
