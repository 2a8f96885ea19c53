#include "reference/fold.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/arithmetic.h"
#include "base/deadline.h"
#include "base/parallel.h"
#include "base/status.h"
#include "fmt/format.h"
#include "reference/elementwise.h"
#include "reference/fold_loop.h"
#include "reference/scalar_function.h"
#include "spmd/collectives.h"

namespace hlo::reference {
namespace {

// JAX places such calls around a reducer's root and operands.
const Instruction* WithoutShardingCalls(const Instruction* instruction) {
  while (instruction->opcode() == Opcode::kCustomCall && instruction->operand_count() == 1 &&
         instruction->Get<attr::custom_call_target>() == "Sharding")
    instruction = instruction->operand(0);
  return instruction;
}

// One operation on both parameters.
struct BinaryReducer {
  Opcode opcode;
  ElementType type;
  bool is_swapped = false;  // The accumulator is the second operand.
};

std::optional<BinaryReducer> FindBinaryReducer(const Computation& reducer) {
  const Instruction* root = WithoutShardingCalls(reducer.root());
  if (root->operand_count() != 2 || !IsElementwise(root->opcode()) || root->opcode() == Opcode::kCompare)
    return std::nullopt;
  const Instruction* a = WithoutShardingCalls(root->operand(0));
  const Instruction* b = WithoutShardingCalls(root->operand(1));
  const bool fits = a->opcode() == Opcode::kParameter && b->opcode() == Opcode::kParameter && a != b &&
                    a->shape().IsScalar(root->shape().type()) && b->shape().IsScalar(root->shape().type());
  if (!fits) return std::nullopt;
  return BinaryReducer{root->opcode(), root->shape().type(), a->Get<attr::number>() == 1};
}

// A reduction as XLA:CPU computes it: from an identity, in a type that may be wider than that of the arrays.
struct XlaReduction {
  WideScalar identity;
  ScalarStep step;
  Opcode opcode;

  WideScalar operator()(const WideScalar& sum, const WideScalar& x) const {
    if (opcode == Opcode::kMaximum) return sum.f < x.f ? x : sum;
    if (opcode == Opcode::kMinimum) return sum.f > x.f ? x : sum;
    return step(sum, x);
  }
};

// XLA:CPU widens bf16 and floats of 8 bits and fewer.
ElementType XlaReductionType(ElementType type) {
  if (type == ElementType::kBF16 || type == ElementType::kF8E8M0FNU) return ElementType::kF32;
  return IsFloat(type) && BitWidth(type) <= 8 ? ElementType::kF16 : type;
}

// Returns the reduction of floats or complex numbers by an operation that XLA:CPU has; nullopt for others,
// which are exact in any case.
std::optional<XlaReduction> FindXlaReduction(const BinaryReducer& reducer, ElementType type) {
  if (!IsFloat(type) && !IsComplex(type)) return std::nullopt;
  const std::optional<ScalarStep> step = FindScalarStep(reducer.opcode, XlaReductionType(type));
  if (!step) return std::nullopt;
  XlaReduction reduction{.step = *step, .opcode = reducer.opcode};
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (reducer.opcode) {
    case Opcode::kAdd:
      reduction.identity.f = 0;
      return reduction;
    case Opcode::kMultiply:
      reduction.identity.f = 1;
      return reduction;
    case Opcode::kMaximum:
      reduction.identity.f = -kInfinity;
      return reduction;
    case Opcode::kMinimum:
      reduction.identity.f = kInfinity;
      return reduction;
    default:
      return std::nullopt;
  }
}

absl::StatusOr<Literal> FoldAsXla(const XlaReduction& reduction, absl::Span<const Literal* const> members) {
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(members[0]->shape()));
  const ScalarLoad load = ScalarLoader(result.type());
  const ScalarStore store = ScalarStorer(result.type());
  for (int64_t i = 0; i < result.element_count(); ++i) {
    WideScalar sum = reduction.identity;
    for (const Literal* member : members) sum = reduction(sum, load(member->data(), i));
    store(result.mutable_data(), i, sum);
  }
  return result;
}

// Calls f(begin, end) for chunks of [0, count), in parallel if they take long.
template <class F>
absl::Status ForChunks(int64_t count, double nanoseconds_an_element, F f) {
  constexpr int64_t kChunk = 16384;
  ParallelFor(CeilDiv(count, kChunk), nanoseconds_an_element * static_cast<double>(count),
              [&](int64_t chunk) { f(chunk * kChunk, std::min(count, (chunk + 1) * kChunk)); });
  return Deadline::Check();
}

absl::StatusOr<Literal> FoldByLoop(FoldLoop loop, absl::Span<const Literal* const> members) {
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(members[0]->shape()));
  const int64_t size = ByteCount(result.type());
  std::byte* const sums = result.mutable_data();
  const auto fold = [&](int64_t begin, int64_t end) {
    std::copy_n(members[0]->data() + begin * size, (end - begin) * size, sums + begin * size);
    for (const Literal* member : members.subspan(1))
      loop(sums + begin * size, member->data() + begin * size, end - begin);
  };
  HLO_RETURN_IF_ERROR(ForChunks(result.element_count(), static_cast<double>(members.size()), fold));
  return result;
}

