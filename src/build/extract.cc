#include "build/extract.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/arena.h"
#include "fmt/format.h"
#include "hlo_run/print.h"

namespace hlo {
namespace {

// True if the instruction continues or ends an asynchronous operation, which requires its start.
bool NeedsItsOperands(Opcode opcode) {
  constexpr Opcode kContinuations[] = {Opcode::kAsyncUpdate,   Opcode::kAsyncDone,
                                       Opcode::kAllReduceDone, Opcode::kAllGatherDone,
                                       Opcode::kCopyDone,      Opcode::kCollectivePermuteDone,
                                       Opcode::kSendDone,      Opcode::kRecvDone};
  return std::find(std::begin(kContinuations), std::end(kContinuations), opcode) != std::end(kContinuations);
}

bool IsKeptAtEdge(Opcode opcode) { return opcode == Opcode::kConstant || opcode == Opcode::kIota; }

class Extractor {
 public:
  Extractor(const Module& module, const ExtractOptions& options)
      : module_(module), options_(options), part_(module.source()) {}

  ExtractedPart Instructions(absl::Span<const Instruction* const> roots) {
    const Computation& from = *roots.front()->parent();
    FindIncluded(roots);
    entry_ = part_.NewComputation(from.name());
    if (options_.keep_parameters) {
      for (const Instruction* parameter : from.parameters()) AddEdge(*parameter);
    }
    for (const Instruction* instruction : from.instructions()) {
      if (included_.contains(instruction)) Clone(*instruction);
    }
    return Finish(roots);
  }

 private:
  // Visits breadth-first, so that each instruction is found at its smallest distance from a root.
  void FindIncluded(absl::Span<const Instruction* const> roots) {
    std::vector<const Instruction*> level(roots.begin(), roots.end());
    for (int64_t height = 0; !level.empty(); ++height) {
      std::vector<const Instruction*> next;
      for (size_t i = 0; i < level.size(); ++i) {
        const Instruction* instruction = level[i];
        if (instruction->opcode() == Opcode::kParameter || !included_.insert(instruction).second) continue;
        // The start of an asynchronous operation is on the level of its end.
        std::vector<const Instruction*>& to = NeedsItsOperands(instruction->opcode()) ? level : next;
        to.insert(to.end(), instruction->operands().begin(), instruction->operands().end());
      }
      if (height >= options_.height) {
        std::erase_if(next, [](const Instruction* i) { return !IsKeptAtEdge(i->opcode()); });
      }
      level = std::move(next);
    }
  }

  // Returns the replacement of an instruction outside the part: a token, a constant or a parameter.
  Instruction* AddEdge(const Instruction& instruction) {
    Instruction*& mine = mine_[&instruction];
    if (mine != nullptr) return mine;
    const std::string_view name = instruction.name();
    if (instruction.shape().IsToken()) {
      mine = part_.AddInstruction(entry_, Opcode::kAfterAll, name, instruction.shape(), {}, {});
      return mine;
    }
    const Literal* value = options_.constant ? options_.constant(instruction) : nullptr;
    if (value != nullptr) {
      const AttrEntry literal{AttrId::literal, {}, AttrValue::Of(value)};
      mine = part_.AddInstruction(entry_, Opcode::kConstant, name, instruction.shape(), {}, {&literal, 1});
      return mine;
    }
    const auto number = static_cast<int64_t>(parameters_.size());
    parameters_.push_back(&instruction);
    std::vector<AttrEntry> attributes = {{AttrId::number, {}, AttrValue::Of(number)}};
    // The sharding tells how devices hold the parameter.
    for (const AttrEntry& entry : instruction.attributes()) {
      if (entry.id == AttrId::sharding) attributes.push_back(entry);
    }
    mine = part_.AddInstruction(entry_, Opcode::kParameter, name, instruction.shape(), {}, attributes);
    InstructionEditor::SetParameter(*entry_, number, mine);
    return mine;
  }

  void Clone(const Instruction& instruction) {
    std::vector<Instruction*> operands;
    for (const Instruction* operand : instruction.operands()) operands.push_back(AddEdge(*operand));
    std::vector<AttrEntry> attributes;
    for (const AttrEntry& entry : instruction.attributes()) {
      if (entry.id != AttrId::control_predecessors) attributes.push_back(entry);
    }
    Instruction* clone = part_.AddInstruction(entry_, instruction.opcode(), instruction.name(),
                                              instruction.shape(), operands, attributes);
    InstructionEditor::SetElided(*clone, instruction.is_elided());
    mine_[&instruction] = clone;
  }

  ExtractedPart Finish(absl::Span<const Instruction* const> roots) {
    std::vector<Instruction*> results;
    for (const Instruction* root : roots) results.push_back(AddEdge(*root));
    Instruction* root = results.front();
    if (roots.size() > 1) {
      std::vector<Shape> shapes;
      for (const Instruction* result : results) shapes.push_back(result->shape());
      root = part_.AddInstruction(entry_, Opcode::kTuple,
                                  part_.arena().Copy(std::string_view("extracted_results")),
                                  Shape::Tuple(std::move(shapes)), results, {});
    }
    InstructionEditor::SetRoot(*entry_, root);
    for (Computation* callee : CalleesOf(module_, *entry_)) part_.AddComputation(callee);
    part_.AddComputation(entry_);
    part_.set_entry(entry_);
    part_.set_name(
        part_.arena().Copy(std::string_view(fmt::format("{}_{}", module_.name(), roots.front()->name()))));
    ModuleHeader& header = part_.mutable_header();
    header.replica_count = module_.header().replica_count;
    header.num_partitions = module_.header().num_partitions;
    header.tables = module_.header().tables;
    PrintOptions print;
    print.own_order = true;
    return {Print(part_, print), std::move(parameters_)};
  }

  const Module& module_;
  const ExtractOptions& options_;
  Module part_;
  Computation* entry_ = nullptr;
  absl::flat_hash_set<const Instruction*> included_;
  absl::flat_hash_map<const Instruction*, Instruction*> mine_;
  std::vector<const Instruction*> parameters_;
};

}  // namespace

ExtractedPart Extract(const Module& module, absl::Span<const Instruction* const> roots,
                      const ExtractOptions& options) {
  return Extractor(module, options).Instructions(roots);
}

ExtractedPart Extract(const Module& module, const Computation& computation, const ExtractOptions& options) {
  ExtractOptions all = options;
  all.height = std::numeric_limits<int64_t>::max();
  all.keep_parameters = true;
  const Instruction* root = computation.root();
  return Extractor(module, all).Instructions({&root, 1});
}

std::vector<Computation*> CalleesOf(const Module& module, const Computation& computation) {
  absl::flat_hash_set<const Computation*> needed;
  std::vector<const Computation*> work = {&computation};
  while (!work.empty()) {
    const Computation* caller = work.back();
    work.pop_back();
    for (const Instruction* instruction : caller->instructions()) {
      for (const Computation* callee : instruction->called_computations()) {
        if (needed.insert(callee).second) work.push_back(callee);
      }
    }
  }
  std::vector<Computation*> callees;
  for (Computation* callee : module.computations()) {
    if (needed.contains(callee)) callees.push_back(callee);
  }
  return callees;
}

}  // namespace hlo
