#include "debug/graph/graph.h"

#include <algorithm>

#include "debug/program_place.h"
#include "fmt/format.h"
#include "hlo_run/print.h"

namespace hlo::debug {
namespace {

using Json = nlohmann::ordered_json;

// Numbers the distinct texts of a list.
class Texts {
 public:
  int64_t Number(const std::string& text) {
    const auto [found, is_added] = numbers_.try_emplace(text, static_cast<int64_t>(all_.size()));
    if (is_added) all_.push_back(found->first);
    return found->second;
  }
  int64_t NumberOrNone(const std::string& text) { return text.empty() ? -1 : Number(text); }
  const std::vector<std::string>& all() const { return all_; }

 private:
  absl::flat_hash_map<std::string, int64_t> numbers_;
  std::vector<std::string> all_;
};

Json ValueJson(const ValueFacts& facts) {
  const ArrayStatistics& s = facts.statistics;
  Json json = {{"min", s.min}, {"max", s.max}, {"mean", s.mean}, {"rms", s.rms},        {"count", s.count},
               {"nan", s.nan}, {"inf", s.inf}, {"zero", s.zero}, {"first", facts.first}};
  if (!facts.histogram.empty()) json["histogram"] = facts.histogram;
  if (facts.slices.empty()) return json;
  json["rows"] = facts.rows;
  json["columns"] = facts.columns;
  json["names"] = facts.slice_names;
  json["slices"] = facts.slices;
  return json;
}

std::string TextOf(const Instruction& instruction) {
  return Print(instruction, {.metadata = false, .layouts = false, .large_constants = false});
}

class GraphWriter {
 public:
  GraphWriter(const Module& module, const GraphFacts& facts) : facts_(facts) {
    for (const Computation* computation : module.computations()) {
      computations_[computation] = static_cast<int64_t>(computations_.size());
      for (const Instruction* instruction : computation->instructions())
        nodes_[instruction] = static_cast<int64_t>(nodes_.size());
    }
  }

  Json Write(const Module& module) {
    Json computations = Json::array(), nodes = Json::array();
    for (const Computation* computation : module.computations()) {
      const int64_t first =
          computation->instructions().empty() ? 0 : nodes_.at(computation->instructions()[0]);
      const auto size = static_cast<int64_t>(computation->instructions().size());
      computations.push_back({computation->name(), first, first + size, nodes_.at(computation->root())});
      for (const Instruction* instruction : computation->instructions()) nodes.push_back(Node(*instruction));
    }
    return {{"name", module.name()},
            {"entry", computations_.at(module.entry())},
            {"computations", std::move(computations)},
            {"nodes", std::move(nodes)},
            {"opcodes", opcodes_.all()},
            {"shapes", shapes_.all()},
            {"op_names", op_names_.all()},
            {"sources", sources_.all()},
            {"values", values_},
            {"seconds", seconds_},
            {"errors", errors_}};
  }

 private:
  Json Node(const Instruction& instruction) {
    Json operands = Json::array(), called = Json::array();
    for (const Instruction* operand : instruction.operands()) operands.push_back(nodes_.at(operand));
    for (const Computation* callee : instruction.called_computations())
      called.push_back(computations_.at(callee));
    const Metadata* metadata = instruction.Get<attr::metadata>();
    AddFacts(instruction);
    return Json::array({instruction.name(), opcodes_.Number(std::string(Name(instruction.opcode()))),
                        shapes_.Number(ToString(instruction.shape())), computations_.at(instruction.parent()),
                        std::move(operands), std::move(called), TextOf(instruction),
                        op_names_.NumberOrNone(metadata == nullptr ? "" : std::string(metadata->op_name)),
                        sources_.NumberOrNone(SourceLine(instruction))});
  }

  void AddFacts(const Instruction& instruction) {
    const auto found = facts_.find(&instruction);
    if (found == facts_.end()) return;
    const std::string key = fmt::format("{}", nodes_.at(&instruction));
    if (found->second.value) values_[key] = ValueJson(*found->second.value);
    if (found->second.seconds > 0) seconds_[key] = found->second.seconds;
    if (found->second.error) errors_[key] = *found->second.error;
  }

  const GraphFacts& facts_;
  absl::flat_hash_map<const Computation*, int64_t> computations_;
  absl::flat_hash_map<const Instruction*, int64_t> nodes_;
  Texts opcodes_, shapes_, op_names_, sources_;
  Json values_ = Json::object(), seconds_ = Json::object(), errors_ = Json::object();
};

std::string DotQuoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

std::string DotId(const Instruction& instruction) {
  return DotQuoted(fmt::format("{}/{}", instruction.parent()->name(), instruction.name()));
}

// Red where a recorded value has a NaN.
std::string DotColour(const Instruction& instruction, const GraphFacts& facts) {
  const auto found = facts.find(&instruction);
  const bool has_nan = found != facts.end() && found->second.value && found->second.value->statistics.nan > 0;
  return has_nan ? ", style=filled, fillcolor=\"#ff8182\"" : "";
}

std::string DotNode(const Instruction& instruction, const GraphFacts& facts) {
  std::string text =
      fmt::format("    {} [label={}{}];\n", DotId(instruction),
                  DotQuoted(fmt::format("{}\n{} {}", instruction.name(), Name(instruction.opcode()),
                                        ToString(instruction.shape()))),
                  DotColour(instruction, facts));
  for (const Instruction* operand : instruction.operands())
    text += fmt::format("    {} -> {};\n", DotId(*operand), DotId(instruction));
  return text;
}

}  // namespace

Json GraphJson(const Module& module, const GraphFacts& facts) {
  return GraphWriter(module, facts).Write(module);
}

std::string GraphDot(const Module& module, const GraphFacts& facts) {
  std::string text = fmt::format("digraph {} {{\n  node [shape=box, fontname=\"sans-serif\", fontsize=10];\n",
                                 DotQuoted(module.name()));
  std::string calls;
  for (const Computation* computation : module.computations()) {
    text += fmt::format("  subgraph {} {{\n    label={};\n",
                        DotQuoted(fmt::format("cluster_{}", computation->name())),
                        DotQuoted(computation->name()));
    for (const Instruction* instruction : computation->instructions()) {
      text += DotNode(*instruction, facts);
      for (const Computation* callee : instruction->called_computations())
        calls += fmt::format("  {} -> {} [style=dashed];\n", DotId(*callee->root()), DotId(*instruction));
    }
    text += "  }\n";
  }
  return text + calls + "}\n";
}

}  // namespace hlo::debug
