// Checks native starts and dones, send and recv, and host channels (shape-rules 4.7). A done needs a start
// that produces its value. The other rules concern asynchrony, which in-order evaluation ignores.

#include <algorithm>
#include <map>
#include <utility>

#include "check/module_context.h"
#include "check/support.h"

namespace hlo::check {
namespace {

constexpr std::string_view kPairRule = "4.7";

struct Pair {
  Opcode start, done;
};
constexpr Pair kNativePairs[] = {{Opcode::kAllGatherStart, Opcode::kAllGatherDone},
                                 {Opcode::kAllReduceStart, Opcode::kAllReduceDone},
                                 {Opcode::kCollectivePermuteStart, Opcode::kCollectivePermuteDone},
                                 {Opcode::kCopyStart, Opcode::kCopyDone},
                                 {Opcode::kRecv, Opcode::kRecvDone},
                                 {Opcode::kSend, Opcode::kSendDone}};

Opcode DoneOf(Opcode start) {
  return std::find_if(std::begin(kNativePairs), std::end(kNativePairs),
                      [&](const Pair& pair) { return pair.start == start; })
      ->done;
}
Opcode StartOf(Opcode done) {
  return std::find_if(std::begin(kNativePairs), std::end(kNativePairs),
                      [&](const Pair& pair) { return pair.done == done; })
      ->start;
}

bool IsControlDependency(const Instruction& user) {
  return user.opcode() == Opcode::kCustomCall && user.Get<attr::custom_call_target>() == "control_dep";
}

// Returns the only user, not counting control dependencies; nullptr if there are none or several.
const Instruction* OnlyUser(ModuleContext& context, const Instruction& start, int64_t* count) {
  const Instruction* only = nullptr;
  *count = 0;
  for (const Instruction* user : context.UsersIn(*start.parent()).Of(start)) {
    if (IsControlDependency(*user)) continue;
    only = user;
    ++*count;
  }
  return *count == 1 ? only : nullptr;
}

// Requires exactly one user: the done, or an instruction that forwards the value.
const Instruction* CheckUser(ModuleContext& context, const Instruction& start) {
  int64_t count = 0;
  const Instruction* user = OnlyUser(context, start, &count);
  const Opcode done = DoneOf(start.opcode());
  RuleContext c = context.At(start);
  if (user == nullptr) {
    c.ErrorIfStrict(start.name_range(), kPairRule, "{} must have one user, its {}, but '{}' has {}",
                    Name(start.opcode()), Name(done), start.name(), count);
  } else if (user->opcode() != done && !IsIntermediary(*user)) {
    c.ErrorIfStrict(start.name_range(), kPairRule, "{} must be used by its {}, but '{}' is a {}",
                    Name(start.opcode()), Name(done), user->name(), Name(user->opcode()))
        .Note(user->name_range(), "'{}' uses it", user->name());
  }
  return user;
}

bool IsAsyncRoot(ModuleContext& context, const Instruction& instruction) {
  return instruction.parent()->root() == &instruction && context.calls.IsAsync(*instruction.parent());
}

void NeedsStart(ModuleContext& context, const Instruction& done) {
  const Instruction& operand = *done.operand(0);
  context.At(done).OperandError(0, kPairRule, "{} must take the result of {}, but '{}' is a {}",
                                Name(done.opcode()), Name(StartOf(done.opcode())), operand.name(),
                                Name(operand.opcode()));
}

// Checks the attributes that must agree in a pair.
void CheckPairAgreement(ModuleContext& context, const Instruction& start, const Instruction& done) {
  RuleContext c = context.At(done);
  const bool has_channel = start.Has<attr::channel_id>();
  if (has_channel != done.Has<attr::channel_id>() ||
      start.Get<attr::channel_id>() != done.Get<attr::channel_id>()) {
    const auto text = [](const Instruction& i) {
      return i.Has<attr::channel_id>() ? fmt::format("channel_id={}", i.Get<attr::channel_id>())
                                       : "no channel_id";
    };
    c.ErrorIfStrict(done.range_of<attr::channel_id>(), kPairRule, "{} has {}, but its {} has {}",
                    Name(done.opcode()), text(done), Name(start.opcode()), text(start))
        .Note(start.name_range(), "'{}'", start.name());
  }
  if (start.Get<attr::is_host_transfer>() != done.Get<attr::is_host_transfer>()) {
    c.ErrorIfStrict(done.range_of<attr::is_host_transfer>(), kPairRule,
                    "{} has is_host_transfer={}, but its {} has {}", Name(done.opcode()),
                    done.Get<attr::is_host_transfer>(), Name(start.opcode()),
                    start.Get<attr::is_host_transfer>())
        .Note(start.name_range(), "'{}'", start.name());
  }
}

bool SameOperandShapes(const Instruction& a, const Instruction& b) {
  return Compatible(a.shape(), b.shape()) &&
         std::equal(a.operands().begin(), a.operands().end(), b.operands().begin(), b.operands().end(),
                    [](const Instruction* x, const Instruction* y) { return x->shape() == y->shape(); });
}

}  // namespace

void CheckStart(ModuleContext& context, const Instruction& start) { CheckUser(context, start); }

void CheckDone(ModuleContext& context, const Instruction& done) {
  if (done.operand_count() != 1) return;
  const Instruction& operand = *done.operand(0);
  const Opcode wanted = StartOf(done.opcode());
  if (operand.opcode() == wanted) [[likely]]
    return;
  const Instruction* producer = context.tracer.FindProducer(operand);
  if (producer == nullptr && context.tracer.exhausted()) return;
  if (producer == nullptr || producer->opcode() != wanted) {
    NeedsStart(context, done);
  } else if (done.opcode() == Opcode::kCopyDone) {
    context.At(done).ErrorIfStrict(done.operand_range(0), kPairRule,
                                   "copy-done must take a copy-start itself, but '{}' is a {}",
                                   operand.name(), Name(operand.opcode()));
  }
}

void CheckTransfer(ModuleContext& context, const Instruction& transfer) {
  if (IsAsyncRoot(context, transfer)) return;
  const Instruction* user = CheckUser(context, transfer);
  if (user != nullptr && user->opcode() == DoneOf(transfer.opcode()))
    CheckPairAgreement(context, transfer, *user);
}

void CheckTransferDone(ModuleContext& context, const Instruction& done) {
  if (done.operand_count() != 1) return;
  const Instruction& operand = *done.operand(0);
  if (operand.opcode() == StartOf(done.opcode())) return;
  if (operand.opcode() != Opcode::kGetTupleElement) {
    NeedsStart(context, done);
    return;
  }
  context.At(done).ErrorIfStrict(done.operand_range(0), kPairRule,
                                 "XLA loads a {} from text alone when its operand is not a {} itself",
                                 Name(done.opcode()), Name(StartOf(done.opcode())));
}

void CheckHostChannels(ModuleContext& context, InstructionSpan transfers) {
  std::map<std::pair<int64_t, Opcode>, const Instruction*> first;
  for (const Instruction* transfer : transfers) {
    if (!transfer->Has<attr::channel_id>() || !transfer->Get<attr::is_host_transfer>()) continue;
    const auto [it, fresh] =
        first.emplace(std::pair(transfer->Get<attr::channel_id>(), transfer->opcode()), transfer);
    const Instruction& other = *it->second;
    if (fresh || SameOperandShapes(other, *transfer)) continue;
    context.At(*transfer)
        .ErrorIfStrict(
            transfer->range_of<attr::channel_id>(), kPairRule,
            "host transfers on one channel must be equal, but the operands of '{}' and '{}' differ",
            other.name(), transfer->name())
        .Note(other.name_range(), "'{}'", other.name());
  }
}

}  // namespace hlo::check
