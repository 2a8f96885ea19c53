// Reductions and map (semantics 5.1, 5.6).

#include <optional>
#include <utility>

#include "base/deadline.h"
#include "base/status.h"
#include "ir/single_terms.h"
#include "reference/arrays.h"
#include "reference/elementwise.h"
#include "reference/scalar_function.h"
#include "types/index.h"

namespace hlo::reference {
namespace {

// The operand positions that one result element reduces, in row-major order.
struct Reduced {
  Index dims, strides;  // Those of the reduced dimensions, fastest-varying last.
  Index kept_dims, kept_strides;
};

Reduced Split(const Literal& array, IntList dimensions) {
  const Index strides = RowMajorStrides(array.dims());
  const Index kept = OtherDims(array.rank(), dimensions), reduced = OtherDims(array.rank(), kept);
  return {.dims = Pick(array.dims(), reduced),
          .strides = Pick(strides, reduced),
          .kept_dims = Pick(array.dims(), kept),
          .kept_strides = Pick(strides, kept)};
}

// Calls visit(offset) for every position, the last dimension fastest, until a status is not OK.
template <class Visit>
absl::Status EachOffset(const Index& dims, const Index& strides, int64_t offset, Visit&& visit) {
  if (dims.empty()) return visit(offset);
  const int64_t inner = dims.back(), inner_stride = strides.back();
  const Index outer_dims(absl::MakeSpan(dims).first(dims.size() - 1));
  for (const Index& i : EachIndex(outer_dims)) {
    int64_t at = offset + Offset(i, strides);
    for (int64_t k = 0; k < inner; ++k, at += inner_stride) HLO_RETURN_IF_ERROR(visit(at));
  }
  return absl::OkStatus();
}

// Float sums accumulate in f64, in runs of 512 elements that start from -0 (0 would lose the sign of a sum of
// -0s). The total is rounded once.
absl::StatusOr<WideScalar> Sum(const Literal& array, const Reduced& reduced, int64_t offset, WideScalar init,
                               DeadlineChecker& deadline) {
  constexpr int64_t kRunLength = 512;
  const ScalarLoad load = ScalarLoader(array.type());
  constexpr double kEmpty = -0.0;
  double run = kEmpty;
  int64_t length = 0;
  HLO_RETURN_IF_ERROR(EachOffset(reduced.dims, reduced.strides, offset, [&](int64_t at) {
    run += load(array.data(), at).f;
    if (++length == kRunLength) {
      init.f += run;
      run = kEmpty;
      length = 0;
      return deadline.Spend(4 * kRunLength);
    }
    return absl::OkStatus();
  }));
  if (length > 0) init.f += run;
  HLO_RETURN_IF_ERROR(deadline.Spend(4 * (length + 1)));
  return init;
}

// Returns one result per operand as the instruction's value.
Literal AsResult(std::vector<Literal> results, const Shape& shape) {
  return shape.IsTuple() ? Literal::Tuple(std::move(results)) : std::move(results[0]);
}

absl::StatusOr<std::vector<Literal>> CreateResults(const Shape& shape) {
  std::vector<Literal> results;
  const absl::Span<const Shape> shapes = shape.IsTuple() ? shape.elements() : absl::MakeConstSpan(&shape, 1);
  for (const Shape& each : shapes) {
    HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(each));
    results.push_back(std::move(result));
  }
  return results;
}

absl::StatusOr<Literal> ReduceSum(OpContext& context, const Reduced& reduced) {
  const Computation& to_apply = *context.instruction.Get<attr::to_apply>();
  HLO_ASSIGN_OR_RETURN(const Literal array,
                       WithType(context.operands[0], to_apply.parameter(1)->shape().type()));
  const Literal& init = context.operands[1];
  HLO_ASSIGN_OR_RETURN(const Literal first, WithType(init, to_apply.parameter(0)->shape().type()));
  HLO_ASSIGN_OR_RETURN(std::vector<Literal> results, CreateResults(context.shape()));
  const ScalarRound round = ConversionRound(init.type());
  const ScalarStep convert = ConvertStep(init.type(), results[0].type());
  DeadlineChecker deadline;
  int64_t o = 0;
  for (const Index& i : EachIndex(reduced.kept_dims)) {
    HLO_ASSIGN_OR_RETURN(
        WideScalar sum, Sum(array, reduced, Offset(i, reduced.kept_strides), LoadScalar(first, 0), deadline));
    sum.f = round(sum.f);
    StoreScalar(results[0], o++, convert(sum));
  }
  return AsResult(std::move(results), context.shape());
}

// Returns these arrays with the dimensions of the results.
Literal WithoutReducedDims(absl::Span<const Literal> arrays, const Shape& shape) {
  std::vector<Literal> results;
  for (size_t k = 0; k < arrays.size(); ++k)
    results.push_back(arrays[k].WithShape(shape.IsTuple() ? shape.element(static_cast<int64_t>(k)) : shape));
  return AsResult(std::move(results), shape);
}

}  // namespace

