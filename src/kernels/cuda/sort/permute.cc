#include "kernels/cuda/sort/permute.h"

#include <algorithm>

#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/memory/words.h"
#include "types/index.h"

namespace hlo::cuda {

constexpr uint32_t kMostConditionalBlocks = 1056;

SortLines LinesAlong(absl::Span<const int64_t> dims, int64_t dimension) {
  const auto at = static_cast<size_t>(dimension);
  SortLines lines;
  lines.count = static_cast<uint32_t>(hlo::Product(dims) / dims[at]);
  lines.length = static_cast<uint32_t>(dims[at]);
  lines.length_divisor = FastDiv(lines.length);
  lines.stride_divisor = FastDiv(static_cast<uint32_t>(hlo::Product(dims.subspan(at + 1))));
  return lines;
}

absl::Status Permute(const SortLines& lines, const uint32_t* order, int64_t width, const void* operand,
                     void* result, device::Stream stream, const uint32_t* only_if) {
  LaunchShape shape = OneThreadEach(static_cast<int64_t>(lines.count) * lines.length);
  if (only_if != nullptr) shape.grid.x = std::min(shape.grid.x, kMostConditionalBlocks);
  const PermuteArgs args{lines, only_if, order, operand, result};
  return WithWord(width, [&]<class Word>() { return Launch<PermuteKernel<Word>>(shape, args, stream); });
}

absl::Status TakeFirst(const SortLines& lines, const uint32_t* order, int64_t kept, int64_t width,
                       const void* operand, absl::Span<void* const> results, device::Stream stream) {
  TopkArgs args{lines, order, operand, results[0], static_cast<int32_t*>(results[1])};
  args.kept = static_cast<uint32_t>(kept);
  args.kept_divisor = FastDiv(args.kept);
  const LaunchShape each = OneThreadEach(static_cast<int64_t>(lines.count) * kept);
  return WithWord(width, [&]<class Word>() -> absl::Status {
    if constexpr (sizeof(Word) <= 8)
      return Launch<TopkKernel<Word>>(each, args, stream);
    else
      return absl::InternalError("topk of elements without an order");
  });
}

}  // namespace hlo::cuda
