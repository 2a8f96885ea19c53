#pragma once
// The jobs that process 0 sends to the others: loading a module, and running some of its devices.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo_run/execute.h"
#include "spmd/process_group.h"
#include "spmd/wire.h"

namespace hlo::exec {

enum class JobKind : uint8_t { kModule, kRun };

// A module that process 0 has sent, with the options for it.
struct ReceivedModule {
  CheckedModule module;
  Engine engine;
  EvaluateOptions options;
  Device device;  // The device of the first logical device that the receiver runs.
  PlanOptions plan_options;
};
// Returns the job of loading a module. The memory limit then holds in each process. The devices of a run are
// assigned to the GPUs in round-robin order, over all processes.
std::string ModuleJob(const CheckedModule& module, Engine engine, const EvaluateOptions& options,
                      const Device& device, const PlanOptions& plan_options, uint64_t fingerprint);
// Reads what ModuleJob wrote behind the kind of the job.
absl::StatusOr<ReceivedModule> ReadModuleJob(spmd::MessageReader& job, const spmd::ProcessGroup& processes);

// A run that process 0 has started.
struct ReceivedRun {
  int64_t number;
  int64_t device_count;  // The number of devices of the whole run.
  EvaluateOptions options;
  DevicesOptions devices;
  // The arguments of each device of this process.
  absl::StatusOr<std::vector<std::vector<Literal>>> arguments;
};
// Returns the job of running the devices of a process, with their arguments.
std::string RunJob(int64_t number, int64_t device_count, const EvaluateOptions& options,
                   const DevicesOptions& devices, absl::Span<const std::vector<Literal>> arguments);
// Reads what RunJob wrote behind the kind of the job.
ReceivedRun ReadRunJob(spmd::MessageReader& job);

// Runs the jobs of process 0 until there are no more.
void ServeRuns(spmd::ProcessGroup& processes);

}  // namespace hlo::exec
