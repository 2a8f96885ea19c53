#include "kernels/cuda/sort/sort_plan.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "device/align.h"
#include "device/copy.h"
#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/sort/block_radix_sort.h"
#include "kernels/cuda/sort/merge_sort_body.h"
#include "kernels/cuda/sort/permute.h"
#include "kernels/cuda/sort/radix_sort.h"
#include "kernels/cuda/sort/sort_keys.h"
#include "types/index.h"

namespace hlo::cuda {
namespace {

constexpr int64_t kMaxSortedElements = (int64_t{1} << 31) - 1;

uint32_t BitsOf(absl::Span<const KeySource> sources) {
  uint32_t bits = 0;
  for (const KeySource& source : sources) bits += source.bits;
  return bits;
}

// Returns the first of the sources that end at `end` and fit into 64 bits together.
size_t GroupBegin(absl::Span<const KeySource> sources, size_t end) {
  size_t begin = end - 1;
  uint32_t bits = sources[begin].bits;
  while (begin > 0 && bits + sources[begin - 1].bits <= 64) bits += sources[--begin].bits;
  return begin;
}

// The widest key of a group.
uint32_t KeyBits(absl::Span<const KeySource> sources) {
  uint32_t bits = 0;
  for (size_t end = sources.size(); end > 0;) {
    const size_t begin = GroupBegin(sources, end);
    bits = std::max(bits, BitsOf(sources.subspan(begin, end - begin)));
    end = begin;
  }
  return bits;
}

// Sweeps sort the elements of the key's operand themselves, alone, with the elements of the other operand, or
// with element numbers. Otherwise they sort element numbers by keys.
bool SweepsElements(const SortPlan& plan) { return plan.sources.size() == 1 && plan.lines.IsDense(); }
bool SweepsPayloads(const SortPlan& plan) {
  return SweepsElements(plan) && plan.widths.size() == 2 && plan.widths[plan.operands[0] == 0 ? 1 : 0] == 4;
}
bool SweepsOrder(const SortPlan& plan) {
  return !SweepsElements(plan) || plan.is_topk || (plan.widths.size() > 1 && !SweepsPayloads(plan));
}

struct Workspace {
  std::byte *keys, *other_keys, *radix;
  uint32_t *order, *other_order, *unordered;
  int64_t bytes;
  Workspace(const SortPlan& plan, void* memory) {
    auto* at = static_cast<std::byte*>(memory);
    const auto take = [&](bool is_used, int64_t part) {
      std::byte* taken = at;
      at += is_used ? device::Aligned(part) : 0;
      return taken;
    };
    const int64_t n = plan.count();
    const bool sweeps = plan.method == SortMethod::kSweeps, elements = SweepsElements(plan),
               has_order = plan.may_be_unordered ||
                           (sweeps ? SweepsOrder(plan) : plan.widths.size() > kMaxMovedArrays);
    const uint32_t key_bits = KeyBits(plan.sources);
    const int64_t key_bytes = elements ? key_bits / 8 : key_bits > 32 ? 8 : 4;
    unordered = reinterpret_cast<uint32_t*>(take(plan.may_be_unordered, 4));
    order = reinterpret_cast<uint32_t*>(take(has_order || (sweeps && SweepsPayloads(plan)), 4 * n));
    other_order = reinterpret_cast<uint32_t*>(take(has_order, 4 * n));
    keys = take(sweeps, key_bytes * n);
    other_keys = take(sweeps && (!elements || plan.is_topk), key_bytes * n);
    radix = take(sweeps, RadixSortBytes(plan.lines, key_bits));
    bytes = at - static_cast<std::byte*>(memory);
  }
};

// One sort of a plan.
struct Sort {
  const SortPlan& plan;
  std::vector<KeySource> sources;
  absl::Span<const void* const> operands;
  absl::Span<void* const> results;
  Workspace work;
  device::Stream stream;
  std::vector<bool> is_stored;  // The results that the sort itself stores.

  SortKeysArgs KeysOf(absl::Span<const KeySource> group) const {
    SortKeysArgs args;
    args.lines = plan.lines;
    args.source_count = static_cast<uint32_t>(group.size());
    std::copy(group.begin(), group.end(), args.sources);
    args.unordered = work.unordered;
    return args;
  }
  size_t key_operand() const { return static_cast<size_t>(plan.operands[0]); }

