#include "debug/diff/replicas.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/counted.h"
#include "base/status.h"
#include "debug/exposed_run.h"
#include "debug/report_text.h"
#include "debug/summary.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "nlohmann/json.hpp"
#include "spmd/device_grid.h"

namespace hlo::debug {
namespace {

// Returns a hash of 64 bits of an array's elements (FNV-1a over words).
uint64_t HashOf(const Literal& array) {
  uint64_t hash = 0xcbf29ce484222325u;
  const auto add = [&](uint64_t word) { hash = (hash ^ word) * 0x100000001b3u; };
  for (int64_t d = 0; d < array.rank(); ++d) add(static_cast<uint64_t>(array.dynamic_size(d)));
  const auto bytes = static_cast<size_t>(array.byte_count());
  const auto* data = static_cast<const char*>(static_cast<const void*>(array.data()));
  for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, data + at, std::min(sizeof(word), bytes - at));
    add(word);
    hash ^= hash >> 29;
  }
  return hash;
}

// The hashes of the values that a leaf had, in order of execution.
using Hashes = absl::flat_hash_map<LeafId, std::vector<uint64_t>>;

class Hasher : public Observer {
 public:
  absl::Status AfterStep(const StepView& step) override {
    for (const StepValue& write : step.Writes())
      hashes_[{write.instruction, write.leaf}].push_back(HashOf(write.value));
    return absl::OkStatus();
  }
  void Add(const Instruction& instruction, const Literal& value) {
    for (const Leaf& leaf : LeavesOf(value))
      hashes_[{&instruction, leaf.leaf}].push_back(HashOf(*leaf.value));
  }
  const Hashes& hashes() const { return hashes_; }

 private:
  Hashes hashes_;
};

// Searches from a result backwards.
class PathSearch {
 public:
  PathSearch(const Module& module, const Dataflow& dataflow, const Hashes& a, const Hashes& b)
      : module_(module), dataflow_(dataflow), a_(a), b_(b) {}

  // Sets the path, `diverges_at` and the collectives.
  void Run(Disagreement& found) {
    const LeafId end = {module_.entry()->root(), found.leaf};
    // Visits the differing leaves breadth-first, which finds the shortest path.
    std::deque<LeafId> work = {end};
    absl::flat_hash_map<LeafId, LeafId> next;  // Towards the result.
    next[end] = {nullptr, 0};
    LeafId origin = end;
    while (!work.empty()) {
      const LeafId at = work.front();
      work.pop_front();
      bool is_origin = true;
      for (const LeafId& before : Before(at)) {
        if (!Differs(before)) continue;
        is_origin = false;
        if (next.try_emplace(before, at).second) work.push_back(before);
      }
      if (!is_origin) continue;
      origin = at;
      break;
    }
    for (LeafId at = origin; at.first != nullptr; at = next[at]) {
      if (Passes(*at.first) && at.first != end.first) continue;
      if (found.path.empty() || found.path.back() != at.first) found.path.push_back(at.first);
    }
    found.is_given = origin.first->opcode() == Opcode::kParameter;
    for (const Instruction* instruction : found.path) {
      if (Info(instruction->opcode()).has(kCollective)) found.collectives.push_back(instruction);
      SetDivergence(*instruction, found);
    }
  }

 private:
  // Tuples and calls have no separate places.
  static bool Passes(const Instruction& instruction) {
    return Info(instruction.opcode()).has(kStructural) && !IsArgument(instruction);
  }
  static bool IsArgument(const Instruction& instruction) {
    return instruction.opcode() == Opcode::kParameter &&
           instruction.parent() == instruction.parent()->module()->entry();
  }

  std::vector<LeafId> Before(const LeafId& leaf) const {
    std::vector<LeafId> sources = dataflow_.Sources(leaf);
    if (!sources.empty()) return sources;
    for (const Instruction* operand : leaf.first->operands()) {
      for (int64_t k = 0; k < operand->shape().LeafCount(); ++k) sources.emplace_back(operand, k);
    }
    return sources;
  }

