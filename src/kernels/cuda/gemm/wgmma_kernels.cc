// Launches the wgmma kernels.

#include "kernels/cuda/emulator/hopper_emulation.h"
#include "kernels/cuda/gemm/gemm_kernels.h"
#include "kernels/cuda/launch/launch.h"

namespace hlo::cuda {

#if defined(HLO_RUN_HAS_CUDA) && !defined(HLO_RUN_HAS_SM90A)

bool HasWgmma() { return false; }
absl::Status LaunchWgmma(MmaKind, bool, bool, const LaunchShape&, const WgmmaArgs&, device::Stream) {
  return absl::UnimplementedError("this build was not compiled for compute capability 9.0a");
}

#else

namespace {

template <MmaKind kKind, bool kRowsA>
absl::Status LaunchRows(bool b_is_mn_major, const LaunchShape& shape, const WgmmaArgs& args,
                        device::Stream stream) {
  return b_is_mn_major ? Launch<WgmmaGemm<kKind, kRowsA, true> >(shape, args, stream)
                       : Launch<WgmmaGemm<kKind, kRowsA, false> >(shape, args, stream);
}
template <MmaKind kKind>
absl::Status LaunchHalves(bool a_is_mn_major, bool b_is_mn_major, const LaunchShape& shape,
                          const WgmmaArgs& args, device::Stream stream) {
  return a_is_mn_major ? LaunchRows<kKind, true>(b_is_mn_major, shape, args, stream)
                       : LaunchRows<kKind, false>(b_is_mn_major, shape, args, stream);
}

}  // namespace

bool HasWgmma() { return true; }

absl::Status LaunchWgmma(MmaKind kind, bool a_is_mn_major, bool b_is_mn_major, const LaunchShape& shape,
                         const WgmmaArgs& args, device::Stream stream) {
  switch (kind) {
    case MmaKind::kBF16:
      return LaunchHalves<MmaKind::kBF16>(a_is_mn_major, b_is_mn_major, shape, args, stream);
    case MmaKind::kF16:
      return LaunchHalves<MmaKind::kF16>(a_is_mn_major, b_is_mn_major, shape, args, stream);
    case MmaKind::kE4E4:
      return Launch<WgmmaGemm<MmaKind::kE4E4, false, false> >(shape, args, stream);
    case MmaKind::kE4E5:
      return Launch<WgmmaGemm<MmaKind::kE4E5, false, false> >(shape, args, stream);
    case MmaKind::kE5E4:
      return Launch<WgmmaGemm<MmaKind::kE5E4, false, false> >(shape, args, stream);
    case MmaKind::kE5E5:
      return Launch<WgmmaGemm<MmaKind::kE5E5, false, false> >(shape, args, stream);
    case MmaKind::kS8S8:
      return Launch<WgmmaGemm<MmaKind::kS8S8, false, false> >(shape, args, stream);
    case MmaKind::kS8U8:
      return Launch<WgmmaGemm<MmaKind::kS8U8, false, false> >(shape, args, stream);
    case MmaKind::kU8S8:
      return Launch<WgmmaGemm<MmaKind::kU8S8, false, false> >(shape, args, stream);
    case MmaKind::kU8U8:
      return Launch<WgmmaGemm<MmaKind::kU8U8, false, false> >(shape, args, stream);
    case MmaKind::kTF32:
      break;
  }
  return absl::InternalError("groups of warps multiply no tf32 here");
}

#endif

}  // namespace hlo::cuda
