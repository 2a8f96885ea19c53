// Runs golden folders: module.hlo, inputs.npz (optional), outputs.npz, case.json.

#include <sys/stat.h>

#include <algorithm>
#include <optional>

#include "base/status.h"
#include "conform/inline_case.h"
#include "fmt/format.h"
#include "hlo_run/io.h"
#include "hlo_run/parse.h"
#include "nlohmann/json.hpp"

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
  int64_t devices = 1;

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
  if (!json.is_object()) return wrong("a rule is no object");
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
  if (!json.is_object()) return absl::InvalidArgumentError(fmt::format("{}: is no JSON object", path));
  Rules rules;
  if (json.contains("devices") && json["devices"].is_number_integer())
    rules.devices = json["devices"].get<int64_t>();
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

absl::StatusOr<CheckedModule> ReadModule(const ModuleFile& file, const ElidedValues& elided) {
  Diagnostics diagnostics;
  std::shared_ptr<Module> module = Parse(file.text, diagnostics, {.infer_shape = &InferMissingShape});
  if (!module) return diagnostics.ToStatus(*file.text);
  HLO_RETURN_IF_ERROR(FillElided(elided, *module));
  return Check(module, diagnostics);
}

absl::StatusOr<Outcome> Compare(const std::string& folder, const Literal& result, const Rules& rules) {
  HLO_ASSIGN_OR_RETURN(std::unique_ptr<Archive> want, Archive::Open(folder + "/outputs.npz"));
  const std::vector<LiteralLeaf> leaves = ArrayLeaves(result);
  Outcome outcome;
  if (leaves.size() != want->keys().size()) {
    return Outcome{Verdict::kFailed,
                   fmt::format("the result {} has {} arrays, but outputs.npz has {}\n",
                               ToString(result.shape()), leaves.size(), want->keys().size())};
  }
  for (const LiteralLeaf& leaf : leaves) {
    HLO_ASSIGN_OR_RETURN(Literal expected, want->Read(leaf.key, leaf.value->shape()));
    CompareReport report = CompareArrays(*leaf.value, expected, rules.Of(leaf.key));
    report.key = leaf.key;
    AddComparison(report, &outcome);
  }
  return outcome;
}

absl::StatusOr<Outcome> RunFolder(const std::string& folder, const EvaluateFn& evaluate,
                                  const ElidedValues& elided) {
  HLO_ASSIGN_OR_RETURN(Rules rules, ReadRules(folder + "/case.json"));
  if (rules.devices != 1) {
    return absl::UnimplementedError(fmt::format("the case needs {} devices", rules.devices));
  }
  HLO_ASSIGN_OR_RETURN(const ModuleFile file, ReadModuleFile(folder + "/module.hlo"));
  HLO_ASSIGN_OR_RETURN(CheckedModule module, ReadModule(file, elided));
  std::vector<std::string> inputs;
  if (Exists(folder + "/inputs.npz")) inputs.push_back(folder + "/inputs.npz");
  HLO_ASSIGN_OR_RETURN(std::vector<Literal> arguments, ReadInputs(module.module(), inputs));
  HLO_ASSIGN_OR_RETURN(Literal result, evaluate(module, std::move(arguments), nullptr));
  return Compare(folder, result, rules);
}

absl::StatusOr<Outcome> RunSnapshot(const std::string& path, const EvaluateFn& evaluate,
                                    const ElidedValues& elided) {
  HLO_ASSIGN_OR_RETURN(const ModuleFile file, ReadModuleFile(path));
  if (!file.result)
    return absl::InvalidArgumentError(fmt::format("{}: is no snapshot: it has no result", path));
  HLO_ASSIGN_OR_RETURN(CheckedModule module, ReadModule(file, elided));
  std::optional<Rules> rules;
  if (Exists(path + ".json")) {
    HLO_ASSIGN_OR_RETURN(rules, ReadRules(path + ".json"));
  }
  HLO_ASSIGN_OR_RETURN(const Literal result, evaluate(module, *file.arguments, nullptr));
  const std::vector<LiteralLeaf> got = ArrayLeaves(result), want = ArrayLeaves(*file.result);
  if (got.size() != want.size()) {
    return Outcome{
        Verdict::kFailed,
        fmt::format("the result {} has {} arrays, but the snapshot's {} has {}\n", ToString(result.shape()),
                    got.size(), ToString(file.result->shape()), want.size())};
  }
  Outcome outcome;
  for (size_t i = 0; i < got.size(); ++i) {
    CompareReport report =
        CompareArrays(*got[i].value, *want[i].value,
                      rules ? rules->Of(got[i].key) : DefaultCompareRule(got[i].value->type()));
    report.key = got[i].key;
    AddComparison(report, &outcome);
  }
  return outcome;
}

}  // namespace

Outcome RunSnapshotCase(const std::string& path, const EvaluateFn& evaluate, const ElidedValues& elided) {
  absl::StatusOr<Outcome> outcome = RunSnapshot(path, evaluate, elided);
  return outcome.ok() ? *std::move(outcome) : OutcomeOf(outcome.status(), Verdict::kError);
}

Outcome RunGoldenCase(const std::string& folder, const EvaluateFn& evaluate, const ElidedValues& elided) {
  absl::StatusOr<Outcome> outcome = RunFolder(folder, evaluate, elided);
  return outcome.ok() ? *std::move(outcome) : OutcomeOf(outcome.status(), Verdict::kError);
}

}  // namespace hlo::conform
