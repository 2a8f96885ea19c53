#pragma once
// The jobs that process 0 gives to the others: loading a module, and running some of its devices.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo_run/execute.h"
#include "spmd/process_group.h"
#include "spmd/wire.h"

namespace hlo::exec {

enum class JobKind : uint8_t { kModule, kRun };

struct ReceivedModule {
  CheckedModule module;
  Engine engine;
  EvaluateOptions options;
  Device device;  // The device of the first logical device that the receiver runs.
  PlanOptions plan_options;
};
// Readers start after the kind of the job. The memory limit then holds in each process. The devices of a run
// are assigned to the GPUs in round-robin order, over all processes.
std::string ModuleJob(const CheckedModule& module, Engine engine, const EvaluateOptions& options,
                      const Device& device, const PlanOptions& plan_options, uint64_t fingerprint);
absl::StatusOr<ReceivedModule> ReadModuleJob(spmd::MessageReader& job, const spmd::ProcessGroup& processes);

struct ReceivedRun {
  int64_t number;
  int64_t device_count;  // The number of devices of the whole run.
  EvaluateOptions options;
  DevicesOptions devices;
  // The arguments of each device of this process.
  absl::StatusOr<std::vector<std::vector<Literal>>> arguments;
};
std::string RunJob(int64_t number, int64_t device_count, const EvaluateOptions& options,
                   const DevicesOptions& devices, absl::Span<const std::vector<Literal>> arguments);
ReceivedRun ReadRunJob(spmd::MessageReader& job);

// Runs the jobs of process 0 until there are no more.
void ServeRuns(spmd::ProcessGroup& processes);

}  // namespace hlo::exec
