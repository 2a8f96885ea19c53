// Searches operands of products for infinities and NaNs.

#include <algorithm>

#include "base/arithmetic.h"
#include "base/status.h"
#include "device/align.h"
#include "device/copy.h"
#include "kernels/cuda/gemm/gemm_kernels.h"
#include "kernels/cuda/gemm/gemm_plan.h"
#include "kernels/cuda/intrinsics/small_floats.h"

namespace hlo::cuda {

SearchPattern NonFinitePattern(ElementType type) {
  switch (type) {
    case ElementType::kF64:
    case ElementType::kC128:
      return {0x7ff00000u, 0x7ff00000u};
    case ElementType::kF32:
    case ElementType::kC64:
      return {0x7f800000u, 0x7f800000u};
    default:
      break;
  }
  if (!IsFloat(type)) return {};
  const FloatFormat format = FormatOf(type);
  const uint32_t sign = uint32_t{1} << (format.bits() - 1);
  switch (format.special) {
    case Special::kIeee: {
      const uint32_t exponent = (sign - 1) >> format.mantissa_bits << format.mantissa_bits;
      return {exponent, exponent};
    }
    case Special::kFn:
      return {sign - 1, sign - 1};
    case Special::kFnuz:
      return {2 * sign - 1, sign};
    case Special::kScale:
      return {2 * sign - 1, 2 * sign - 1};
    case Special::kFinite:
      break;
  }
  return {};
}

namespace {

// Sets the flag if one of these elements is not finite.
absl::Status Search(const void* data, int64_t count, ElementType type, uint32_t* found,
                    device::Stream stream) {
  const int64_t parts = IsComplex(type) ? 2 : 1;
  const NonFiniteSearchArgs args{.data = data,
                                 .count = count * parts,
                                 .byte_count = static_cast<uint32_t>(ByteCount(type) / parts),
                                 .pattern = NonFinitePattern(type),
                                 .vectors = reinterpret_cast<uintptr_t>(data) % 16 == 0,
                                 .found = found};
  if (args.pattern.mask == 0) return absl::OkStatus();
  constexpr int64_t kPerBlock = int64_t{16} * NonFiniteSearchArgs::kBlockThreads;
  const int64_t blocks = std::clamp<int64_t>(CeilDiv(args.count * args.byte_count, kPerBlock), 1,
                                             NonFiniteSearchArgs::kMaxBlocks);
  const LaunchShape shape = {Dim3{static_cast<uint32_t>(blocks), 1, 1}, NonFiniteSearchArgs::kBlockThreads};
  return LaunchNonFiniteSearch(shape, args, stream);
}

}  // namespace

void AddNonFiniteSearch(int64_t filter_count, ElementType filter_type, StepList* list, int64_t input_count) {
  list->steps.push_back([=](const StepArrays& arrays) -> absl::Status {
    auto* found = reinterpret_cast<uint32_t*>(arrays.workspace);
    HLO_RETURN_IF_ERROR(device::FillOnDevice(found, 0, sizeof *found, arrays.stream));
    HLO_RETURN_IF_ERROR(Search(arrays.b, filter_count, filter_type, found, arrays.stream));
    return input_count == 0 ? absl::OkStatus()
                            : Search(arrays.a, input_count, filter_type, found, arrays.stream);
  });
  list->shared_bytes = device::kAlignment;
  list->workspace_bytes = std::max(list->workspace_bytes, list->shared_bytes);
}

}  // namespace hlo::cuda