  // A leaf without a value of its own differs if one that it may come from does.
  bool Differs(const LeafId& leaf) {
    if (leaf.first == nullptr) return false;
    const auto a = a_.find(leaf), b = b_.find(leaf);
    if (a != a_.end() && b != b_.end()) return a->second != b->second;
    const auto [known, is_new] = differs_.try_emplace(leaf, false);
    if (!is_new) return known->second;
    bool differs = (a == a_.end()) != (b == b_.end());
    for (const LeafId& before : Before(leaf)) differs = differs || Differs(before);
    return differs_[leaf] = differs;
  }

  bool DependsOnArgument(const Instruction& instruction) const {
    for (int64_t k = 0; k < instruction.shape().LeafCount(); ++k) {
      const auto ancestors = dataflow_.Ancestors({&instruction, k});
      if (std::any_of(ancestors.begin(), ancestors.end(),
                      [](const Instruction* i) { return IsArgument(*i); }))
        return true;
    }
    return false;
  }

  void SetDivergence(const Instruction& instruction, Disagreement& found) {
    if (Passes(instruction) || instruction.operand_count() < 2) return;
    std::vector<bool> agrees;
    bool is_divergence = false;
    for (const Instruction* operand : instruction.operands()) {
      bool differs = false;
      for (int64_t k = 0; k < operand->shape().LeafCount(); ++k) differs = Differs({operand, k}) || differs;
      agrees.push_back(!differs);
      is_divergence = is_divergence || (!differs && DependsOnArgument(*operand));
    }
    if (!is_divergence) return;
    found.diverges_at = &instruction;
    found.agrees = std::move(agrees);
  }

  const Module& module_;
  const Dataflow& dataflow_;
  const Hashes &a_, &b_;
  absl::flat_hash_map<LeafId, bool> differs_;
};

// Compares two arrays bit by bit; the count stays 0 if they are equal.
void CompareBits(const Literal& a, const Literal& b, Disagreement& found) {
  for (int64_t d = 0; d < a.rank(); ++d) {
    if (a.dynamic_size(d) != b.dynamic_size(d)) found.count = 1;
  }
  const auto bytes = static_cast<size_t>(a.byte_count());
  if (found.count == 0 && (a.data() == b.data() || std::memcmp(a.data(), b.data(), bytes) == 0)) return;
  const size_t size = bytes / static_cast<size_t>(std::max<int64_t>(a.element_count(), 1));
  const auto* x = static_cast<const char*>(static_cast<const void*>(a.data()));
  const auto* y = static_cast<const char*>(static_cast<const void*>(b.data()));
  for (int64_t i = 0; i < a.element_count(); ++i) {
    if (!IsWithinSizes(a, i) || std::memcmp(x + i * size, y + i * size, size) == 0) continue;
    if (found.count++ > 0) continue;
    found.index = IndexOf(a, i);
    found.value = ElementText(a, i);
    found.other_value = ElementText(b, i);
  }
}

}  // namespace

