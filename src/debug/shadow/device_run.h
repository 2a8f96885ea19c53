#pragma once
// Runs a function for each device of a module, on threads that exchange values.

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "hlo_run/execute.h"
#include "hlo_run/module.h"
#include "spmd/exchange_groups.h"

namespace hlo::debug {

class DeviceRunner {
 public:
  // Takes the devices from the header of the module. `computations` are those that a run may call, of the
  // module and of copies of it. Errors are those of Executable::Make.
  static absl::StatusOr<DeviceRunner> Make(const Module& module,
                                           const std::vector<std::vector<const Computation*>>& computations);

  // Calls body(device, options) for each device, whose options have its seed and its link to the others.
  // Errors are those of Executable::RunDevices.
  using Body = absl::FunctionRef<absl::Status(int64_t device, const EvaluateOptions& options)>;
  absl::Status Run(const EvaluateOptions& options, const DevicesOptions& devices, Body body);

 private:
  explicit DeviceRunner(spmd::DeviceGrid grid) : table_(std::make_unique<spmd::ExchangeTable>(grid)) {}

  std::unique_ptr<spmd::ExchangeTable> table_;
};

}  // namespace hlo::debug
