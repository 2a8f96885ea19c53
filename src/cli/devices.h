#pragma once
// The flags of runs on several devices, their arguments, and their results as text, JSON and files.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "cli/common.h"
#include "debug/exposed_run.h"
#include "spmd/device_grid.h"
#include "spmd/entry_shards.h"

namespace hlo::cli {

// Adds --replicas and --partitions. Load sets the counts of the module's header by them.
void AddGridFlags(CLI::App& app, CommonOptions& options);

struct DevicesFlags {
  bool strict_match = false, emulate_xla_cpu = false;
  double collective_timeout = 0;
  std::string shard_by;                 // The module before partitioning, whose shardings are used.
  std::vector<std::string> per_device;  // Parameters whose random values differ between devices; or `all`.
  std::string for_device;               // A number, or a name such as r0p3; empty means the first.
};
// Adds --shard with this help text, --shard-by and --per-device.
void AddShardFlags(CLI::App& app, CommonOptions& options, DevicesFlags& flags, const std::string& help);
// Adds --match, which selects the collectives that are paired.
void AddMatchFlag(CLI::App& app, DevicesFlags& flags);
// Adds the flags of AddGridFlags, --collective-timeout and those of AddShardFlags.
void AddDevicesFlags(CLI::App& app, CommonOptions& options, DevicesFlags& flags);

// Adds the flags of a run whose device --for-device an observer watches: those of AddInputFlags and
// AddDevicesFlags, --for-device and --elided.
void AddWatchedRunFlags(CLI::App& app, CommonOptions& options, InputOptions& inputs, DevicesFlags& flags);

DevicesOptions OptionsOf(const DevicesFlags& flags);

// The devices of a loaded module's run.
struct DeviceRun {
  spmd::DeviceGrid grid;
  std::vector<std::vector<Literal>> arguments;  // By device.
  std::optional<spmd::EntryShards> shards;      // Set if results are joined.
  std::vector<Literal> whole;  // With --shard, the arguments of the first replica before the split.

  bool has_several() const { return grid.count() > 1; }
};
// Makes the arguments of all devices from the flags. Given arrays are those of each device, or whole arrays
// that are split with --shard; random arrays are whole.
absl::StatusOr<DeviceRun> MakeDeviceRun(const InputOptions& inputs, const CommonOptions& common,
                                        const DevicesFlags& flags, const LoadedModule& loaded);

// Returns the number of the device that --for-device names. Returns InvalidArgument if there is none.
absl::StatusOr<int64_t> ForDevice(const DevicesFlags& flags, const spmd::DeviceGrid& grid);
// Makes the arguments of all devices for a run in which that device is watched. `result` must outlive the
// run; warnings go there once.
absl::StatusOr<debug::WatchedArguments> MakeWatchedRun(const InputOptions& inputs,
                                                       const CommonOptions& common, const DevicesFlags& flags,
                                                       const LoadedModule& loaded, FileResult& result);

// Adds a warning of a run that may be repeated.
void AddWarningOnce(const std::string& warning, FileResult& result);

// Returns Unimplemented if the run has several devices. `what` needs one, and the message names what the user
// can do instead.
absl::Status RequireOneDevice(std::string_view what, const spmd::DeviceGrid& grid,
                              std::string_view alternative);
// The same for a subcommand without flags for devices: the counts are those of the module.
absl::Status RequireOneDevice(std::string_view what, const Module& module, std::string_view alternative);

// Results of all devices, or of all replicas if those of the partitions were joined.
struct DeviceResults {
  std::vector<std::string> names;  // `r0`, `p3`, `r0p3`; one empty name for the only device.
  std::vector<Literal> values;
  std::vector<std::string> warnings;  // Copies that differ.
};
// Returns the names of all devices without values.
DeviceResults NamesOfDevices(const spmd::DeviceGrid& grid);
absl::StatusOr<DeviceResults> ResultsOf(const DeviceRun& run, std::vector<Literal> values);

// Returns the results of equal bits together, each with the numbers of its devices in ascending order.
std::vector<std::vector<size_t>> EqualResults(const DeviceResults& results);
// Returns `all 4 devices`, or a list such as `r0, r2-r5`.
std::string NamesOf(const DeviceResults& results, const std::vector<size_t>& members);

// Writes the results of all devices, under the keys of each (DevicePlace::prefix).
absl::Status WriteResults(const std::string& path, const DeviceResults& results, const Module& module);

}  // namespace hlo::cli
