#include "cli/devices.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "base/counted.h"
#include "base/status.h"
#include "cli/flags.h"
#include "cli/mpi_launch.h"
#include "fmt/format.h"
#include "io/make_inputs.h"

namespace hlo::cli {

void AddGridFlags(CLI::App& app, CommonOptions& options) {
  options.runs_devices = true;
  app.add_option("--replicas", options.replicas,
                 "Replicas to run; default: as in the module's header, or as its groups need")
      ->check(CLI::PositiveNumber)
      ->type_name("R");
  app.add_option("--partitions", options.partitions,
                 "Partitions of each replica; default: as in the module, and 1 if it is not "
                 "partitioned and has no manual region")
      ->check(CLI::PositiveNumber)
      ->type_name("P");
}

void AddDevicesFlags(CLI::App& app, CommonOptions& options, DevicesFlags& flags) {
  AddGridFlags(app, options);
  app.add_option("--collective-timeout", flags.collective_timeout,
                 "Longest time that a device waits for others, in seconds; default: no limit. Deadlocks are "
                 "reported at once")
      ->check(PositiveReal())
      ->type_name("SECONDS");
  app.add_flag(
      "--xla-cpu-reductions", flags.emulate_xla_cpu,
      "Reduce over devices with the bits of XLA:CPU: from an identity, with small floats in wider types, "
      "and without the NaNs in minimum and maximum");
  AddShardFlags(app, options, flags,
                "Split whole arguments by the shardings of the parameters, and join the results of the "
                "partitions by that of the root");
}

void AddMatchFlag(CLI::App& app, DevicesFlags& flags) {
  app.add_option_function<std::string>(
         "--match", [&flags](const std::string& word) { flags.strict_match = word == "strict"; },
         "How collectives are matched: arrival also pairs different ones of one kind, with a warning, before "
         "it reports a deadlock; strict does not")
      ->check(CLI::IsMember({"arrival", "strict"}))
      ->default_str("arrival");
}

void AddShardFlags(CLI::App& app, CommonOptions& options, DevicesFlags& flags, const std::string& help) {
  app.add_flag("--shard", options.shards, help);
  app.add_option_function<std::string>(
         "--shard-by",
         [&options, &flags](const std::string& file) {
           options.shards = true;
           flags.shard_by = file;
         },
         "As --shard, by the shardings of this module, from which XLA made the partitioned one")
      ->type_name("FILE");
  app.add_option("--per-device", flags.per_device,
                 "Draw other random values for this parameter on each device; all for all parameters; "
                 "repeatable")
      ->each([&options](const std::string&) { options.keeps_devices = true; })
      ->type_name("PARAM")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void AddWatchedRunFlags(CLI::App& app, CommonOptions& options, InputOptions& inputs, DevicesFlags& flags) {
  AddInputFlags(app, inputs);
  AddDevicesFlags(app, options, flags);
  app.add_option("--for-device", flags.for_device,
                 "The device to show, by its number or as r1, p2 or r1p2; default: the first")
      ->type_name("DEVICE");
  AddElidedFlag(app, options.elided);
}

DevicesOptions OptionsOf(const DevicesFlags& flags) {
  return {.strict_match = flags.strict_match,
          .collective_timeout = flags.collective_timeout,
          .emulate_xla_cpu = flags.emulate_xla_cpu,
          .processes = LaunchedProcesses()};
}

namespace {

DevicePlace PlaceOf(const spmd::DeviceGrid& grid, int64_t device) {
  return {grid.replicas, grid.partitions, grid.replica(device), grid.partition(device)};
}

// Loads the module of --shard-by; null without the flag.
absl::StatusOr<std::shared_ptr<Module>> LoadWhole(const CommonOptions& common, const DevicesFlags& flags) {
  if (flags.shard_by.empty()) return std::shared_ptr<Module>();
  FileResult result;
  CommonOptions alone = common;
  alone.runs_devices = false;
  const LoadedModule loaded = Load(flags.shard_by, alone, LoadUntil::kChecked, Exit::kInvalid, result);
  if (loaded.module != nullptr) return loaded.module;
  std::string error = result.diagnostics.substr(0, result.diagnostics.find_last_not_of('\n') + 1);
  if (constexpr std::string_view kProgram = "hlo-run: error: "; error.starts_with(kProgram))
    error.erase(0, kProgram.size());
  return absl::InvalidArgumentError(fmt::format("--shard-by: {}", error));
}

// Returns the shardings of the entry, or of `whole` unless it is null. Without --shard they only serve random
// arrays, and null is returned if they do not fit.
absl::StatusOr<std::optional<spmd::EntryShards>> ShardsOf(const CommonOptions& common, const Module* whole,
                                                          const Module& module, int64_t partitions) {
  absl::StatusOr<spmd::EntryShards> shards = spmd::EntryShards::Make(module, partitions, whole);
  if (shards.ok()) return std::optional(*std::move(shards));
  if (common.shards) return shards.status();
  return std::nullopt;
}

// Returns the numbers of the parameters that --per-device names.
absl::StatusOr<std::vector<bool>> PerDeviceParameters(const DevicesFlags& flags, const Module& module) {
  const auto parameters = module.entry()->parameters();
  std::vector<bool> per_device(parameters.size());
  for (const std::string& name : flags.per_device) {
    bool found = name == "all";
    if (found) per_device.assign(per_device.size(), true);
    uint64_t number = 0;
    for (size_t p = 0; p < parameters.size(); ++p) {
      if (parameters[p]->name() != name && !(absl::SimpleAtoi(name, &number) && number == p)) continue;
      per_device[p] = found = true;
    }
    if (!found) {
      return absl::FailedPreconditionError(
          fmt::format("--per-device: the entry computation has no parameter '{}'", name));
    }
  }
  return per_device;
}

// Makes the arguments of devices one after the other, and shares those that are equal.
class ArgumentMaker {
 public:
  ArgumentMaker(const InputOptions& inputs, const LoadedModule& loaded, const DeviceRun& run,
                const spmd::EntryShards* shards, bool given_are_whole)
      : inputs_(inputs), loaded_(loaded), run_(run), shards_(shards), given_are_whole_(given_are_whole) {}

  // Sets `whole` to the arguments of the first replica before they are split, unless it is null.
  absl::StatusOr<std::vector<std::vector<Literal>>> Make(const std::vector<bool>& per_device,
                                                         std::vector<Literal>* whole) {
    HLO_ASSIGN_OR_RETURN(const InputScope scope, ScopeOfInputs(inputs_.files));
    std::vector<std::vector<Literal>> all;
    std::vector<Literal> read;  // Those of the last device, before they are split.
    for (int64_t device = 0; device < run_.grid.count(); ++device) {
      const bool other_replica = device % run_.grid.partitions == 0;
      if (device == 0 || scope.by_partition || (scope.by_replica && other_replica)) {
        HLO_ASSIGN_OR_RETURN(read, Read(device));
      }
      if (device == 0 && whole != nullptr) *whole = read;
      HLO_ASSIGN_OR_RETURN(all.emplace_back(), PartsOf(read, device));
      HLO_RETURN_IF_ERROR(DrawPerDevice(per_device, device, all.back()));
    }
    return all;
  }

 private:
  // True if the run's arrays are parts of those that are read.
  bool ReadsWhole() const { return shards_ != nullptr && (given_are_whole_ || inputs_.files.empty()); }

  absl::StatusOr<std::vector<Literal>> Read(int64_t device) {
    if (inputs_.files.empty() && !inputs_.generates_values) return Arguments(inputs_, loaded_);
    InputsOptions options{.read = {.convert = inputs_.convert}};
    if (inputs_.generates_values) options.rest = inputs_.make;
    if (ReadsWhole()) options.shapes = shards_->parameters();
    options.device = PlaceOf(run_.grid, device);
    return ReadInputs(*loaded_.module, inputs_.files, options);
  }

  absl::StatusOr<std::vector<Literal>> PartsOf(const std::vector<Literal>& read, int64_t device) const {
    if (!ReadsWhole() || read.empty()) return read;
    return shards_->Split(read, run_.grid.partition(device));
  }

  absl::Status DrawPerDevice(const std::vector<bool>& per_device, int64_t device,
                             std::vector<Literal>& arguments) const {
    if (device == 0 || std::find(per_device.begin(), per_device.end(), true) == per_device.end())
      return absl::OkStatus();
    MakeOptions make = inputs_.make;
    make.seed += static_cast<uint64_t>(device) << 32;
    HLO_ASSIGN_OR_RETURN(const std::vector<Literal> drawn,
                         io::MakeSomeInputs(*loaded_.module, make, [&](size_t p) { return per_device[p]; }));
    for (size_t p = 0; p < per_device.size(); ++p) {
      if (per_device[p]) arguments[p] = drawn[p];
    }
    return absl::OkStatus();
  }

  const InputOptions& inputs_;
  const LoadedModule& loaded_;
  const DeviceRun& run_;
  const spmd::EntryShards* shards_;
  bool given_are_whole_;
};

// Adds to an error of --shard that the module has no shardings, as after XLA's partitioner.
absl::Status ExplainShards(const absl::Status& error, const CommonOptions& common, const DevicesFlags& flags,
                           const Module& module) {
  const auto parameters = module.entry()->parameters();
  const bool has_shardings = std::any_of(parameters.begin(), parameters.end(),
                                         [](const Instruction* p) { return p->Has<attr::sharding>(); });
  if (!common.shards || !flags.shard_by.empty() || has_shardings || absl::IsCancelled(error)) return error;
  return absl::Status(error.code(), fmt::format("{}; no parameter has a sharding, but --shard-by FILE takes "
                                                "those of the module before it was partitioned",
                                                Message(error)));
}

}  // namespace

absl::StatusOr<DeviceRun> MakeDeviceRun(const InputOptions& inputs, const CommonOptions& common,
                                        const DevicesFlags& flags, const LoadedModule& loaded) {
  const Module& module = *loaded.module;
  DeviceRun run{.grid = spmd::GridOf(module)};
  HLO_ASSIGN_OR_RETURN(const std::shared_ptr<Module> whole, LoadWhole(common, flags));
  HLO_ASSIGN_OR_RETURN(const std::vector<bool> per_device, PerDeviceParameters(flags, module));
  if (!run.has_several()) {
    HLO_ASSIGN_OR_RETURN(run.arguments.emplace_back(), Arguments(inputs, loaded));
    return run;
  }
  HLO_ASSIGN_OR_RETURN(std::optional<spmd::EntryShards> shards,
                       ShardsOf(common, whole.get(), module, run.grid.partitions));
  ArgumentMaker maker(inputs, loaded, run, shards ? &*shards : nullptr, common.shards);
  absl::StatusOr<std::vector<std::vector<Literal>>> arguments =
      maker.Make(per_device, common.shards ? &run.whole : nullptr);
  if (!arguments.ok()) return ExplainShards(arguments.status(), common, flags, module);
  run.arguments = *std::move(arguments);
  if (common.shards) run.shards = std::move(shards);
  return run;
}

absl::Status RequireOneDevice(std::string_view what, const spmd::DeviceGrid& grid,
                              std::string_view alternative) {
  if (grid.count() == 1) return absl::OkStatus();
  return absl::UnimplementedError(fmt::format("{} takes modules of one device, and this one has {} of {}; {}",
                                              what, Counted(grid.replicas, "replica"),
                                              Counted(grid.partitions, "partition"), alternative));
}

absl::Status RequireOneDevice(std::string_view what, const Module& module, std::string_view alternative) {
  HLO_ASSIGN_OR_RETURN(const spmd::DeviceGrid grid, spmd::ChooseGrid(module, {}, {}));
  return RequireOneDevice(what, grid, alternative);
}

absl::StatusOr<int64_t> ForDevice(const DevicesFlags& flags, const spmd::DeviceGrid& grid) {
  if (flags.for_device.empty()) return 0;
  int64_t number = 0;
  if (absl::SimpleAtoi(flags.for_device, &number) && number >= 0 && number < grid.count()) return number;
  const std::vector<std::string> names = NamesOfDevices(grid).names;
  const auto found = std::find(names.begin(), names.end(), flags.for_device);
  if (found != names.end()) return found - names.begin();
  return absl::InvalidArgumentError(fmt::format("--for-device: '{}' is not a device of {} and {}",
                                                flags.for_device, Counted(grid.replicas, "replica"),
                                                Counted(grid.partitions, "partition")));
}

absl::StatusOr<debug::WatchedArguments> MakeWatchedRun(const InputOptions& inputs,
                                                       const CommonOptions& common, const DevicesFlags& flags,
                                                       const LoadedModule& loaded, FileResult& result) {
  HLO_ASSIGN_OR_RETURN(DeviceRun run, MakeDeviceRun(inputs, common, flags, loaded));
  debug::WatchedArguments watched;
  HLO_ASSIGN_OR_RETURN(watched.device, ForDevice(flags, run.grid));
  watched.by_device = std::move(run.arguments);
  watched.options = OptionsOf(flags);
  watched.options.warn = [&result](const std::string& warning) { AddWarningOnce(warning, result); };
  return watched;
}

void AddWarningOnce(const std::string& warning, FileResult& result) {
  const std::string line = fmt::format("warning: {}\n", warning);
  if (result.diagnostics.find(line) == std::string::npos) result.diagnostics += line;
}

DeviceResults NamesOfDevices(const spmd::DeviceGrid& grid) {
  DeviceResults results;
  for (int64_t device = 0; device < grid.count(); ++device) {
    std::string prefix = PlaceOf(grid, device).prefix();
    if (!prefix.empty()) prefix.pop_back();
    results.names.push_back(std::move(prefix));
  }
  return results;
}

absl::StatusOr<DeviceResults> ResultsOf(const DeviceRun& run, std::vector<Literal> values) {
  const bool joins = run.shards.has_value() && run.shards->CanJoin();
  if (!joins) {
    DeviceResults results = NamesOfDevices(run.grid);
    results.values = std::move(values);
    if (run.shards.has_value() && EqualResults(results).size() > 1) {
      const std::string& unknown = run.shards->unknown_result();
      results.warnings.push_back(fmt::format(
          "--shard: {}", unknown.empty() ? "the results of the partitions are unrelated" : unknown));
    }
    return results;
  }
  const spmd::DeviceGrid replicas{run.grid.replicas, 1};
  DeviceResults results = NamesOfDevices(replicas);
  for (int64_t r = 0; r < run.grid.replicas; ++r) {
    const auto parts = absl::MakeConstSpan(values).subspan(static_cast<size_t>(r * run.grid.partitions),
                                                           static_cast<size_t>(run.grid.partitions));
    HLO_ASSIGN_OR_RETURN(spmd::JoinedResult joined, run.shards->Join(parts));
    for (const std::string& disagreement : joined.disagreements)
      results.warnings.push_back(replicas.count() > 1 ? fmt::format("replica {}: {}", r, disagreement)
                                                      : disagreement);
    results.values.push_back(std::move(joined.value));
  }
  return results;
}

namespace {

bool HaveEqualBits(const Literal& a, const Literal& b) {
  if (a.shape().IsTuple()) {
    for (size_t i = 0; i < a.elements().size(); ++i) {
      if (!HaveEqualBits(a.elements()[i], b.elements()[i])) return false;
    }
    return true;
  }
  if (!a.shape().IsArray()) return true;
  for (int64_t d = 0; d < a.rank(); ++d) {
    if (a.dynamic_size(d) != b.dynamic_size(d)) return false;
  }
  return a.data() == b.data() || std::memcmp(a.data(), b.data(), static_cast<size_t>(a.byte_count())) == 0;
}

}  // namespace

std::vector<std::vector<size_t>> EqualResults(const DeviceResults& results) {
  std::vector<std::vector<size_t>> groups;
  for (size_t d = 0; d < results.values.size(); ++d) {
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const std::vector<size_t>& members) {
      return HaveEqualBits(results.values[members[0]], results.values[d]);
    });
    if (group == groups.end())
      groups.push_back({d});
    else
      group->push_back(d);
  }
  return groups;
}

