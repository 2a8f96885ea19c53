#include "debug/wide_module.h"

#include <utility>

#include "base/arena.h"
#include "base/status.h"
#include "debug/shadow_value.h"
#include "hlo_run/check.h"
#include "hlo_run/parse.h"
#include "hlo_run/print.h"

namespace hlo::debug {
namespace {

Shape Widened(const Shape& shape) {
  if (shape.IsTuple()) {
    std::vector<Shape> elements;
    for (const Shape& element : shape.elements()) elements.push_back(Widened(element));
    return Shape::Tuple(std::move(elements));
  }
  if (!shape.IsArray() || !IsFloatOrComplex(shape.type())) return shape;
  Shape wide = shape;
  wide.set_type(IsComplex(shape.type()) ? ElementType::kC128 : ElementType::kF64);
  return wide;
}

// Constants of computations that the reference applies to scalars need values of the wide type. It evaluates
// no larger ones.
constexpr int64_t kLargestScalarConstant = 64;

absl::Status WidenConstant(Module& module, const Instruction& original, Instruction& copy) {
  const Literal* literal = original.Get<attr::literal>();
  if (literal == nullptr || original.is_elided() || !literal->shape().IsArray()) return absl::OkStatus();
  if (!IsFloatOrComplex(literal->type()) || literal->element_count() > kLargestScalarConstant)
    return absl::OkStatus();
  HLO_ASSIGN_OR_RETURN(Literal wide, ToWide(*literal));
  InstructionEditor::SetAttribute(
      module, copy, AttrId::literal,
      AttrValue::Of(const_cast<const Literal*>(module.arena().New<Literal>(std::move(wide)))));
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<Module>> CopyOf(const Module& module) {
  const std::shared_ptr<const SourceText> source =
      module.source() != nullptr
          ? module.source()
          : std::make_shared<const SourceText>("module", Print(module, {.own_order = true}));
  Diagnostics diagnostics;
  std::shared_ptr<Module> copy = Parse(source, diagnostics, {.infer_shape = InferMissingShape});
  if (copy == nullptr) return diagnostics.ToStatus(*source);
  return copy;
}

}  // namespace

absl::StatusOr<std::unique_ptr<WideModule>> WideModule::Make(const Module& module) {
  auto wide = std::make_unique<WideModule>();
  HLO_ASSIGN_OR_RETURN(wide->module_, CopyOf(module));
  const auto from = module.computations(), to = wide->module_->computations();
  if (from.size() != to.size()) return absl::InternalError("the copy of the module has other computations");
  for (size_t c = 0; c < from.size(); ++c) {
    if (from[c]->instructions().size() != to[c]->instructions().size())
      return absl::InternalError("the copy of the module has other instructions");
    wide->computations_[from[c]] = to[c];
    for (size_t i = 0; i < from[c]->instructions().size(); ++i) {
      Instruction& copy = *to[c]->instructions()[i];
      InstructionEditor::SetShape(copy, Widened(copy.shape()));
      if (copy.opcode() == Opcode::kConstant)
        HLO_RETURN_IF_ERROR(WidenConstant(*wide->module_, *from[c]->instructions()[i], copy));
    }
  }
  return wide;
}

const Instruction& WideModule::Of(const Instruction& instruction) const {
  return *computations_.at(instruction.parent())->instructions()[static_cast<size_t>(instruction.index())];
}

}  // namespace hlo::debug
