// Implementation for builds with neither CUDA nor the emulator.

#include "base/check.h"
#include "exec/gpu_engine.h"

namespace hlo::exec {

absl::StatusOr<std::shared_ptr<device::Gpu>> OpenDevice(Device::Kind kind, int number, bool /*is_own*/) {
  if (kind == Device::Kind::kEmulatedGpu)
    return absl::UnimplementedError(
        "this build has no emulated GPU: configure it with -DHLO_RUN_EMULATOR=ON");
  return device::OpenGpu(number).status();
}

std::unique_ptr<GpuEngine> MakeGpuEngine(const CheckedModule& /*module*/, const plan::Plan& /*plan*/,
                                         std::shared_ptr<device::Gpu> /*gpu*/) {
  HLO_CHECK(false);  // OpenDevice opened none.
  return nullptr;
}

}  // namespace hlo::exec