std::string NamesOf(const DeviceResults& results, const std::vector<size_t>& members) {
  if (members.size() == results.names.size())
    return fmt::format("all {} {}", members.size(),
                       results.names[0][0] == 'p'                        ? "partitions"
                       : results.names[0].find('p') == std::string::npos ? "replicas"
                                                                         : "devices");
  std::vector<std::string> parts;
  for (size_t i = 0; i < members.size();) {
    size_t end = i + 1;
    while (end < members.size() && members[end] == members[end - 1] + 1) ++end;
    if (end - i > 2) {
      parts.push_back(fmt::format("{}-{}", results.names[members[i]], results.names[members[end - 1]]));
      i = end;
    } else {
      parts.push_back(results.names[members[i++]]);
    }
  }
  return absl::StrJoin(parts, ", ");
}

absl::Status WriteResults(const std::string& path, const DeviceResults& results, const Module& module) {
  const Shape in_memory = ResultShapeInMemory(module);
  if (results.values.size() == 1) return WriteValue(path, InLayoutsOf(in_memory, results.values[0]));
  std::vector<std::string> prefixes;
  for (const std::string& name : results.names) prefixes.push_back(name + "/");
  return WriteUnderPrefixes(path, prefixes, results.values);
}

}  // namespace hlo::cli
