#include "plan/memory/offset_assignment.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <utility>

#include "base/arithmetic.h"

namespace hlo::plan {
namespace {

constexpr int64_t kAlignment = 64, kMinAlignment = 4;
// Assigning by size takes quadratic time.
constexpr size_t kMaxBySize = 1 << 13;

// Returns the alignment; sizes are rounded up to it.
int64_t AlignmentOf(int64_t byte_count) {
  if (byte_count >= kAlignment) return kAlignment;
  return std::max<int64_t>(static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(byte_count))),
                           kMinAlignment);
}
int64_t AlignedSize(int64_t byte_count) {
  return std::max(RoundUp(byte_count, AlignmentOf(byte_count)), kMinAlignment);
}

// Returns the maximal number of bytes that are live at one time.
int64_t Peak(absl::Span<const LiveRange> live_ranges) {
  std::vector<std::pair<int64_t, int64_t>> changes;
  for (const LiveRange& each : live_ranges) {
    changes.emplace_back(each.begin, AlignedSize(each.byte_count));
    changes.emplace_back(each.end + 1, -AlignedSize(each.byte_count));
  }
  std::sort(changes.begin(), changes.end());
  int64_t bytes = 0, most = 0;
  for (const auto& [position, change] : changes) most = std::max(most, bytes += change);
  return most;
}

// Finds the lowest free offset between ranges, which are visited in order of their offsets.
class GapFinder {
 public:
  explicit GapFinder(int64_t byte_count)
      : bytes_(AlignedSize(byte_count)), alignment_(AlignmentOf(byte_count)) {}
  // Returns false if there is enough memory before the range.
  bool Passes(int64_t begin, int64_t end) {
    if (begin - offset_ >= bytes_) return false;
    offset_ = std::max(offset_, RoundUp(end, alignment_));
    return true;
  }
  int64_t offset() const { return offset_; }
  int64_t end() const { return offset_ + bytes_; }

 private:
  int64_t bytes_, alignment_, offset_ = 0;
};

bool BeginsBefore(const LiveRange& a, const LiveRange& b) { return a.begin < b.begin; }
bool IsLarger(const LiveRange& a, const LiveRange& b) {
  return a.byte_count != b.byte_count ? a.byte_count > b.byte_count : a.begin < b.begin;
}

std::vector<size_t> Ordered(absl::Span<const LiveRange> live_ranges,
                            bool (*before)(const LiveRange&, const LiveRange&)) {
  std::vector<size_t> order(live_ranges.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return before(live_ranges[a], live_ranges[b]); });
  return order;
}

// Assigns the lowest free offset in order of the begins.
OffsetAssignment AssignByBegin(absl::Span<const LiveRange> live_ranges) {
  OffsetAssignment assignment{std::vector<int64_t>(live_ranges.size())};
  std::map<int64_t, int64_t> taken;       // Ends, keyed by offset.
  std::multimap<int64_t, int64_t> frees;  // Offsets, keyed by the end of their live range.
  for (const size_t i : Ordered(live_ranges, BeginsBefore)) {
    while (!frees.empty() && frees.begin()->first < live_ranges[i].begin) {
      taken.erase(frees.begin()->second);
      frees.erase(frees.begin());
    }
    GapFinder gap(live_ranges[i].byte_count);
    for (const auto& [begin, end] : taken) {
      if (!gap.Passes(begin, end)) break;
    }
    taken[gap.offset()] = gap.end();
    frees.emplace(live_ranges[i].end, gap.offset());
    assignment.offsets[i] = gap.offset();
    assignment.byte_count = std::max(assignment.byte_count, gap.end());
  }
  return assignment;
}

// Assigns the lowest free offset to the largest first, so that small buffers do not fragment the space of
// large ones.
OffsetAssignment AssignBySize(absl::Span<const LiveRange> live_ranges) {
  OffsetAssignment assignment{std::vector<int64_t>(live_ranges.size())};
  struct Taken {
    int64_t offset, end;
    const LiveRange* live_range;
  };
  std::vector<Taken> taken;  // In order of their offsets.
  for (const size_t i : Ordered(live_ranges, IsLarger)) {
    const LiveRange& live_range = live_ranges[i];
    GapFinder gap(live_range.byte_count);
    for (const Taken& each : taken) {
      const bool meets = each.live_range->begin <= live_range.end && live_range.begin <= each.live_range->end;
      if (meets && !gap.Passes(each.offset, each.end)) break;
    }
    const auto behind =
        std::upper_bound(taken.begin(), taken.end(), gap.offset(),
                         [](int64_t offset, const Taken& each) { return offset < each.offset; });
    taken.insert(behind, {gap.offset(), gap.end(), &live_range});
    assignment.offsets[i] = gap.offset();
    assignment.byte_count = std::max(assignment.byte_count, gap.end());
  }
  return assignment;
}

}  // namespace

OffsetAssignment AssignOffsets(absl::Span<const LiveRange> live_ranges) {
  OffsetAssignment assignment = AssignByBegin(live_ranges);
  if (live_ranges.size() > kMaxBySize || assignment.byte_count <= Peak(live_ranges)) return assignment;
  OffsetAssignment by_size = AssignBySize(live_ranges);
  return by_size.byte_count < assignment.byte_count ? std::move(by_size) : std::move(assignment);
}

}  // namespace hlo::plan
