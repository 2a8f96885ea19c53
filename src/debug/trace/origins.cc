#include "debug/trace/origins.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/status.h"
#include "debug/exposed_run.h"
#include "debug/loops.h"
#include "debug/report_text.h"
#include "debug/selection.h"
#include "debug/summary.h"
#include "debug/trace/origin_tracker.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "nlohmann/json.hpp"

namespace hlo::debug {
namespace {

std::string_view Name(SpecialKind kind) { return kind == SpecialKind::kNan ? "NaN" : "Inf"; }

std::string CallersText(const Origin& origin) {
  std::string text;
  for (const RunningLoop& loop : origin.loops) {
    text += fmt::format("  in iteration {} of %{}", loop.iteration, loop.instruction->name());
    if (loop.trip_count) text += fmt::format(" (of {})", *loop.trip_count);
    text += "\n";
  }
  if (origin.callers.empty()) return text;
  std::vector<std::string> names;
  for (const Instruction* caller : origin.callers)
    names.push_back(fmt::format("%{} in {}", caller->name(), caller->parent()->name()));
  return text + fmt::format("  called by {}\n", fmt::join(names, ", then "));
}

std::string MetadataText(const Instruction& instruction) {
  const Metadata* metadata = instruction.Get<attr::metadata>();
  if (metadata == nullptr) return "";
  const ProgramPlace place = StatedPlace(instruction);
  std::string text;
  if (!metadata->op_name.empty()) text += fmt::format("  op_name {}", metadata->op_name);
  if (!place.file.empty()) text += fmt::format("  source {}:{}", place.file, place.line);
  return text.empty() ? text : text + "\n";
}

std::string PathLine(const std::vector<const Instruction*>& path, int64_t result, const Shape& shape) {
  if (result >= 0) return fmt::format("  reaches {}: {}\n", PlaceText(shape, result, {}), PathText(path));
  return fmt::format("  reaches no result: {}\n", PathText(path));
}

std::string OriginText(const Origin& origin, const Module& module) {
  const Instruction& instruction = *origin.instruction;
  std::string text = fmt::format("{} is produced by %{} at {{{}}}: {}\n", Name(origin.kind),
                                 instruction.name(), fmt::join(origin.index, ","), origin.value);
  text += fmt::format("  {}\n", ShortText(instruction));
  for (const std::string& operand : origin.operands) text += fmt::format("  {}\n", operand);
  text += CallersText(origin) + MetadataText(instruction);
  if (origin.count > 1) text += fmt::format("  {} elements of this result\n", origin.count);
  if (origin.later_executions > 0)
    text += fmt::format("  {} later executions produced more\n", origin.later_executions);
  for (const Instruction* cause : origin.causes)
    text += fmt::format("  its infinities come from %{}\n", cause->name());
  return text + PathLine(origin.path, origin.result, module.entry()->root()->shape());
}

absl::StatusOr<bool> IsClean(const CheckedModule& module, const WatchedArguments& arguments, Engine engine,
                             const EvaluateOptions& options, const OriginOptions& origins, double& seconds) {
  for (const Literal& argument : arguments.watched()) {
    for (const Leaf& leaf : LeavesOf(argument)) {
      if (HoldsSpecial(*leaf.value, origins.nans, origins.infinities)) return false;
    }
  }
  SpecialDetector alone(origins);
  std::optional<WatchedSpecialDetector> both;
  if (options.observer != nullptr) both.emplace(origins, *options.observer);
  EvaluateOptions watched = options;
  if (both)
    watched.observer = &*both;
  else
    watched.observer = &alone;
  HLO_ASSIGN_OR_RETURN(Executable executable,
                       Executable::Make(module, engine, options, {}, {.replan_if_refused = true}));
  seconds = std::numeric_limits<double>::infinity();
  for (int64_t run = 0; run < origins.repeat; ++run) {
    const double start = SteadySeconds();
    const absl::StatusOr<Literal> result = RunWatched(executable, arguments, watched);
    seconds = std::min(seconds, SteadySeconds() - start);
    if (both ? both->found() : alone.found()) return false;
    HLO_RETURN_IF_ERROR(result.status());
    for (const Leaf& leaf : LeavesOf(*result)) {
      if (HoldsSpecial(*leaf.value, origins.nans, origins.infinities)) return false;
    }
  }
  return true;
}

nlohmann::ordered_json NamesJson(const std::vector<const Instruction*>& instructions) {
  auto names = nlohmann::ordered_json::array();
  for (const Instruction* instruction : instructions) names.push_back(instruction->name());
  return names;
}

}  // namespace

absl::Status SpecialDetector::AfterStep(const StepView& step) {
  // The operands have been checked already.
  const bool is_reference = step.kernel() == "reference";
  const Opcode opcode = step.instruction().opcode();
  if (is_reference && !CanMakeSpecials(opcode) && opcode != Opcode::kConstant) return absl::OkStatus();
  if (!is_reference && step.only_moves()) return absl::OkStatus();
  const bool is_visited =
      step.VisitWrittenFloats([&](ElementType type, const std::byte* elements, int64_t count) {
        found_ = found_ || HoldsSpecial(type, elements, count, options_.nans, options_.infinities);
      });
  if (!is_visited) {
    for (const StepValue& write : step.Writes())
      found_ = found_ || HoldsSpecial(write.value, options_.nans, options_.infinities);
  }
  return found_ ? absl::CancelledError("found") : absl::OkStatus();
}

absl::StatusOr<OriginReport> FindOrigins(const CheckedModule& module, const WatchedArguments& arguments,
                                         Engine engine, const EvaluateOptions& options,
                                         const OriginOptions& origins) {
  double seconds = 0;
  HLO_ASSIGN_OR_RETURN(const bool is_clean, IsClean(module, arguments, engine, options, origins, seconds));
  if (is_clean) return OriginReport{.watched_seconds = seconds};
  OriginTracker tracker(module.module(), engine == Engine::kReference);
  EvaluateOptions tracked = options;
  tracked.observer = &tracker;
  HLO_ASSIGN_OR_RETURN(const Literal result, RunExposed(module, arguments, engine, tracked));
  return tracker.Report(result, origins);
}

std::string ToString(const OriginReport& report, const Module& module) {
  std::string text;
  const Shape& shape = module.entry()->root()->shape();
  for (const SpecialResult& result : report.results)
    text += fmt::format("{} holds {} {}, the first at {{{}}}\n", PlaceText(shape, result.leaf, {}),
                        result.count, Name(result.kind), fmt::join(result.index, ","));
  for (const Origin& origin : report.origins) text += OriginText(origin, module);
  for (const GivenSpecial& given : report.given) {
    if (given.result < 0) continue;
    text += fmt::format("{} comes from %{} ({}) at {{{}}}\n", Name(given.kind), given.instruction->name(),
                        Name(given.instruction->opcode()), fmt::join(given.index, ","));
    text += PathLine(given.path, given.result, shape);
  }
  return text;
}

nlohmann::ordered_json ToJson(const OriginReport& report) {
  using Json = nlohmann::ordered_json;
  Json json = {{"watched_s", report.watched_seconds > 0 ? Json(report.watched_seconds) : Json()},
               {"results", Json::array()},
               {"origins", Json::array()},
               {"given", Json::array()}};
  for (const SpecialResult& result : report.results)
    json["results"].push_back(Json{{"kind", Name(result.kind)},
                                   {"result", result.leaf},
                                   {"index", result.index},
                                   {"count", result.count}});
  for (const Origin& origin : report.origins) {
    json["origins"].push_back(Json{{"kind", Name(origin.kind)},
                                   {"instruction", origin.instruction->name()},
                                   {"opcode", Name(origin.instruction->opcode())},
                                   {"index", origin.index},
                                   {"value", origin.value},
                                   {"operands", origin.operands},
                                   {"loops", LoopsJson(origin.loops)},
                                   {"callers", NamesJson(origin.callers)},
                                   {"count", origin.count},
                                   {"later_executions", origin.later_executions},
                                   {"causes", NamesJson(origin.causes)},
                                   {"path", NamesJson(origin.path)},
                                   {"result", origin.result}});
  }
  for (const GivenSpecial& given : report.given)
    json["given"].push_back(Json{{"kind", Name(given.kind)},
                                 {"instruction", given.instruction->name()},
                                 {"index", given.index},
                                 {"path", NamesJson(given.path)},
                                 {"result", given.result}});
  return json;
}

}  // namespace hlo::debug
