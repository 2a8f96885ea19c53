#include "debug/device_run.h"

#include "base/deadline.h"
#include "base/parallel.h"
#include "base/status.h"
#include "reference/supported.h"
#include "spmd/device_threads.h"
#include "spmd/rendezvous.h"

namespace hlo::debug {

absl::StatusOr<DeviceRunner> DeviceRunner::Make(
    const Module& module, const std::vector<std::vector<const Computation*>>& computations) {
  const spmd::DeviceGrid grid = spmd::GridOf(module);
  HLO_RETURN_IF_ERROR(spmd::CheckSize(grid));
  DeviceRunner runner(grid);
  for (const std::vector<const Computation*>& of_module : computations) {
    for (const Computation* computation : of_module) {
      for (const Instruction* instruction : computation->instructions()) {
        if (!spmd::DependsOnDevices(*instruction)) continue;
        const absl::Status status = runner.table_->Add(*instruction);
        if (!status.ok()) return reference::Located(status, *instruction);
      }
    }
  }
  return runner;
}

absl::Status DeviceRunner::Run(const EvaluateOptions& options, const DevicesOptions& devices, Body body) {
  spmd::Rendezvous rendezvous(*table_, {.strict_match = devices.strict_match,
                                        .timeout_seconds = devices.collective_timeout,
                                        .emulate_xla_cpu = devices.emulate_xla_cpu,
                                        .most_running = ThreadCount()});
  const auto run = [&](int64_t device) {
    rendezvous.Enter(device);
    EvaluateOptions own = options;
    own.seed += static_cast<uint64_t>(device);
    own.collectives = &rendezvous.LinkOf(device);
    if (devices.host) own.host = devices.host(device);
    // A limit of waiting ends all devices.
    const std::atomic<bool>* stop = rendezvous.has_time_limit() ? rendezvous.stopped() : nullptr;
    const Deadline deadline(own.max_seconds, own.cancel, stop);
    const absl::Status status = body(device, own);
    rendezvous.Leave(device, status.ok() ? absl::StatusOr<Literal>(Literal::Token()) : status);
  };
  const auto refused = [&](int64_t device) {
    rendezvous.Enter(device);
    rendezvous.Leave(device, absl::ResourceExhaustedError("the system starts no thread for this device"));
  };
  spmd::RunOnThreads(table_->grid().count(), run, refused);
  if (devices.warn) {
    for (const std::string& warning : rendezvous.Warnings()) devices.warn(warning);
  }
  return rendezvous.Outcome();
}

}  // namespace hlo::debug
