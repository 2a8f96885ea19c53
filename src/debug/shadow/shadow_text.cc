// Prints the reports of shadow runs.

#include <cmath>

#include "base/counted.h"
#include "debug/loops.h"
#include "debug/shadow/shadow.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "nlohmann/json.hpp"

namespace hlo::debug {
namespace {

using Json = nlohmann::ordered_json;

std::string BoundText(double bound) { return std::isfinite(bound) ? fmt::format("{:.4g}", bound) : "none"; }

std::string ErrorLine(const InstructionError& error) {
  std::string text =
      fmt::format("{:>12.4g} {:>12.4g} {:>12.4g} {:>12}  %{} {} at {{{}}}{}\n", error.total, error.inherited,
                  error.added, BoundText(error.bound_there), error.instruction->name(),
                  Name(error.instruction->opcode()), fmt::join(error.index, ","), LoopsText(error.loops));
  if (!error.operands.empty()) text += fmt::format("{:>54}{}\n", "", error.operands);
  return text;
}

// Additions of nearly opposite numbers cancel; other instructions are ill-conditioned at their operand.
bool Cancels(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAdd:
    case Opcode::kSubtract:
    case Opcode::kDot:
    case Opcode::kConvolution:
    case Opcode::kReduce:
    case Opcode::kReduceWindow:
    case Opcode::kScatter:
      return true;
    default:
      return false;
  }
}

std::string ConditionLine(const InstructionError& error) {
  const std::string place =
      fmt::format("%{} {} {} at {{{}}}", error.instruction->name(), Name(error.instruction->opcode()),
                  Cancels(error.instruction->opcode()) ? "cancels" : "is ill-conditioned",
                  fmt::join(error.condition_index, ","));
  if (!std::isfinite(error.relative_bound))
    return fmt::format("  {}: within the bounds of its operands, the result has no bound\n", place);
  return fmt::format("  {}: condition number {:.3g}, relative error up to {:.3g}\n", place, error.condition,
                     error.relative_bound);
}

std::string DecisionLine(const ShadowDecision& decision) {
  if (decision.is_index)
    return fmt::format(
        "  %{} {} moves elements by {}{}, which within the error bound may be another index: "
        "any element may come instead, so later bounds say nothing about rounding\n",
        decision.instruction->name(), Name(decision.instruction->opcode()), decision.operands,
        LoopsText(decision.loops));
  if (decision.is_control)
    return fmt::format("  %{} {} takes {}{}, but within the error bound another choice is possible\n",
                       decision.instruction->name(), Name(decision.instruction->opcode()), decision.declared,
                       LoopsText(decision.loops));
  return fmt::format("  %{} {} at {{{}}} is {}{}, but differs in the wider type: {} ({})\n",
                     decision.instruction->name(), Name(decision.instruction->opcode()),
                     fmt::join(decision.index, ","), decision.declared, LoopsText(decision.loops),
                     decision.operands, Counted(decision.count, "element"));
}

Json ErrorJson(const InstructionError& error) {
  return Json{{"instruction", error.instruction->name()},
              {"opcode", Name(error.instruction->opcode())},
              {"executions", error.executions},
              {"total_ulp", error.total},
              {"inherited_ulp", error.inherited},
              {"added_ulp", error.added},
              {"bound_ulp", error.bound},
              {"bound_there_ulp", error.bound_there},
              {"index", error.index},
              {"operands", error.operands},
              {"condition", error.condition},
              {"relative_bound", error.relative_bound},
              {"estimated", error.is_estimated},
              {"anchored", error.is_anchored}};
}

}  // namespace

std::string ToString(const ShadowReport& report) {
  constexpr size_t kWorst = 10;
  std::string text = fmt::format("{:>12} {:>12} {:>12} {:>12}  the largest errors\n", "error ULP",
                                 "inherited", "added", "bound");
  for (const InstructionError* error : WorstByTotalError(report, kWorst)) text += ErrorLine(*error);
  text += "\nthe instructions with the largest added errors\n";
  for (const InstructionError* error : WorstByAddedError(report, kWorst)) text += ErrorLine(*error);
  const std::vector<const InstructionError*> conditions = WorstConditions(report, kWorst);
  if (!conditions.empty()) text += "\ncancellation and ill-conditioning\n";
  for (const InstructionError* error : conditions) text += ConditionLine(*error);
  if (!report.decisions.empty()) text += "\ndecisions\n";
  for (const ShadowDecision& decision : report.decisions) text += DecisionLine(decision);
  for (const InstructionError& error : report.errors) {
    if (error.is_anchored)
      text += fmt::format(
          "\n%{} {} is not computed in the wider type; its wide value restarts from the declared one\n",
          error.instruction->name(), Name(error.instruction->opcode()));
  }
  return text;
}

nlohmann::ordered_json ToJson(const ShadowReport& report) {
  Json json = {{"instructions", Json::array()}, {"decisions", Json::array()}};
  for (const InstructionError& error : report.errors) json["instructions"].push_back(ErrorJson(error));
  for (const ShadowDecision& decision : report.decisions)
    json["decisions"].push_back(Json{{"instruction", decision.instruction->name()},
                                     {"index", decision.index},
                                     {"declared", decision.declared},
                                     {"operands", decision.operands},
                                     {"count", decision.count},
                                     {"control", decision.is_control},
                                     {"index_uncertain", decision.is_index}});
  return json;
}

}  // namespace hlo::debug
