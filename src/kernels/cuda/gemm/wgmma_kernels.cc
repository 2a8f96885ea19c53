// Launches the wgmma kernels.

#include "kernels/cuda/emulator/hopper_emulation.h"
#include "kernels/cuda/gemm/gemm_kernels.h"
#include "kernels/cuda/launch/launch.h"

namespace hlo::cuda {

#if defined(HLO_RUN_HAS_CUDA) && !defined(HLO_RUN_HAS_SM90A)

bool HasWgmma() { return false; }
bool CanEncode(const BoxSource&) { return false; }
absl::Status LaunchWgmma(MmaKind, bool, bool, uint32_t, const LaunchShape&, const TmaGemmArgs&,
                         device::Stream) {
  return absl::UnimplementedError("this build was not compiled for compute capability 9.0a");
}

#else

namespace {

template <MmaKind kKind, uint32_t kColumns>
absl::Status LaunchOf(bool a_is_mn_major, bool b_is_mn_major, const LaunchShape& shape,
                      const TmaGemmArgs& args, device::Stream stream) {
  if (a_is_mn_major)
    return b_is_mn_major ? Launch<WgmmaGemm<kKind, true, true, kColumns> >(shape, args, stream)
                         : Launch<WgmmaGemm<kKind, true, false, kColumns> >(shape, args, stream);
  return b_is_mn_major ? Launch<WgmmaGemm<kKind, false, true, kColumns> >(shape, args, stream)
                       : Launch<WgmmaGemm<kKind, false, false, kColumns> >(shape, args, stream);
}
template <MmaKind kKind>
absl::Status LaunchHalves(bool a_is_mn_major, bool b_is_mn_major, uint32_t columns, const LaunchShape& shape,
                          const TmaGemmArgs& args, device::Stream stream) {
  switch (columns) {
    case 64:
      return LaunchOf<kKind, 64>(a_is_mn_major, b_is_mn_major, shape, args, stream);
    case 128:
      return LaunchOf<kKind, 128>(a_is_mn_major, b_is_mn_major, shape, args, stream);
    default:
      return LaunchOf<kKind, 256>(a_is_mn_major, b_is_mn_major, shape, args, stream);
  }
}

}  // namespace

bool HasWgmma() { return true; }

#ifndef HLO_RUN_HAS_CUDA
bool CanEncode(const BoxSource&) { return true; }
#endif

absl::Status LaunchWgmma(MmaKind kind, bool a_is_mn_major, bool b_is_mn_major, uint32_t columns,
                         const LaunchShape& shape, const TmaGemmArgs& args, device::Stream stream) {
  switch (kind) {
    case MmaKind::kBF16:
      return LaunchHalves<MmaKind::kBF16>(a_is_mn_major, b_is_mn_major, columns, shape, args, stream);
    case MmaKind::kF16:
      return LaunchHalves<MmaKind::kF16>(a_is_mn_major, b_is_mn_major, columns, shape, args, stream);
    case MmaKind::kE4E4:
      return Launch<WgmmaGemm<MmaKind::kE4E4, false, false, 128> >(shape, args, stream);
    case MmaKind::kE4E5:
      return Launch<WgmmaGemm<MmaKind::kE4E5, false, false, 128> >(shape, args, stream);
    case MmaKind::kE5E4:
      return Launch<WgmmaGemm<MmaKind::kE5E4, false, false, 128> >(shape, args, stream);
    case MmaKind::kE5E5:
      return Launch<WgmmaGemm<MmaKind::kE5E5, false, false, 128> >(shape, args, stream);
    case MmaKind::kS8S8:
      return Launch<WgmmaGemm<MmaKind::kS8S8, false, false, 256> >(shape, args, stream);
    case MmaKind::kS8U8:
      return Launch<WgmmaGemm<MmaKind::kS8U8, false, false, 256> >(shape, args, stream);
    case MmaKind::kU8S8:
      return Launch<WgmmaGemm<MmaKind::kU8S8, false, false, 256> >(shape, args, stream);
    case MmaKind::kU8U8:
      return Launch<WgmmaGemm<MmaKind::kU8U8, false, false, 256> >(shape, args, stream);
    case MmaKind::kTF32:
      break;
  }
  return absl::InternalError("groups of warps multiply no tf32 here");
}

#endif

}  // namespace hlo::cuda
