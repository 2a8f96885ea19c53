// Checks fusion bodies (shape-rules 4.5). Bodies that XLA rejects can be evaluated nevertheless.

#include <algorithm>

#include "check/module_context.h"

namespace hlo::check {
namespace {

constexpr std::string_view kFusionRule = "4.5";

// True if XLA's verifier considers the instruction to have side effects; it ignores called computations.
bool HasSideEffect(const Instruction& i) {
  const bool partitioned = i.parent()->module()->header().num_partitions != 1;
  const auto is_any = [&](std::initializer_list<Opcode> opcodes) {
    return std::find(opcodes.begin(), opcodes.end(), i.opcode()) != opcodes.end();
  };
  if (is_any({Opcode::kAllReduceStart, Opcode::kAllReduceDone, Opcode::kAllGatherStart,
              Opcode::kAllGatherDone, Opcode::kCollectiveBroadcast, Opcode::kCollectivePermuteStart,
              Opcode::kCollectivePermuteDone}))
    return true;
  const bool has_channel = i.Has<attr::channel_id>() && !partitioned;
  if (is_any({Opcode::kAllToAll, Opcode::kAllGather, Opcode::kAllReduce, Opcode::kReduceScatter}))
    return i.Get<attr::constrain_layout>() || has_channel;
  if (i.opcode() == Opcode::kCollectivePermute) return has_channel;
  if (i.opcode() == Opcode::kCustomCall) return i.Get<attr::custom_call_has_side_effect>();
  return Info(i.opcode()).has(kSideEffect);
}

}  // namespace

void CheckFusionBody(ModuleContext& context, const Computation& body) {
  const Users& users = context.UsersIn(body);
  for (const Instruction* instruction : body.instructions()) {
    const bool used = !users.Of(*instruction).empty();
    RuleContext c = context.At(*instruction);
    if (instruction == body.root()) {
      if (used) {
        c.ErrorIfStrict(instruction->name_range(), kFusionRule,
                        "'{}' is the root of a fusion body, but '{}' uses it", instruction->name(),
                        users.Of(*instruction)[0]->name());
      }
    } else if (!used && !HasSideEffect(*instruction)) {
      c.ErrorIfStrict(instruction->name_range(), kFusionRule, "nothing in the fusion body '{}' uses '{}'",
                      body.name(), instruction->name());
    }
  }
  const Instruction* first = nullptr;
  for (const Instruction* caller : context.calls.Callers(body)) {
    if (caller->opcode() != Opcode::kFusion) continue;
    if (first != nullptr) {
      context.At(*caller)
          .ErrorIfStrict(caller->range_of<attr::calls>(), kFusionRule,
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
