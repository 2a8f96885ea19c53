#include "hlo_run/check.h"

#include <array>

#include "base/arena.h"
#include "check/compare.h"
#include "check/instruction.h"
#include "check/module_rules.h"
#include "check/rules.h"
#include "check/support.h"

namespace hlo {
namespace check {
namespace {

constexpr std::array<ShapeRule, kOpcodeCount> kRules = {
#define HLO_OP(name, text, min, max, attrs, shape_rule, reference, traits) shape_rule,
#include "hlo_run/opcodes.def"
};

bool HasUnbounded(const Shape& shape) {
  if (shape.IsTuple()) {
    for (const Shape& element : shape.elements()) {
      if (HasUnbounded(element)) return true;
    }
    return false;
  }
  return shape.HasDynamicDim() && shape.HasUnboundedDim();
}

// True if the shapes of operands and callees, which a rule may read, are valid.
bool DependenciesAreValid(const Instruction& instruction) {
  for (const Instruction* operand : instruction.operands()) {
    if (!operand->shape().IsValid()) return false;
  }
  for (const Computation* callee : instruction.called_computations()) {
    if (callee->root() == nullptr || !callee->root()->shape().IsValid()) return false;
    for (const Instruction* parameter : callee->parameters()) {
      if (parameter == nullptr || !parameter->shape().IsValid()) return false;
    }
  }
  return true;
}

Inferred Infer(RuleContext& context) {
  if (!CheckForm(context) || !DependenciesAreValid(context.instruction())) return Failed();
  return kRules[static_cast<size_t>(context.instruction().opcode())](context);
}

}  // namespace

void CheckInstruction(const Instruction& instruction, Diagnostics& diagnostics, const CheckOptions& options) {
  RuleContext context(instruction, diagnostics, options);
  const Shape& declared = instruction.shape();
  if (!declared.IsValid()) {
    context.Error(instruction.name_range(), "3.0", "'{}' has no shape", instruction.name());
    return;
  }
  if (!CheckShapeIsValid(context, declared, instruction.shape_range())) return;
  if (HasUnbounded(declared)) {
    context.ErrorIfStrict(instruction.shape_range(), "3.0", "{} has a dimension of unbounded size",
                          Text(declared));
  }
  const Inferred inferred = Infer(context);
  if (inferred.form() == Inferred::Form::kFailed) return;
  CompareWithDeclared(context, inferred);
  CheckMixedPrecision(context);
}

namespace {

void CheckInstructions(const Module& module, Diagnostics& diagnostics, const CheckOptions& options) {
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      CheckInstruction(*instruction, diagnostics, options);
      if (diagnostics.full()) return;
    }
  }
}

}  // namespace
}  // namespace check

absl::StatusOr<CheckedModule> Check(std::shared_ptr<const Module> module, Diagnostics& diagnostics,
                                    const CheckOptions& options) {
  if (check::CheckStructure(*module, diagnostics, options)) {
    check::CheckInstructions(*module, diagnostics, options);
    if (!diagnostics.full()) check::CheckModuleRules(*module, diagnostics, options);
  }
  if (diagnostics.ok()) return CheckedModule(std::move(module));
  static const SourceText* const kBuilt = new SourceText("<built module>", "");
  return diagnostics.ToStatus(module->source() ? *module->source() : *kBuilt);
}

Shape InferShape(const Instruction& instruction, Diagnostics& diagnostics) {
  const CheckOptions options;
  check::RuleContext context(instruction, diagnostics, options);
  const check::Inferred inferred = check::Infer(context);
  Shape shape = check::Materialize(inferred, instruction.shape());
  if (!shape.IsValid() && inferred.form() == check::Inferred::Form::kDeclared) {
    context.Error(instruction.name_range(), "3.0", "the shape of {} cannot be inferred and must be written",
                  Name(instruction.opcode()));
  }
  return shape;
}

bool InferMissingShape(Module&, Instruction& instruction, Diagnostics& diagnostics) {
  Shape shape = InferShape(instruction, diagnostics);
  if (!shape.IsValid()) return false;
  InstructionEditor::SetShape(instruction, std::move(shape));
  return true;
}

}  // namespace hlo
