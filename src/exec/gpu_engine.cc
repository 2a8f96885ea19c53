#include "exec/gpu_engine.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/status.h"
#include "exec/gpu_executor.h"

namespace hlo::exec {

absl::StatusOr<std::shared_ptr<device::Gpu>> OpenDevice(Device::Kind kind, int number, bool is_own) {
  if (kind == Device::Kind::kEmulatedGpu)
    return std::shared_ptr<device::Gpu>(device::MakeEmulatedGpu(number));
  static thread_local absl::flat_hash_map<int, std::shared_ptr<device::Gpu>> opened;
  std::shared_ptr<device::Gpu> own;
  std::shared_ptr<device::Gpu>& gpu = is_own ? own : opened[number];
  if (gpu == nullptr) {
    HLO_ASSIGN_OR_RETURN(gpu, device::OpenGpu(number));
  }
  return gpu;
}

std::unique_ptr<GpuEngine> MakeGpuEngine(const CheckedModule& module, const plan::Plan& plan,
                                         std::shared_ptr<device::Gpu> gpu) {
  plan::GpuPlan gpu_plan = plan::MakeGpuPlan(plan, gpu->properties());
  return std::make_unique<GpuExecutor>(module, plan, std::move(gpu), std::move(gpu_plan), nullptr);
}

}  // namespace hlo::exec
