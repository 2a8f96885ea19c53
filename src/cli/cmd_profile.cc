// Implements `profile`: measures the run time of instructions.

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/activity.h"
#include "base/clock.h"
#include "base/status.h"
#include "cli/commands.h"
#include "cli/devices.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "debug/profile/profile_report.h"
#include "fmt/format.h"
#include "observe/profile.h"

namespace hlo::cli {
namespace {

constexpr int64_t kMaxEvents = 1'000'000;
constexpr int64_t kMaxWatched = 10;  // The largest number of profiled runs.
constexpr double kLongestWatch = 1;  // The time limit of profiled runs in seconds.
// The first profiled run, whose memory and caches are cold, is the only one if it takes more seconds.
constexpr double kLongestColdWatch = 10;

struct ProfileOptions {
  CommonOptions common;
  InputOptions inputs;
  EngineOptions engine;
  DevicesFlags devices;
  int64_t repeat = 3;
  int64_t top = 20;
  std::string trace, folded, csv, before;
  bool roofline = false, chain = false;
};

// Returns GFLOP/s or GB/s; "" if there is none.
std::string Rate(double count, double seconds) {
  return count > 0 && seconds > 0 ? fmt::format("{:.4g}", count / seconds / 1e9) : "";
}

// A table of steps; the column of kernels is as wide as the longest name.
class StepTable {
 public:
  StepTable(std::string_view what, double total) : what_(what), total_(total) {}

  void Add(double seconds, int64_t runs, double flops, double bytes, std::string_view kernel,
           std::string what) {
    width_ = std::max(width_, kernel.size());
    rows_.push_back({fmt::format("{:>10.4f} {:>6.1f} {:>9} {:>9} {:>8}", seconds * 1e3,
                                 total_ > 0 ? seconds / total_ * 100 : 0.0, runs, Rate(flops, seconds),
                                 Rate(bytes, seconds)),
                     kernel, std::move(what)});
  }
  std::string Text() const {
    std::string text = fmt::format("{:>10} {:>6} {:>9} {:>9} {:>8}  {:<{}} {}\n", "ms", "%", "runs",
                                   "GFLOP/s", "GB/s", "kernel", width_, what_);
    for (const Row& row : rows_)
      text += fmt::format("{}  {:<{}} {}\n", row.numbers, row.kernel, width_, row.what);
    return text;
  }

