#include "debug/diff/diff_text.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "base/counted.h"
#include "debug/diff/diff_run.h"
#include "fmt/format.h"

namespace hlo::debug {
namespace {

using Json = nlohmann::ordered_json;

std::string Aligned(const DiffResult& result) {
  std::vector<std::string> parts;
  for (const auto& [by, count] : result.aligned_by) parts.push_back(fmt::format("{} by {}", count, by));
  return absl::StrJoin(parts, ", ");
}

std::string Mismatch(const CompareReport& report) {
  if (!report.problem.empty()) return report.problem;
  std::string text = CountedDifferences(report.mismatch_count, report.element_count);
  if (!report.worst) return text;
  return text + fmt::format("; the worst at [{}]: {} and {}", absl::StrJoin(report.worst->index, ","),
                            report.worst->want, report.worst->got);
}

// Returns the lines of one value on both sides.
std::string BothSides(const ComparedValue& value, const SideNames& names) {
  return fmt::format("  {}\n    {}\n    = {}\n  {}\n    {}\n    = {}\n", names.a, value.a_text,
                     value.a_summary, names.b, value.b_text, value.b_summary);
}

std::string Origin(const ComparedValue& value) {
  std::string text;
  if (!value.op_name.empty()) text += fmt::format("  from {}", value.op_name);
  if (!value.source.empty()) text += fmt::format("{} {}", text.empty() ? "  from" : ", at", value.source);
  return text.empty() ? "" : text + "\n";
}

std::string Heading(const Divergence& divergence) {
  const ComparedValue& value = divergence.value;
  const std::string path =
      value.a_path == value.b_path ? value.a_path : fmt::format("{} and {}", value.a_path, value.b_path);
  return divergence.confirmed
             ? fmt::format("the first difference is {} (aligned by {})\n", path, value.aligned_by)
             : fmt::format("the values first differ at {} (aligned by {})\n", path, value.aligned_by);
}

std::string Reason(const Divergence& divergence) {
  if (!divergence.note.empty()) return fmt::format("  {}\n", divergence.note);
  if (divergence.confirmed) return fmt::format("  {}\n", kDiffersLocally);
  return "  with equal operands, both agree: rounding errors of the operands grow beyond the tolerance\n";
}

std::string Text(const Divergence& divergence, const SideNames& names) {
  std::string text = Heading(divergence);
  for (const std::string& place : divergence.inside) text += fmt::format("  in {}\n", place);
  text += BothSides(divergence.value, names) + Origin(divergence.value);
  if (divergence.value.worst) text += fmt::format("  {}\n", Mismatch(*divergence.value.worst));
  text += Reason(divergence);
  if (divergence.operands.empty()) return text;
  text += "its operands agree\n";
  for (const ComparedValue& operand : divergence.operands) {
    const std::string other =
        operand.a_path == operand.b_path ? "" : fmt::format(" ({} in {})", operand.b_path, names.b);
    text += fmt::format("  {}{}\n    = {}\n", operand.a_path, other, operand.a_summary);
    if (operand.a_summary != operand.b_summary)
      text += fmt::format("    = {} in {}\n", operand.b_summary, names.b);
  }
  return text;
}

Json ValueJson(const ComparedValue& value) {
  Json json = {{"a", value.a_path},
               {"b", value.b_path},
               {"a_text", value.a_text},
               {"b_text", value.b_text},
               {"a_value", value.a_summary},
               {"b_value", value.b_summary},
               {"aligned_by", value.aligned_by},
               {"op_name", value.op_name},
               {"source", value.source}};
  if (value.worst) {
    json["mismatches"] = value.worst->mismatch_count;
    json["elements"] = value.worst->element_count;
    json["mismatch"] = Mismatch(*value.worst);
  }
  return json;
}

Json DivergenceJson(const std::optional<Divergence>& divergence) {
  if (!divergence) return nullptr;
  Json json = {{"inside", divergence->inside},
               {"confirmed", divergence->confirmed},
               {"note", divergence->note},
               {"value", ValueJson(divergence->value)},
               {"operands", Json::array()}};
  for (const ComparedValue& operand : divergence->operands) json["operands"].push_back(ValueJson(operand));
  return json;
}

std::string ChangeText(const StructuralChange& change) {
  std::string text;
  if (!change.a_text.empty()) text += fmt::format("- {}: {}\n", change.a_path, change.a_text);
  if (!change.b_text.empty()) text += fmt::format("+ {}: {}\n", change.b_path, change.b_text);
  return text;
}

Json ChangesJson(const std::vector<StructuralChange>& changes) {
  Json json = Json::array();
  for (const StructuralChange& change : changes) {
    json.push_back(
        {{"a", change.a_path}, {"b", change.b_path}, {"a_text", change.a_text}, {"b_text", change.b_text}});
  }
  return json;
}

std::string ChangesText(std::string_view heading, const std::vector<StructuralChange>& changes,
                        int64_t max_lines) {
  if (changes.empty()) return "";
  std::string text = fmt::format("{} {}\n", changes.size(), heading);
  const size_t shown = std::min(changes.size(), static_cast<size_t>(max_lines));
  for (size_t i = 0; i < shown; ++i) text += ChangeText(changes[i]);
  if (shown < changes.size()) text += fmt::format("... and {} more (see --top)\n", changes.size() - shown);
  return text;
}

// Says what is known about the first difference if the search has not ended.
std::string IncompleteText(const DiffResult& result) {
  std::string text = fmt::format("{} of {} aligned values were compared; {} of them differ", result.compared,
                                 result.aligned, result.differing);
  if (!result.first_differing.empty()) text += fmt::format(", the first is {}", result.first_differing);
  if (result.drifting > 0) text += fmt::format("; {} of them agree with equal operands", result.drifting);
  return text + "\n";
}

}  // namespace

std::string ToText(const DiffResult& result, const SideNames& names) {
  std::string text =
      fmt::format("{} instructions in {}, {} in {}; {} values are aligned: {}\n", result.a_instructions,
                  names.a, result.b_instructions, names.b, result.aligned, Aligned(result));
  if (!result.has_results) return text + "the results were not compared\n";
  if (result.results.empty()) {
    text += "the results agree";
    if (result.tolerated > 0)
      text += fmt::format(
          ", {} of them only within the tolerance (see --tolerance); no value between them is proven to "
          "differ by "
          "more than rounding",
          result.tolerated);
    if (result.differing > 0) text += fmt::format("; {} values before them differ", result.differing);
    return text + "\n";
  }
  for (const ComparedValue& value : result.results)
    text += fmt::format("the result {} differs{}: {}\n", value.a_path,
                        result.within_tolerance ? " within the tolerance" : "", Mismatch(*value.worst));
  if (!result.is_complete) return text + IncompleteText(result);
  text += fmt::format("{} differ{}", Counted(result.differing, "aligned value"),
                      result.differing == 1 ? "s" : "");
  if (result.drifting > 0)
    text += fmt::format("; {} before the first difference agree with equal operands", result.drifting);
  return text + "\n" + (result.first ? Text(*result.first, names) : "");
}

namespace {

std::string IterationsText(const RecordedIterations& iterations, const SideNames& names) {
  if (iterations.compared == 0) return "";
  std::string text = fmt::format("{} recorded values of loops and tuples were compared: {} differ\n",
                                 iterations.compared, iterations.differing);
  if (!iterations.first) return text;
  const RecordedIterations::Value& first = *iterations.first;
  return text + fmt::format(
                    "the first of them is {}\n  {}\n  {}\n    = {}\n  {}\n    = {}\n"
                    "  {}\n  {}\n",
                    first.heading, first.text, names.a, first.computed, names.b, first.recorded,
                    Mismatch(first.report),
                    first.operands_agree ? "its operands agree in this iteration"
                                         : "not all of its operands were recorded, or they differ");
}

Json IterationsJson(const RecordedIterations& iterations) {
  Json json = {{"compared", iterations.compared}, {"differing", iterations.differing}, {"first", nullptr}};
  if (!iterations.first) return json;
  const RecordedIterations::Value& first = *iterations.first;
  json["first"] = {{"value", first.heading},
                   {"text", first.text},
                   {"a_value", first.computed},
                   {"b_value", first.recorded},
                   {"mismatch", Mismatch(first.report)},
                   {"operands_agree", first.operands_agree}};
  return json;
}

}  // namespace

std::string ToText(const RecordedDiffResult& result, const SideNames& names) {
  std::string text =
      result.is_complete
          ? fmt::format("{} of {} compared with {}: {} differ\n", Counted(result.compared, "recorded value"),
                        names.b, names.a, result.differing)
          : fmt::format(
                "{} of {} recorded values of {} were compared with what {} computes from those above "
                "them: {} differ\n",
                result.compared, result.recorded, names.b, names.a, result.differing);
  if (result.unknown_keys > 0)
    text += fmt::format("{} without an instruction of this name\n", Counted(result.unknown_keys, "key"));
  for (const std::string& problem : result.unreadable) text += fmt::format("skipped: {}\n", problem);
  return text + (result.first ? Text(*result.first, names) : "") + IterationsText(result.iterations, names);
}

std::string ToText(const StructuralDiff& diff, const SideNames& names, int64_t max_lines) {
  if (diff.changed.empty() && diff.only_a.empty() && diff.only_b.empty())
    return fmt::format("all {} instructions are equal\n", diff.same);
  return fmt::format("{} instructions are equal\n", diff.same) +
         ChangesText("changed", diff.changed, max_lines) +
         ChangesText("only in " + names.a, diff.only_a, max_lines) +
         ChangesText("only in " + names.b, diff.only_b, max_lines);
}

Json ToJson(const DiffResult& result) {
  Json json = {{"instructions", {result.a_instructions, result.b_instructions}},
               {"aligned", result.aligned},
               {"aligned_by", result.aligned_by},
               {"compared", result.compared},
               {"differing", result.differing},
               {"drifting", result.drifting},
               {"complete", result.is_complete},
               {"tolerated", result.tolerated},
               {"within_tolerance", result.within_tolerance},
               {"results", Json::array()},
               {"first", DivergenceJson(result.first)}};
  for (const ComparedValue& value : result.results) json["results"].push_back(ValueJson(value));
  return json;
}

Json ToJson(const RecordedDiffResult& result) {
  return {{"recorded", result.recorded},           {"compared", result.compared},
          {"complete", result.is_complete},        {"differing", result.differing},
          {"unknown_keys", result.unknown_keys},   {"unreadable", result.unreadable},
          {"first", DivergenceJson(result.first)}, {"iterations", IterationsJson(result.iterations)}};
}

Json ToJson(const StructuralDiff& diff) {
  return {{"same", diff.same},
          {"changed", ChangesJson(diff.changed)},
          {"only_a", ChangesJson(diff.only_a)},
          {"only_b", ChangesJson(diff.only_b)}};
}

}  // namespace hlo::debug
