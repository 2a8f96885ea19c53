#include "exec/device_runs.h"

#include <atomic>

#include "base/deadline.h"
#include "base/status.h"
#include "reference/supported.h"
#include "spmd/device_grid.h"
#include "spmd/device_threads.h"

namespace hlo::exec {

absl::Status AddExchanges(absl::Span<const Computation* const> computations, spmd::ExchangeTable& table) {
  for (const Computation* computation : computations) {
    for (const Instruction* instruction : computation->instructions()) {
      if (!spmd::DependsOnDevices(*instruction)) continue;
      if (const absl::Status status = table.Add(*instruction); !status.ok())
        return reference::Located(status, *instruction);
    }
  }
  return absl::OkStatus();
}

void RunDeviceThreads(spmd::Rendezvous& rendezvous, absl::FunctionRef<EvaluateOptions(int64_t)> options_of,
                      absl::FunctionRef<absl::StatusOr<Literal>(int64_t, const EvaluateOptions&)> body) {
  const spmd::DeviceRange& range = rendezvous.devices();
  const auto run = [&](int64_t index) {
    const int64_t device = range.first + index;
    rendezvous.Enter(device);
    EvaluateOptions own = options_of(device);
    own.seed += static_cast<uint64_t>(device);
    own.collectives = &rendezvous.CollectivesOf(device);
    // A limit of waiting ends all devices, so that a device that still runs does not delay the report.
    const std::atomic<bool>* stop = rendezvous.has_time_limit() ? rendezvous.stopped() : nullptr;
    const Deadline deadline(own.max_seconds, own.cancel, stop);
    if (own.cancel == nullptr) own.cancel = stop;
    rendezvous.Leave(device, body(device, own));
  };
  const auto refused = [&](int64_t index) {
    rendezvous.Enter(range.first + index);
    rendezvous.Leave(range.first + index,
                     absl::ResourceExhaustedError("the system starts no thread for this device"));
  };
  spmd::RunOnThreads(range.last - range.first, run, refused);
}

}  // namespace hlo::exec
