#include "debug/diff/cross_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "base/counted.h"
#include "base/status.h"
#include "build/extract.h"
#include "debug/contributions.h"
#include "debug/dataflow.h"
#include "debug/golden_folder.h"
#include "debug/loops.h"
#include "debug/report_text.h"
#include "debug/shadow/shadow.h"
#include "debug/shadow/verdict.h"
#include "debug/summary.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "hlo_run/compare.h"
#include "hlo_run/print.h"
#include "nlohmann/json.hpp"

namespace hlo::debug {
namespace {

// A leaf of an instruction in certain iterations of its loops.
using ValueKey = std::tuple<const Instruction*, int64_t, std::vector<int64_t>>;

ValueKey KeyOf(const Instruction& instruction, int64_t leaf, const std::vector<RunningLoop>& loops) {
  return {&instruction, leaf, IterationsOf(loops)};
}

struct RecordedValue {
  Literal value;
  std::string_view kernel;
  int64_t executions = 0;
};

// Keeps every array that the steps of the fast engine write.
class Recorder : public Observer {
 public:
  explicit Recorder(int64_t max_bytes) : bytes_left_(max_bytes) {}

  absl::Status AfterStep(const StepView& step) override {
    for (const StepValue& write : step.Writes()) {
      bytes_left_ -= write.value.byte_count();
      if (bytes_left_ < 0) {
        ++left_out_;
        continue;
      }
      HLO_ASSIGN_OR_RETURN(Literal copy, Literal::Create(write.value.shape()));
      std::memcpy(copy.mutable_data(), write.value.data(), static_cast<size_t>(copy.byte_count()));
      RecordedValue& recorded = values_[KeyOf(*write.instruction, write.leaf, step.loops())];
      recorded = {std::move(copy), step.kernel(), recorded.executions + 1};
    }
    return absl::OkStatus();
  }

  const std::map<ValueKey, RecordedValue>& values() const { return values_; }
  int64_t left_out() const { return left_out_; }

 private:
  std::map<ValueKey, RecordedValue> values_;
  int64_t bytes_left_, left_out_ = 0;
};

class EngineComparison {
 public:
  EngineComparison(const Module& module, const std::map<ValueKey, RecordedValue>& values, CrossCheck& check)
      : dataflow_(module), values_(values), check_(check) {}

  absl::Status Compare(const ShadowStep& step) {
    // The values of different calls cannot be distinguished.
    if (check_.first || !dataflow_.HasOneCallSite(*step.instruction.parent())) return absl::OkStatus();
    ShadowValue result = step.result;
    const std::vector<ShadowValue*> leaves = ShadowLeaves(result);
    for (size_t leaf = 0; leaf < leaves.size(); ++leaf) {
      const auto found = values_.find(KeyOf(step.instruction, static_cast<int64_t>(leaf), step.loops));
      // A computation that runs several times in an iteration has one value for several executions.
      if (found == values_.end() || found->second.executions != 1) continue;
      if (!Compatible(found->second.value.shape(), leaves[leaf]->declared.shape())) continue;
      ++check_.steps;
      const OutputVerdict verdict = JudgeArray(*leaves[leaf], found->second.value);
      if (verdict.outside == 0) continue;
      SetFirst(step, static_cast<int64_t>(leaf), found->second.kernel, verdict);
      return absl::OkStatus();
    }
    return absl::OkStatus();
  }

  const std::vector<Literal>& operands() const { return operands_; }

 private:
  void SetFirst(const ShadowStep& step, int64_t leaf, std::string_view kernel, const OutputVerdict& verdict) {
    StepDifference first{
        .instruction = &step.instruction, .leaf = leaf, .loops = step.loops, .kernel = kernel};
    first.index = verdict.index;
    first.fast = verdict.got;
    first.reference = verdict.declared;
    first.error = verdict.error_ulp;
    first.bound = verdict.bound_ulp;
    first.count = verdict.outside;
    for (size_t k = 0; k < step.operands.size(); ++k) {
      operands_.push_back(Declared(step.operands[k]));
      first.operands.push_back(
          ContributionText(step.instruction, static_cast<int64_t>(k), operands_.back(), first.index));
    }
    check_.first = std::move(first);
  }