// For each result index, acc = init, then acc = to_apply(acc, x) for every x over the reduced dimensions. The
// initial value is taken as neutral if the reduced dimensions are declared with size 1.
absl::StatusOr<Literal> Reduce(OpContext& context) {
  const size_t count = context.operands.size() / 2;
  const absl::Span<const Literal> arrays = context.operands.first(count),
                                  inits = context.operands.subspan(count);
  const Instruction& declared = context.at_bounds != nullptr ? *context.at_bounds : context.instruction;
  if (ReducesSingleElements(declared) && arrays[0].element_count() > 0)
    return WithoutReducedDims(arrays, context.shape());
  const Computation& to_apply = *context.instruction.Get<attr::to_apply>();
  const Reduced reduced = Split(arrays[0], context.instruction.Get<attr::dimensions>());
  const bool is_float_sum =
      count == 1 && IsFloat(arrays[0].type()) && IsFloat(inits[0].type()) && IsSumOfParameters(to_apply);
  if (is_float_sum && !context.caller.observes_scalars()) return ReduceSum(context, reduced);

  std::vector<ElementType> types = TypesOf(inits);
  for (const Literal& array : arrays) types.push_back(array.type());
  HLO_ASSIGN_OR_RETURN(const auto function, ScalarFunction::Make(to_apply, context.caller, types));
  HLO_ASSIGN_OR_RETURN(std::vector<Literal> results, CreateResults(context.shape()));
  std::vector<ScalarLoad> load;
  std::vector<ScalarStep> convert;
  for (size_t k = 0; k < count; ++k) {
    load.push_back(ScalarLoader(arrays[k].type()));
    convert.push_back(ConvertStep(inits[k].type(), results[k].type()));
  }
  std::vector<WideScalar> arguments(2 * count);  // The accumulators come first.
  const absl::Span<WideScalar> accumulators = absl::MakeSpan(arguments).first(count);
  int64_t o = 0;
  for (const Index& i : EachIndex(reduced.kept_dims)) {
    for (size_t k = 0; k < count; ++k) accumulators[k] = LoadScalar(inits[k], 0);
    HLO_RETURN_IF_ERROR(
        EachOffset(reduced.dims, reduced.strides, Offset(i, reduced.kept_strides), [&](int64_t at) {
          for (size_t k = 0; k < count; ++k) arguments[count + k] = load[k](arrays[k].data(), at);
          return function->Run(arguments, accumulators);
        }));
    for (size_t k = 0; k < count; ++k) StoreScalar(results[k], o, convert[k](accumulators[k]));
    ++o;
  }
  return AsResult(std::move(results), context.shape());
}

// result[i] = to_apply(operand_0[i], operand_1[i], ...)
absl::StatusOr<Literal> Map(OpContext& context) {
  HLO_ASSIGN_OR_RETURN(const auto function, ScalarFunction::Make(*context.instruction.Get<attr::to_apply>(),
                                                                 context.caller, TypesOf(context.operands)));
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(context.shape()));
  std::vector<WideScalar> arguments(context.operands.size());
  WideScalar value;
  for (int64_t i = 0; i < result.element_count(); ++i) {
    for (size_t k = 0; k < arguments.size(); ++k) {
      // A scalar is broadcast.
      const Literal& operand = context.operands[k];
      arguments[k] = LoadScalar(operand, operand.rank() == 0 ? 0 : i);
    }
    HLO_RETURN_IF_ERROR(function->Run(arguments, absl::MakeSpan(&value, 1)));
    StoreScalar(result, i, value);
  }
  return result;
}

}  // namespace hlo::reference
