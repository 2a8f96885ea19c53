// Registers the fft kernel.

#include "kernels/cuda/fft/fft_kernel.h"

#include <memory>

#include "base/status.h"
#include "device/constants.h"
#include "fmt/format.h"
#include "ir/element_types.h"
#include "kernels/cuda/fft/fft_plan.h"
#include "kernels/cuda/launch/launch.h"

namespace hlo::cuda {
namespace {

absl::Status LaunchStep(const FftStep& step, bool is_double, Stream stream) {
  if (step.power_of_two != 0) {
    absl::Status status;
    WithFftPowerOfTwo(is_double, step.access, step.power_of_two,
                      [&]<class Kernel>() { status = Launch<Kernel>(step.shape, step.power_args, stream); });
    return status;
  }
  if (step.is_half) {
    return is_double ? Launch<FftHalfF64>(step.shape, step.half, stream)
                     : Launch<FftHalfF32>(step.shape, step.half, stream);
  }
  if (is_double) {
    return step.wide ? Launch<FftF64Wide>(step.shape, step.args, stream)
                     : Launch<FftF64>(step.shape, step.args, stream);
  }
  return step.wide ? Launch<FftF32Wide>(step.shape, step.args, stream)
                   : Launch<FftF32>(step.shape, step.args, stream);
}

}  // namespace

std::optional<CudaKernel> FindFftKernel(const Instruction& fft, const DeviceProperties& device) {
  const Shape& input = fft.operand(0)->shape();
  const FftType type = fft.Get<attr::fft_type>();
  if (!FftKeepsPrecision(fft)) return std::nullopt;
  const bool is_double = ComponentType(input.type()) == ElementType::kF64;
  std::optional<FftPlan> made =
      PlanFft(type, is_double, input.dims(), fft.Get<attr::fft_length>(), device.shared_bytes_per_block);
  if (!made.has_value()) return std::nullopt;
  for (const FftStep& step : made->steps) {
    if (static_cast<int64_t>(step.shape.shared_bytes) > device.shared_bytes_per_block) return std::nullopt;
  }
  const auto plan = std::make_shared<FftPlan>(*std::move(made));
  const device::Constants constants(plan->constants);
  return CudaKernel{
      fmt::format("fft {} in {} passes", Name(input.type()), plan->steps.size()), plan->workspace_bytes(),
      [plan, constants](absl::Span<const void* const> operands, absl::Span<void* const> results,
                        void* workspace, Stream stream) -> absl::Status {
        HLO_ASSIGN_OR_RETURN(const void* tables, constants.On(stream));
        const FftPointers pointers{operands[0], results[0], workspace, tables};
        for (const FftStep& step : plan->steps)
          HLO_RETURN_IF_ERROR(LaunchStep(Bound(*plan, step, pointers), plan->is_double, stream));
        return absl::OkStatus();
      }};
}

}  // namespace hlo::cuda
