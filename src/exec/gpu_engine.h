#pragma once
// The engine that runs plans on a GPU, real or emulated. Builds that have neither leave it out.

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "device/gpu.h"
#include "hlo_run/execute.h"
#include "plan/plan.h"
#include "reference/program.h"

namespace hlo::exec {

class GpuEngine {
 public:
  virtual ~GpuEngine() = default;

  // Results may alias arguments, or their device copies, that nobody but `arguments` holds. `peers` are the
  // engines of all devices of the run, by number, if all run on GPUs of this process: collectives then
  // exchange values between GPUs. If it is empty, they do so through the host.
  virtual absl::StatusOr<Literal> Run(std::vector<Literal> arguments, const EvaluateOptions& options,
                                      absl::Span<const std::unique_ptr<GpuEngine>> peers) = 0;

  // Returns the steps that ran on the CPU, in plan order.
  virtual std::vector<Fallback> fallbacks() const = 0;

  // Returns an engine for another device of a run on several. It runs the same plan on this GPU. `programs`
  // are those of the module for instructions that the reference runs.
  virtual std::unique_ptr<GpuEngine> ForDevice(std::shared_ptr<device::Gpu> gpu,
                                               std::shared_ptr<const reference::Programs> programs) const = 0;
};

// Opens a GPU or an emulated one. A build without that kind of device returns Unimplemented. Opening a GPU
// takes longer than most runs, so a thread opens each once and shares it, unless `is_own`: then the result is
// another object, which may run on another thread.
absl::StatusOr<std::shared_ptr<device::Gpu>> OpenDevice(Device::Kind kind, int number, bool is_own = false);

// The plan must be of the module. All three must outlive the engine, which keeps its memory between runs.
std::unique_ptr<GpuEngine> MakeGpuEngine(const CheckedModule& module, const plan::Plan& plan,
                                         std::shared_ptr<device::Gpu> gpu);

}  // namespace hlo::exec