absl::StatusOr<Literal> FoldBinary(const BinaryReducer& reducer, const ScalarStep& step,
                                   absl::Span<const Literal* const> members) {
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(members[0]->shape()));
  const ScalarLoad load = ScalarLoader(result.type());
  const ScalarStore store = ScalarStorer(result.type());
  const auto fold = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      WideScalar sum = load(members[0]->data(), i);
      for (size_t k = 1; k < members.size(); ++k) {
        const WideScalar x = load(members[k]->data(), i);
        sum = reducer.is_swapped ? step(x, sum) : step(sum, x);
      }
      store(result.mutable_data(), i, sum);
    }
  };
  HLO_RETURN_IF_ERROR(ForChunks(result.element_count(), 8.0 * static_cast<double>(members.size()), fold));
  return result;
}

absl::StatusOr<Literal> FoldByCode(OpContext& context, absl::Span<const Literal* const> members) {
  const Computation& reducer = *context.instruction.Get<attr::to_apply>();
  HLO_ASSIGN_OR_RETURN(const auto function, ScalarFunction::Make(reducer, context.caller));
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(members[0]->shape()));
  const ElementType type = result.type(), sum_type = reducer.parameter(0)->shape().type(),
                    x_type = reducer.parameter(1)->shape().type(), root_type = reducer.root()->shape().type();
  if (type != sum_type || type != x_type || type != root_type) {
    context.caller.collectives()->Warn(
        context.instruction,
        fmt::format("its operand of type {} is converted for to_apply, which takes {} and {}", Name(type),
                    Name(sum_type), Name(x_type)));
  }
  const ScalarStep to_sum = ConvertStep(type, sum_type), to_x = ConvertStep(type, x_type),
                   root_to_sum = ConvertStep(root_type, sum_type), back = ConvertStep(sum_type, type);
  const ScalarLoad load = ScalarLoader(type);
  const ScalarStore store = ScalarStorer(type);
  WideScalar arguments[2], value;
  for (int64_t i = 0; i < result.element_count(); ++i) {
    arguments[0] = to_sum(load(members[0]->data(), i));
    for (size_t k = 1; k < members.size(); ++k) {
      arguments[1] = to_x(load(members[k]->data(), i));
      HLO_RETURN_IF_ERROR(function->Run(arguments, absl::MakeSpan(&value, 1)));
      arguments[0] = root_to_sum(value);
    }
    store(result.mutable_data(), i, back(arguments[0]));
  }
  return result;
}

}  // namespace

absl::StatusOr<Literal> FoldMembers(OpContext& context, absl::Span<const Literal* const> members) {
  const Computation& to_apply = *context.instruction.Get<attr::to_apply>();
  // A caller may have its own arithmetic.
  const bool is_replaced = context.caller.ScalarFunctionOf(to_apply) != nullptr;
  const auto reducer = is_replaced ? std::nullopt : FindBinaryReducer(to_apply);
  if (reducer && context.caller.collectives()->emulates_xla_cpu()) {
    if (const auto reduction = FindXlaReduction(*reducer, members[0]->type()))
      return FoldAsXla(*reduction, members);
  }
  if (members.size() == 1) {
    Literal result = *members[0];
    HLO_RETURN_IF_ERROR(result.MakeUnique());
    return result;
  }
  if (reducer) {
    const FoldLoop loop = FindFoldLoop(reducer->opcode, members[0]->type());
    // These operations commute but for the choice between two NaNs.
    if (loop != nullptr) return FoldByLoop(loop, members);
    if (const std::optional<ScalarStep> step = FindScalarStep(reducer->opcode, members[0]->type()))
      return FoldBinary(*reducer, *step, members);
  }
  return FoldByCode(context, members);
}

}  // namespace hlo::reference
