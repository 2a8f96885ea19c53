#include "kernels/cuda/product_kernels.h"

#include "kernels/cuda/f32_product_body.h"
#include "kernels/cuda/f64_product_body.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/product_body.h"
#include "kernels/cuda/thin_body.h"

namespace hlo::cuda {
namespace {

template <class T>
ComputeKernels Kernels() {
  return {&Launch<TileProduct<T>>, TileProduct<T>::kTile, TileProduct<T>::kSharedBytes,
          &Launch<ElementProduct<T>>, &Launch<SumParts<T>>};
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
  return large ? TileKernel{&Launch<F32ProductLarge>, F32ProductLarge::kSharedBytes}
               : TileKernel{&Launch<F32ProductSmall>, F32ProductSmall::kSharedBytes};
}

TileKernel F64KernelOf() { return {&Launch<F64Product>, F64Product::kSharedBytes}; }

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

absl::Status LaunchMma(bool a_turned, bool b_turned, const LaunchShape& shape, const MmaArgs& args,
                       device::Stream stream) {
  if (a_turned) {
    return b_turned ? Launch<MmaProductTurned>(shape, args, stream)
                    : Launch<MmaProductTurnedA>(shape, args, stream);
  }
  return b_turned ? Launch<MmaProductTurnedB>(shape, args, stream)
                  : Launch<MmaProductStraight>(shape, args, stream);
}

size_t MmaSharedBytes(bool a_turned, bool b_turned) {
  if (a_turned) return b_turned ? MmaProductTurned::kSharedBytes : MmaProductTurnedA::kSharedBytes;
  return b_turned ? MmaProductTurnedB::kSharedBytes : MmaProductStraight::kSharedBytes;
}

absl::Status LaunchPack(const LaunchShape& shape, const PackArgs& args, device::Stream stream) {
  return Launch<Pack>(shape, args, stream);
}

absl::Status LaunchSearch(const LaunchShape& shape, const SearchArgs& args, device::Stream stream) {
  LaunchShape with_memory = shape;
  with_memory.shared_bytes = shape.threads / kWarpSize * sizeof(uint32_t);
  return Launch<Search>(with_memory, args, stream);
}

}  // namespace hlo::cuda