  absl::Status InSharedMemory();
  template <class Key>
  absl::Status SweepElements();
  template <class Key>
  absl::Status SweepGroup(absl::Span<const KeySource> group, bool is_first);
  absl::Status SweepGroups();
  absl::Status MergeIfUnordered() const;
  absl::Status PermuteOthers() const;
};

absl::Status Sort::InSharedMemory() {
  const bool moves = plan.widths.size() <= kMaxMovedArrays,
             stores_elements = moves && plan.method == SortMethod::kInBlocks && plan.sources.size() == 1;
  LineResults stored;
  stored.kept = static_cast<uint32_t>(plan.kept);
  for (size_t k = 0; k < plan.widths.size() && moves; ++k) {
    is_stored[k] = true;
    if (stores_elements && k == key_operand()) continue;
    stored.arrays[stored.array_count++] = {operands[k], results[k], static_cast<uint32_t>(plan.widths[k])};
  }
  if (!moves) stored.order = work.order;
  if (plan.is_topk) stored.indices = static_cast<int32_t*>(results[1]);
  const SortKeysArgs keys = KeysOf(sources);
  if (plan.method == SortMethod::kNetwork) return SortByNetwork(keys, stored, stream);
  return SortInBlocks(keys, stored, stores_elements ? results[key_operand()] : nullptr, stream);
}

template <class Key>
absl::Status Sort::SweepElements() {
  const size_t key = key_operand();
  RadixSortArrays<Key> arrays;
  arrays.lines = plan.lines;
  arrays.code = RadixKeyOf<Key>(sources[0]);
  arrays.bits = sources[0].bits;
  arrays.is_canonical = sources[0].zeros_equal || sources[0].nans_equal;
  arrays.of_elements = true;
  arrays.keys_in = operands[key];
  arrays.keys_out[0] = plan.is_topk ? work.other_keys : results[key];
  arrays.keys_out[1] = work.keys;
  arrays.keeps_keys = !plan.is_topk;
  if (plan.may_be_unordered) arrays.unordered = work.unordered;
  is_stored[key] = !plan.is_topk;
  if (SweepsOrder(plan)) {
    arrays.values_out[0] = work.order;
    arrays.values_out[1] = work.other_order;
  } else if (SweepsPayloads(plan)) {
    const size_t other = 1 - key;
    arrays.values_in = static_cast<const uint32_t*>(operands[other]);
    arrays.values_out[0] = static_cast<uint32_t*>(results[other]);
    arrays.values_out[1] = work.order;
    is_stored[other] = true;
  }
  return RadixSort(arrays, work.radix, stream);
}

// Sorts the order by the keys of a group.
template <class Key>
absl::Status Sort::SweepGroup(absl::Span<const KeySource> group, bool is_first) {
  SortKeysArgs keys = KeysOf(group);
  keys.order = is_first ? nullptr : work.order;
  keys.keys = work.keys;
  HLO_RETURN_IF_ERROR(Launch<SortKeysKernel<Key>>(OneThreadEach(plan.count()), keys, stream));
  RadixSortArrays<Key> arrays;
  arrays.lines = plan.lines;
  arrays.bits = BitsOf(group);
  arrays.keys_in = work.keys;
  arrays.values_in = keys.order;
  arrays.keeps_keys = false;
  // The first pass must not write its input.
  if (RadixPasses(arrays.bits) % 2 != 0) {
    std::swap(work.keys, work.other_keys);
    std::swap(work.order, work.other_order);
  }
  arrays.keys_out[0] = work.keys;
  arrays.keys_out[1] = work.other_keys;
  arrays.values_out[0] = work.order;
  arrays.values_out[1] = work.other_order;
  return RadixSort(arrays, work.radix, stream);
}

// Sorts by the groups from the least to the most significant.
absl::Status Sort::SweepGroups() {
  const absl::Span<const KeySource> all = sources;
  for (size_t end = sources.size(); end > 0;) {
    const size_t begin = GroupBegin(sources, end);
    const absl::Span<const KeySource> group = all.subspan(begin, end - begin);
    const bool is_first = end == sources.size();
    HLO_RETURN_IF_ERROR(BitsOf(group) <= 32 ? SweepGroup<uint32_t>(group, is_first)
                                            : SweepGroup<uint64_t>(group, is_first));
    end = begin;
  }
  return absl::OkStatus();
}

absl::Status Sort::MergeIfUnordered() const {
  MergeArgs args;
  args.lines = plan.lines;
  args.source_count = static_cast<uint32_t>(sources.size());
  std::copy(sources.begin(), sources.end(), args.sources);
  args.unordered = work.unordered;
  args.order = work.order;
  args.other_order = work.other_order;
  return Launch<MergeKernel>({{std::min(plan.lines.count, 1024u)}, kSortThreads}, args, stream);
}

// Permutes the operands that the sort did not store, or all operands if an element is unordered.
absl::Status Sort::PermuteOthers() const {
  for (size_t k = 0; k < plan.widths.size(); ++k) {
    if (is_stored[k] && !plan.may_be_unordered) continue;
    HLO_RETURN_IF_ERROR(Permute(plan.lines, work.order, plan.widths[k], operands[k], results[k], stream,
                                is_stored[k] ? work.unordered : nullptr));
  }
  return absl::OkStatus();
}

absl::Status Sweep(Sort& sort) {
  if (!SweepsElements(sort.plan)) return sort.SweepGroups();
  switch (sort.sources[0].byte_count) {
    case 1:
      return sort.SweepElements<uint8_t>();
    case 2:
      return sort.SweepElements<uint16_t>();
    case 4:
      return sort.SweepElements<uint32_t>();
    default:
      return sort.SweepElements<uint64_t>();
  }
}

}  // namespace

int64_t SortPlan::workspace_bytes() const { return Workspace(*this, nullptr).bytes; }

std::optional<SortPlan> PlanSort(absl::Span<const int64_t> dims, int64_t dimension,
                                 absl::Span<const SortKey> keys, absl::Span<const ElementType> types) {
  const int64_t all = hlo::Product(dims);
  if (all > kMaxSortedElements || keys.empty() || keys.size() > kMaxSortKeys) return std::nullopt;
  SortPlan plan;
  if (all == 0) return plan;
  plan.lines = LinesAlong(dims, dimension);
  plan.kept = plan.lines.length;
  for (const ElementType type : types) plan.widths.push_back(ByteCount(type));
  for (const SortKey& key : keys) {
    plan.sources.push_back(SourceOf(key, types[key.operand]));
    plan.operands.push_back(key.operand);
    const KeySource& source = plan.sources.back();
    plan.may_be_unordered |= source.is_float && !(source.total && source.equal_total);
  }
  const bool is_one_key = GroupBegin(plan.sources, plan.sources.size()) == 0;
  plan.method = is_one_key && plan.lines.length <= kLongestNetworkLine ? SortMethod::kNetwork
                : is_one_key && plan.lines.length <= kLongestBlockLine ? SortMethod::kInBlocks
                                                                       : SortMethod::kSweeps;
  return plan;
}

std::optional<SortPlan> PlanTopk(absl::Span<const int64_t> dims, const SortKey& key, ElementType type,
                                 int64_t kept) {
  std::optional<SortPlan> plan = PlanSort(dims, static_cast<int64_t>(dims.size()) - 1, {&key, 1}, {&type, 1});
  if (!plan.has_value() || kept > dims.back()) return std::nullopt;
  plan->is_topk = true;
  plan->kept = kept;
  return plan;
}

absl::Status EnqueueSort(const SortPlan& plan, absl::Span<const void* const> operands,
                         absl::Span<void* const> results, void* workspace, device::Stream stream) {
  if (plan.count() == 0 || plan.kept == 0) return absl::OkStatus();
  Sort sort{plan,
            plan.sources,
            operands,
            results,
            Workspace(plan, workspace),
            stream,
            std::vector<bool>(plan.widths.size(), false)};
  for (size_t k = 0; k < sort.sources.size(); ++k) sort.sources[k].data = operands[plan.operands[k]];
  if (plan.may_be_unordered) HLO_RETURN_IF_ERROR(device::FillOnDevice(sort.work.unordered, 0, 4, stream));
  HLO_RETURN_IF_ERROR(plan.method == SortMethod::kSweeps ? Sweep(sort) : sort.InSharedMemory());
  if (plan.is_topk) {
    if (plan.method != SortMethod::kSweeps) return absl::OkStatus();
    return TakeFirst(plan.lines, sort.work.order, plan.kept, plan.widths[0], operands[0], results, stream);
  }
  if (plan.may_be_unordered) HLO_RETURN_IF_ERROR(sort.MergeIfUnordered());
  return sort.PermuteOthers();
}

}  // namespace hlo::cuda
