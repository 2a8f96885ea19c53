#include "kernels/cuda/gemm/gemm_kernels.h"

#include "kernels/cuda/gemm/f32_gemm_body.h"
#include "kernels/cuda/gemm/f64_dense_gemm_body.h"
#include "kernels/cuda/gemm/gemm_body.h"
#include "kernels/cuda/gemm/thin_gemm_body.h"
#include "kernels/cuda/launch/launch.h"

namespace hlo::cuda {
namespace {

template <class T>
ComputeKernels Kernels() {
  ComputeKernels kernels{&Launch<TileGemm<T>>, TileGemm<T>::kTile, TileGemm<T>::kSharedBytes,
                         &Launch<ElementGemm<T>>, &Launch<SumParts<T>>};
  if constexpr (std::is_same_v<T, float>) kernels.sum_dense_parts = &Launch<SumDenseParts>;
  return kernels;
}

template <class Stored, class T, int kColumns>
const ThinKernels* ThinOf() {
  using AlongK = ThinAlongK<Stored, T, kColumns>;
  using AlongRows = ThinAlongRows<Stored, T, kColumns>;
  static constexpr ThinKernels kernels{&Launch<AlongK>, AlongK::kRows, &Launch<AlongRows>, AlongRows::kRows};
  return &kernels;
}
template <class Stored, class T>
const ThinKernels* Thin(uint32_t columns) {
  return columns <= 1   ? ThinOf<Stored, T, 1>()
         : columns <= 2 ? ThinOf<Stored, T, 2>()
         : columns <= 4 ? ThinOf<Stored, T, 4>()
                        : ThinOf<Stored, T, 8>();
}

template <bool kLinesA, bool kLinesB>
TileKernel F64Dense(bool large) {
  using Large = F64DenseGemm<128, kLinesA, kLinesB>;
  using Small = F64DenseGemm<64, kLinesA, kLinesB>;
  return large ? TileKernel{&Launch<Large>, Large::kSharedBytes}
               : TileKernel{&Launch<Small>, Small::kSharedBytes};
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

TileKernel F64DenseKernelOf(bool large, bool a_lines, bool b_lines) {
  if (a_lines) return b_lines ? F64Dense<true, true>(large) : F64Dense<true, false>(large);
  return b_lines ? F64Dense<false, true>(large) : F64Dense<false, false>(large);
}

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

const ThinKernels* ThinKernelsOf(ElementType stored, uint32_t columns) {
  if (columns > kThinColumns) return nullptr;
  switch (stored) {
    case ElementType::kF32:
      return Thin<float, float>(columns);
    case ElementType::kF64:
      return Thin<double, double>(columns);
    case ElementType::kF16:
      return Thin<HalfBits, float>(columns);
    case ElementType::kBF16:
      return Thin<BFloatBits, float>(columns);
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
  return Launch<NonFiniteSearch>(shape, args, stream);
}

}  // namespace hlo::cuda