 private:
  struct Row {
    std::string numbers;
    std::string_view kernel;
    std::string what;
  };
  std::string_view what_;
  double total_;
  size_t width_ = 12;
  std::vector<Row> rows_;
};

double Flops(const Profile::Row& row) {
  return static_cast<double>(row.runs) * static_cast<double>(row.cost.flops);
}
double Bytes(const Profile::Row& row) {
  return static_cast<double>(row.runs) *
         (static_cast<double>(row.cost.bytes_read) + static_cast<double>(row.cost.bytes_written));
}

std::string ToText(const Profile& profile, double total, int64_t top) {
  StepTable opcodes("opcode", total), instructions("instruction", total);
  for (const Profile::Group& group : profile.ByOpcode())
    opcodes.Add(group.seconds, group.runs, group.flops, group.bytes, group.kernel, std::string(group.opcode));
  const std::vector<Profile::Row> rows = profile.ByInstruction();
  for (size_t i = 0; i < rows.size() && static_cast<int64_t>(i) < top; ++i) {
    instructions.Add(rows[i].seconds, rows[i].runs, Flops(rows[i]), Bytes(rows[i]), rows[i].kernel,
                     fmt::format("{} {}", Name(rows[i].instruction->opcode()), rows[i].instruction->name()));
  }
  std::string text = opcodes.Text() + "\n" + instructions.Text();
  if (static_cast<int64_t>(rows.size()) > top)
    text += fmt::format("{:>10} and {} more (see --top)\n", "...", static_cast<int64_t>(rows.size()) - top);
  return text;
}

Json ToJson(const Profile& profile) {
  Json rows = Json::array();
  for (const Profile::Row& row : profile.ByInstruction()) {
    rows.push_back({{"instruction", row.instruction->name()},
                    {"opcode", Name(row.instruction->opcode())},
                    {"kernel", row.kernel},
                    {"runs", row.runs},
                    {"seconds", row.seconds},
                    {"flops", Flops(row)},
                    {"bytes", Bytes(row)}});
  }
  return rows;
}

// Returns the time of each device in its own steps, and in collectives, which includes waiting for others.
std::string DevicesText(const std::vector<std::string>& names, const std::vector<Profile>& profiles,
                        Json& json) {
  constexpr size_t kMax = 16;
  std::string text = fmt::format("{:>10} {:>14}  device\n", "own ms", "collectives ms");
  for (size_t d = 0; d < profiles.size(); ++d) {
    double own = 0, exchanging = 0;
    for (const Profile::Row& row : profiles[d].ByInstruction())
      (spmd::DependsOnDevices(*row.instruction) ? exchanging : own) += row.seconds;
    json.push_back({{"device", names[d]}, {"own_s", own}, {"collectives_s", exchanging}});
    if (d < kMax) text += fmt::format("{:>10.4f} {:>14.4f}  {}\n", own * 1e3, exchanging * 1e3, names[d]);
  }
  if (profiles.size() > kMax)
    text += fmt::format("{:>10} and {} more (see --format=json)\n", "...", profiles.size() - kMax);
  return text;
}

// Writes the files and adds the texts that flags ask for.
absl::Status AddViews(const ProfileOptions& options, const Module& module, const Profile& profile,
                      double total, const debug::EarlierProfile& before, FileResult& result) {
  if (!options.csv.empty()) HLO_RETURN_IF_ERROR(WriteOutput(options.csv, debug::ProfileCsv(profile)));
  if (!options.folded.empty()) HLO_RETURN_IF_ERROR(WriteOutput(options.folded, debug::FoldedStacks(profile)));
  if (options.roofline) {
    HLO_ASSIGN_OR_RETURN(const debug::MachinePeaks peaks, debug::MeasurePeaks());
    result.text += "\n" + RooflineText(profile, peaks, options.top);
    result.extra["roofline"] = RooflineJson(profile, peaks);
  }
  if (options.chain) {
    const debug::Chain chain = debug::LongestChain(module, profile);
    result.text += "\n" + ChainText(chain, profile, total, options.top);
    result.extra["chain_s"] = chain.seconds;
    result.extra["chain"] = Json::array();
    for (const Instruction* instruction : chain.instructions)
      result.extra["chain"].push_back(instruction->name());
  }
  if (options.before.empty()) return absl::OkStatus();
  const std::vector<debug::ProfileChange> changes = debug::CompareProfiles(before, profile);
  result.text += "\n" + debug::ChangesText(changes, options.top);
  result.extra["changes"] = debug::ChangesJson(changes);
  return absl::OkStatus();
}

absl::StatusOr<debug::EarlierProfile> EarlierProfileOf(const ProfileOptions& options) {
  if (options.before.empty()) return debug::EarlierProfile();
  HLO_ASSIGN_OR_RETURN(const std::shared_ptr<const SourceText> text, SourceText::Read(options.before));
  return debug::ReadEarlierProfile(text->content());
}

// Runs the module several times, and keeps the fastest run with and without a profile.
class Measurement {
 public:
  Measurement(const ProfileOptions& options, Executable& executable, const DeviceRun& devices,
              const DevicesOptions& run_options, Progress* progress)
      : options_(options),
        executable_(executable),
        devices_(devices),
        run_options_(run_options),
        progress_(progress) {}

  // Runs with a profile first, so that an interrupted measurement has one; this run also warms the caches up.
  absl::Status Run() {
    HLO_RETURN_IF_ERROR(RunObserved(progress_));
    const double first = seconds_;
    for (int64_t run = 0; run < options_.repeat; ++run) {
      hlo::Report(
          {.what = "running without a profile", .done = run, .total = options_.repeat, .unit = "runs"});
      HLO_RETURN_IF_ERROR(RunUnobserved());
    }
    if (first > kLongestColdWatch) return absl::OkStatus();
    double in_all = 0;
    for (int64_t run = 0; run < std::min(options_.repeat, kMaxWatched) && in_all < kLongestWatch; ++run) {
      HLO_RETURN_IF_ERROR(RunObserved(nullptr));
      in_all += last_;
    }
    return absl::OkStatus();
  }

  // The profiles by device, and the seconds of that run. After an interruption in the first run, the profile
  // of its steps so far.
  const std::vector<Profile>& profiles() const { return profiles_; }
  double observed_seconds() const { return seconds_; }
  // The seconds of the fastest run without a profile; infinite if there is none.
  double best() const { return best_; }

