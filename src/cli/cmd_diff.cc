// Implements `diff`: finds the first value that differs between two modules, between the passes of a
// compiler, or between a module and recorded values.

#include <filesystem>

#include "base/counted.h"
#include "base/status.h"
#include "cli/commands.h"
#include "cli/devices.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/single.h"
#include "debug/diff/diff_devices.h"
#include "debug/diff/diff_passes.h"
#include "debug/diff/diff_sharded.h"
#include "debug/diff/diff_text.h"
#include "debug/diff/replicas.h"
#include "fmt/format.h"
#include "hlo_run/module_file.h"

namespace hlo::cli {
namespace {

constexpr std::string_view kInsteadOfDiff =
    "diff A B compares two modules on several devices, diff --replicas-agree the devices of one module, and "
    "hlo-run trace --for-device shows the values of one device";

struct DiffFlags {
  CommonOptions common;
  InputOptions inputs;
  debug::DiffOptions diff;
  DevicesFlags devices;
  bool structural = false, replicas_agree = false;
  int64_t top = 20;
};

// Returns the last parts of two paths, or the paths themselves if these are equal.
debug::SideNames SideNamesOf(const std::string& a, const std::string& b) {
  const std::string short_a = std::filesystem::path(a).filename().string();
  const std::string short_b = std::filesystem::path(b).filename().string();
  return short_a == short_b ? debug::SideNames{a, b} : debug::SideNames{short_a, short_b};
}

LoadedModule LoadOne(const DiffFlags& flags, const std::string& file, FileResult& result) {
  result.module.reset();
  return Load(file, flags.common, LoadUntil::kChecked, Exit::kInvalid, result);
}

void DiffStructures(const DiffFlags& flags, const LoadedModule& a, const LoadedModule& b,
                    const debug::SideNames& names, FileResult& result) {
  const debug::StructuralDiff diff = debug::DiffStructure(a.checked.front(), b.checked.front());
  result.text = ToText(diff, names, flags.top);
  result.extra["diff"] = ToJson(diff);
  if (!diff.changed.empty() || !diff.only_a.empty() || !diff.only_b.empty())
    result.exit = std::max(result.exit, Exit::kFailed);
}

void DiffOnDevices(const DiffFlags& flags, const LoadedModule& a, const LoadedModule& b, FileResult& result) {
  const std::string &file_a = flags.common.files[0], &file_b = flags.common.files[1];
  const spmd::DeviceGrid grid_a = spmd::GridOf(*a.module), grid_b = spmd::GridOf(*b.module);
  if (grid_a != grid_b) {
    const absl::Status differ = absl::FailedPreconditionError(
        fmt::format("its {} of {} cannot be compared with {} of {} in {} (see --replicas and "
                    "--partitions)",
                    Counted(grid_b.replicas, "replica"), Counted(grid_b.partitions, "partition"),
                    grid_a.replicas, grid_a.partitions, file_a));
    result.Accept(differ, file_b);
    return;
  }
  const absl::StatusOr<DeviceRun> run = MakeDeviceRun(flags.inputs, flags.common, flags.devices, a);
  if (!result.Accept(run.status(), file_a)) return;
  DevicesOptions devices = OptionsOf(flags.devices);
  devices.warn = [&](const std::string& warning) { AddWarningOnce(warning, result); };
  const absl::StatusOr<debug::DevicesDiff> diff =
      debug::DiffDevices(a.checked.front(), b.checked.front(), run->arguments, devices, flags.diff);
  if (!result.Accept(diff.status(), file_b)) return;
  const std::vector<std::string> names = NamesOfDevices(run->grid).names;
  result.text = ToText(*diff, names, *a.module);
  result.extra["diff"] = ToJson(*diff, names);
  if (!diff->results.empty()) result.exit = std::max(result.exit, Exit::kFailed);
}

// Compares the module before partitioning with the partitioned one.
void DiffPartitioned(const DiffFlags& flags, const LoadedModule& a, const LoadedModule& b,
                     FileResult& result) {
  const std::string &file_a = flags.common.files[0], &file_b = flags.common.files[1];
  DevicesFlags split = flags.devices;
  if (split.shard_by.empty()) split.shard_by = file_a;
  const absl::StatusOr<DeviceRun> run = MakeDeviceRun(flags.inputs, flags.common, split, b);
  if (!result.Accept(run.status(), file_b)) return;
  if (!run->shards.has_value() || !run->shards->CanJoin() || run->grid.replicas != 1) {
    const std::string unknown = run->shards.has_value() ? run->shards->unknown_result() : "";
    result.Accept(
        absl::FailedPreconditionError(
            unknown.empty() ? "the results of its devices are not parts of one result (see run --shard)"
                            : unknown),
        file_b);
    return;
  }
  DevicesOptions devices = OptionsOf(flags.devices);
  devices.warn = [&](const std::string& warning) { AddWarningOnce(warning, result); };
  const std::vector<std::vector<Literal>> whole(static_cast<size_t>(spmd::GridOf(*a.module).count()),
                                                run->whole);
  const absl::StatusOr<debug::ShardedDiff> diff = debug::DiffSharded(
      a.checked.front(), b.checked.front(), whole, run->arguments, *run->shards, devices, flags.diff);
  if (!result.Accept(diff.status(), file_b)) return;
  result.text = ToText(*diff, *a.module);
  result.extra["diff"] = ToJson(*diff);
  if (!diff->results.empty() || !diff->disagreements.empty())
    result.exit = std::max(result.exit, Exit::kFailed);
}

// With --shard, a module that is not partitioned runs on the devices that its manual regions need.
LoadedModule LoadWhole(const DiffFlags& flags, const std::string& file, FileResult& result) {
  DiffFlags alone = flags;
  alone.common.shards = false;
  alone.common.replicas.reset();
  alone.common.partitions.reset();
  return LoadOne(alone, file, result);
}

bool IsWhole(const Module& module, const Module& partitioned) {
  const spmd::DeviceGrid grid = spmd::GridOf(module);
  return !spmd::IsPartitioned(module) && (grid.count() == 1 || grid == spmd::GridOf(partitioned));
}

void DiffModules(const DiffFlags& flags, FileResult& result) {
  const std::string &file_a = flags.common.files[0], &file_b = flags.common.files[1];
  const bool shards = flags.common.shards && !flags.structural;
  LoadedModule a = shards ? LoadWhole(flags, file_a, result) : LoadOne(flags, file_a, result);
  if (shards && a.module != nullptr && spmd::IsPartitioned(*a.module)) a = LoadOne(flags, file_a, result);
  const LoadedModule b = LoadOne(flags, file_b, result);
  if (a.module == nullptr || b.module == nullptr) return;
  const debug::SideNames names = SideNamesOf(file_a, file_b);
  if (flags.structural) {
    DiffStructures(flags, a, b, names, result);
    return;
  }
  if (shards && spmd::HasSeveralDevices(*b.module) && IsWhole(*a.module, *b.module))
    return DiffPartitioned(flags, a, b, result);
  if (spmd::HasSeveralDevices(*a.module) || spmd::HasSeveralDevices(*b.module))
    return DiffOnDevices(flags, a, b, result);
  const absl::StatusOr<std::vector<Literal>> arguments = Arguments(flags.inputs, a);
  if (!result.Accept(arguments.status(), file_a)) return;
  debug::DiffResult known;
  const absl::StatusOr<debug::DiffResult> diff =
      debug::Diff(a.checked.front(), b.checked.front(), *arguments, flags.diff, &known);
  if (absl::IsCancelled(diff.status())) {
    result.text = ToText(known, names);
    result.extra["diff"] = ToJson(known);
  }
  if (!result.Accept(diff.status(), file_b)) return;
  result.text = ToText(*diff, names);
  result.extra["diff"] = ToJson(*diff);
  if (!diff->results.empty()) result.exit = std::max(result.exit, Exit::kFailed);
}

bool IsArchivePath(const std::string& path) {
  const std::optional<FileFormat> format = FileFormatOf(path);
  return format == FileFormat::kNpz || format == FileFormat::kSafetensors || format == FileFormat::kJson;
}

// Returns the arguments; those that no flag gives may be among the recorded values, under their names.
absl::StatusOr<std::vector<Literal>> ArgumentsOrRecorded(const DiffFlags& flags, const LoadedModule& loaded,
                                                         Archive& recorded) {
  const auto parameters = loaded.module->entry()->parameters();
  if (!flags.inputs.files.empty() || flags.inputs.generates_values) return Arguments(flags.inputs, loaded);
  std::vector<Literal> arguments;
  for (const Instruction* parameter : parameters) {
    absl::StatusOr<Literal> value = recorded.Read(std::string(parameter->name()), parameter->shape());
    if (!value.ok()) return Arguments(flags.inputs, loaded);
    arguments.push_back(*std::move(value));
  }
  return arguments;
}

void DiffWithRecorded(const DiffFlags& flags, FileResult& result) {
  const std::string &file = flags.common.files[0], &archive = flags.common.files[1];
  const LoadedModule loaded = LoadOne(flags, file, result);
  if (loaded.module == nullptr) return;
  if (!result.Accept(RequireOneDevice("a comparison of values", spmd::GridOf(*loaded.module), kInsteadOfDiff),
                     file))
    return;
  const absl::StatusOr<std::unique_ptr<Archive>> recorded = Archive::Open(archive);
  if (!result.Accept(recorded.status(), archive)) return;
  const absl::StatusOr<std::vector<Literal>> arguments = ArgumentsOrRecorded(flags, loaded, **recorded);
  if (!result.Accept(arguments.status(), file)) return;
  debug::RecordedDiffResult known;
  const absl::StatusOr<debug::RecordedDiffResult> diff =
      debug::DiffRecorded(loaded.checked.front(), **recorded, *arguments, flags.diff, &known);
  if (absl::IsCancelled(diff.status())) {
    result.text = ToText(known, SideNamesOf(file, archive));
    result.extra["diff"] = ToJson(known);
  }
  if (!result.Accept(diff.status(), file)) return;
  result.text = ToText(*diff, SideNamesOf(file, archive));
  result.extra["diff"] = ToJson(*diff);
  if (diff->compared + diff->iterations.compared == 0)
    result.Fail(
        Exit::kInvalid,
        fmt::format("hlo-run: error: no array of '{}' has the name and shape of an instruction", archive));
  if (diff->differing + diff->iterations.differing > 0) result.exit = std::max(result.exit, Exit::kFailed);
}

// Sets `no_arguments` to the error if no flag gives arguments.
absl::StatusOr<debug::LoadedDump> LoadDumpFile(const DiffFlags& flags, const std::string& file,
                                               absl::Status& no_arguments) {
  FileResult result;
  const LoadedModule loaded = LoadOne(flags, file, result);
  if (loaded.module == nullptr) return absl::InvalidArgumentError(result.diagnostics);
  HLO_RETURN_IF_ERROR(
      RequireOneDevice("a comparison of values", spmd::GridOf(*loaded.module), kInsteadOfDiff));
  absl::StatusOr<std::vector<Literal>> arguments = Arguments(flags.inputs, loaded);
  if (!arguments.ok()) {
    if (flags.inputs.files.empty() && !flags.inputs.generates_values) no_arguments = arguments.status();
    return arguments.status();
  }
  return debug::LoadedDump{loaded.checked.front(), std::string(loaded.source->content()),
                           *std::move(arguments)};
}

std::string PassOf(const std::string& file) { return ParseDumpName(file).pass; }

std::string ToText(const debug::PassDiff& diff) {
  std::string text;
  for (const debug::PassChange& change : diff.changes) {
    text += fmt::format("{}: the results change from {}\n  to {}\n", diff.module, PassOf(change.before),
                        PassOf(change.after));
    text += ToText(change.diff, {"before", "after"});
  }
  for (const std::string& skipped : diff.skipped) text += fmt::format("skipped: {}\n", skipped);
  if (!diff.is_complete)
    text += fmt::format("{}: changes of the module that were compared: {}\n", diff.module, diff.compared);
  else if (diff.changes.empty())
    text += fmt::format("{}: changes of the module: {}; none changes a result\n", diff.module, diff.compared);
  return text;
}

Json ToJson(const debug::PassDiff& diff) {
  Json changes = Json::array();
  for (const debug::PassChange& change : diff.changes)
    changes.push_back({{"before", change.before}, {"after", change.after}, {"diff", ToJson(change.diff)}});
  return {{"module", diff.module},   {"compared", diff.compared},    {"unchanged", diff.unchanged},
          {"skipped", diff.skipped}, {"complete", diff.is_complete}, {"changes", std::move(changes)}};
}

// Compares each dump with the previous one whose text differs.
void DiffDumpStructures(const DiffFlags& flags, const debug::DumpSeries& series, FileResult& result) {
  std::string before;
  LoadedModule previous;
  Json changes = Json::array();
  for (const std::string& file : series.files) {
    LoadedModule loaded = LoadOne(flags, file, result);
    if (loaded.module == nullptr) return;
    const bool is_first = previous.module == nullptr;
    if (!is_first && previous.source->content() == loaded.source->content()) continue;
    if (!is_first) {
      const debug::StructuralDiff diff =
          debug::DiffStructure(previous.checked.front(), loaded.checked.front());
      result.text += fmt::format("{}: from {}\n  to {}\n", series.module, PassOf(before), PassOf(file));
      result.text += ToText(diff, {"before", "after"}, flags.top);
      changes.push_back({{"before", before}, {"after", file}, {"diff", ToJson(diff)}});
      result.exit = std::max(result.exit, Exit::kFailed);
    }
    previous = std::move(loaded);
    before = file;
  }
  if (changes.empty()) result.text += fmt::format("{}: its dumps are equal\n", series.module);
  result.extra["modules"].push_back({{"module", series.module}, {"changes", std::move(changes)}});
}

void DiffDumps(const DiffFlags& flags, FileResult& result) {
  const absl::StatusOr<std::vector<std::string>> files = SelectFiles(flags.common);
  if (!result.Accept(files.status(), flags.common.files[0])) return;
  const std::vector<debug::DumpSeries> all = debug::SortDumps(*files);
  result.extra["modules"] = Json::array();
  if (all.empty())
    result.Fail(Exit::kInvalid, fmt::format("hlo-run: error: '{}' contains no dumps of passes, such as "
                                            "module_0001.f.0003.fusion.after_dce.before_cse.txt",
                                            flags.common.files[0]));
  for (const debug::DumpSeries& series : all) {
    if (flags.structural) {
      DiffDumpStructures(flags, series, result);
      continue;
    }
    // Missing arguments are reported once instead of for every dump.
    absl::Status arguments;
    const auto load = [&](const std::string& file) -> absl::StatusOr<debug::LoadedDump> {
      HLO_RETURN_IF_ERROR(arguments);
      return LoadDumpFile(flags, file, arguments);
    };
    const absl::StatusOr<debug::PassDiff> diff = debug::DiffPasses(series, load, flags.diff);
    if (!result.Accept(arguments, series.files.front())) return;
    if (!result.Accept(diff.status(), series.module)) return;
    result.text += ToText(*diff);
    result.extra["modules"].push_back(ToJson(*diff));
    if (!diff->changes.empty()) result.exit = std::max(result.exit, Exit::kFailed);
    if (diff->compared == 0 && !diff->skipped.empty())
      result.exit = std::max(result.exit, Exit::kUnsupported);
    if (!diff->is_complete) return;
  }
}

// Returns the devices that must hold equal values, for each leaf of the result. They are all replicas of a
// partition. Without replicas, they are the partitions that hold copies by the sharding of the result.
std::vector<std::vector<std::vector<int64_t>>> GroupsOfEqualDevices(const DeviceRun& run, int64_t leaves) {
  std::vector<std::vector<int64_t>> by_partition(static_cast<size_t>(run.grid.partitions));
  for (int64_t d = 0; d < run.grid.count(); ++d)
    by_partition[static_cast<size_t>(run.grid.partition(d))].push_back(d);
  std::vector<std::vector<std::vector<int64_t>>> groups;
  for (int64_t leaf = 0; leaf < leaves; ++leaf) {
    if (run.grid.replicas > 1) {
      groups.push_back(by_partition);
    } else if (run.shards && run.shards->CanJoin()) {
      groups.push_back(run.shards->CopiesOf(leaf));
    } else {
      std::vector<int64_t> all;
      for (const std::vector<int64_t>& partition : by_partition) all.push_back(partition[0]);
      groups.push_back({std::move(all)});
    }
  }
  return groups;
}

void CompareDevices(const DiffFlags& flags, FileResult& result) {
  const std::string& file = flags.common.files[0];
  const LoadedModule loaded = LoadOne(flags, file, result);
  if (loaded.module == nullptr) return;
  const absl::StatusOr<DeviceRun> run = MakeDeviceRun(flags.inputs, flags.common, flags.devices, loaded);
  if (!result.Accept(run.status(), file)) return;
  const Shape& shape = loaded.module->entry()->root()->shape();
  debug::AgreementOptions options{.engine = flags.diff.engine,
                                  .evaluate = flags.diff.evaluate,
                                  .devices = OptionsOf(flags.devices),
                                  .groups = GroupsOfEqualDevices(*run, shape.LeafCount())};
  options.devices.warn = [&](const std::string& warning) {
    result.diagnostics += fmt::format("warning: {}\n", warning);
  };
  const absl::StatusOr<std::vector<debug::Disagreement>> found =
      debug::FindDisagreements(loaded.checked.front(), run->arguments, options);
  if (!result.Accept(found.status(), file)) return;
  const std::vector<std::string> names = NamesOfDevices(run->grid).names;
  result.extra["replicas"] = run->grid.replicas;
  result.extra["partitions"] = run->grid.partitions;
  result.extra["disagreements"] = ToJson(*found, names);
  result.text = ToText(*found, names, *loaded.module);
  if (found->empty())
    result.text = run->has_several() ? fmt::format("{} devices agree in all results\n", run->grid.count())
                                     : "the module runs on one device (see --replicas and --partitions)\n";
  else
    result.exit = std::max(result.exit, Exit::kFailed);
}

void RunDiff(const DiffFlags& flags, FileResult& result) {
  const std::vector<std::string>& files = flags.common.files;
  if (flags.replicas_agree)
    CompareDevices(flags, result);
  else if (files.size() == 1)
    DiffDumps(flags, result);
  else if (IsArchivePath(files[1]))
    DiffWithRecorded(flags, result);
  else
    DiffModules(flags, result);
}

void CheckFiles(const DiffFlags& flags) {
  std::error_code error;
  const std::vector<std::string>& files = flags.common.files;
  const bool is_folder = std::filesystem::is_directory(files[0], error);
  if (flags.replicas_agree) {
    if (files.size() != 1 || is_folder) throw CLI::ValidationError("--replicas-agree", "takes one module");
    return;
  }
  if (files.size() != (is_folder ? 1u : 2u))
    throw CLI::ValidationError("diff",
                               "takes two modules, a module and an archive of values, or a folder of dumps");
}

}  // namespace

void AddDiff(CLI::App& program, int& exit_status) {
  auto flags = std::make_shared<DiffFlags>();
  CLI::App* command = program.add_subcommand("diff",
                                             "Show the first value in which two modules, the passes of a "
                                             "dump, or a module and recorded values differ");
  AddCommonFlags(*command, flags->common);
  AddInputFlags(*command, flags->inputs);
  AddElidedFlag(*command, flags->common.elided);
  command
      ->add_flag("--replicas-agree", flags->replicas_agree,
                 "Run one module on its devices, and show where those that must hold equal results begin to "
                 "differ: all replicas, or partitions that hold copies (--shard), else all partitions")
      ->each([&common = flags->common](const std::string&) { common.keeps_devices = true; });
  AddDevicesFlags(*command, flags->common, flags->devices);
  AddMatchFlag(*command, flags->devices);
  command->add_flag("--structural", flags->structural,
                    "Compare the instructions without running the modules");
  AddToleranceFlag(*command, flags->diff.rule);
  AddEngineFlag(*command, flags->diff.engine);
  command->add_option("--top", flags->top, "With --structural, the number of listed changes of each kind")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  AddMaxSecondsFlag(*command, flags->diff.evaluate.max_seconds);
  command->footer(
      "Instructions are aligned by name, by metadata, and by structure. The second file may be an archive "
      "of\n"
      "values that another system recorded (.npz, .safetensors, .json), keyed by instruction name, and in "
      "loops\n"
      "by name and iteration, add.3@2, as hlo-run trace stores them. In a folder of\n"
      "XLA's dumps (--xla_dump_to, --xla_dump_hlo_pass_re=.*), each dump is compared with the previous one.\n"
      "Exit status 1 if results differ by more than the tolerance. Without --tolerance, also if they differ "
      "less,\n"
      "but a value on the way to them differs by more than rounding explains (see hlo-run shadow).\n"
      "Examples:\n"
      "  hlo-run diff before.hlo after.hlo --random 1\n"
      "  hlo-run diff --structural before.hlo after.hlo\n"
      "  hlo-run diff dump/ --module jit_f --random 1\n"
      "  hlo-run diff dump/ --module jit_f --structural\n"
      "  hlo-run diff m.hlo recorded.npz --input args.npz\n"
      "  hlo-run diff --shard before_spmd.hlo after_spmd.hlo --random 1\n"
      "  hlo-run diff step.hlo --replicas-agree --random 1 --per-device batch");
  command->callback([flags, &exit_status] {
    std::vector<std::string>& files = flags->common.files;
    if (files.size() == 2 && IsArchivePath(files[0]) && !IsArchivePath(files[1]))
      std::swap(files[0], files[1]);
    CheckFiles(*flags);
    flags->diff.evaluate.cancel = &interrupt_flag;
    exit_status = RunOnce(flags->common, [&](FileResult& result) {
      flags->diff.evaluate.observer = result.progress;
      RunDiff(*flags, result);
    });
  });
}

}  // namespace hlo::cli
