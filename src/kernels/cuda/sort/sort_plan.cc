#include "kernels/cuda/sort/sort_plan.h"

#include <algorithm>
#include <bit>

#include "base/status.h"
#include "device/align.h"
#include "device/copy.h"
#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/memory/words.h"
#include "kernels/cuda/sort/radix_sort.h"
#include "types/index.h"

namespace hlo::cuda {
namespace {

constexpr int64_t kMaxSortedElements = (int64_t{1} << 31) - 1;

KeySource SourceOf(const SortKey& key, ElementType type) {
  KeySource source;
  source.byte_count = static_cast<uint32_t>(ByteCount(type));
  source.bits = 8 * source.byte_count;
  source.mask = ~uint64_t{0} >> (64 - source.bits);
  source.is_float = IsFloat(type);
  if (source.is_float || IsSigned(type)) source.sign = uint64_t{1} << (source.bits - 1);
  source.infinity = type == ElementType::kF16    ? 0x7c00
                    : type == ElementType::kBF16 ? 0x7f80
                    : type == ElementType::kF32  ? 0x7f800000
                                                 : 0x7ff0000000000000;
  source.descending = key.descending;
  source.total = key.total;
  source.equal_total = key.equal_total;
  source.zeros_equal = key.zeros_equal;
  source.nans_equal = key.nans_equal;
  return source;
}

// Returns the first of the sources that end at `end` and fit into 64 bits together.
size_t GroupBegin(absl::Span<const KeySource> sources, size_t end) {
  size_t begin = end - 1;
  uint32_t bits = sources[begin].bits;
  while (begin > 0 && bits + sources[begin - 1].bits <= 64) bits += sources[--begin].bits;
  return begin;
}

struct Workspace {
  std::byte *keys, *other_keys;
  uint32_t *order, *other_order, *unordered, *counts;
  Workspace(const SortPlan& plan, void* memory) {
    auto* at = static_cast<std::byte*>(memory);
    const auto take = [&](int64_t bytes) {
      std::byte* taken = at;
      at += device::Aligned(bytes);
      return taken;
    };
    const int64_t n = plan.count();
    order = reinterpret_cast<uint32_t*>(take(4 * n));
    other_order = reinterpret_cast<uint32_t*>(take(4 * n));
    unordered = reinterpret_cast<uint32_t*>(take(4));
    keys = take(plan.in_blocks ? 0 : 8 * n);
    other_keys = take(plan.in_blocks ? 0 : 8 * n);
    counts = reinterpret_cast<uint32_t*>(take(plan.in_blocks ? 0 : RadixCountsBytes(n)));
    bytes = at - static_cast<std::byte*>(memory);
  }
  int64_t bytes;
};

template <class Key>
absl::Status Radix(Workspace& work, int64_t count, uint32_t bits, bool is_first, device::Stream stream) {
  RadixBuffers<Key> buffers{reinterpret_cast<Key*>(work.keys), reinterpret_cast<Key*>(work.other_keys),
                            work.order, work.other_order, work.counts};
  HLO_RETURN_IF_ERROR(RadixSort(buffers, count, bits, is_first, stream));
  work.order = buffers.order;
  work.other_order = buffers.other_order;
  return absl::OkStatus();
}

// Sorts by the key groups from least to most significant, then by lines.
absl::Status OrderAll(const SortPlan& plan, absl::Span<const KeySource> sources, Workspace& work,
                      device::Stream stream) {
  const int64_t n = plan.count();
  const LaunchShape each = OneThreadEach(n);
  SortKeysArgs args;
  args.lines = plan.lines;
  args.keys = work.keys;
  args.unordered = work.unordered;
  bool is_first = true;
  for (size_t end = sources.size(); end > 0;) {
    const size_t begin = GroupBegin(sources, end);
    args.source_count = static_cast<uint32_t>(end - begin);
    std::copy(sources.begin() + begin, sources.begin() + end, args.sources);
    args.order = is_first ? nullptr : work.order;
    uint32_t bits = 0;
    for (size_t k = begin; k < end; ++k) bits += sources[k].bits;
    if (bits <= 32) {
      HLO_RETURN_IF_ERROR(Launch<SortKeysKernel<uint32_t>>(each, args, stream));
      HLO_RETURN_IF_ERROR(Radix<uint32_t>(work, n, bits, is_first, stream));
    } else {
      HLO_RETURN_IF_ERROR(Launch<SortKeysKernel<uint64_t>>(each, args, stream));
      HLO_RETURN_IF_ERROR(Radix<uint64_t>(work, n, bits, is_first, stream));
    }
    is_first = false;
    end = begin;
  }
  if (plan.lines.count == 1) return absl::OkStatus();
  args.order = work.order;
  HLO_RETURN_IF_ERROR(Launch<LineKeysKernel>(each, args, stream));
  return Radix<uint32_t>(work, n, static_cast<uint32_t>(std::bit_width(plan.lines.count - 1)), false, stream);
}

absl::Status OrderInBlocks(const SortPlan& plan, absl::Span<const KeySource> sources, const Workspace& work,
                           device::Stream stream) {
  BlockSortArgs args;
  args.keys.lines = plan.lines;
  args.keys.source_count = static_cast<uint32_t>(sources.size());
  std::copy(sources.begin(), sources.end(), args.keys.sources);
  args.keys.order_out = work.order;
  args.keys.unordered = work.unordered;
  args.padded = std::max(2u, std::bit_ceil(plan.lines.length));
  args.padded_bits = static_cast<uint32_t>(std::bit_width(args.padded) - 1);
  args.block_lines = std::max(1u, 2 * kSortThreads / args.padded);
  const uint32_t blocks = (plan.lines.count + args.block_lines - 1) / args.block_lines;
  return Launch<BlockSortKernel>({{blocks}, kSortThreads, size_t{12} * args.padded * args.block_lines}, args,
                                 stream);
}

}  // namespace

int64_t SortPlan::workspace_bytes() const { return Workspace(*this, nullptr).bytes; }

SortLines LinesAlong(absl::Span<const int64_t> dims, int64_t dimension) {
  const auto at = static_cast<size_t>(dimension);
  SortLines lines;
  lines.count = static_cast<uint32_t>(hlo::Product(dims) / dims[at]);
  lines.length = static_cast<uint32_t>(dims[at]);
  lines.length_divisor = FastDiv(lines.length);
  lines.stride_divisor = FastDiv(static_cast<uint32_t>(hlo::Product(dims.subspan(at + 1))));
  return lines;
}

std::optional<SortPlan> PlanSort(absl::Span<const int64_t> dims, int64_t dimension,
                                 absl::Span<const SortKey> keys, absl::Span<const ElementType> types) {
  const int64_t all = hlo::Product(dims);
  if (all > kMaxSortedElements || keys.size() > kMaxSortKeys) return std::nullopt;
  SortPlan plan;
  if (all == 0) return plan;
  plan.lines = LinesAlong(dims, dimension);
  for (const SortKey& key : keys) {
    plan.sources.push_back(SourceOf(key, types[key.operand]));
    plan.operands.push_back(key.operand);
    const KeySource& source = plan.sources.back();
    plan.may_be_unordered |= source.is_float && !(source.total && source.equal_total);
  }
  plan.in_blocks =
      plan.lines.length <= kLongestBlockLine && GroupBegin(plan.sources, plan.sources.size()) == 0;
  return plan;
}

absl::StatusOr<const uint32_t*> EnqueueOrder(const SortPlan& plan, absl::Span<const void* const> operands,
                                             void* workspace, device::Stream stream) {
  Workspace work(plan, workspace);
  std::vector<KeySource> sources = plan.sources;
  for (size_t k = 0; k < sources.size(); ++k) sources[k].data = operands[plan.operands[k]];
  if (plan.may_be_unordered) HLO_RETURN_IF_ERROR(device::FillOnDevice(work.unordered, 0, 4, stream));
  if (plan.in_blocks)
    HLO_RETURN_IF_ERROR(OrderInBlocks(plan, sources, work, stream));
  else
    HLO_RETURN_IF_ERROR(OrderAll(plan, sources, work, stream));
  if (!plan.may_be_unordered) return work.order;
  MergeArgs args;
  args.lines = plan.lines;
  args.source_count = static_cast<uint32_t>(sources.size());
  std::copy(sources.begin(), sources.end(), args.sources);
  args.unordered = work.unordered;
  args.order = work.order;
  args.other_order = work.other_order;
  HLO_RETURN_IF_ERROR(Launch<MergeKernel>({{std::min(plan.lines.count, 1024u)}, kSortThreads}, args, stream));
  return work.order;
}

absl::Status Permute(const SortLines& lines, const uint32_t* order, absl::Span<const int64_t> widths,
                     absl::Span<const void* const> operands, absl::Span<void* const> results,
                     device::Stream stream) {
  const int64_t count = static_cast<int64_t>(lines.count) * lines.length;
  for (size_t k = 0; k < widths.size(); ++k) {
    const PermuteArgs args{lines, order, operands[k], results[k]};
    HLO_RETURN_IF_ERROR(WithWord(widths[k], [&]<class Word>() {
      return Launch<PermuteKernel<Word>>(OneThreadEach(count), args, stream);
    }));
  }
  return absl::OkStatus();
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