 private:
  // A profile that also shows progress, of the first device.
  class ProfileAndProgress : public Observer {
   public:
    ProfileAndProgress(Profile& profile, Progress& progress) : profile_(profile), progress_(progress) {}
    absl::Status BeforeStep(const StepView& step) override {
      HLO_RETURN_IF_ERROR(progress_.BeforeStep(step));
      return profile_.BeforeStep(step);
    }
    absl::Status AfterStep(const StepView& step) override {
      HLO_RETURN_IF_ERROR(profile_.AfterStep(step));
      return progress_.AfterStep(step);
    }
    void Finish(const absl::Status& outcome) override {
      profile_.Finish(outcome);
      progress_.Finish(outcome);
    }

   private:
    Profile& profile_;
    Progress& progress_;
  };

  absl::Status RunUnobserved() {
    const double start = SteadySeconds();
    HLO_RETURN_IF_ERROR(
        executable_.RunDevices(devices_.arguments, {.cancel = &interrupt_flag}, run_options_).status());
    best_ = std::min(best_, SteadySeconds() - start);
    return absl::OkStatus();
  }

  absl::Status RunObserved(Progress* progress) {
    const int64_t count = devices_.grid.count();
    std::vector<Profile> profiles(static_cast<size_t>(count),
                                  Profile(options_.trace.empty() ? 0 : kMaxEvents / count));
    std::optional<ProfileAndProgress> both;
    if (progress != nullptr) both.emplace(profiles[0], *progress);
    DevicesOptions observed = run_options_;
    observed.observer = [&](int64_t device) -> Observer* {
      if (device == 0 && both) return &*both;
      return &profiles[static_cast<size_t>(device)];
    };
    const double start = SteadySeconds();
    absl::Status status =
        executable_.RunDevices(devices_.arguments, {.cancel = &interrupt_flag}, observed).status();
    last_ = SteadySeconds() - start;
    if (profiles_.empty() || (status.ok() && last_ < seconds_)) {
      profiles_ = std::move(profiles);
      seconds_ = last_;
    }
    return status;
  }

