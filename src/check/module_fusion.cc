// Checks fusion bodies (shape-rules 4.5). Bodies that XLA rejects can be evaluated nevertheless.

#include <algorithm>

#include "check/module_context.h"

namespace hlo::check {
namespace {

constexpr std::string_view kFusionRule = "4.5";

// XLA's test, which ignores called computations.
bool HasSideEffect(const Instruction& i) {
  const bool partitioned = i.parent()->module()->header().num_partitions != 1;
  switch (i.opcode()) {
    case Opcode::kSend:
    case Opcode::kSendDone:
    case Opcode::kRecv:
    case Opcode::kRecvDone:
    case Opcode::kRng:
    case Opcode::kRngGetAndUpdateState:
    case Opcode::kInfeed:
    case Opcode::kOutfeed:
    case Opcode::kAllReduceStart:
    case Opcode::kAllReduceDone:
    case Opcode::kAllGatherStart:
    case Opcode::kAllGatherDone:
    case Opcode::kCollectiveBroadcast:
    case Opcode::kCollectivePermuteStart:
    case Opcode::kCollectivePermuteDone:
      return true;
    case Opcode::kAllToAll:
    case Opcode::kAllGather:
    case Opcode::kAllReduce:
    case Opcode::kReduceScatter:
      return i.Get<attr::constrain_layout>() || (i.Has<attr::channel_id>() && !partitioned);
    case Opcode::kCollectivePermute:
      return i.Has<attr::channel_id>() && !partitioned;
    case Opcode::kCustomCall:
      return i.Get<attr::custom_call_has_side_effect>();
    default:
      return false;
  }
}

}  // namespace

void CheckFusionBody(ModuleContext& context, const Computation& body) {
  const Users& users = context.UsersIn(body);
  for (const Instruction* instruction : body.instructions()) {
    const bool used = !users.Of(*instruction).empty();
    RuleContext c = context.At(*instruction);
    if (instruction == body.root()) {
      if (used) {
        c.Lenient(instruction->name_range(), kFusionRule,
                  "'{}' is the root of a fusion body, but '{}' uses it", instruction->name(),
                  users.Of(*instruction)[0]->name());
      }
    } else if (!used && !HasSideEffect(*instruction)) {
      c.Lenient(instruction->name_range(), kFusionRule, "nothing in the fusion body '{}' uses '{}'",
                body.name(), instruction->name());
    }
  }
  const Instruction* first = nullptr;
  for (const Instruction* caller : context.calls.Callers(body)) {
    if (caller->opcode() != Opcode::kFusion) continue;
    if (first != nullptr) {
      context.At(*caller)
          .Lenient(caller->range_of<attr::calls>(), kFusionRule,
                   "'{}' is the body of this fusion and of '{}'", body.name(), first->name())
          .Note(first->name_range(), "the other fusion");
    }
    if (first == nullptr) first = caller;
  }
  if (&body == context.module.entry()) {
    context.Error(body.name_range(), kFusionRule, "the entry '{}' must not be the body of a fusion",
                  body.name());
  }
}

}  // namespace hlo::check
