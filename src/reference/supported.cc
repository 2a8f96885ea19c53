#include "reference/supported.h"

#include <optional>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "base/counted.h"
#include "base/status.h"
#include "fmt/format.h"
#include "reference/elementwise.h"
#include "reference/obstacles.h"
#include "reference/program.h"
#include "spmd/device_grid.h"

namespace hlo::reference {
namespace {

constexpr int64_t kMaxReported = 20;

bool HasUnboundedSize(const Shape& shape) {
  if (shape.IsArray()) return shape.HasUnboundedDim();
  for (const Shape& element : shape.elements()) {
    if (HasUnboundedSize(element)) return true;
  }
  return false;
}

using ComputationSet = absl::flat_hash_set<const Computation*>;

// Returns the computations that the entry, which is the last one, reaches without a conditional.
ComputationSet ReachedUnconditionally(const std::vector<const Computation*>& callees_first,
                                      const CustomCalls* custom_calls) {
  if (callees_first.empty()) return {};
  ComputationSet reached = {callees_first.back()};
  for (auto it = callees_first.rbegin(); it != callees_first.rend(); ++it) {
    if (!reached.contains(*it)) continue;
    for (const Instruction* instruction : (*it)->instructions()) {
      if (instruction->opcode() == Opcode::kConditional) continue;
      const auto callees = instruction->called_computations();
      reached.insert(callees.begin(), callees.end());
      if (const Computation* supplied = SuppliedComputation(*instruction, custom_calls))
        reached.insert(supplied);
    }
  }
  return reached;
}

}  // namespace

std::string UnsupportedReason(const Instruction& instruction, const CustomCalls* custom_calls) {
  if (HasUnboundedSize(instruction.shape()))
    return "arrays of unbounded size are not evaluated by this build";
  const bool acts_on_arrays = instruction.operand_count() > 0 && instruction.operand(0)->shape().IsArray();
  if (acts_on_arrays && IsElementwise(instruction.opcode()) &&
      instruction.opcode() != Opcode::kBitcastConvert && !FindScalarStep(instruction)) {
    return fmt::format("has no meaning for {}", Name(instruction.operand(0)->shape().type()));
  }
  const Opcode opcode = instruction.opcode();
  if (opcode == Opcode::kTopk && IsComplex(instruction.operand(0)->shape().type()))
    return fmt::format("has no meaning for {}", Name(instruction.operand(0)->shape().type()));
  // XLA's verifier accepts a negative dimension, so the checker only warns about it.
  if (opcode == Opcode::kSort && instruction.Get<attr::dimensions>()[0] < 0)
    return fmt::format("sorts along dimension {}", instruction.Get<attr::dimensions>()[0]);
  if (opcode == Opcode::kRngBitGenerator || opcode == Opcode::kRng)
    return RandomUnsupportedReason(instruction);
  if (opcode == Opcode::kCustomCall) return CustomCallUnsupportedReason(instruction, custom_calls);
  if (opcode == Opcode::kSend || opcode == Opcode::kRecv) return TransferUnsupportedReason(instruction);
  if (Info(opcode).has(kCollective) || opcode == Opcode::kPartitionId || opcode == Opcode::kReplicaId)
    return CollectiveUnsupportedReason(instruction);
  return "";
}

absl::Status CheckSupported(const std::vector<const Computation*>& computations,
                            const EvaluateOptions& options) {
  const Effects effects(computations, options.custom_calls);
  std::optional<ComputationSet> unconditional;  // Most modules have no callbacks.
  const auto is_conditional = [&](const Computation* computation) {
    if (!unconditional.has_value())
      unconditional = ReachedUnconditionally(computations, options.custom_calls);
    return !unconditional->contains(computation);
  };
  std::string message;
  int64_t count = 0;
  for (const Computation* computation : computations) {
    for (const Instruction* instruction : LiveInstructions(*computation, effects)) {
      // Libraries report failed checks by callbacks in branches that a correct run does not take.
      if (IsPythonCallback(*instruction) && is_conditional(computation)) continue;
      const std::string obstacle = UnsupportedReason(*instruction, options.custom_calls);
      if (obstacle.empty() || ++count > kMaxReported) continue;
      message += fmt::format("{}{}{}: {}", message.empty() ? "" : "\n", PlaceOf(*instruction),
                             Describe(*instruction), obstacle);
    }
  }
  if (count == 0) return absl::OkStatus();
  if (count > kMaxReported) message += fmt::format("\nand {} more", count - kMaxReported);
  return absl::UnimplementedError(message);
}

absl::Status CheckPeers(const std::vector<const Computation*>& computations, const EvaluateOptions& options) {
  if (options.collectives != nullptr) return absl::OkStatus();
  for (const Computation* computation : computations) {
    if (!spmd::HasSeveralDevices(*computation->module())) continue;
    for (const Instruction* instruction : computation->instructions()) {
      if (!spmd::DependsOnDevices(*instruction)) continue;
      const spmd::DeviceGrid grid = spmd::GridOf(*computation->module());
      return Located(absl::UnimplementedError(fmt::format("needs {} and {}; the run has one device",
                                                          Counted(grid.replicas, "replica"),
                                                          Counted(grid.partitions, "partition"))),
                     *instruction);
    }
  }
  return absl::OkStatus();
}

namespace {

std::string ElidedReason(const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kConstant || !instruction.is_elided()) return "";
  return fmt::format(
      "the text has {{...}} in place of the elements, so their values are unknown; give --elided=zeros, "
      "random or counter, or --elided={}=FILE",
      instruction.name());
}

// Returns why the instruction cannot run with the options; empty if it can.
std::string CannotRunReason(const Instruction& instruction, const EvaluateOptions& options) {
  if (std::string reason = ElidedReason(instruction); !reason.empty()) return reason;
  if (!NeedsHost(instruction)) return "";
  const Opcode opcode = instruction.opcode();
  const bool receives = opcode == Opcode::kInfeed || opcode == Opcode::kRecv || opcode == Opcode::kRecvDone;
  if (receives && (options.host == nullptr || !options.host->has_values()))
    return "takes a value from the host, but there are none (see --infeed)";
  return options.host == nullptr ? "gives a value to the host, but there is none" : "";
}

// Returns FailedPrecondition for the first live instruction whose reason is not empty.
absl::Status CheckLive(const std::vector<const Computation*>& computations, const CustomCalls* custom_calls,
                       absl::FunctionRef<std::string(const Instruction&)> reason_of) {
  const Effects effects(computations, custom_calls);
  for (const Computation* computation : computations) {
    for (const Instruction* instruction : LiveInstructions(*computation, effects)) {
      const std::string reason = reason_of(*instruction);
      if (reason.empty()) continue;
      return absl::FailedPreconditionError(
          fmt::format("{}{}: {}", PlaceOf(*instruction), Describe(*instruction), reason));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckSupplies(const std::vector<const Computation*>& computations,
                           const EvaluateOptions& options) {
  return CheckLive(computations, options.custom_calls,
                   [&](const Instruction& instruction) { return CannotRunReason(instruction, options); });
}

absl::Status CheckElements(const Module& module) {
  int64_t depth = 0;
  return CheckLive(CalledFrom(*module.entry(), &depth), nullptr, ElidedReason);
}

absl::Status Located(const absl::Status& status, const Instruction& instruction) {
  return absl::Status(status.code(),
                      fmt::format("{}{}: {}", PlaceOf(instruction), Describe(instruction), Message(status)));
}

}  // namespace hlo::reference
