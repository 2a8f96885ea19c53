// Registers the gather kernel.

#include "kernels/cuda/gather_scatter/gather_kernel.h"

#include <algorithm>
#include <numeric>

#include "base/arithmetic.h"
#include "device/copy.h"
#include "fmt/format.h"
#include "ir/window_indexing.h"
#include "kernels/cuda/gather_scatter/gather_body.h"
#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/memory/walks.h"
#include "kernels/cuda/memory/words.h"
#include "types/index.h"

namespace hlo::cuda {
namespace {

// Returns the number of adjacent elements that every access can copy as one aligned word.
int64_t ElementsPerWord(const std::vector<PlainDim>& dims, const StartsArgs& starts, int64_t byte_count) {
  if (dims.empty() || dims.back().index != 0 || dims.back().operand != 1 || dims.back().update != 1) return 1;
  int64_t common = std::gcd(int64_t{16} / byte_count, dims.back().size);
  for (size_t d = 0; d + 1 < dims.size(); ++d) common = std::gcd(common, dims[d].operand);
  for (uint32_t k = 0; k < starts.count; ++k) common = std::gcd(common, starts.entries[k].stride);
  return common;
}

}  // namespace

std::optional<CudaKernel> FindGatherKernel(const Instruction& gather, const DeviceProperties& /*device*/) {
  const Shape &operand = gather.operand(0)->shape(), &indices = gather.operand(1)->shape();
  const Shape& result = gather.shape();
  if (operand.type() != result.type() || !HasUnambiguousIndices(gather)) return std::nullopt;
  const WindowIndexing indexing{
      gather.Get<attr::index_vector_dim>(),      gather.Get<attr::start_index_map>(),
      gather.Get<attr::operand_batching_dims>(), gather.Get<attr::start_indices_batching_dims>(),
      gather.Get<attr::collapsed_slice_dims>(),  gather.Get<attr::offset_dims>()};
  Index extents(gather.Get<attr::slice_sizes>());
  for (int64_t& extent : extents) extent = std::max<int64_t>(1, extent);
  const std::optional<IndexedArrays> arrays =
      IndexArrays(operand, indices, result, indexing, extents, /*clamps=*/true);
  if (!arrays.has_value()) return std::nullopt;
  const int64_t byte_count = ByteCount(operand.type()), bytes = *DenseByteCount(result);
  if (hlo::Product(operand.dims()) == 0 || bytes == 0) {
    return CudaKernel{"gather of nothing", 0, [bytes](auto, auto results, void*, Stream stream) {
                        return device::FillOnDevice(results[0], 0, bytes, stream);
                      }};
  }
  GatherArgs args;
  args.starts = arrays->starts;
  std::vector<PlainDim> dims = Joined(arrays->dims);
  const int64_t joined = ElementsPerWord(dims, args.starts, byte_count), word = joined * byte_count;
  if (joined > 1) {
    dims.back().size /= joined;
    for (size_t d = 0; d + 1 < dims.size(); ++d) dims[d].operand /= joined, dims[d].update /= joined;
    for (uint32_t k = 0; k < args.starts.count; ++k) args.starts.entries[k].stride /= joined;
  }
  const std::optional<Walk> walk = MakeWalk(dims);
  if (!walk.has_value()) return std::nullopt;
  args.walk = *walk;
  args.count = static_cast<uint32_t>(bytes / word);
  constexpr uint32_t kEach = kGatherThreads * kGatherWords;
  const LaunchShape shape{{CeilDiv(args.count, kEach)}, kGatherThreads};
  return CudaKernel{
      fmt::format("gather of {} bytes", word), 0,
      [=](absl::Span<const void* const> operands, absl::Span<void* const> results, void*,
          Stream stream) mutable {
        args.operand = operands[0];
        args.starts.indices = operands[1];
        args.result = results[0];
        return WithWord(word, [&]<class Word>() { return Launch<GatherKernel<Word>>(shape, args, stream); });
      }};
}

}  // namespace hlo::cuda
