#include "debug/diff/diff_devices.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/status.h"
#include "debug/dataflow.h"
#include "debug/diff/value_types.h"
#include "debug/exposed_run.h"
#include "debug/report_text.h"
#include "fmt/format.h"
#include "nlohmann/json.hpp"

namespace hlo::debug {
namespace {

absl::StatusOr<Executable> MakeExposed(const CheckedModule& module, const DiffOptions& options) {
  return Executable::Make(module, options.engine, options.evaluate, {}, ExposingPlanOptions());
}

absl::StatusOr<std::vector<Literal>> Run(Executable& executable,
                                         const std::vector<std::vector<Literal>>& arguments,
                                         const DevicesOptions& devices, const DiffOptions& options,
                                         int64_t watched, const ArrayWatcher::See& see) {
  ArrayWatcher watcher(see);
  DevicesOptions run = devices;
  if (see) run.observer = [&](int64_t device) -> Observer* { return device == watched ? &watcher : nullptr; };
  return executable.RunDevices(arguments, options.evaluate, run);
}

void CompareResults(const std::vector<Literal>& a, const std::vector<Literal>& b, const DiffOptions& options,
                    DevicesDiff& diff) {
  for (size_t device = 0; device < a.size(); ++device) {
    const std::vector<Leaf> want = LeavesOf(a[device]), got = LeavesOf(b[device]);
    for (size_t k = 0; k < want.size(); ++k) {
      CompareReport report =
          CompareArrays(*got[k].value, *want[k].value, RuleFor(want[k].value->type(), options));
      if (!report.ok())
        diff.results.push_back({static_cast<int64_t>(device), want[k].leaf, std::move(report)});
    }
  }
}

// Pairs of instructions that each computation of the flat modules has once.
class Pairs {
 public:
  Pairs(const FlatModule& a, const FlatModule& b) : alignment_(a, b) {
    absl::flat_hash_map<const Instruction*, int64_t> uses_a, uses_b;
    for (const Instruction* i : a.instructions()) ++uses_a[&a.OriginalOf(*i)];
    for (const Instruction* i : b.instructions()) ++uses_b[&b.OriginalOf(*i)];
    for (const AlignedPair& pair : alignment_.pairs()) {
      const Instruction &of_a = a.OriginalOf(*pair.a), &of_b = b.OriginalOf(*pair.b);
      if (uses_a[&of_a] != 1 || uses_b[&of_b] != 1) continue;
      to_a_[&of_b] = &of_a;
      in_order_.push_back({&of_a, &of_b, pair.by});
    }
  }
  // Returns null for instructions without a partner.
  const Instruction* PartnerOf(const Instruction* b) const {
    const auto found = to_a_.find(b);
    return found == to_a_.end() ? nullptr : found->second;
  }
  const std::vector<AlignedPair>& in_order() const { return in_order_; }