absl::StatusOr<std::vector<Disagreement>> FindDisagreements(
    const CheckedModule& module, const std::vector<std::vector<Literal>>& arguments,
    const AgreementOptions& options) {
  HLO_ASSIGN_OR_RETURN(Executable executable,
                       Executable::Make(module, options.engine, options.evaluate, {}, ExposingPlanOptions()));
  std::vector<Hasher> hashers(arguments.size());
  DevicesOptions devices = options.devices;
  devices.observer = [&](int64_t device) { return &hashers[static_cast<size_t>(device)]; };
  HLO_ASSIGN_OR_RETURN(const std::vector<Literal> results,
                       executable.RunDevices(arguments, options.evaluate, devices));
  for (size_t d = 0; d < arguments.size(); ++d) {
    for (size_t p = 0; p < arguments[d].size(); ++p)
      hashers[d].Add(*module.module().entry()->parameters()[p], arguments[d][p]);
  }
  const Dataflow dataflow(module.module());
  std::vector<Disagreement> all;
  const std::vector<Leaf> leaves = LeavesOf(results[0]);
  for (size_t k = 0; k < leaves.size(); ++k) {
    Disagreement found{.leaf = leaves[k].leaf};
    for (const std::vector<int64_t>& group : options.groups[static_cast<size_t>(found.leaf)]) {
      for (size_t i = 1; i < group.size() && found.count == 0; ++i) {
        found.device = group[0];
        found.other = group[i];
        CompareBits(*LeavesOf(results[static_cast<size_t>(group[0])])[k].value,
                    *LeavesOf(results[static_cast<size_t>(group[i])])[k].value, found);
      }
    }
    if (found.count == 0) continue;
    PathSearch(module.module(), dataflow, hashers[static_cast<size_t>(found.device)].hashes(),
               hashers[static_cast<size_t>(found.other)].hashes())
        .Run(found);
    all.push_back(std::move(found));
  }
  return all;
}

namespace {

std::string OriginText(const Disagreement& found) {
  const Instruction& origin = *found.path.front();
  if (found.is_given) return fmt::format("  the devices are given different %{}\n", origin.name());
  if (spmd::DependsOnDevices(origin))
    return fmt::format("  the difference begins in %{}, a {}\n", origin.name(), Name(origin.opcode()));
  return fmt::format("  the difference begins in %{}, a {} of operands on which they agree\n", origin.name(),
                     Name(origin.opcode()));
}

}  // namespace

std::string ToText(const std::vector<Disagreement>& disagreements, const std::vector<std::string>& names,
                   const Module& module) {
  std::string text;
  for (const Disagreement& found : disagreements) {
    text += fmt::format("{} differs between {} and {} in {}, first at {{{}}}: {} and {}\n",
                        PlaceText(module.entry()->root()->shape(), found.leaf, {}),
                        names[static_cast<size_t>(found.device)], names[static_cast<size_t>(found.other)],
                        Counted(found.count, "element"), fmt::join(found.index, ","), found.value,
                        found.other_value);
    if (found.diverges_at != nullptr) {
      text += fmt::format("  values that agree meet values that differ in %{}\n    {}\n",
                          found.diverges_at->name(), ShortText(*found.diverges_at));
      for (size_t k = 0; k < found.agrees.size(); ++k)
        text += fmt::format("    %{} {}\n", found.diverges_at->operand(static_cast<int64_t>(k))->name(),
                            found.agrees[k] ? "agrees" : "differs");
    }
    text += OriginText(found);
    text += fmt::format("  from there to the result: {}\n", PathText(found.path));
    text += found.collectives.empty()
                ? "  no collective is on this path\n"
                : fmt::format("  collectives on this path: {}\n", PathText(found.collectives));
  }
  return text;
}

nlohmann::ordered_json ToJson(const std::vector<Disagreement>& disagreements,
                              const std::vector<std::string>& names) {
  using Json = nlohmann::ordered_json;
  const auto list = [](const std::vector<const Instruction*>& instructions) {
    Json json = Json::array();
    for (const Instruction* i : instructions) json.push_back(i->name());
    return json;
  };
  Json json = Json::array();
  for (const Disagreement& found : disagreements) {
    json.push_back(
        Json{{"result", found.leaf},
             {"device", names[static_cast<size_t>(found.device)]},
             {"other", names[static_cast<size_t>(found.other)]},
             {"index", found.index},
             {"value", found.value},
             {"other_value", found.other_value},
             {"count", found.count},
             {"diverges_at", found.diverges_at == nullptr ? Json() : Json(found.diverges_at->name())},
             {"path", list(found.path)},
             {"collectives", list(found.collectives)},
             {"given", found.is_given}});
  }
  return json;
}

}  // namespace hlo::debug
