// Launches of the products that groups of warps compute.

#include "kernels/cuda/hopper_emulation.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/product_kernels.h"

namespace hlo::cuda {

#if defined(HLO_RUN_HAS_CUDA) && !defined(HLO_RUN_HAS_SM90A)

bool HasWgmma() { return false; }
absl::Status LaunchWgmma(bool, bool, bool, const LaunchShape&, const WgmmaArgs&, device::Stream) {
  return absl::UnimplementedError("this build was not compiled for compute capability 9.0a");
}

#else

namespace {

template <bool kBF16, bool kRowsA>
absl::Status LaunchRows(bool b_turned, const LaunchShape& shape, const WgmmaArgs& args,
                        device::Stream stream) {
  return b_turned ? Launch<WgmmaProduct<kBF16, kRowsA, true> >(shape, args, stream)
                  : Launch<WgmmaProduct<kBF16, kRowsA, false> >(shape, args, stream);
}

}  // namespace

bool HasWgmma() { return true; }

absl::Status LaunchWgmma(bool bf16, bool a_turned, bool b_turned, const LaunchShape& shape,
                         const WgmmaArgs& args, device::Stream stream) {
  if (bf16)
    return a_turned ? LaunchRows<true, true>(b_turned, shape, args, stream)
                    : LaunchRows<true, false>(b_turned, shape, args, stream);
  return a_turned ? LaunchRows<false, true>(b_turned, shape, args, stream)
                  : LaunchRows<false, false>(b_turned, shape, args, stream);
}

#endif

}  // namespace hlo::cuda
