#include "kernels/cuda/gemm/gemm_kernels.h"

#include "kernels/cuda/gemm/f32_gemm_body.h"
#include "kernels/cuda/gemm/f64_gemm_body.h"
#include "kernels/cuda/gemm/gemm_body.h"
#include "kernels/cuda/gemm/thin_gemm_body.h"
#include "kernels/cuda/launch/launch.h"

namespace hlo::cuda {
namespace {

template <class T>
ComputeKernels Kernels() {
  return {&Launch<TileGemm<T>>, TileGemm<T>::kTile, TileGemm<T>::kSharedBytes, &Launch<ElementGemm<T>>,
          &Launch<SumParts<T>>};
}

template <class Stored, class T>
const ThinKernels* Thin() {
  using AlongK = ThinAlongK<Stored, T>;
  using AlongRows = ThinAlongRows<Stored, T>;
  static constexpr ThinKernels kernels{&Launch<AlongK>, AlongK::kRows, &Launch<AlongRows>, AlongRows::kRows};
  return &kernels;
}

}  // namespace

TileKernel F32KernelOf(bool large, bool axes) {
  if (axes) {
    return large ? TileKernel{&Launch<F32ConvolutionLarge>, F32ConvolutionLarge::kSharedBytes}
                 : TileKernel{&Launch<F32ConvolutionSmall>, F32ConvolutionSmall::kSharedBytes};
  }
  return large ? TileKernel{&Launch<F32GemmLarge>, F32GemmLarge::kSharedBytes}
               : TileKernel{&Launch<F32GemmSmall>, F32GemmSmall::kSharedBytes};
}

TileKernel F64KernelOf() { return {&Launch<F64Gemm>, F64Gemm::kSharedBytes}; }

ComputeKernels KernelsOf(ElementType compute) {
  switch (compute) {
    case ElementType::kF32:
      return Kernels<float>();
    case ElementType::kF64:
      return Kernels<double>();
    case ElementType::kU32:
      return Kernels<uint32_t>();
    case ElementType::kU64:
      return Kernels<uint64_t>();
    case ElementType::kC64:
      return Kernels<ComplexNumber<float>>();
    default:
      return Kernels<ComplexNumber<double>>();
  }
}

const ThinKernels* ThinKernelsOf(ElementType stored) {
  switch (stored) {
    case ElementType::kF32:
      return Thin<float, float>();
    case ElementType::kF64:
      return Thin<double, double>();
    case ElementType::kF16:
      return Thin<HalfBits, float>();
    case ElementType::kBF16:
      return Thin<BFloatBits, float>();
    default:
      return nullptr;
  }
}

absl::Status LaunchMma(bool a_is_mn_major, bool b_is_mn_major, const LaunchShape& shape, const MmaArgs& args,
                       device::Stream stream) {
  if (a_is_mn_major) {
    return b_is_mn_major ? Launch<MmaGemmMnMajor>(shape, args, stream)
                         : Launch<MmaGemmMnMajorA>(shape, args, stream);
  }
  return b_is_mn_major ? Launch<MmaGemmMnMajorB>(shape, args, stream)
                       : Launch<MmaGemmKMajor>(shape, args, stream);
}

size_t MmaSharedBytes(bool a_is_mn_major, bool b_is_mn_major) {
  if (a_is_mn_major) return b_is_mn_major ? MmaGemmMnMajor::kSharedBytes : MmaGemmMnMajorA::kSharedBytes;
  return b_is_mn_major ? MmaGemmMnMajorB::kSharedBytes : MmaGemmKMajor::kSharedBytes;
}

absl::Status LaunchPack(const LaunchShape& shape, const PackArgs& args, device::Stream stream) {
  return Launch<Pack>(shape, args, stream);
}

absl::Status LaunchNonFiniteSearch(const LaunchShape& shape, const NonFiniteSearchArgs& args,
                                   device::Stream stream) {
  LaunchShape with_memory = shape;
  with_memory.shared_bytes = shape.threads / kWarpSize * sizeof(uint32_t);
  return Launch<NonFiniteSearch>(with_memory, args, stream);
}

}  // namespace hlo::cuda
