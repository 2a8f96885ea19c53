// Compares the values of a module with recorded ones of another system.

#include <algorithm>

#include "base/status.h"
#include "debug/diff/diff_run.h"
#include "debug/statistics.h"
#include "fmt/format.h"

namespace hlo::debug {
namespace {

class RecordedDiff {
 public:
  RecordedDiff(const CheckedModule& module, const DiffOptions& options)
      : flat_(module.shared(), *module.module().entry()), options_(options) {}

  absl::StatusOr<RecordedDiffResult> Run(Archive& recorded, const std::vector<Literal>& arguments) {
    ReadAll(recorded);
    NodeValues known = ParameterValues(flat_, arguments);
    HLO_ASSIGN_OR_RETURN(const std::vector<Literal> computed, ComputeValues(flat_, nodes_, known, options_));
    HLO_ASSIGN_OR_RETURN(const std::vector<Literal> local, ComputeLocally(known));
    result_.compared = static_cast<int64_t>(nodes_.size());
    std::optional<size_t> first, first_local;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (!CompareValues(computed[i], recorded_.at(nodes_[i]), options_)) continue;
      ++result_.differing;
      if (!first) first = i;
      const bool is_local = CompareValues(local[i], recorded_.at(nodes_[i]), options_).has_value();
      if (is_local && !first_local) first_local = i;
    }
    if (first) Report(first_local ? *first_local : *first, first_local.has_value(), computed);
    return std::move(result_);
  }

 private:
  // Names of inlined instructions are paths, or their own names if these are unique.
  absl::flat_hash_map<std::string, const Instruction*> ByName() const {
    absl::flat_hash_map<std::string, const Instruction*> by_name;
    for (const Instruction* i : flat_.instructions()) {
      by_name.try_emplace(flat_.PathOf(*i), i);
    }
    for (const Instruction* i : flat_.instructions())
      by_name.try_emplace(std::string(flat_.OriginalOf(*i).name()), i);
    // A call has the value of its callee's root.
    return by_name;
  }

  void ReadAll(Archive& recorded) {
    const auto by_name = ByName();
    for (const std::string& key : recorded.keys()) {
      const auto found = by_name.find(key.starts_with('%') ? key.substr(1) : key);
      if (found == by_name.end()) {
        ++result_.unknown_keys;
        continue;
      }
      absl::StatusOr<Literal> value = recorded.Read(key, found->second->shape());
      if (value.ok())
        recorded_[found->second] = *std::move(value);
      else
        result_.unreadable.emplace_back(Message(value.status()));
    }
    for (const Instruction* i : flat_.instructions()) {
      if (recorded_.contains(i)) nodes_.push_back(i);
    }
  }

  // Computes each node from the recorded values above it.
  absl::StatusOr<std::vector<Literal>> ComputeLocally(NodeValues known) const {
    absl::flat_hash_set<const Instruction*> edges;
    for (const auto& [node, value] : recorded_) known[node] = value;
    for (const auto& [node, value] : known) edges.insert(node);
    return RunCone(flat_, nodes_, edges, known, options_);
  }

  void Report(size_t which, bool is_local, const std::vector<Literal>& computed) {
    Divergence divergence;
    const AlignedPair pair = {nodes_[which], nodes_[which], AlignedBy::kName};
    divergence.value = Describe(flat_, flat_, pair, computed[which], recorded_.at(nodes_[which]), options_);
    divergence.confirmed = is_local;
    absl::flat_hash_set<const Instruction*> seen;
    std::vector<const Instruction*> work(pair.a->operands().begin(), pair.a->operands().end());
    while (!work.empty()) {
      const Instruction* instruction = work.back();
      work.pop_back();
      if (!seen.insert(instruction).second) continue;
      const auto found = std::find(nodes_.begin(), nodes_.end(), instruction);
      if (found == nodes_.end()) {
        work.insert(work.end(), instruction->operands().begin(), instruction->operands().end());
        continue;
      }
      divergence.operands.push_back(Describe(flat_, flat_, {instruction, instruction, AlignedBy::kName},
                                             computed[static_cast<size_t>(found - nodes_.begin())],
                                             recorded_.at(instruction), options_));
    }
    result_.first = std::move(divergence);
  }

  FlatModule flat_;
  const DiffOptions& options_;
  NodeValues recorded_;
  std::vector<const Instruction*> nodes_;  // Those with recorded values, in dependency order.
  RecordedDiffResult result_;
};

}  // namespace

absl::StatusOr<RecordedDiffResult> DiffRecorded(const CheckedModule& module, Archive& recorded,
                                                const std::vector<Literal>& arguments,
                                                const DiffOptions& options) {
  return RecordedDiff(module, options).Run(recorded, arguments);
}

}  // namespace hlo::debug
