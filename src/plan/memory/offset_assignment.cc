#include "plan/memory/offset_assignment.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace hlo::plan {
namespace {

constexpr int64_t kAlignment = 64, kLeastAlignment = 4;
// Placing the largest first takes time with the square of their number.
constexpr size_t kMostBySize = 1 << 13;

// Sizes are multiples of it.
int64_t AlignmentOf(int64_t byte_count) {
  if (byte_count >= kAlignment) return kAlignment;
  return std::max<int64_t>(static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(byte_count))),
                           kLeastAlignment);
}
int64_t RoundUp(int64_t byte_count, int64_t alignment) {
  return (byte_count + alignment - 1) / alignment * alignment;
}
int64_t Room(int64_t byte_count) {
  return std::max(RoundUp(byte_count, AlignmentOf(byte_count)), kLeastAlignment);
}

// What all that is needed at one time takes, at its most.
int64_t Peak(absl::Span<const Lifetime> lifetimes) {
  std::vector<std::pair<int64_t, int64_t>> changes;
  for (const Lifetime& each : lifetimes) {
    changes.emplace_back(each.begin, Room(each.byte_count));
    changes.emplace_back(each.end + 1, -Room(each.byte_count));
  }
  std::sort(changes.begin(), changes.end());
  int64_t bytes = 0, most = 0;
  for (const auto& [position, change] : changes) most = std::max(most, bytes += change);
  return most;
}

// The lowest place that is free between ranges, which are visited in the order of their offsets.
class Gap {
 public:
  explicit Gap(int64_t byte_count) : bytes_(Room(byte_count)), alignment_(AlignmentOf(byte_count)) {}
  // False where there is room before the range.
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

bool BeginsBefore(const Lifetime& a, const Lifetime& b) { return a.begin < b.begin; }
bool IsLarger(const Lifetime& a, const Lifetime& b) {
  return a.byte_count != b.byte_count ? a.byte_count > b.byte_count : a.begin < b.begin;
}

std::vector<size_t> Ordered(absl::Span<const Lifetime> lifetimes,
                            bool (*before)(const Lifetime&, const Lifetime&)) {
  std::vector<size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return before(lifetimes[a], lifetimes[b]); });
  return order;
}

// In the order in which they begin, each at the lowest place that is free then.
Placement PlaceByBegin(absl::Span<const Lifetime> lifetimes) {
  Placement placement{std::vector<int64_t>(lifetimes.size())};
  std::map<int64_t, int64_t> taken;       // Ends by offset.
  std::multimap<int64_t, int64_t> frees;  // Offsets by when they fall free.
  for (const size_t i : Ordered(lifetimes, BeginsBefore)) {
    while (!frees.empty() && frees.begin()->first < lifetimes[i].begin) {
      taken.erase(frees.begin()->second);
      frees.erase(frees.begin());
    }
    Gap gap(lifetimes[i].byte_count);
    for (const auto& [begin, end] : taken) {
      if (!gap.Passes(begin, end)) break;
    }
    taken[gap.offset()] = gap.end();
    frees.emplace(lifetimes[i].end, gap.offset());
    placement.offsets[i] = gap.offset();
    placement.byte_count = std::max(placement.byte_count, gap.end());
  }
  return placement;
}

// The largest first, each at the lowest place that is free as long as it is needed: what is small does not
// come to lie where something large could.
Placement PlaceBySize(absl::Span<const Lifetime> lifetimes) {
  Placement placement{std::vector<int64_t>(lifetimes.size())};
  struct Taken {
    int64_t offset, end;
    const Lifetime* lifetime;
  };
  std::vector<Taken> taken;  // In the order of their offsets.
  for (const size_t i : Ordered(lifetimes, IsLarger)) {
    const Lifetime& lifetime = lifetimes[i];
    Gap gap(lifetime.byte_count);
    for (const Taken& each : taken) {
      const bool meets = each.lifetime->begin <= lifetime.end && lifetime.begin <= each.lifetime->end;
      if (meets && !gap.Passes(each.offset, each.end)) break;
    }
    const auto behind =
        std::upper_bound(taken.begin(), taken.end(), gap.offset(),
                         [](int64_t offset, const Taken& each) { return offset < each.offset; });
    taken.insert(behind, {gap.offset(), gap.end(), &lifetime});
    placement.offsets[i] = gap.offset();
    placement.byte_count = std::max(placement.byte_count, gap.end());
  }
  return placement;
}

}  // namespace

Placement PlaceLifetimes(absl::Span<const Lifetime> lifetimes) {
  Placement placement = PlaceByBegin(lifetimes);
  if (lifetimes.size() > kMostBySize || placement.byte_count <= Peak(lifetimes)) return placement;
  Placement by_size = PlaceBySize(lifetimes);
  return by_size.byte_count < placement.byte_count ? std::move(by_size) : std::move(placement);
}

}  // namespace hlo::plan
