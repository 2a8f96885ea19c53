#include "debug/extract/function.h"

#include "base/status.h"
#include "debug/extract/test_case.h"

namespace hlo::debug {
namespace {

// Rebuilds the tuples of the root from the leaves.
Literal Assemble(const Instruction& root, const Literal& leaves, size_t& next) {
  if (root.opcode() != Opcode::kTuple) return leaves.elements()[next++];
  std::vector<Literal> elements;
  for (const Instruction* operand : root.operands()) elements.push_back(Assemble(*operand, leaves, next));
  return Literal::Tuple(std::move(elements));
}

}  // namespace

absl::StatusOr<Function> Function::Make(std::shared_ptr<const Module> module, const Computation& computation,
                                        Engine engine, const EvaluateOptions& options) {
  Function function;
  function.flat_ = std::make_unique<FlatModule>(std::move(module), computation);
  HLO_ASSIGN_OR_RETURN(Cone cone, MakeCone(*function.flat_, function.flat_->results()));
  HLO_ASSIGN_OR_RETURN(Executable executable,
                       Executable::Make(cone.module, engine, options, {}, {.replan_if_refused = true}));
  function.cone_ = std::make_unique<Cone>(std::move(cone));
  function.executable_ = std::make_unique<Executable>(std::move(executable));
  return function;
}

absl::StatusOr<Literal> Function::Call(const Literal& argument, const EvaluateOptions& options) {
  std::vector<Literal> arguments(cone_->parameters.size(), argument);
  HLO_ASSIGN_OR_RETURN(const Literal leaves, executable_->Run(std::move(arguments), options));
  size_t next = 0;
  return Assemble(*flat_->computation().root(), leaves, next);
}

absl::StatusOr<Literal> Function::CallOnAllDevices(const Literal& arguments, const EvaluateOptions& options) {
  const int64_t count = DeviceCount(cone_->module);
  std::vector<std::vector<Literal>> by_device;
  for (int64_t device = 0; device < count; ++device)
    by_device.emplace_back(cone_->parameters.size(), OfDevice(arguments, device, count));
  HLO_ASSIGN_OR_RETURN(const std::vector<Literal> leaves,
                       executable_->RunDevices(std::move(by_device), options));
  std::vector<Literal> results;
  for (const Literal& own : leaves) {
    size_t next = 0;
    results.push_back(Assemble(*flat_->computation().root(), own, next));
  }
  return AllDevices(std::move(results));
}

bool IsTrue(const Literal& condition) { return *condition.data() != std::byte{0}; }

int64_t BranchOf(const Instruction& conditional, const Literal& selector) {
  const auto count = static_cast<int64_t>(conditional.called_computations().size());
  if (selector.type() == ElementType::kPred) return IsTrue(selector) ? 0 : 1;
  const int64_t index = selector.span<int32_t>()[0];
  return index < 0 || index >= count ? count - 1 : index;
}

}  // namespace hlo::debug
