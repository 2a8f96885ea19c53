#include "kernels/cpu/sort/merge_order.h"

#include <algorithm>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "base/deadline.h"
#include "base/status.h"

namespace hlo::cpu {
namespace {

class Comparator {
 public:
  Comparator(const TileCode& before, absl::Span<const std::byte* const> elements,
             absl::Span<const int64_t> widths)
      : before_(before), elements_(elements), widths_(widths), in_(2 * elements.size()) {}

  // Returns true if the element at position a precedes that at b.
  bool operator()(uint32_t a, uint32_t b) {
    const void** in = in_.data();
    for (size_t k = 0; k < elements_.size(); ++k) {
      in[2 * k] = elements_[k] + a * widths_[k];
      in[2 * k + 1] = elements_[k] + b * widths_[k];
    }
    bool answer = false;
    void* out[] = {&answer};
    before_.Run(1, in, out);
    return answer;
  }

 private:
  const TileCode& before_;
  absl::Span<const std::byte* const> elements_;
  absl::Span<const int64_t> widths_;
  absl::InlinedVector<const void*, 16, CachingAllocator<const void*>> in_;
};

// Two adjacent runs, [begin, middle) and [middle, end). Their length is a power of two.
struct Runs {
  Runs(int64_t at, int64_t run, int64_t n)
      : begin(at & -(2 * run)), middle(std::min(begin + run, n)), end(std::min(begin + 2 * run, n)) {}
  int64_t begin, middle, end;
};

// Returns the position in the left run that a merge has reached after writing [begin, at), by binary search.
// The result is a guess if the comparator is not a strict weak order.
int64_t LeftAt(int64_t at, const Runs& runs, const uint32_t* order, Comparator& before) {
  int64_t least = std::max(runs.begin, at + runs.middle - runs.end), most = std::min(runs.middle, at);
  while (least < most) {
    const int64_t left = least + (most - least) / 2, right = at + runs.middle - left;
    if (before(order[right - 1], order[left]))
      most = left;
    else
      least = left + 1;
  }
  return least;
}

// Writes merged[at, end), starting at `left` in the left run, and returns the new position there.
int64_t Merge(int64_t left, int64_t at, int64_t end, const Runs& runs, const uint32_t* order,
              uint32_t* merged, Comparator& before) {
  const int64_t middle = runs.middle, right_end = runs.end;
  int64_t right = at + middle - left;
  while (left < middle && right < right_end && at < end)
    merged[at++] = before(order[right], order[left]) ? order[right++] : order[left++];
  for (; at < end && left < middle; ++at) merged[at] = order[left++];
  for (; at < end; ++at) merged[at] = order[right++];
  return left;
}

}  // namespace

absl::Status MergeOrder(const TileCode& before, absl::Span<const std::byte* const> elements,
                        absl::Span<const int64_t> widths, const LineChunks& chunks,
                        CachedVector<uint32_t>* order) {
  const int64_t n = chunks.length();
  CachedVector<uint32_t> merged(n);
  // The positions in the left runs at which merges enter and leave a chunk.
  struct MergeSplit {
    int64_t in, out;
  };
  CachedVector<MergeSplit> splits(chunks.count());
  for (int64_t i = 0; i < n; ++i) (*order)[i] = static_cast<uint32_t>(i);
  Comparator compare(before, elements, widths);
  for (int64_t run = 1; run < n; run *= 2) {
    HLO_RETURN_IF_ERROR(Deadline::Check());
    const auto merge_chunk = [&](Comparator& comparator, int64_t p, int64_t begin, int64_t end) {
      int64_t left = 0;
      for (int64_t at = begin; at < end;) {
        const Runs runs(at, run, n);
        const int64_t stop = std::min(end, runs.end);
        left = at == runs.begin ? at : LeftAt(at, runs, order->data(), comparator);
        if (at == begin) splits[p].in = left;
        left = Merge(left, at, stop, runs, order->data(), merged.data(), comparator);
        at = stop;
      }
      splits[p].out = left;
    };
    if (chunks.count() == 1) {
      merge_chunk(compare, 0, 0, n);
    } else {
      chunks.ForEach(30, [&](int64_t p, int64_t begin, int64_t end) {
        Comparator own(before, elements, widths);
        merge_chunk(own, p, begin, end);
      });
    }
    // A chunk whose guessed entry point was wrong is merged again.
    for (int64_t p = 1; p < chunks.count(); ++p) {
      const int64_t begin = chunks.begin(p);
      const Runs runs(begin, run, n);
      if (begin == runs.begin || splits[p].in == splits[p - 1].out) continue;
      HLO_RETURN_IF_ERROR(Deadline::Check());
      splits[p].out =
          Merge(splits[p - 1].out, begin, chunks.end(p), runs, order->data(), merged.data(), compare);
    }
    std::swap(*order, merged);
  }
  return absl::OkStatus();
}

}  // namespace hlo::cpu
