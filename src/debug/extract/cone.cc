// Makes modules of some values of a flat module.

#include "base/arena.h"
#include "build/extract.h"
#include "debug/extract/flat_module.h"
#include "fmt/format.h"

namespace hlo::debug {
namespace {

class ConeMaker {
 public:
  ConeMaker(const FlatModule& flat, const absl::flat_hash_set<const Instruction*>& edges)
      : flat_(flat), edges_(edges), module_(std::make_shared<Module>(flat.source()->source())) {
    entry_ = module_->NewComputation(flat.computation().name());
    module_->set_name(flat.source()->name());
  }

  absl::StatusOr<Cone> Make(absl::Span<const Instruction* const> roots, ConeResult result) {
    FindNeeded(roots);
    for (const Instruction* instruction : flat_.instructions()) {
      if (!needed_.contains(instruction)) continue;
      if (IsEdge(*instruction))
        AddParameter(*instruction);
      else
        mine_[instruction] = Copy(*instruction, instruction->name());
    }
    AddRoots(roots, result);
    for (Computation* callee : CalleesOf(*flat_.source(), *entry_)) module_->AddComputation(callee);
    module_->AddComputation(entry_);
    module_->set_entry(entry_);
    module_->mutable_header().replica_count = flat_.source()->header().replica_count;
    module_->mutable_header().num_partitions = flat_.source()->header().num_partitions;
    Diagnostics diagnostics;
    absl::StatusOr<CheckedModule> checked = Check(module_, diagnostics);
    if (!checked.ok()) return checked.status();
    return Cone{*std::move(checked), std::move(parameters_)};
  }

 private:
  bool IsEdge(const Instruction& instruction) const {
    return instruction.opcode() == Opcode::kParameter || edges_.contains(&instruction);
  }

  void FindNeeded(absl::Span<const Instruction* const> roots) {
    std::vector<const Instruction*> work;
    for (const Instruction* root : roots) {
      if (IsRecomputed(*root))
        work.insert(work.end(), root->operands().begin(), root->operands().end());
      else
        work.push_back(root);
    }
    while (!work.empty()) {
      const Instruction* instruction = work.back();
      work.pop_back();
      if (!needed_.insert(instruction).second || IsEdge(*instruction)) continue;
      work.insert(work.end(), instruction->operands().begin(), instruction->operands().end());
    }
  }

  bool IsRecomputed(const Instruction& root) const {
    return root.opcode() != Opcode::kParameter && edges_.contains(&root);
  }

  Instruction* Copy(const Instruction& instruction, std::string_view name) {
    std::vector<Instruction*> operands;
    for (const Instruction* operand : instruction.operands()) operands.push_back(mine_.at(operand));
    Instruction* copy = module_->AddInstruction(entry_, instruction.opcode(), name, instruction.shape(),
                                                operands, instruction.attributes());
    InstructionEditor::SetElided(*copy, instruction.is_elided());
    return copy;
  }

  void AddParameter(const Instruction& instruction) {
    const AttrEntry number{AttrId::number, {}, AttrValue::Of(static_cast<int64_t>(parameters_.size()))};
    Instruction* parameter = module_->AddInstruction(entry_, Opcode::kParameter, instruction.name(),
                                                     instruction.shape(), {}, {&number, 1});
    InstructionEditor::SetParameter(*entry_, static_cast<int64_t>(parameters_.size()), parameter);
    parameters_.push_back(&instruction);
    mine_[&instruction] = parameter;
  }

  void AddRoots(absl::Span<const Instruction* const> roots, ConeResult result) {
    std::vector<Instruction*> values;
    std::vector<Shape> shapes;
    for (const Instruction* root : roots) {
      values.push_back(IsRecomputed(*root) ? Copy(*root, RecomputedName(*root)) : mine_.at(root));
      shapes.push_back(root->shape());
    }
    if (result == ConeResult::kRoot) {
      InstructionEditor::SetRoot(*entry_, values.front());
      return;
    }
    Instruction* tuple = module_->AddInstruction(entry_, Opcode::kTuple, "values.of.the.cone",
                                                 Shape::Tuple(std::move(shapes)), values, {});
    InstructionEditor::SetRoot(*entry_, tuple);
  }

  std::string_view RecomputedName(const Instruction& root) {
    return module_->arena().Copy(
        std::string_view(fmt::format("recomputed.{}.{}", root.name(), root.index())));
  }

  const FlatModule& flat_;
  const absl::flat_hash_set<const Instruction*>& edges_;
  std::shared_ptr<Module> module_;
  Computation* entry_;
  absl::flat_hash_set<const Instruction*> needed_;
  absl::flat_hash_map<const Instruction*, Instruction*> mine_;
  std::vector<const Instruction*> parameters_;
};

}  // namespace

absl::StatusOr<Cone> MakeCone(const FlatModule& flat, absl::Span<const Instruction* const> roots,
                              const absl::flat_hash_set<const Instruction*>& edges, ConeResult result) {
  return ConeMaker(flat, edges).Make(roots, result);
}

}  // namespace hlo::debug