  const ProfileOptions& options_;
  Executable& executable_;
  const DeviceRun& devices_;
  const DevicesOptions& run_options_;
  Progress* const progress_;
  std::vector<Profile> profiles_;
  double seconds_ = 0, last_ = 0, best_ = std::numeric_limits<double>::infinity();
};

// Says how many events the trace leaves out.
std::string DroppedEventsText(const std::vector<Profile>& profiles, const DeviceRun& devices) {
  int64_t dropped = 0;
  for (const Profile& one : profiles) dropped += one.dropped_events();
  const int64_t most = kMaxEvents / devices.grid.count();
  if (dropped > 0 && !devices.has_several())
    return fmt::format("\nthe trace holds the first {} of {} events\n", most, most + dropped);
  else if (dropped > 0)
    return fmt::format("\nthe trace holds the first {} events of each device; {} are left out\n", most,
                       dropped);
  return "";
}

void Run(const ProfileOptions& options, const std::string& file, FileResult& result) {
  const absl::StatusOr<debug::EarlierProfile> before = EarlierProfileOf(options);
  if (!result.Accept(before.status(), options.before)) return;
  const LoadedModule loaded = Load(file, options.common, LoadUntil::kChecked, Exit::kInvalid, result);
  if (loaded.module == nullptr) return;
  absl::StatusOr<Executable> executable = Executable::Make(loaded.checked.front(), options.engine.engine, {},
                                                           options.engine.device, options.engine.plan);
  if (!result.Accept(executable.status(), file)) return;
  if (!result.Accept(RequireElements(loaded), file)) return;
  const absl::StatusOr<DeviceRun> devices =
      MakeDeviceRun(options.inputs, options.common, options.devices, loaded);
  if (!result.Accept(devices.status(), file)) return;
  const absl::StatusOr<int64_t> shown = ForDevice(options.devices, devices->grid);
  if (!result.Accept(shown.status(), file)) return;
  DevicesOptions run_options = OptionsOf(options.devices);
  run_options.warn = [&result](const std::string& warning) { AddWarningOnce(warning, result); };
  Measurement measurement(options, *executable, *devices, run_options, result.progress);
  const absl::Status measured = measurement.Run();
  // An interrupted measurement has the steps so far.
  const bool is_partial = absl::IsCancelled(measured) && !measurement.profiles().empty();
  if (!result.Accept(measured, file) && !is_partial) return;
  const std::vector<Profile>& profiles = measurement.profiles();
  const double watched = measurement.observed_seconds();
  const bool has_best = std::isfinite(measurement.best());
  const Profile* profile = &profiles[static_cast<size_t>(*shown)];
  result.diagnostics += RefusalText(*executable, file);
  if (options.engine.explain_fallbacks) result.diagnostics += FallbacksText(*executable);
  const std::string_view engine = executable->engine() == Engine::kFast ? "fast" : "reference";
  result.extra["engine"] = engine;
  result.extra["fallbacks"] = executable->fallbacks().size();
  result.extra["run_s"] = has_best ? Json(measurement.best()) : Json();
  result.extra["watched_s"] = watched;
  result.extra["steps"] = ToJson(*profile);
  result.text = fmt::format("engine {}: ", engine);
  if (has_best)
    result.text += fmt::format("{:.4f} ms, best of {}; ", measurement.best() * 1e3, options.repeat);
  result.text += fmt::format("{:.4f} ms under observation\n\n", watched * 1e3);
  if (!executable->fallback_reason().empty())
    result.text +=
        fmt::format("the fast engine has no plan for the module: {}\n\n", executable->fallback_reason());
  if (devices->has_several()) {
    const std::vector<std::string> names = NamesOfDevices(devices->grid).names;
    result.extra["devices"] = Json::array();
    result.text += DevicesText(names, profiles, result.extra["devices"]) +
                   fmt::format("\nsteps of {} (see --for-device)\n", names[static_cast<size_t>(*shown)]);
  }
  result.text += ToText(*profile, watched, options.top);
  if (!result.Accept(AddViews(options, *loaded.module, *profile, watched, *before, result), file)) return;
  if (options.trace.empty()) return;
  if (!result.Accept(WriteOutput(options.trace, ChromeTrace(profiles)), file)) return;
  result.text += DroppedEventsText(profiles, *devices);
}

}  // namespace

void AddProfile(CLI::App& program, int& exit_status) {
  auto options = std::make_shared<ProfileOptions>();
  CLI::App* command =
      program.add_subcommand("profile", "Measure time, FLOPs and bytes of each opcode and instruction");
  AddCommonFlags(*command, options->common);
  AddWatchedRunFlags(*command, options->common, options->inputs, options->devices);
  AddMatchFlag(*command, options->devices);
  AddEngineFlags(*command, options->engine);
  command
      ->add_option("--repeat", options->repeat,
                   "Number of runs, of which the fastest counts; further runs are observed")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--top", options->top, "Number of instructions to list")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command
      ->add_option("--trace", options->trace,
                   "Write a trace for Chrome's viewer (chrome://tracing, Perfetto)")
      ->type_name("FILE");
  command
      ->add_option("--folded", options->folded, "Write stacks by op_name for flame graphs, in microseconds")
      ->type_name("FILE");
  command->add_option("--csv", options->csv, "Write the instructions as comma-separated values")
      ->type_name("FILE");
  command->add_flag("--roofline", options->roofline,
                    "Measure the machine's peak FLOP/s and bandwidth; show which of them limits each step, "
                    "and its share of that peak");
  command->add_flag("--chain", options->chain, "Show the longest chain of dependent steps");
  command
      ->add_option("--against", options->before,
                   "Compare with an earlier profile, the output of --format=json")
      ->check(CLI::ExistingFile)
      ->type_name("FILE");
  command->footer(
      "The time of a step excludes nested steps. A loop of the fast engine computes a fusion of instructions "
      "and\n"
      "has the name of the last one; its FLOPs are those of the whole fusion.\n"
      "Examples:\n"
      "  hlo-run profile m.hlo --random 1\n"
      "  hlo-run profile m.hlo --input args.npz --trace trace.json");
  command->callback([options, &exit_status] {
    if (!(options->trace + options->folded + options->csv).empty() && options->common.files.size() > 1)
      throw CLI::ValidationError("profile", "several files have no single trace or table");
    exit_status = ForEachFile(
        options->common, [&](const std::string& file, FileResult& result) { Run(*options, file, result); });
  });
}

}  // namespace hlo::cli
