#include "debug/shadow/device_run.h"

#include "base/parallel.h"
#include "base/status.h"
#include "exec/device_runs.h"
#include "spmd/rendezvous.h"

namespace hlo::debug {

absl::StatusOr<DeviceRunner> DeviceRunner::Make(
    const Module& module, const std::vector<std::vector<const Computation*>>& computations) {
  const spmd::DeviceGrid grid = spmd::GridOf(module);
  HLO_RETURN_IF_ERROR(spmd::CheckSize(grid));
  DeviceRunner runner(grid);
  for (const std::vector<const Computation*>& of_module : computations)
    HLO_RETURN_IF_ERROR(exec::AddExchanges(of_module, *runner.table_));
  return runner;
}

absl::Status DeviceRunner::Run(const EvaluateOptions& options, const DevicesOptions& devices, Body body) {
  spmd::Rendezvous rendezvous(*table_, {.strict_match = devices.strict_match,
                                        .timeout_seconds = devices.collective_timeout,
                                        .emulate_xla_cpu = devices.emulate_xla_cpu,
                                        .max_running = ThreadCount()});
  const auto options_of = [&](int64_t device) {
    EvaluateOptions device_options = options;
    if (devices.host) device_options.host = devices.host(device);
    return device_options;
  };
  const auto run = [&](int64_t device, const EvaluateOptions& device_options) -> absl::StatusOr<Literal> {
    HLO_RETURN_IF_ERROR(body(device, device_options));
    return Literal::Token();
  };
  exec::RunDeviceThreads(rendezvous, options_of, run);
  if (devices.warn) {
    for (const std::string& warning : rendezvous.Warnings()) devices.warn(warning);
  }
  return rendezvous.Outcome();
}

}  // namespace hlo::debug
