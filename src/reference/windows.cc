// reduce-window and select-and-scatter (semantics 5.2, 5.3).

#include <algorithm>

#include "base/deadline.h"
#include "base/status.h"
#include "ir/window_order.h"
#include "reference/arrays.h"
#include "reference/op.h"
#include "reference/scalar_function.h"
#include "reference/window.h"

namespace hlo::reference {
namespace {

constexpr int64_t kNanosecondsATap = 4;

absl::StatusOr<WindowTaps> TapsOver(Window window, const Literal& base, const Index& result_dims) {
  return WindowTaps::Make(window, base.dims(), RowMajorStrides(base.dims()), Zeros(base.rank()),
                          FindPeeledElements(window, base.dims(), result_dims));
}

absl::StatusOr<std::vector<Literal>> CreateEach(const Shape& shape) {
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(shape));
  if (shape.IsTuple()) return std::move(result.mutable_elements());
  std::vector<Literal> results;
  results.push_back(std::move(result));
  return results;
}

}  // namespace

// acc = init; for each w over the window, in the order of semantics 5.3: acc = to_apply(acc, x[element under
// w]); result[o] = acc. Padding and holes are skipped.
absl::StatusOr<Literal> ReduceWindow(OpContext& context) {
  const int64_t count = context.instruction.operand_count() / 2;
  const absl::Span<const Literal> inputs = context.operands.subspan(0, count),
                                  inits = context.operands.subspan(count);
  std::vector<ElementType> types = TypesOf(inits);
  for (const Literal& input : inputs) types.push_back(input.type());
  HLO_ASSIGN_OR_RETURN(
      const std::unique_ptr<ScalarFunction> function,
      ScalarFunction::Make(*context.instruction.Get<attr::to_apply>(), context.caller, types));
  HLO_ASSIGN_OR_RETURN(std::vector<Literal> results, CreateEach(context.shape()));
  std::vector<WideScalar> initial(count), arguments(2 * count), accumulated(count);
  for (int64_t k = 0; k < count; ++k) initial[k] = LoadScalar(inits[k], 0);

  HLO_ASSIGN_OR_RETURN(WindowTaps taps,
                       TapsOver(context.instruction.Get<attr::window>(), inputs[0], results[0].dims()));
  DeadlineChecker deadline;
  int64_t place = 0;
  for (const Index& o : EachIndex(results[0].dims())) {
    accumulated = initial;
    const absl::Span<const Tap> window = taps.At(o);
    HLO_RETURN_IF_ERROR(deadline.Spend(kNanosecondsATap * static_cast<int64_t>(window.size() + 1)));
    for (const Tap& tap : window) {
      std::copy(accumulated.begin(), accumulated.end(), arguments.begin());
      for (int64_t k = 0; k < count; ++k) arguments[count + k] = LoadScalar(inputs[k], tap.base);
      HLO_RETURN_IF_ERROR(function->Run(arguments, absl::MakeSpan(accumulated)));
    }
    for (int64_t k = 0; k < count; ++k) StoreScalar(results[k], place, accumulated[k]);
    ++place;
  }
  if (!context.shape().IsTuple()) return std::move(results[0]);
  return Literal::Tuple(std::move(results));
}

// result = init everywhere; for each source element o, row-major, select an element of the window:
//   chosen = x[first]; for each x[p] of the window: if not select(chosen, x[p]): chosen = x[p]
//   result[position of chosen] = scatter(result[position of chosen], source[o])
absl::StatusOr<Literal> SelectAndScatter(OpContext& context) {
  const Literal &operand = context.operands[0], &source = context.operands[1];
  HLO_ASSIGN_OR_RETURN(const std::unique_ptr<ScalarFunction> select,
                       ScalarFunction::Make(*context.instruction.Get<attr::select>(), context.caller,
                                            {{operand.type(), operand.type()}}));
  HLO_ASSIGN_OR_RETURN(const std::unique_ptr<ScalarFunction> scatter,
                       ScalarFunction::Make(*context.instruction.Get<attr::scatter>(), context.caller,
                                            {{context.shape().type(), source.type()}}));
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(context.shape()));
  HLO_ASSIGN_OR_RETURN(const Literal init, WithType(context.operands[2], result.type()));
  FillElements(ByteCount(result.type()), init.data(), result.mutable_data(), View::Dense(result.dims()));

  HLO_ASSIGN_OR_RETURN(WindowTaps taps,
                       TapsOver(context.instruction.Get<attr::window>(), operand, source.dims()));
  DeadlineChecker deadline;
  int64_t place = 0;
  for (const Index& o : EachIndex(source.dims())) {
    const int64_t from = place++;
    const absl::Span<const Tap> window = taps.At(o);
    HLO_RETURN_IF_ERROR(deadline.Spend(kNanosecondsATap * static_cast<int64_t>(window.size() + 1)));
    if (window.empty()) continue;
    int64_t chosen = window[0].base;
    for (const Tap& tap : window) {
      WideScalar keep;
      HLO_RETURN_IF_ERROR(
          select->Run({LoadScalar(operand, chosen), LoadScalar(operand, tap.base)}, {&keep, 1}));
      if (keep.u == 0) chosen = tap.base;
    }
    WideScalar combined;
    HLO_RETURN_IF_ERROR(scatter->Run({LoadScalar(result, chosen), LoadScalar(source, from)}, {&combined, 1}));
    StoreScalar(result, chosen, combined);
  }
  return result;
}

}  // namespace hlo::reference
