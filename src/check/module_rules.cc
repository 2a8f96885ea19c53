#include "check/module_rules.h"

#include <array>
#include <vector>

#include "check/interface.h"
#include "check/module_context.h"

namespace hlo::check {
namespace {

// The rules that apply to an opcode.
enum class Role : uint8_t {
  kNone,
  kCaller,
  kStart,
  kDone,
  kTransfer,
  kTransferDone,
  kAsync,
  kAllReduce,
  kNamed
};

constexpr auto kRoles = [] {
  std::array<Role, kOpcodeCount> table{};
  auto at = [&](Opcode opcode) -> Role& { return table[static_cast<size_t>(opcode)]; };
  for (Opcode opcode : {Opcode::kWhile, Opcode::kConditional, Opcode::kFusion}) at(opcode) = Role::kCaller;
  for (Opcode opcode : {Opcode::kAllGatherStart, Opcode::kCollectivePermuteStart, Opcode::kCopyStart}) {
    at(opcode) = Role::kStart;
  }
  for (Opcode opcode :
       {Opcode::kAllGatherDone, Opcode::kAllReduceDone, Opcode::kCollectivePermuteDone, Opcode::kCopyDone}) {
    at(opcode) = Role::kDone;
  }
  for (Opcode opcode : {Opcode::kSend, Opcode::kRecv}) at(opcode) = Role::kTransfer;
  for (Opcode opcode : {Opcode::kSendDone, Opcode::kRecvDone}) at(opcode) = Role::kTransferDone;
  for (Opcode opcode : {Opcode::kAsyncStart, Opcode::kAsyncUpdate, Opcode::kAsyncDone})
    at(opcode) = Role::kAsync;
  for (Opcode opcode : {Opcode::kAllReduce, Opcode::kAllReduceStart}) at(opcode) = Role::kAllReduce;
  at(Opcode::kCustomCall) = Role::kNamed;
  return table;
}();

class Rules {
 public:
  Rules(const Module& module, Diagnostics& diagnostics, const CheckOptions& options)
      : context_(module, diagnostics, options) {}

  void Check() {
    CheckEntryInterface(context_);
    for (const Computation* computation : context_.module.computations()) {
      if (context_.diagnostics.full()) return;
      CheckComputation(*computation);
    }
    CheckHostChannels(context_, transfers_);
    CheckAsyncChains(context_, async_);
    ReportDead();
  }

 private:
  void CheckComputation(const Computation& computation) {
    if (IsFusionBody(computation)) CheckFusionBody(context_, computation);
    bool buffers = false;
    for (const Instruction* instruction : computation.instructions()) {
      buffers |= !instruction->shape().IsArray() && HasBuffer(instruction->shape());
      if (!instruction->attributes().empty()) CheckAttributes(*instruction);
      const Role role = kRoles[static_cast<size_t>(instruction->opcode())];
      if (role != Role::kNone) buffers |= CheckRole(*instruction, role);
      if (context_.options.layout_sensitive) CheckLayoutIsKept(context_, *instruction);
      if (context_.diagnostics.full()) return;
    }
    if (buffers) CheckBuffers(context_, computation);
    if (context_.calls.Callers(computation).empty() && !computation.IsEntry()) {
      if (dead_count_++ == 0) first_dead_ = &computation;
    }
  }

  // Reports only the first dead computation, since dumps often contain unused reducers.
  void ReportDead() {
    if (first_dead_ == nullptr) return;
    context_.Warning(first_dead_->name_range(), "4.2", "nothing calls '{}'{}", first_dead_->name(),
                     dead_count_ == 1 ? "" : fmt::format(", nor {} other computations", dead_count_ - 1));
  }

  bool IsFusionBody(const Computation& computation) const {
    for (const Instruction* caller : context_.calls.Callers(computation)) {
      if (caller->opcode() == Opcode::kFusion) return true;
    }
    return false;
  }

  void CheckAttributes(const Instruction& instruction) {
    for (const AttrEntry& entry : instruction.attributes()) {
      if (entry.id == AttrId::sharding) {
        CheckSharding(context_, instruction, *entry.value.As<const Sharding*>());
      } else if (entry.id == AttrId::origin) {
        CheckOrigin(context_, instruction, *entry.value.As<const Origin*>());
      }
    }
  }

  // True if the instruction uses buffers; the rules for buffers then apply.
  bool CheckRole(const Instruction& instruction, Role role) {
    switch (role) {
      case Role::kNone:
        break;
      case Role::kCaller:
        CheckCalls(context_, instruction);
        break;
      case Role::kStart:
        CheckStart(context_, instruction);
        break;
      case Role::kDone:
        CheckDone(context_, instruction);
        break;
      case Role::kTransfer:
        transfers_.push_back(&instruction);
        CheckTransfer(context_, instruction);
        break;
      case Role::kTransferDone:
        CheckTransferDone(context_, instruction);
        break;
      case Role::kAsync:
        async_.push_back(&instruction);
        break;
      case Role::kAllReduce:
        CheckConstrainLayout(instruction);
        if (instruction.opcode() == Opcode::kAllReduceStart) CheckStart(context_, instruction);
        break;
      case Role::kNamed:
        return instruction.Get<attr::custom_call_target>() == "CreateBuffer";
    }
    return false;
  }

  // Requires all all-reduces of a module to agree on constrain_layout (4.1).
  void CheckConstrainLayout(const Instruction& instruction) {
    if (first_all_reduce_ == nullptr) first_all_reduce_ = &instruction;
    const bool first = first_all_reduce_->Get<attr::constrain_layout>();
    if (instruction.Get<attr::constrain_layout>() == first) return;
    context_.At(instruction)
        .ErrorIfStrict(instruction.range_of<attr::constrain_layout>(), "4.1",
                       "all-reduces must agree on constrain_layout, but it is {} here and {} for '{}'",
                       !first, first, first_all_reduce_->name())
        .Note(first_all_reduce_->name_range(), "'{}'", first_all_reduce_->name());
  }

  ModuleContext context_;
  std::vector<const Instruction*> transfers_, async_;
  const Instruction* first_all_reduce_ = nullptr;
  const Computation* first_dead_ = nullptr;
  int64_t dead_count_ = 0;
};

}  // namespace

bool CheckModuleRules(const Module& module, Diagnostics& diagnostics, const CheckOptions& options) {
  const int64_t before = diagnostics.error_count();
  Rules(module, diagnostics, options).Check();
  return diagnostics.error_count() == before;
}

}  // namespace hlo::check
