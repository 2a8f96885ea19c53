#include "debug/shadow/discrete_rules.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/status.h"
#include "debug/shadow/linear_rules.h"
#include "reference/apply.h"
#include "reference/elementwise.h"
#include "reference/program.h"
#include "types/index.h"
#include "types/wide.h"

namespace hlo::debug {
namespace {

// Returns the bound of a result that may be any element of the operands instead of `wide`.
absl::StatusOr<Literal> BoundOfAnyElement(absl::Span<const ShadowValue> operands, const Literal& wide) {
  double low = kInfinity, high = -kInfinity;
  bool is_finite = wide.type() == ElementType::kF64;
  for (const ShadowValue& operand : operands) {
    if (operand.is_tuple || !operand.is_float() || !is_finite) continue;
    const Literal& values = WideOrDeclared(operand);
    const double* bounds = operand.is_exact() ? nullptr : Doubles(operand.bound).data();
    const LoadFn<double> load = Loader<double>(values.type());
    for (int64_t i = 0; i < values.element_count(); ++i) {
      const double value = load(values.data(), i), bound = bounds == nullptr ? 0 : bounds[i];
      is_finite = is_finite && std::isfinite(value) && std::isfinite(bound);
      low = std::min(low, value - bound);
      high = std::max(high, value + bound);
    }
  }
  HLO_ASSIGN_OR_RETURN(Literal bound, F64Array(wide.dims(), kInfinity));
  if (!is_finite) return bound;
  const double* results = Doubles(wide).data();
  double* out = MutableDoubles(bound).data();
  for (int64_t i = 0; i < bound.element_count(); ++i) out[i] = std::max(results[i] - low, high - results[i]);
  return bound;
}

// True if an operand of an instruction that moves values says where they come from or go to.
bool IsIndexOperand(const Instruction& instruction, int64_t k) {
  switch (instruction.opcode()) {
    case Opcode::kGather:
    case Opcode::kDynamicSlice:
      return k >= 1;
    case Opcode::kDynamicUpdateSlice:
      return k >= 2;
    case Opcode::kScatter:
      return k == instruction.operand_count() / 2;
    default:
      return false;
  }
}

// Returns for each element of a gather whether its index may differ.
std::vector<bool> UncertainRows(const Instruction& gather, const ShadowValue& indices,
                                absl::Span<const int64_t> dims) {
  const IntList offset_dims = gather.Get<attr::offset_dims>();
  const int64_t vector_dim = gather.Get<attr::index_vector_dim>(), rank = indices.declared.rank();
  const Index strides = RowMajorStrides(indices.declared.dims());
  const int64_t length = vector_dim < rank ? indices.declared.dim(vector_dim) : 1,
                stride = vector_dim < rank ? strides[vector_dim] : 0;
  Index batch_dims, batch_strides;  // The other dimensions of the result, and their strides in the indices.
  for (int64_t d = 0; d < static_cast<int64_t>(dims.size()); ++d) {
    if (!Contains(offset_dims, d)) batch_dims.push_back(d);
  }
  for (int64_t d = 0; d < rank; ++d) {
    if (d != vector_dim) batch_strides.push_back(strides[d]);
  }
  const double* bounds = Doubles(indices.bound).data();
  std::vector<bool> uncertain;
  for (const Index& i : EachIndex(dims)) {
    const int64_t start = Offset(Pick(i, batch_dims), batch_strides);
    bool differs = false;
    for (int64_t k = 0; k < length; ++k) differs = differs || bounds[start + k * stride] != 0;
    uncertain.push_back(differs);
  }
  return uncertain;
}

// Returns for each element of a result whether an index that may differ has moved it.
std::vector<bool> MovedByUncertainIndex(const Instruction& instruction,
                                        absl::Span<const ShadowValue> operands, const Literal& result) {
  if (instruction.opcode() == Opcode::kGather) return UncertainRows(instruction, operands[1], result.dims());
  return std::vector<bool>(static_cast<size_t>(result.element_count()), true);
}

// Returns an array of the same type, whose elements are 1 where those of the value may differ, and otherwise
// 0.
absl::StatusOr<Literal> Flags(const ShadowValue& value) {
  HLO_ASSIGN_OR_RETURN(Literal flags, Literal::CreateZeros(value.declared.shape()));
  if (value.is_exact()) return flags;
  const int64_t width = ByteCount(flags.type());
  const double* bounds = Doubles(value.bound).data();
  // The first byte of an integer is its lowest.
  for (int64_t i = 0; i < flags.element_count(); ++i)
    flags.mutable_data()[i * width] = static_cast<std::byte>(bounds[i] != 0);
  return flags;
}

// The uncertainty of elements moves with them.
absl::Status BoundMove(const RuleContext& context, Literal& bound) {
  std::vector<Literal> operands;
  bool has_uncertain_index = false;
  for (int64_t k = 0; k < static_cast<int64_t>(context.operands.size()); ++k) {
    const ShadowValue& operand = context.operands[static_cast<size_t>(k)];
    operands.push_back(operand.declared);
    if (IsIndexOperand(context.instruction, k)) {
      has_uncertain_index = has_uncertain_index || !operand.is_exact();
    } else {
      HLO_ASSIGN_OR_RETURN(operands.back(), Flags(operand));
    }
  }
  reference::OpContext op{context.instruction, absl::MakeSpan(operands), context.declared_caller};
  HLO_ASSIGN_OR_RETURN(const Literal moved,
                       reference::Apply(op, reference::Reference(context.instruction.opcode())));
  std::vector<bool> differs(static_cast<size_t>(moved.element_count()), false);
  if (has_uncertain_index) differs = MovedByUncertainIndex(context.instruction, context.operands, moved);
  const int64_t width = ByteCount(moved.type());
  for (int64_t i = 0; i < moved.element_count(); ++i) {
    const bool is_flagged = moved.data()[i * width] != std::byte{0};
    MutableDoubles(bound)[i] = is_flagged || differs[static_cast<size_t>(i)] ? kInfinity : 0;
  }
  return absl::OkStatus();
}

bool AreDiscreteArrays(absl::Span<const ShadowValue> operands) {
  return std::all_of(operands.begin(), operands.end(), [](const ShadowValue& operand) {
    return operand.declared.shape().IsArray() && !operand.is_float() && !operand.declared.has_dynamic_sizes();
  });
}

void BoundElementwise(const RuleContext& context, Literal& bound) {
  std::fill_n(MutableDoubles(bound).data(), bound.element_count(), 0);
  for (const ShadowValue& operand : context.operands) {
    if (operand.is_exact()) continue;
    const ElementView differs(operand.bound);
    for (int64_t i = 0; i < bound.element_count(); ++i) {
      if (differs[i] != 0) MutableDoubles(bound)[i] = kInfinity;
    }
  }
}

}  // namespace

absl::StatusOr<ShadowValue> DiscreteResult(const RuleContext& context) {
  HLO_ASSIGN_OR_RETURN(ShadowValue result, ExactShadow(context.declared));
  const bool are_exact =
      std::all_of(context.operands.begin(), context.operands.end(),
                  [](const ShadowValue& operand) { return operand.is_tuple || operand.is_exact(); });
  if (are_exact || result.is_tuple || !result.declared.shape().IsArray()) return result;
  HLO_ASSIGN_OR_RETURN(result.bound, F64Array(result.declared.dims(), kInfinity));
  if (!AreDiscreteArrays(context.operands) || result.declared.has_dynamic_sizes()) return result;
  if (MovesValues(context.instruction) && context.instruction.opcode() != Opcode::kSelect) {
    HLO_RETURN_IF_ERROR(BoundMove(context, result.bound));
  } else if (reference::IsElementwise(context.instruction.opcode())) {
    BoundElementwise(context, result.bound);
  }
  return result;
}

bool IsUncertainIndex(const ShadowValue& operand) {
  return !operand.is_tuple && !operand.is_float() && !operand.is_exact();
}

absl::Status BoundUncertainMove(const Instruction& instruction, absl::Span<const ShadowValue> operands,
                                ShadowValue& result) {
  HLO_ASSIGN_OR_RETURN(const Literal any, BoundOfAnyElement(operands, result.wide));
  const std::vector<bool> differs = MovedByUncertainIndex(instruction, operands, result.wide);
  HLO_ASSIGN_OR_RETURN(Literal bound, BoundOf(result));
  HLO_RETURN_IF_ERROR(bound.MakeUnique());
  for (size_t i = 0; i < differs.size(); ++i) {
    if (differs[i]) MutableDoubles(bound)[static_cast<int64_t>(i)] = Doubles(any)[static_cast<int64_t>(i)];
  }
  result.bound = std::move(bound);
  return absl::OkStatus();
}

}  // namespace hlo::debug
