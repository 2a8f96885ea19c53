#include "plan/rewrite/async_calls.h"

#include <algorithm>

#include "base/status.h"

namespace hlo::plan {
namespace {

absl::Status IncompleteHandleError() {
  return absl::UnimplementedError("asynchronous calls that are completed after their handle was passed on");
}

int64_t LeafCount(const Leaves& leaves) { return static_cast<int64_t>(leaves.size()); }

// Appends the leaves of a value of shape `whole` that `part` declares; `part` may omit the last elements of
// any tuple.
void AppendDeclared(const Shape& part, const Shape& whole, const Leaves& leaves, int64_t first, Leaves* out) {
  if (!part.IsTuple() || !whole.IsTuple()) {
    out->push_back(leaves[first]);
    return;
  }
  for (size_t i = 0; i < part.elements().size(); ++i) {
    AppendDeclared(part.element(i), whole.element(i), leaves, first, out);
    first += whole.element(i).LeafCount();
  }
}

absl::Status AppendZeros(const Shape& shape, AsyncCalls::MakeZeros zeros, Leaves* out) {
  if (!shape.IsTuple()) {
    HLO_ASSIGN_OR_RETURN(const ValueId value, zeros(shape));
    out->push_back(value);
  }
  for (const Shape& element : shape.elements()) HLO_RETURN_IF_ERROR(AppendZeros(element, zeros, out));
  return absl::OkStatus();
}

bool HasAllArguments(const Computation& computation, const std::vector<Leaves>& arguments) {
  return std::equal(arguments.begin(), arguments.end(), computation.parameters().begin(),
                    computation.parameters().end(), [](const Leaves& leaves, const Instruction* parameter) {
                      return LeafCount(leaves) == parameter->shape().LeafCount();
                    });
}

}  // namespace

absl::StatusOr<Leaves> AsyncCalls::Advance(const Instruction& link, const std::vector<Leaves>& operands,
                                           Run run, MakeZeros zeros) {
  const Shape& shape = link.shape();
  Call call;
  if (link.opcode() == Opcode::kAsyncStart) {
    call = {link.Get<attr::calls>(), operands, std::nullopt};
  } else if (const auto before = calls_.find(link.operand(0)); before != calls_.end()) {
    call = before->second;
    // Once the computation has run, further operands are buffers for the result.
    if (!call.result.has_value())
      call.arguments.insert(call.arguments.end(), operands.begin() + 1, operands.end());
  } else {
    const bool adds_nothing = operands.size() == 1 && LeafCount(operands[0]) == shape.LeafCount();
    if (!adds_nothing) return IncompleteHandleError();
    return operands[0];
  }
  if (!call.result.has_value() && HasAllArguments(*call.computation, call.arguments)) {
    HLO_ASSIGN_OR_RETURN(call.result, run(*call.computation, call.arguments));
  }
  Leaves leaves;
  for (const Leaves& argument : call.arguments) leaves.insert(leaves.end(), argument.begin(), argument.end());
  const Shape& result = shape.element(1);
  if (LeafCount(leaves) != shape.element(0).LeafCount()) return IncompleteHandleError();
  if (call.result.has_value())
    AppendDeclared(result, call.computation->root()->shape(), *call.result, 0, &leaves);
  else if (result.LeafCount() > 0)
    return IncompleteHandleError();
  for (const Shape& context : shape.elements().subspan(2))
    HLO_RETURN_IF_ERROR(AppendZeros(context, zeros, &leaves));
  calls_.insert_or_assign(&link, std::move(call));
  return leaves;
}

absl::StatusOr<Leaves> AsyncCalls::Result(const Instruction& done) const {
  const auto found = calls_.find(done.operand(0));
  if (found == calls_.end() || !found->second.result.has_value()) return IncompleteHandleError();
  return *found->second.result;
}

}  // namespace hlo::plan