 private:
  Alignment alignment_;
  absl::flat_hash_map<const Instruction*, const Instruction*> to_a_;
  std::vector<AlignedPair> in_order_;
};

// Compares the aligned values of one device, in two runs: the first keeps the values of `a`.
absl::Status FindFirst(const Pairs& pairs, Executable& a, Executable& b,
                       const std::vector<std::vector<Literal>>& arguments, const DevicesOptions& devices,
                       const DiffOptions& options, DevicesDiff& diff) {
  absl::flat_hash_set<const Instruction*> paired;
  for (const AlignedPair& pair : pairs.in_order()) paired.insert(pair.a);
  // Instructions that a run executes several times have nullopt.
  absl::flat_hash_map<LeafId, std::optional<Literal>> kept;
  int64_t bytes = 0;
  const auto keep = [&](const Instruction* instruction, int64_t number,
                        const Literal& value) -> absl::Status {
    const LeafId leaf = {instruction, number};
    if (!paired.contains(leaf.first) || bytes + value.byte_count() > options.max_bytes)
      return absl::OkStatus();
    const auto [found, is_new] = kept.try_emplace(leaf, std::nullopt);
    if (!is_new) {
      found->second.reset();
      return absl::OkStatus();
    }
    bytes += value.byte_count();
    found->second = value;
    return found->second->MakeUnique();
  };
  absl::flat_hash_map<LeafId, std::optional<CompareReport>> reports;  // By leaf of `b`.
  const auto compare = [&](const Instruction* instruction, int64_t number,
                           const Literal& value) -> absl::Status {
    const LeafId of_a = {pairs.PartnerOf(instruction), number};
    const auto found = kept.find(of_a);
    if (of_a.first == nullptr || found == kept.end() || !found->second.has_value()) return absl::OkStatus();
    const auto [report, is_new] = reports.try_emplace({instruction, number}, std::nullopt);
    if (!is_new) {
      report->second.reset();
      return absl::OkStatus();
    }
    const CommonTypes common = InNarrowerType(*found->second, value);
    report->second = CompareArrays(common.b, common.a, RuleFor(common.a.type(), options));
    return absl::OkStatus();
  };
  const int64_t watched = diff.results[0].device;
  HLO_RETURN_IF_ERROR(Run(a, arguments, devices, options, watched, keep).status());
  HLO_RETURN_IF_ERROR(Run(b, arguments, devices, options, watched, compare).status());
  for (const AlignedPair& pair : pairs.in_order()) {
    for (int64_t leaf = 0; leaf < pair.a->shape().LeafCount(); ++leaf) {
      const auto report = reports.find({pair.b, leaf});
      if (report == reports.end() || !report->second.has_value()) continue;
      ++diff.compared;
      if (report->second->ok()) continue;
      ++diff.differing;
      if (!diff.first)
        diff.first = DevicesDiff::Value{pair.a, pair.b, std::string(Name(pair.by)), *report->second};
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<DevicesDiff> DiffDevices(const CheckedModule& a, const CheckedModule& b,
                                        const std::vector<std::vector<Literal>>& arguments,
                                        const DevicesOptions& devices, const DiffOptions& options) {
  const Shape &shape_a = a.module().entry()->root()->shape(), &shape_b = b.module().entry()->root()->shape();
  if (!Equal(shape_a, shape_b, {.ignore_layout = true})) {
    return absl::FailedPreconditionError(
        fmt::format("the modules give {} and {}", ToString(shape_a), ToString(shape_b)));
  }
  DevicesDiff diff;
  HLO_ASSIGN_OR_RETURN(Executable run_a, MakeExposed(a, options));
  HLO_ASSIGN_OR_RETURN(Executable run_b, MakeExposed(b, options));
  HLO_ASSIGN_OR_RETURN(const std::vector<Literal> of_a, Run(run_a, arguments, devices, options, 0, {}));
  HLO_ASSIGN_OR_RETURN(const std::vector<Literal> of_b, Run(run_b, arguments, devices, options, 0, {}));
  CompareResults(of_a, of_b, options, diff);
  if (diff.results.empty()) return diff;
  const FlatModule flat_a(a.shared(), *a.module().entry()), flat_b(b.shared(), *b.module().entry());
  const absl::Status found =
      FindFirst(Pairs(flat_a, flat_b), run_a, run_b, arguments, devices, options, diff);
  diff.is_complete = found.ok();
  if (!found.ok() && !absl::IsCancelled(found)) return found;
  return diff;
}

std::string ToText(const DevicesDiff& diff, const std::vector<std::string>& names, const Module& module) {
  if (diff.results.empty()) return fmt::format("no result of {} devices differs\n", names.size());
  std::string text;
  for (const DevicesDiff::Result& result : diff.results) {
    text += fmt::format("{} of {}:\n{}", PlaceText(module.entry()->root()->shape(), result.leaf, {}),
                        names[static_cast<size_t>(result.device)], ToString(result.report, 2));
  }
  if (!diff.is_complete) return text + "the first value that differs was not found\n";
  const std::string& name = names[static_cast<size_t>(diff.results[0].device)];
  text += fmt::format("\n{} of {} aligned values differ on {}\n", diff.differing, diff.compared, name);
  if (!diff.first) return text;
  text += fmt::format("the first, aligned by {}:\n  {}\n  {}\n{}", diff.first->aligned_by,
                      ShortText(*diff.first->a), ShortText(*diff.first->b), ToString(diff.first->report, 2));
  return text;
}

nlohmann::ordered_json ToJson(const DevicesDiff& diff, const std::vector<std::string>& names) {
  using Json = nlohmann::ordered_json;
  Json json = {{"results", Json::array()}, {"compared", diff.compared}, {"differing", diff.differing}};
  for (const DevicesDiff::Result& result : diff.results)
    json["results"].push_back(Json{{"device", names[static_cast<size_t>(result.device)]},
                                   {"result", result.leaf},
                                   {"report", ToString(result.report)}});
  if (diff.first) {
    json["first"] = {{"a", diff.first->a->name()},
                     {"b", diff.first->b->name()},
                     {"aligned_by", diff.first->aligned_by},
                     {"report", ToString(diff.first->report)}};
  }
  return json;
}

}  // namespace hlo::debug
