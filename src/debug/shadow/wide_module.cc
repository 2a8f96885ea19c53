#include "debug/shadow/wide_module.h"

#include <utility>

#include "base/arena.h"
#include "base/status.h"
#include "debug/shadow/shadow_value.h"
#include "hlo_run/check.h"
#include "hlo_run/parse.h"
#include "hlo_run/print.h"
#include "types/shape_leaves.h"

namespace hlo::debug {
namespace {

Shape Widened(const Shape& leaf) {
  if (!leaf.IsArray() || !IsFloatOrComplex(leaf.type())) return leaf;
  Shape wide = leaf;
  wide.set_type(IsComplex(leaf.type()) ? ElementType::kC128 : ElementType::kF64);
  return wide;
}

Shape Paired(const Shape& leaf) {
  Shape pair = leaf;
  if (!leaf.IsArray()) return pair;
  if (leaf.type() == ElementType::kF64) pair.set_type(ElementType::kC128);
  if (leaf.type() == ElementType::kC128) pair.set_type(ElementType::kU64);
  return pair;
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

// Modules that were built from parts of another one share its source, which then is not their text.
absl::StatusOr<std::shared_ptr<Module>> CopyOf(const Module& module) {
  const bool is_parsed = module.source() != nullptr && module.entry()->name_range().known();
  const std::shared_ptr<const SourceText> source =
      is_parsed ? module.source()
                : std::make_shared<const SourceText>("module", Print(module, {.own_order = true}));
  Diagnostics diagnostics;
  std::shared_ptr<Module> copy = Parse(source, diagnostics, {.infer_shape = InferMissingShape});
  if (copy == nullptr) return diagnostics.ToStatus(*source);
  return copy;
}

}  // namespace

absl::StatusOr<std::unique_ptr<WideModule>> WideModule::Copy(const Module& module, ShapeMap map) {
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
      if (copy.opcode() != from[c]->instructions()[i]->opcode())
        return absl::InternalError("the copy of the module has other instructions");
      InstructionEditor::SetShape(copy, MapLeaves(copy.shape(), map));
    }
  }
  return wide;
}

absl::StatusOr<std::unique_ptr<WideModule>> WideModule::Make(const Module& module) {
  HLO_ASSIGN_OR_RETURN(std::unique_ptr<WideModule> wide, Copy(module, Widened));
  for (const auto& [from, to] : wide->computations_) {
    for (const Instruction* original : from->instructions()) {
      if (original->opcode() != Opcode::kConstant) continue;
      Instruction& copy = *to->instructions()[static_cast<size_t>(original->index())];
      HLO_RETURN_IF_ERROR(WidenConstant(*wide->module_, *original, copy));
    }
  }
  return wide;
}

absl::StatusOr<std::unique_ptr<WideModule>> WideModule::MakePairs(const Module& module) {
  return Copy(module, Paired);
}

const Instruction& WideModule::Of(const Instruction& instruction) const {
  return *computations_.at(instruction.parent())->instructions()[static_cast<size_t>(instruction.index())];
}

}  // namespace hlo::debug
