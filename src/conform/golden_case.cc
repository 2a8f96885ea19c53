// Runs golden folders: module.hlo, inputs.npz (optional), outputs.npz, case.json.

#include <sys/stat.h>

#include <algorithm>
#include <optional>

#include "base/counted.h"
#include "base/status.h"
#include "conform/device_case.h"
#include "conform/inline_case.h"
#include "fmt/format.h"
#include "hlo_run/io.h"
#include "hlo_run/parse.h"
#include "nlohmann/json.hpp"
#include "spmd/device_grid.h"

namespace hlo::conform {
namespace {

using Json = nlohmann::ordered_json;

bool Exists(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0;
}

struct Rules {
  CompareRule rule;
  std::vector<std::pair<std::string, CompareRule>> by_key;
  // The settings of devices in the file; nullopt if it has none.
  std::optional<int64_t> devices, replicas, partitions;
  bool shard = false, emulates_xla_cpu = false;

  const CompareRule& Of(const std::string& key) const {
    for (const auto& [name, special] : by_key) {
      if (name == key) return special;
    }
    return rule;
  }
};

absl::StatusOr<CompareRule> ReadRule(const Json& json, const std::string& path) {
  const auto wrong = [&](std::string_view what) {
    return absl::InvalidArgumentError(fmt::format("{}: {}", path, what));
  };
  if (!json.is_object()) return wrong("a rule is not an object");
  const auto number = [&](const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_number() ? found->get<double>() : -1.0;
  };
  const auto kind = json.find("kind");
  if (kind != json.end() && *kind == "exact") return CompareRule::Exact();
  if (kind != json.end() && *kind == "ulp" && number("ulp") >= 0) {
    return CompareRule::Ulp(static_cast<uint64_t>(std::min(number("ulp"), 1e18)));
  }
  if (kind != json.end() && *kind == "close" && number("abs") >= 0 && number("rel") >= 0) {
    return CompareRule::Close(number("abs"), number("rel"));
  }
  return wrong(R"(a rule should read like {"kind": "exact"}, {"kind": "ulp", "ulp": 2} or )"
               R"({"kind": "close", "abs": 1e-6, "rel": 1e-5})");
}

absl::StatusOr<Rules> ReadRules(const std::string& path) {
  HLO_ASSIGN_OR_RETURN(std::shared_ptr<const SourceText> text, SourceText::Read(path));
  const Json json = Json::parse(text->content(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return absl::InvalidArgumentError(fmt::format("{}: is not a JSON object", path));
  Rules rules;
  const std::pair<const char*, std::optional<int64_t>*> counts[] = {
      {"devices", &rules.devices}, {"replicas", &rules.replicas}, {"partitions", &rules.partitions}};
  for (const auto& [key, count] : counts) {
    if (json.contains(key) && json[key].is_number_integer()) *count = json[key].get<int64_t>();
  }
  rules.shard = json.contains("shard") && json["shard"] == true;
  rules.emulates_xla_cpu = json.contains("xla_cpu") && json["xla_cpu"] == true;
  if (json.contains("rule")) {
    HLO_ASSIGN_OR_RETURN(rules.rule, ReadRule(json["rule"], path));
  }
  if (json.contains("rules") && json["rules"].is_object()) {
    for (const auto& [key, rule] : json["rules"].items()) {
      HLO_ASSIGN_OR_RETURN(CompareRule special, ReadRule(rule, path));
      rules.by_key.emplace_back(key, special);
    }
  }
  return rules;
}

struct GoldenModule {
  std::vector<CheckedModule> checked;  // One module.
  DeviceSetting setting;
};

// Sets the counts of devices in the module's header to those of the case.
absl::StatusOr<DeviceSetting> ChooseDevices(const Rules& rules, Module& module) {
  const bool is_one = rules.devices == 1;
  HLO_ASSIGN_OR_RETURN(
      const spmd::DeviceGrid grid,
      is_one ? spmd::DeviceGrid{}
             : spmd::ChooseGrid(module, rules.replicas, rules.partitions, /*is_sharded=*/rules.shard));
  if (rules.devices.value_or(grid.count()) != grid.count()) {
    return absl::FailedPreconditionError(
        fmt::format("the case has {}, but the module has {} of {}; case.json may "
                    "say \"replicas\" and \"partitions\"",
                    Counted(*rules.devices, "device"), Counted(grid.replicas, "replica"),
                    Counted(grid.partitions, "partition")));
  }
  if (!is_one) {
    module.mutable_header().replica_count = grid.replicas;
    module.mutable_header().num_partitions = grid.partitions;
  }
  return DeviceSetting{grid.replicas, grid.partitions, rules.shard, rules.emulates_xla_cpu};
}

absl::StatusOr<GoldenModule> ReadModule(const ModuleFile& file, const ElidedValues& elided,
                                        const Rules& rules) {
  Diagnostics diagnostics;
  std::shared_ptr<Module> module = Parse(file.text, diagnostics, {.infer_shape = &InferMissingShape});
  if (!module) return diagnostics.ToStatus(*file.text);
  HLO_RETURN_IF_ERROR(FillElided(elided, *module));
  HLO_ASSIGN_OR_RETURN(const DeviceSetting setting, ChooseDevices(rules, *module));
  HLO_ASSIGN_OR_RETURN(CheckedModule checked, Check(module, diagnostics));
  return GoldenModule{{std::move(checked)}, setting};
}

// Evaluates the module on one device or on several.
absl::StatusOr<DeviceResults> Run(const GoldenModule& golden, const CaseEvaluator& evaluator,
                                  ArgumentsOfDevice arguments_of, Outcome* outcome) {
  const CheckedModule& module = golden.checked[0];
  if (golden.setting.has_several())
    return RunOnDevices(module, golden.setting, arguments_of, evaluator.devices, outcome);
  HLO_ASSIGN_OR_RETURN(std::vector<Literal> arguments, arguments_of({}, {}));
  HLO_ASSIGN_OR_RETURN(Literal result, evaluator.one(module, std::move(arguments), nullptr));
  return DeviceResults{{{}}, {std::move(result)}};
}

absl::StatusOr<Outcome> CompareOne(const std::string& path, const Literal& result, const Rules& rules) {
  HLO_ASSIGN_OR_RETURN(std::unique_ptr<Archive> want, Archive::Open(path));
  const std::vector<LiteralLeaf> leaves = ArrayLeaves(result);
  Outcome outcome;
  if (leaves.size() != want->keys().size()) {
    return Outcome{Verdict::kFailed,
                   fmt::format("the result {} has {}, but outputs.npz has {}\n", ToString(result.shape()),
                               Counted(leaves.size(), "array"), want->keys().size())};
  }
  for (const LiteralLeaf& leaf : leaves) {
    HLO_ASSIGN_OR_RETURN(Literal expected, want->Read(leaf.key, leaf.value->shape()));
    CompareReport report = CompareArrays(*leaf.value, expected, rules.Of(leaf.key));
    report.key = leaf.key;
    AddComparison(report, &outcome);
  }
  return outcome;
}

absl::StatusOr<Outcome> RunFolder(const std::string& folder, const CaseEvaluator& evaluator,
                                  const ElidedValues& elided) {
  HLO_ASSIGN_OR_RETURN(const Rules rules, ReadRules(folder + "/case.json"));
  HLO_ASSIGN_OR_RETURN(const ModuleFile file, ReadModuleFile(folder + "/module.hlo"));
  HLO_ASSIGN_OR_RETURN(const GoldenModule golden, ReadModule(file, elided, rules));
  std::vector<std::string> inputs;
  if (Exists(folder + "/inputs.npz")) inputs.push_back(folder + "/inputs.npz");
  const auto arguments_of = [&](const DevicePlace& place, const std::vector<Shape>& shapes) {
    InputsOptions options{.shapes = shapes};
    if (golden.setting.has_several()) options.device = place;
    return ReadInputs(golden.checked[0].module(), inputs, options);
  };
  Outcome outcome;
  HLO_ASSIGN_OR_RETURN(const DeviceResults results, Run(golden, evaluator, arguments_of, &outcome));
  if (!golden.setting.has_several()) return CompareOne(folder + "/outputs.npz", results.values[0], rules);
  HLO_ASSIGN_OR_RETURN(const std::unique_ptr<Archive> want, Archive::Open(folder + "/outputs.npz"));
  HLO_RETURN_IF_ERROR(CompareStored(
      *want, "", results, [&](const std::string& key) { return rules.Of(key); }, &outcome));
  return outcome;
}

void CompareWithSnapshot(const Literal& result, const Literal& expected, const std::optional<Rules>& rules,
                         Outcome* outcome) {
  const std::vector<LiteralLeaf> got = ArrayLeaves(result), want = ArrayLeaves(expected);
  if (got.size() != want.size()) {
    *outcome = {Verdict::kFailed,
                fmt::format("the result {} has {}, but the snapshot's {} has {}\n", ToString(result.shape()),
                            Counted(got.size(), "array"), ToString(expected.shape()), want.size())};
    return;
  }
  for (size_t i = 0; i < got.size(); ++i) {
    CompareReport report =
        CompareArrays(*got[i].value, *want[i].value,
                      rules ? rules->Of(got[i].key) : DefaultCompareRule(got[i].value->type()));
    report.key = got[i].key;
    AddComparison(report, outcome);
  }
}

// A snapshot of a module for several devices has the arguments and the result of each of them.
absl::StatusOr<Outcome> RunSnapshot(const std::string& path, const CaseEvaluator& evaluator,
                                    const ElidedValues& elided) {
  HLO_ASSIGN_OR_RETURN(const ModuleFile file, ReadModuleFile(path));
  if (!file.result)
    return absl::InvalidArgumentError(fmt::format("{}: is not a snapshot: it has no result", path));
  std::optional<Rules> rules;
  if (Exists(path + ".json")) {
    HLO_ASSIGN_OR_RETURN(rules, ReadRules(path + ".json"));
  }
  HLO_ASSIGN_OR_RETURN(const GoldenModule golden, ReadModule(file, elided, rules.value_or(Rules())));
  const auto arguments_of = [&](const DevicePlace&, const std::vector<Shape>&) {
    return absl::StatusOr<std::vector<Literal>>(*file.arguments);
  };
  Outcome outcome;
  HLO_ASSIGN_OR_RETURN(const DeviceResults results, Run(golden, evaluator, arguments_of, &outcome));
  const auto compare = [&](size_t index, Outcome* one) {
    CompareWithSnapshot(results.values[index], *file.result, rules, one);
    return absl::OkStatus();
  };
  if (golden.setting.has_several())
    HLO_RETURN_IF_ERROR(CompareDevices(results, compare, &outcome));
  else
    CompareWithSnapshot(results.values[0], *file.result, rules, &outcome);
  return outcome;
}

}  // namespace

Outcome RunSnapshotCase(const std::string& path, const CaseEvaluator& evaluator, const ElidedValues& elided) {
  absl::StatusOr<Outcome> outcome = RunSnapshot(path, evaluator, elided);
  return outcome.ok() ? *std::move(outcome) : OutcomeOf(outcome.status(), Verdict::kError);
}

Outcome RunGoldenCase(const std::string& folder, const CaseEvaluator& evaluator, const ElidedValues& elided) {
  absl::StatusOr<Outcome> outcome = RunFolder(folder, evaluator, elided);
  return outcome.ok() ? *std::move(outcome) : OutcomeOf(outcome.status(), Verdict::kError);
}

}  // namespace hlo::conform
