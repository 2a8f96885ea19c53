// Normalises source tables, control predecessors and execution threads as XLA's reader does.

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/arena.h"
#include "hlo_run/print.h"
#include "ir/as_xla.h"

namespace hlo {
namespace {

// Copies the stack frames that metadata refers to into new tables, callers before callees.
class FrameTable {
 public:
  explicit FrameTable(const SourceTables& old) : old_(old) {}

  // Returns the new number of a frame; 0 if it or something that it refers to does not exist.
  int32_t Take(int32_t id) {
    if (!Exists(id)) return 0;
    std::vector<int32_t> chain;
    while (id != 0 && !new_frame_.contains(id)) {
      chain.push_back(id);
      id = old_.stack_frames[id - 1].parent_frame_id;
    }
    int32_t parent = id == 0 ? 0 : new_frame_[id];
    for (auto it = chain.rbegin(); it != chain.rend(); ++it) {
      const int32_t location = Location(old_.stack_frames[*it - 1].file_location_id);
      tables_.stack_frames.push_back({location, parent});
      parent = new_frame_[*it] = static_cast<int32_t>(tables_.stack_frames.size());
    }
    return parent;
  }

  SourceTables Finish() { return std::move(tables_); }

 private:
  template <class T>
  static bool InRange(int32_t id, const std::vector<T>& table) {
    return id >= 1 && id <= static_cast<int64_t>(table.size());
  }

  // True if the frame and all its callers have valid references and the chain of callers ends.
  bool Exists(int32_t id) const {
    for (size_t steps = 0; steps <= old_.stack_frames.size(); ++steps) {
      if (!InRange(id, old_.stack_frames)) return false;
      if (new_frame_.contains(id)) return true;
      const StackFrame& frame = old_.stack_frames[id - 1];
      if (!InRange(frame.file_location_id, old_.file_locations)) return false;
      const FileLocation& location = old_.file_locations[frame.file_location_id - 1];
      if (!InRange(location.file_name_id, old_.file_names)) return false;
      if (!InRange(location.function_name_id, old_.function_names)) return false;
      if (frame.parent_frame_id == 0) return true;
      id = frame.parent_frame_id;
    }
    return false;
  }

  int32_t Location(int32_t id) {
    int32_t& known = new_location_[id];
    if (known != 0) return known;
    FileLocation location = old_.file_locations[id - 1];
    location.file_name_id = NameId(old_.file_names[location.file_name_id - 1], tables_.file_names, new_file_);
    location.function_name_id =
        NameId(old_.function_names[location.function_name_id - 1], tables_.function_names, new_function_);
    tables_.file_locations.push_back(location);
    return known = static_cast<int32_t>(tables_.file_locations.size());
  }

  using NameIds = absl::flat_hash_map<std::string_view, int32_t>;
  static int32_t NameId(std::string_view name, std::vector<std::string_view>& names, NameIds& ids) {
    int32_t& id = ids[name];
    if (id == 0) {
      names.push_back(name);
      id = static_cast<int32_t>(names.size());
    }
    return id;
  }

  const SourceTables& old_;
  SourceTables tables_;
  absl::flat_hash_map<int32_t, int32_t> new_frame_, new_location_;
  NameIds new_file_, new_function_;
};

// Removes duplicate control predecessors and keeps the first of each.
void DropRepeatedPredecessors(Module& module, Instruction& i) {
  const auto predecessors = i.Get<attr::control_predecessors>();
  if (predecessors.size() < 2) return;
  absl::flat_hash_set<const Instruction*> seen;
  std::vector<Instruction*> kept;
  for (Instruction* p : predecessors) {
    if (seen.insert(p).second) kept.push_back(p);
  }
  if (kept.size() == predecessors.size()) return;
  const absl::Span<Instruction* const> list = module.arena().Copy(absl::Span<Instruction* const>(kept));
  InstructionEditor::SetAttribute(module, i, AttrId::control_predecessors, AttrValue::Of(list));
}

}  // namespace

void RebuildSourceTablesAsXla(Module& module) {
  const SourceTables old = module.header().tables;
  FrameTable frames(old);
  for (const Computation* c : module.computations()) {
    for (Instruction* i : c->instructions()) {
      const Metadata* metadata = i->Get<attr::metadata>();
      if (metadata == nullptr || metadata->stack_frame_id == 0) continue;
      Metadata* renumbered = module.arena().New<Metadata>(*metadata);
      renumbered->stack_frame_id = frames.Take(metadata->stack_frame_id);
      const Metadata* result = renumbered;
      InstructionEditor::SetAttribute(module, *i, AttrId::metadata, AttrValue::Of(result));
    }
  }
  module.mutable_header().tables = frames.Finish();
}

void NormalizeAsXla(Module& module) {
  MakeNamesUniqueAsXla(module);
  RebuildSourceTablesAsXla(module);
  for (const Computation* c : module.computations()) {
    for (Instruction* i : c->instructions()) {
      DropRepeatedPredecessors(module, *i);
      // The computation called by an async-start runs on the start's thread.
      Computation* callee = i->opcode() == Opcode::kAsyncStart ? i->Get<attr::calls>() : nullptr;
      if (callee != nullptr && i->Has<attr::async_execution_thread>()) {
        InstructionEditor::SetExecutionThread(*callee, i->Get<attr::async_execution_thread>());
      }
    }
  }
  for (OriginRecovery& entry : module.mutable_header().origin_recovery_table) {
    if (entry.recovery != nullptr) NormalizeAsXla(*entry.recovery);
  }
}

}  // namespace hlo