  const Dataflow dataflow_;
  const std::map<ValueKey, RecordedValue>& values_;
  CrossCheck& check_;
  std::vector<Literal> operands_;  // The operands of the step that differs first.
};

// Sets the part to the instruction alone if that also differs on the fast engine.
absl::Status FindPart(const CheckedModule& module, const std::vector<Literal>& operands,
                      const CrossCheckOptions& options, CrossCheck& check) {
  const Instruction* instruction = check.first->instruction;
  const ExtractedPart part = Extract(module.module(), {&instruction, 1}, {.height = 0});
  const absl::StatusOr<CheckedModule> checked = CheckedText(part.text);
  if (!checked.ok()) return absl::OkStatus();
  std::vector<Literal> arguments;
  for (const Instruction* parameter : part.parameters) {
    const auto at = std::find(instruction->operands().begin(), instruction->operands().end(), parameter);
    if (at == instruction->operands().end()) return absl::OkStatus();
    arguments.push_back(operands[static_cast<size_t>(at - instruction->operands().begin())]);
  }
  const absl::StatusOr<Literal> fast = Execute(*checked, arguments, Engine::kFast, {}, {}, options.plan);
  absl::StatusOr<ShadowReport> shadow = RunShadow(*checked, arguments, {});
  if (!fast.ok() || !shadow.ok()) return absl::OkStatus();
  const std::vector<OutputVerdict> verdicts = Judge(*shadow, checked->module(), *fast);
  const bool differs = std::any_of(verdicts.begin(), verdicts.end(), IsUnexplained);
  if (!differs) return absl::OkStatus();
  check.part = part.text;
  check.part_arguments = std::move(arguments);
  check.part_result = Declared(shadow->result);
  return absl::OkStatus();
}

nlohmann::ordered_json RuleJson(const CompareRule& rule) {
  if (rule.kind == CompareRule::Kind::kExact) return {{"kind", "exact"}};
  return {{"kind", "close"}, {"abs", rule.abs}, {"rel", rule.rel}};
}

}  // namespace

absl::StatusOr<CrossCheck> RunCrossCheck(const CheckedModule& module, const std::vector<Literal>& arguments,
                                         const EvaluateOptions& options,
                                         const CrossCheckOptions& check_options) {
  CrossCheck check;
  Recorder recorder(check_options.max_bytes);
  EvaluateOptions recorded = options;
  recorded.observer = &recorder;
  HLO_ASSIGN_OR_RETURN(check.fast,
                       Execute(module, arguments, Engine::kFast, recorded, {}, check_options.plan));
  check.left_out = recorder.left_out();
  EngineComparison comparison(module.module(), recorder.values(), check);
  HLO_ASSIGN_OR_RETURN(const ShadowReport report,
                       RunShadow(module, arguments, options,
                                 [&](const ShadowStep& step) { return comparison.Compare(step); }));
  check.reference = Declared(report.result);
  if (check.first) {
    HLO_RETURN_IF_ERROR(FindPart(module, comparison.operands(), check_options, check));
    return check;
  }
  // A root that is a constant or an argument is not a step.
  for (const OutputVerdict& verdict : Judge(report, module.module(), check.fast)) {
    if (verdict.outside == 0) continue;
    check.first = StepDifference{.instruction = module.module().entry()->root(),
                                 .index = verdict.index,
                                 .fast = verdict.got,
                                 .reference = verdict.declared,
                                 .error = verdict.error_ulp,
                                 .bound = verdict.bound_ulp,
                                 .count = verdict.outside};
    break;
  }
  return check;
}

std::string ToString(const CrossCheck& check) {
  std::string text;
  if (!check.first) {
    text = fmt::format("the engines agree within rounding in {}\n", Counted(check.steps, "array"));
  } else {
    const StepDifference& first = *check.first;
    text = fmt::format("the engines differ beyond rounding first in %{}", first.instruction->name());
    text += LoopsText(first.loops);
    text += fmt::format("\n  {}\n", ShortText(*first.instruction));
    text += fmt::format("  at {{{}}}: fast {}, reference {}: {:.3g} ULP, rounding allows {:.3g} ULP; {}\n",
                        fmt::join(first.index, ","), first.fast, first.reference, first.error, first.bound,
                        Counted(first.count, "element"));
    for (const std::string& operand : first.operands) text += fmt::format("  {}\n", operand);
    if (!first.kernel.empty()) text += fmt::format("  kernel {}\n", first.kernel);
  }
  if (check.left_out > 0)
    text += fmt::format("{} arrays were not compared: they take too much memory\n", check.left_out);
  return text;
}

nlohmann::ordered_json ToJson(const CrossCheck& check) {
  nlohmann::ordered_json json = {
      {"agree", !check.first.has_value()}, {"arrays", check.steps}, {"left_out", check.left_out}};
  if (!check.first) return json;
  const StepDifference& first = *check.first;
  json["first"] = {{"instruction", first.instruction->name()},
                   {"leaf", first.leaf},
                   {"loops", LoopsJson(first.loops)},
                   {"kernel", first.kernel},
                   {"index", first.index},
                   {"fast", first.fast},
                   {"reference", first.reference},
                   {"error_ulp", first.error},
                   {"bound_ulp", first.bound},
                   {"count", first.count},
                   {"operands", first.operands}};
  return json;
}

absl::Status WriteCase(const std::string& folder, const CheckedModule& module,
                       const std::vector<Literal>& arguments, const CrossCheck& check) {
  const bool is_part = !check.part.empty();
  const Literal& result = is_part ? check.part_result : check.reference;
  nlohmann::ordered_json json = {{"rule", {{"kind", "exact"}}}, {"rules", nlohmann::ordered_json::object()}};
  for (const LiteralLeaf& leaf : ArrayLeaves(result))
    json["rules"][leaf.key] = RuleJson(
        IsFloatOrComplex(leaf.value->type()) ? DefaultCompareRule(leaf.value->type()) : CompareRule::Exact());
  return WriteGoldenFolder(folder, {is_part ? check.part : Print(module.module(), {.own_order = true}),
                                    is_part ? check.part_arguments : arguments, &result, json});
}

}  // namespace hlo::debug
