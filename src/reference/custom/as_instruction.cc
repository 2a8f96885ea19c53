#include "reference/custom/as_instruction.h"

#include "base/counted.h"
#include "base/status.h"
#include "fmt/format.h"
#include "hlo_run/check.h"
#include "reference/obstacles.h"
#include "reference/program.h"

namespace hlo::reference::custom {
namespace {

constexpr std::string_view kName = "call";

// Builds the instruction in a separate module.
Instruction* Build(Module& module, const InstructionForm& form, absl::Span<const Shape> operands) {
  Computation* computation = module.NewComputation(kName);
  std::vector<Instruction*> parameters;
  for (const Shape& operand : operands)
    parameters.push_back(module.AddInstruction(computation, Opcode::kParameter, "operand", operand, {}, {}));
  return module.AddInstruction(computation, form.opcode, kName, form.shape, parameters, form.attributes);
}

std::string RewrittenMismatch(const Instruction& instruction) {
  const OpcodeInfo& info = Info(instruction.opcode());
  const int64_t count = instruction.operand_count();
  if (count < info.min_operands || (info.max_operands != kAny && count > info.max_operands))
    return fmt::format("{} does not take {}", info.name, Counted(count, "operand"));
  Diagnostics diagnostics;
  const Shape inferred = InferShape(instruction, diagnostics);
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    if (diagnostic.severity != Severity::kError) continue;
    // Without source text the checker's message names the instruction; the call's location replaces it.
    std::string_view message = diagnostic.message;
    const std::string place = fmt::format("{} '{}' in '{}': ", info.name, kName, kName);
    if (message.starts_with(place)) message.remove_prefix(place.size());
    return std::string(message);
  }
  if (inferred.IsValid() && Compatible(inferred, instruction.shape()))
    return UnsupportedReason(instruction, nullptr);
  return fmt::format("{} gives {}, but the instruction declares {}", info.name, ToString(inferred),
                     ToString(instruction.shape()));
}

}  // namespace

std::string FormMismatch(const InstructionForm& form, absl::Span<const Shape> operands) {
  Module module(nullptr);
  return RewrittenMismatch(*Build(module, form, operands));
}

absl::StatusOr<Literal> RunForm(OpContext& context, const InstructionForm& form,
                                std::vector<Literal> operands) {
  Module module(nullptr);
  std::vector<Shape> shapes;
  for (const Literal& operand : operands) shapes.push_back(operand.shape());
  const Instruction* instruction = Build(module, form, shapes);
  std::string misfit = RewrittenMismatch(*instruction);
  if (!misfit.empty()) return absl::FailedPreconditionError(misfit);
  OpContext inner{*instruction, absl::MakeSpan(operands), context.caller};
  return Reference(form.opcode)(inner);
}

}  // namespace hlo::reference::custom
