// Implements `shadow`: evaluates a module in a wider type beside the declared one, and judges results by the
// error bound.

#include <algorithm>
#include <chrono>

#include "base/status.h"
#include "cli/commands.h"
#include "cli/devices.h"
#include "cli/flags.h"
#include "debug/shadow.h"
#include "debug/verdict.h"
#include "fmt/format.h"

namespace hlo::cli {
namespace {

struct ShadowFlags {
  CommonOptions common;
  InputOptions inputs;
  std::string against;
  EvaluateOptions evaluate;
};

absl::Status JudgeFile(const std::string& path, const debug::ShadowReport& report, const Module& module,
                       FileResult& result) {
  HLO_ASSIGN_OR_RETURN(const Literal got, ReadValue(path, ResultShapeInMemory(module)));
  result.extra["verdicts"] = Json::array();
  for (const debug::OutputVerdict& verdict : debug::Judge(report, module, got)) {
    result.text += debug::ToString(verdict);
    result.extra["verdicts"].push_back(debug::ToJson(verdict));
    if (verdict.verdict == debug::RoundingVerdict::kBug) result.exit = std::max(result.exit, Exit::kFailed);
  }
  return absl::OkStatus();
}

void Shadow(const ShadowFlags& flags, const std::string& file, FileResult& result) {
  const LoadedModule loaded = Load(file, flags.common, LoadUntil::kChecked, Exit::kInvalid, result);
  if (loaded.module == nullptr) return;
  const absl::Status one = RequireOneDevice(
      "shadow", *loaded.module,
      "hlo-run slice --for-device makes a case of one device from a part without collectives");
  if (!result.Accept(one, file)) return;
  const absl::StatusOr<std::vector<Literal>> arguments = Arguments(flags.inputs, loaded);
  if (!result.Accept(arguments.status(), file)) return;
  const auto start = std::chrono::steady_clock::now();
  const absl::StatusOr<debug::ShadowReport> report =
      debug::RunShadow(loaded.checked.front(), *arguments, flags.evaluate);
  if (!result.Accept(report.status(), file)) return;
  result.extra["shadow_s"] = SecondsSince(start);
  if (!flags.against.empty() &&
      !result.Accept(JudgeFile(flags.against, *report, *loaded.module, result), flags.against))
    return;
  result.text += debug::ToString(*report);
  result.extra["shadow"] = debug::ToJson(*report);
}

}  // namespace

void AddShadow(CLI::App& program, int& exit_status) {
  auto flags = std::make_shared<ShadowFlags>();
  CLI::App* command = program.add_subcommand("shadow",
                                             "Measure the rounding errors of each instruction; tell whether "
                                             "they explain the result of another implementation");
  AddCommonFlags(*command, flags->common);
  AddInputFlags(*command, flags->inputs);
  AddElidedFlag(*command, flags->common.elided);
  command
      ->add_option("--against", flags->against,
                   "Classify this result of another implementation: explained by rounding, ill-conditioned, "
                   "or a bug (exit status 1)")
      ->type_name("FILE");
  command->add_option("--max-seconds", flags->evaluate.max_seconds, "Time limit for a run, in seconds")
      ->check(CLI::PositiveNumber);
  command->footer(
      "Every value is computed in its declared type and in a wider one, with a bound of the error that a "
      "legal\n"
      "evaluation may have. Legal are any order of sums, any fusion, and more precise intermediate results.\n"
      "Examples:\n"
      "  hlo-run shadow m.hlo --random 1\n"
      "  hlo-run shadow m.hlo --input args.npz --against theirs.npz");
  command->callback([flags, &exit_status] {
    exit_status = ForEachFile(
        flags->common, [&](const std::string& file, FileResult& result) { Shadow(*flags, file, result); });
  });
}

}  // namespace hlo::cli
