// Pairs of start and done (semantics 8.3). Values are immutable, so a computation may run as soon as its
// arguments are known.

#include "ir/async.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "reference/op.h"

namespace hlo::reference {
namespace {

// Returns the value of a start or update: ((operands...), result, contexts...). The result has no shape until
// all arguments are bound.
absl::StatusOr<Literal> Advance(OpContext& context, std::vector<Literal> arguments, const Shape& handle) {
  const Instruction& link = context.instruction;
  const bool is_start = link.opcode() == Opcode::kAsyncStart;
  const Instruction* start = is_start ? &link : AsyncChains(*link.parent()->module()).FindStart(link);
  if (start == nullptr)
    return absl::FailedPreconditionError("it is not known which async-start this continues");
  const Computation& computation = *start->Get<attr::calls>();
  std::vector<Literal> parts = {Literal::Tuple(arguments), Literal()};
  // A bound argument may declare only a prefix of a tuple.
  const bool is_complete =
      std::equal(arguments.begin(), arguments.end(), computation.parameters().begin(),
                 computation.parameters().end(), [](const Literal& argument, const Instruction* parameter) {
                   return Compatible(argument.shape(), parameter->shape());
                 });
  if (is_complete) {
    HLO_ASSIGN_OR_RETURN(parts[1], context.caller.Call(computation, absl::MakeSpan(arguments)));
  }
  for (size_t i = 2; i < handle.elements().size(); ++i) {
    HLO_ASSIGN_OR_RETURN(Literal zeros, Literal::CreateZeros(handle.element(i)));
    parts.push_back(std::move(zeros));
  }
  return Literal::Tuple(std::move(parts));
}

}  // namespace

absl::StatusOr<Literal> AsyncStart(OpContext& context) {
  std::vector<Literal> arguments(context.operands.begin(), context.operands.end());
  return Advance(context, std::move(arguments), context.shape());
}

// Operands after the handle are further arguments. After the computation has run, they are only output
// buffers.
absl::StatusOr<Literal> AsyncUpdate(OpContext& context) {
  Literal& handle = context.operands[0];
  if (handle.element(1).shape().IsValid()) return std::move(handle);
  const auto bound = handle.element(0).elements();
  std::vector<Literal> arguments(bound.begin(), bound.end());
  arguments.insert(arguments.end(), context.operands.begin() + 1, context.operands.end());
  return Advance(context, std::move(arguments), context.shape());
}

absl::StatusOr<Literal> AsyncDone(OpContext& context) {
  Literal& result = context.operands[0].mutable_elements()[1];
  if (!result.shape().IsValid())
    return absl::FailedPreconditionError("the computation has not received all of its arguments");
  return std::move(result);
}

// Returns (destination, source, context).
absl::StatusOr<Literal> CopyStart(OpContext& context) {
  std::vector<Literal> parts = {context.operands[0], context.operands[0]};
  for (size_t i = 2; i < context.shape().elements().size(); ++i) {
    HLO_ASSIGN_OR_RETURN(Literal zeros, Literal::CreateZeros(context.shape().element(i)));
    parts.push_back(std::move(zeros));
  }
  return Literal::Tuple(std::move(parts));
}

absl::StatusOr<Literal> CopyDone(OpContext& context) {
  return std::move(context.operands[0].mutable_elements()[0]);
}

}  // namespace hlo::reference
