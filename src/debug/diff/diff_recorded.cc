// Compares the values of a module with recorded ones of another system.

#include <algorithm>

#include "absl/functional/function_ref.h"
#include "base/activity.h"
#include "base/status.h"
#include "debug/diff/diff_run.h"
#include "debug/diff/recorded_iterations.h"
#include "debug/statistics.h"
#include "fmt/format.h"

namespace hlo::debug {
namespace {

class RecordedDiff {
 public:
  RecordedDiff(const CheckedModule& module, const DiffOptions& options)
      : module_(module), flat_(module.shared(), *module.module().entry()), options_(options) {}

  // `result` has what is known so far, also after a failure.
  absl::Status Run(Archive& recorded, const std::vector<Literal>& arguments, RecordedDiffResult& result) {
    ReadAll(recorded, result);
    const NodeValues known = ParameterValues(flat_, arguments);
    HLO_RETURN_IF_ERROR(CompareLocally(known, result));
    hlo::Report({.what = "computing the recorded values from the arguments"});
    HLO_ASSIGN_OR_RETURN(const std::vector<Literal> computed, ComputeValues(flat_, nodes_, known, options_));
    result.differing = 0;
    result.first.reset();
    std::optional<size_t> first, first_local;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (!CompareValues(computed[i], recorded_.at(nodes_[i]), options_)) continue;
      ++result.differing;
      if (!first) first = i;
      if (local_.contains(nodes_[i]) && !first_local) first_local = i;
    }
    const auto value_of = [&](size_t i) { return computed[i]; };
    if (first) result.first = DivergenceOf(first_local.value_or(*first), first_local.has_value(), value_of);
    if (!other_keys_.empty())
      HLO_RETURN_IF_ERROR(
          CompareIterations(module_, recorded, other_keys_, arguments, options_, result.iterations));
    result.unknown_keys = result.iterations.unknown_keys;
    result.is_complete = true;
    return absl::OkStatus();
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

  void ReadAll(Archive& recorded, RecordedDiffResult& result) {
    const auto by_name = ByName();
    for (const std::string& key : recorded.keys()) {
      const auto found = by_name.find(key.starts_with('%') ? key.substr(1) : key);
      if (found == by_name.end()) {
        other_keys_.push_back(key);
        continue;
      }
      absl::StatusOr<Literal> value = recorded.Read(key, found->second->shape());
      if (value.ok())
        recorded_[found->second] = *std::move(value);
      else
        result.unreadable.emplace_back(Message(value.status()));
    }
    for (const Instruction* i : flat_.instructions()) {
      if (recorded_.contains(i)) nodes_.push_back(i);
    }
    result.recorded = static_cast<int64_t>(nodes_.size());
    result.unknown_keys = static_cast<int64_t>(other_keys_.size());
  }

  // Compares each node with the value that follows from the recorded ones above it, in chunks of limited
  // size.
  absl::Status CompareLocally(NodeValues known, RecordedDiffResult& result) {
    constexpr size_t kChunk = 64;
    absl::flat_hash_set<const Instruction*> edges;
    for (const auto& [node, value] : recorded_) known[node] = value;
    for (const auto& [node, value] : known) edges.insert(node);
    for (size_t begin = 0; begin < nodes_.size();) {
      hlo::Report({.what = "comparing recorded values",
                   .done = static_cast<int64_t>(begin),
                   .total = result.recorded,
                   .unit = "values"});
      int64_t bytes = 0;
      size_t end = begin;
      while (end < nodes_.size() && end - begin < kChunk && (end == begin || bytes < options_.max_bytes))
        bytes += DenseByteCount(nodes_[end++]->shape()).value_or(0);
      const auto chunk = absl::MakeConstSpan(nodes_).subspan(begin, end - begin);
      HLO_ASSIGN_OR_RETURN(const std::vector<Literal> values, RunCone(flat_, chunk, edges, known, options_));
      for (size_t i = begin; i < end; ++i) {
        if (!CompareValues(values[i - begin], recorded_.at(nodes_[i]), options_)) continue;
        local_.insert(nodes_[i]);
        const auto value_of = [&](size_t k) { return k == i ? values[i - begin] : recorded_.at(nodes_[k]); };
        if (!result.first) result.first = DivergenceOf(i, /*is_local=*/true, value_of);
      }
      result.compared = static_cast<int64_t>(end);
      result.differing = static_cast<int64_t>(local_.size());
      begin = end;
    }
    return absl::OkStatus();
  }

  // `value_of` returns the computed value of a node.
  Divergence DivergenceOf(size_t which, bool is_local, absl::FunctionRef<Literal(size_t)> value_of) const {
    Divergence divergence;
    const AlignedPair pair = {nodes_[which], nodes_[which], AlignedBy::kName};
    divergence.value = Describe(flat_, flat_, pair, value_of(which), recorded_.at(nodes_[which]), options_);
    divergence.confirmed = is_local;
    if (pair.a->opcode() == Opcode::kParameter)
      divergence.note = "it is an argument: the recorded values are of a run on other arguments";
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
                                             value_of(static_cast<size_t>(found - nodes_.begin())),
                                             recorded_.at(instruction), options_));
    }
    return divergence;
  }

  const CheckedModule& module_;
  FlatModule flat_;
  const DiffOptions& options_;
  std::vector<std::string> other_keys_;  // Keys that name no instruction of `flat_`.
  NodeValues recorded_;
  std::vector<const Instruction*> nodes_;          // Those with recorded values, in dependency order.
  absl::flat_hash_set<const Instruction*> local_;  // Those that differ if their operands are equal.
};

}  // namespace

absl::StatusOr<RecordedDiffResult> DiffRecorded(const CheckedModule& module, Archive& recorded,
                                                const std::vector<Literal>& arguments,
                                                const DiffOptions& options, RecordedDiffResult* partial) {
  RecordedDiffResult result;
  const absl::Status status = RecordedDiff(module, options).Run(recorded, arguments, result);
  if (status.ok()) return result;
  if (partial != nullptr) *partial = std::move(result);
  return status;
}

}  // namespace hlo::debug
