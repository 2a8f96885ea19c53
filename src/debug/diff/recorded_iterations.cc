#include "debug/diff/recorded_iterations.h"

#include <algorithm>
#include <limits>

#include "absl/container/flat_hash_set.h"
#include "base/activity.h"
#include "base/status.h"
#include "debug/statistics.h"
#include "debug/trace/trace.h"
#include "fmt/format.h"
#include "hlo_run/print.h"

namespace hlo::debug {
namespace {

// Returns the name before the iteration and the execution, without the computation: `add.3` of
// `body/add.3@2`.
std::string_view NameIn(std::string_view key) {
  key = key.substr(0, std::min(key.find('@'), key.find('#')));
  const size_t slash = key.rfind('/');
  return slash == std::string_view::npos ? key : key.substr(slash + 1);
}

// Returns the name of a tuple in the name of a leaf of it: `w` of `w.1`.
std::string_view TupleOf(std::string_view name) {
  const size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(0, dot);
}

class IterationDiff {
 public:
  IterationDiff(Archive& recorded, const std::vector<std::string>& keys, const DiffOptions& options,
                RecordedIterations& result)
      : recorded_(recorded), options_(options), result_(result), keys_(keys.begin(), keys.end()) {}

  absl::Status Run(const CheckedModule& module, const std::vector<Literal>& arguments) {
    TraceOptions trace{.selected = Selected(module.module()),
                       .max_records = std::numeric_limits<int64_t>::max()};
    result_.unknown_keys = static_cast<int64_t>(keys_.size());
    if (trace.selected.empty()) return absl::OkStatus();
    hlo::Report({.what = "comparing recorded values of loops"});
    absl::Status status =
        Trace(module, arguments, options_.engine, options_.evaluate, trace, [&](const TraceRecord& record) {
          return Compare(record);
        }).status();
    result_.unknown_keys = static_cast<int64_t>(keys_.size()) - result_.compared;
    return status;
  }

 private:
  absl::flat_hash_set<const Instruction*> Selected(const Module& module) const {
    absl::flat_hash_set<std::string_view> names;
    for (const std::string& key : keys_) names.insert({NameIn(key), TupleOf(NameIn(key))});
    absl::flat_hash_set<const Instruction*> selected;
    for (const Computation* computation : module.computations()) {
      for (const Instruction* instruction : computation->instructions()) {
        if (names.contains(instruction->name())) selected.insert(instruction);
      }
    }
    return selected;
  }

  absl::Status Compare(const TraceRecord& record) {
    const std::string key = KeyOf(record);
    if (!keys_.contains(key)) return absl::OkStatus();
    const absl::StatusOr<Literal> want = recorded_.Read(key, record.value.shape());
    if (!want.ok()) return absl::OkStatus();
    ++result_.compared;
    const std::optional<CompareReport> report = CompareValues(record.value, *want, options_);
    if (!report) return absl::OkStatus();
    ++result_.differing;
    differing_.insert(key);
    if (result_.first && result_.first->operands_agree) return absl::OkStatus();
    const bool operands_agree = OperandsAgree(record);
    if (result_.first && !operands_agree) return absl::OkStatus();
    result_.first = RecordedIterations::Value{
        .heading = HeadingOf(record),
        .text = Print(*record.instruction, {.metadata = false, .layouts = false, .large_constants = false}),
        .computed = DescribeValue(record.value),
        .recorded = DescribeValue(*want),
        .report = *report,
        .operands_agree = operands_agree};
    return absl::OkStatus();
  }

  // True if the value of each operand in this iteration was recorded and agrees, or is a constant.
  bool OperandsAgree(const TraceRecord& record) const {
    for (const Instruction* operand : record.instruction->operands()) {
      if (operand->opcode() == Opcode::kConstant) continue;
      TraceRecord other = record;
      other.instruction = operand;
      other.leaf = 0;
      if (!operand->shape().IsArray()) return false;
      const std::string key = KeyOf(other);
      if (!keys_.contains(key) || differing_.contains(key)) return false;
    }
    return true;
  }

  Archive& recorded_;
  const DiffOptions& options_;
  RecordedIterations& result_;
  absl::flat_hash_set<std::string> keys_, differing_;
};

}  // namespace

absl::Status CompareIterations(const CheckedModule& module, Archive& recorded,
                               const std::vector<std::string>& keys, const std::vector<Literal>& arguments,
                               const DiffOptions& options, RecordedIterations& result) {
  return IterationDiff(recorded, keys, options, result).Run(module, arguments);
}

}  // namespace hlo::debug
