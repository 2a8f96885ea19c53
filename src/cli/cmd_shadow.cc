// Implements `shadow`: evaluates a module in a wider type beside the declared one, and judges results by the
// error bound.

#include <algorithm>

#include "base/clock.h"
#include "base/status.h"
#include "cli/commands.h"
#include "cli/devices.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "debug/device_values.h"
#include "debug/shadow/shadow.h"
#include "debug/shadow/verdict.h"
#include "fmt/format.h"

namespace hlo::cli {
namespace {

struct ShadowFlags {
  CommonOptions common;
  InputOptions inputs;
  DevicesFlags devices;
  std::string against;
  EvaluateOptions evaluate = {.cancel = &interrupt_flag};
};

// Returns the result of another implementation for each device: that under the device's keys, or with
// --shard the device's part of the whole result.
absl::StatusOr<std::vector<Literal>> OtherResults(const ShadowFlags& flags, const DeviceRun& run,
                                                  const Module& module) {
  const std::string& path = flags.against;
  const ReadOptions read{.convert = flags.inputs.convert};
  std::vector<Literal> results;
  if (!run.has_several()) {
    HLO_ASSIGN_OR_RETURN(results.emplace_back(), ReadValue(path, ResultShapeInMemory(module), read));
    return results;
  }
  if (run.shards.has_value() && run.shards->CanJoin() && run.grid.replicas == 1) {
    HLO_ASSIGN_OR_RETURN(const Literal whole, ReadValue(path, run.shards->result(), read));
    for (int64_t device = 0; device < run.grid.count(); ++device) {
      HLO_ASSIGN_OR_RETURN(results.emplace_back(),
                           run.shards->SplitResult(whole, run.grid.partition(device)));
    }
    return results;
  }
  HLO_ASSIGN_OR_RETURN(const std::unique_ptr<Archive> archive, Archive::Open(path));
  for (const DevicePlace& place : debug::PlacesOf(module)) {
    HLO_ASSIGN_OR_RETURN(results.emplace_back(),
                         debug::ReadOfDevice(*archive, place, ResultShapeInMemory(module), read));
  }
  return results;
}

// Judges the result of each device.
void JudgeResults(const std::vector<Literal>& others, const DeviceRun& run,
                  const std::vector<debug::ShadowReport>& reports, const Module& module, FileResult& result) {
  const std::vector<std::string> names = NamesOfDevices(run.grid).names;
  result.extra["verdicts"] = Json::array();
  for (size_t device = 0; device < reports.size(); ++device) {
    for (const debug::OutputVerdict& verdict : debug::Judge(reports[device], module, others[device])) {
      if (run.has_several()) result.text += names[device] + ": ";
      result.text += debug::ToString(verdict);
      Json json = debug::ToJson(verdict);
      if (run.has_several()) json["device"] = names[device];
      result.extra["verdicts"].push_back(std::move(json));
      if (debug::IsUnexplained(verdict)) result.exit = std::max(result.exit, Exit::kFailed);
    }
  }
}

void AddReport(const debug::ShadowReport& report, const DeviceRun& run, size_t device, FileResult& result) {
  if (run.has_several()) {
    result.text += fmt::format("errors on {}\n", NamesOfDevices(run.grid).names[device]);
    result.extra["device"] = NamesOfDevices(run.grid).names[device];
  }
  result.text += debug::ToString(report);
  result.extra["shadow"] = debug::ToJson(report);
}

void Shadow(const ShadowFlags& flags, const std::string& file, FileResult& result) {
  const LoadedModule loaded = Load(file, flags.common, LoadUntil::kChecked, Exit::kInvalid, result);
  if (loaded.module == nullptr) return;
  if (!result.Accept(RequireElements(loaded), file)) return;
  const absl::StatusOr<DeviceRun> run = MakeDeviceRun(flags.inputs, flags.common, flags.devices, loaded);
  if (!result.Accept(run.status(), file)) return;
  const absl::StatusOr<int64_t> shown = ForDevice(flags.devices, run->grid);
  if (!result.Accept(shown.status(), file)) return;
  absl::StatusOr<std::vector<Literal>> others = std::vector<Literal>();
  if (!flags.against.empty()) others = OtherResults(flags, *run, *loaded.module);
  if (!result.Accept(others.status(), file)) return;
  DevicesOptions devices = OptionsOf(flags.devices);
  devices.warn = [&result](const std::string& warning) { AddWarningOnce(warning, result); };
  const double start = SteadySeconds();
  std::vector<debug::ShadowReport> partial;
  const absl::StatusOr<std::vector<debug::ShadowReport>> reports = debug::RunShadowOnDevices(
      loaded.checked.front(), run->arguments, flags.evaluate, devices, {}, &partial);
  // A run that ends early has errors, too.
  const auto number = static_cast<size_t>(*shown);
  if (!reports.ok() && number < partial.size() && !partial[number].errors.empty())
    AddReport(partial[number], *run, number, result);
  if (!result.Accept(reports.status(), file)) return;
  result.extra["shadow_s"] = SteadySeconds() - start;
  if (!flags.against.empty()) JudgeResults(*others, *run, *reports, *loaded.module, result);
  AddReport((*reports)[number], *run, number, result);
}

}  // namespace

void AddShadow(CLI::App& program, int& exit_status) {
  auto flags = std::make_shared<ShadowFlags>();
  CLI::App* command = program.add_subcommand("shadow",
                                             "Measure the rounding errors of each instruction; tell whether "
                                             "they explain the result of another implementation");
  AddCommonFlags(*command, flags->common);
  AddWatchedRunFlags(*command, flags->common, flags->inputs, flags->devices);
  command
      ->add_option(
          "--against", flags->against,
          "Classify this result of another implementation: explained by rounding, ill-conditioned, "
          "not judged because no element has a bound, beyond an estimated bound, or a bug (exit status 1 for "
          "the last two). --convert rounds it to the result's types")
      ->type_name("FILE");
  AddMaxSecondsFlag(*command, flags->evaluate.max_seconds);
  command->footer(
      "Every value is computed in its declared type and in a wider one, with a bound of the error that a "
      "legal\n"
      "evaluation may have. Any order of sums, any fusion and more precise intermediate results are legal.\n"
      "With several devices, --against takes the results of each under keys such as r1/0, or with --shard "
      "the\n"
      "whole results; every device has its own verdicts.\n"
      "Weights and other exact values are widened for one instruction at a time. Each other live float is "
      "in\n"
      "memory up to four more times, as f64. hlo-run slice cuts a part with its values.\n"
      "Examples:\n"
      "  hlo-run shadow m.hlo --random 1\n"
      "  hlo-run shadow m.hlo --input args.npz --against theirs.npz");
  command->callback([flags, &exit_status] {
    exit_status = ForEachFile(
        flags->common, [&](const std::string& file, FileResult& result) { Shadow(*flags, file, result); });
  });
}

}  // namespace hlo::cli
