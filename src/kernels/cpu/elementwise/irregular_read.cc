#include "kernels/cpu/elementwise/irregular_read.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <type_traits>

#include "base/arithmetic.h"
#include "kernels/cpu/elementwise/gather_clamped.h"
#include "kernels/cpu/elementwise/tile_loops.h"
#include "kernels/cpu/memory/row_walk.h"
#include "kernels/cpu/simd/gather_elements.h"
#include "kernels/cpu/simd/simd.h"

namespace hlo::cpu {
namespace {

using loops::Access;
using loops::Affine;
using loops::Edge;
using loops::RuntimeStart;

constexpr int64_t kOffsetsAtOnce = 256;

// Positions first, first + step, ... of a run along the innermost dimension.
struct Picked {
  int64_t first = 0, step = 1, count = 0;
};

// Restricts the positions to those where c is a multiple of the spacing; c is `at` at position 0 of the run
// and grows by `change` per position.
void PickMultiples(int64_t spacing, int64_t at, int64_t change, Picked* picked) {
  const int64_t first = at + picked->first * change, each = picked->step * change;
  const int64_t period = spacing / std::gcd(each, spacing);
  const int64_t last = std::min(period, picked->count);
  int64_t skipped = 0;
  while (skipped < last && (first + skipped * each) % spacing != 0) ++skipped;
  if (skipped == last) {
    picked->count = 0;
    return;
  }
  picked->first += skipped * picked->step;
  picked->count = CeilDiv(picked->count - skipped, period);
  picked->step *= period;
}

// Restricts the positions to those inside the edge.
void PickInside(const Edge& edge, int64_t at, int64_t change, Picked* picked) {
  if (edge.spacing > 1) PickMultiples(edge.spacing, at, change, picked);
  if (picked->count == 0) return;
  int64_t first = at + picked->first * change, each = picked->count > 1 ? picked->step * change : 0;
  if (edge.spacing > 1) {
    first /= edge.spacing;
    each /= edge.spacing;
  }
  int64_t low = 0, high = picked->count;
  if (each == 0) {
    if (first < 0 || first >= edge.size) high = 0;
  } else if (each == 1) {
    low = std::max<int64_t>(-first, 0);
    high = edge.size - first;
  } else if (each > 0) {
    if (first < 0) low = CeilDiv(-first, each);
    high = first < edge.size ? CeilDiv(edge.size - first, each) : 0;
  } else {
    if (first >= edge.size) low = (first - edge.size) / -each + 1;
    high = first >= 0 ? first / -each + 1 : 0;
  }
  low = std::min(low, picked->count);
  high = std::clamp(high, low, picked->count);
  picked->first += low * picked->step;
  picked->count = high - low;
}

class Reader {
 public:
  Reader(const IrregularRead& read, int64_t begin)
      : access_(read.access),
        begin_(begin),
        read_(read),
        index_(read.inner_dims.size()),
        width_(ByteCount(read.access.type)) {
    EachDigit(begin, read.inner_dims, [&](int64_t d, int64_t i) { index_[d] = i; });
    walks_.push_back({read.base, &access_.inner});
    const int64_t* base = read.extras;
    VisitExtras(access_, [&](const Affine& extra) { walks_.push_back({*base++, &extra.inner}); });
    for (Walk& walk : walks_) {
      for (size_t d = 0; d < index_.size(); ++d) walk.at += index_[d] * (*walk.strides)[d];
    }
  }

  const std::byte* Read(int64_t n, std::byte* scratch) {
    if (SpansShortRows(n)) {
      const bool is_short = HasShortOffsets(kOffsetsAtOnce * std::abs(RowStride()));
      DispatchWidth(width_, [&]<class T>() {
        T* to = reinterpret_cast<T*>(scratch);
        is_short ? ReadShortRows<T, int32_t>(n, to) : ReadShortRows<T, int64_t>(n, to);
      });
      return scratch;
    }
    const std::byte* result = scratch;
    for (int64_t done = 0; done < n;) {
      const int64_t length =
          index_.empty() ? n - done : std::min(n - done, read_.inner_dims.back() - index_.back());
      if (const std::byte* found = ReadRun(begin_ + done, length, length == n, scratch + done * width_))
        result = found;
      done += length;
      if (done < n) NextRow();
    }
    return result;
  }

 private:
  // A value that is affine in the position.
  struct Walk {
    int64_t at;
    const Strides* strides;
    int64_t change() const { return strides->empty() ? 0 : strides->back(); }
  };

  // Returns true if the read spans several rows without edges, whose starts are constant within a row.
  bool SpansShortRows(int64_t n) const {
    bool fits = access_.edges.empty() && access_.IsArray() && !index_.empty() && n > read_.inner_dims.back();
    for (size_t k = 1; k < walks_.size(); ++k) fits = fits && walks_[k].change() == 0;
    return fits;
  }
  // Returns the distance of rows along the second-to-last dimension.
  int64_t RowStride() const { return (*walks_[0].strides)[index_.size() - 2]; }

  // True if offsets of elements within a distance of `reach` and at any starts fit 31 bits.
  bool HasShortOffsets(int64_t reach) const {
    constexpr int64_t kMost = kLargestIndex32;
    int64_t farthest = reach;
    for (const RuntimeStart& start : access_.starts) {
      if (!start.index.has_value()) continue;
      if (start.max > kMost || start.stride < 0 || start.stride > kMost) return false;
      farthest += start.max * start.stride;
      if (farthest > kMost) return false;
    }
    return farthest <= kMost;
  }

  // Computes the offsets of many rows along the second-to-last dimension, then reads the rows.
  template <class T, class Offset>
  void ReadShortRows(int64_t n, T* to) {
    alignas(64) Offset offsets[kOffsetsAtOnce];
    const size_t d = index_.size() - 2;
    const int64_t distance = walks_[0].change(), row = read_.inner_dims.back();
    while (n > 0) {
      const int64_t whole = row - index_.back();  // A partial row if the read begins inside a row.
      const int64_t left = std::min(read_.inner_dims[d] - index_[d], CeilDiv(n, row));
      const int64_t count = whole < row ? 1 : std::min(left, kOffsetsAtOnce);
      const T* data = reinterpret_cast<const T*>(Data()) + walks_[0].at;
      FillOffsets(count, (*walks_[0].strides)[d], offsets);
      AddStarts(count, d, offsets);
      const int64_t whole_rows = whole == row ? std::min(count, n / row) : 0;
      const int64_t copied = whole_rows > 0 ? CopyShortRows(data, offsets, whole_rows, row, distance, to) : 0;
      to += copied * row;
      n -= copied * row;
      for (int64_t r = copied; r < count; ++r) {
        const int64_t length = std::min(n, whole);
        const T* from = data + offsets[r];
        if (distance == 1) {
          for (int64_t i = 0; i < length; ++i) to[i] = from[i];
        } else {
          for (int64_t i = 0; i < length; ++i) to[i] = from[i * distance];
        }
        to += length;
        n -= length;
      }
      index_[d] += count - 1;
      for (Walk& walk : walks_) walk.at += (count - 1) * (*walk.strides)[d];
      if (n > 0) NextRow();
    }
  }

  template <class Offset>
  static void FillOffsets(int64_t n, int64_t distance, Offset* offsets) {
    for (int64_t i = 0; i < n; ++i) offsets[i] = static_cast<Offset>(i * distance);
  }

#if defined(HLO_AVX512_VECTORS)
  // Copies rows of three elements with single loads. Each store but the last writes an element too many,
  // which the next one overwrites.
  template <class T, class Offset>
  static int64_t CopyTriples(const T* data, const Offset* offsets, int64_t count, T* to) {
    constexpr __mmask8 kTriple = 7;
    const auto load = [&](int64_t r) { return _mm_maskz_loadu_epi32(kTriple, data + offsets[r]); };
    for (int64_t r = 0; r + 1 < count; ++r) _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 3 * r), load(r));
    _mm_mask_storeu_epi32(to + 3 * (count - 1), kTriple, load(count - 1));
    return count;
  }
#endif
  // Copies rows of a few elements. Returns the number of rows, or 0 for longer ones.
  template <class T, class Offset>
  static int64_t CopyShortRows(const T* data, const Offset* offsets, int64_t count, int64_t row,
                               int64_t distance, T* to) {
#if defined(HLO_AVX512_VECTORS)
    if constexpr (sizeof(T) == 4) {
      if (row == 3 && distance == 1) return CopyTriples(data, offsets, count, to);
    }
#endif
    const auto copy = [&]<int kRow>(std::integral_constant<int, kRow>) {
      if (distance == 1) {
        for (int64_t r = 0; r < count; ++r) std::memcpy(to + r * kRow, data + offsets[r], kRow * sizeof(T));
      } else {
        for (int64_t r = 0; r < count; ++r) {
          const T* from = data + offsets[r];
          for (int64_t i = 0; i < kRow; ++i) to[r * kRow + i] = from[i * distance];
        }
      }
      return count;
    };
    switch (row) {
      case 1:
        return copy(std::integral_constant<int, 1>());
      case 2:
        return copy(std::integral_constant<int, 2>());
      case 3:
        return copy(std::integral_constant<int, 3>());
      case 4:
        return copy(std::integral_constant<int, 4>());
      case 8:
        return copy(std::integral_constant<int, 8>());
      case 16:
        return copy(std::integral_constant<int, 16>());
      default:
        return 0;
    }
  }

  // Adds the starts of n positions along dimension d, beginning at the current position.
  template <class Offset>
  void AddStarts(int64_t n, size_t d, Offset* offsets) const {
    size_t k = 1;
    for (const RuntimeStart& start : access_.starts) {
      if (!start.index.has_value()) continue;
      const Walk& walk = walks_[k++];
      const int64_t change = (*walk.strides)[d];
      DispatchComputeType(ComputeTypeOf(start.type), [&]<class P>() {
        if constexpr (std::is_integral_v<P>) {
          const P* positions = static_cast<const P*>(read_.arguments[start.argument]) + walk.at;
          AddClamped(n, positions, change, start, offsets);
        }
      });
    }
  }

  void NextRow() {
    size_t d = index_.size() - 1;
    for (Walk& walk : walks_) walk.at -= index_[d] * (*walk.strides)[d];
    index_[d] = 0;
    while (d-- > 0) {
      const bool carries = ++index_[d] == read_.inner_dims[d];
      for (Walk& walk : walks_)
        walk.at += carries ? (1 - read_.inner_dims[d]) * (*walk.strides)[d] : (*walk.strides)[d];
      if (!carries) return;
      index_[d] = 0;
    }
  }

  // Returns the elements in place if `whole` and contiguous; otherwise copies them and returns nullptr.
  const std::byte* ReadRun(int64_t begin, int64_t length, bool whole, std::byte* to) {
    Picked picked{0, 1, length};
    const Walk* walk = walks_.data() + (walks_.size() - access_.edges.size());
    for (size_t k = 0; k < access_.edges.size() && picked.count > 0; ++k)
      PickInside(access_.edges[k], walk[k].at, walk[k].change(), &picked);
    if (picked.count == 0 && whole && access_.next >= 0) return read_.read_next(begin, length, to);
    if (picked.count < length) FillOutside(begin, length, picked, to);
    if (picked.count == 0) return nullptr;
    if (access_.argument == Access::kInside) {
      const bool inside = true;
      CopyStrided(picked.count, 1, to + picked.first, picked.step, &inside, 0);
      return nullptr;
    }
    int64_t at = walks_[0].at + picked.first * walks_[0].change();
    int64_t distance = picked.step * walks_[0].change();
    for (size_t k = 0; k < access_.edges.size(); ++k) {
      const Edge& edge = access_.edges[k];
      if (edge.stride == 0) continue;
      at += (walk[k].at + picked.first * walk[k].change()) / edge.spacing * edge.stride;
      if (picked.count > 1) distance += picked.step * walk[k].change() / edge.spacing * edge.stride;
    }
    if (!AddCommonStarts(picked, &at)) {
      ReadEach(picked, at, distance, to);
      return nullptr;
    }
    const std::byte* from = Data() + at * width_;
    if (whole && picked.count == length && (distance == 1 || length == 1)) return from;
    CopyStrided(picked.count, width_, to + picked.first * width_, picked.step, from, distance);
    return nullptr;
  }

  const std::byte* Data() const { return static_cast<const std::byte*>(read_.arguments[access_.argument]); }

  // Fills the positions outside the edges.
  void FillOutside(int64_t run, int64_t length, const Picked& picked, std::byte* to) const {
    static constexpr std::byte kZero[16] = {};
    const void* element = access_.outside >= 0 ? read_.arguments[access_.outside] : kZero;
    const auto fill = [&](int64_t begin, int64_t end) {
      if (begin >= end) return;
      std::byte* out = to + begin * width_;
      if (access_.next < 0) return CopyStrided(end - begin, width_, out, 1, element, 0);
      const std::byte* from = read_.read_next(run + begin, end - begin, out);
      if (from != out) std::memcpy(out, from, (end - begin) * width_);
    };
    if (picked.count == 0 || picked.step != 1) return fill(0, length);
    fill(0, picked.first);
    fill(picked.first + picked.count, length);
  }

  // Adds the starts that are constant for the run; returns false if there are others.
  bool AddCommonStarts(const Picked& picked, int64_t* at) const {
    bool all = true;
    size_t k = 1;
    for (const RuntimeStart& start : access_.starts) {
      if (!start.index.has_value()) continue;
      const Walk& walk = walks_[k++];
      if (walk.change() != 0 && picked.count > 1) {
        all = false;
        continue;
      }
      const auto* positions = static_cast<const std::byte*>(read_.arguments[start.argument]);
      const int64_t number = walk.at + picked.first * walk.change();
      const int64_t position = ReadInteger(start.type, positions + number * ByteCount(start.type));
      *at += std::clamp<int64_t>(position, 0, start.max) * start.stride;
    }
    return all;
  }

  // Reads elements whose only varying part of the offset is one start, which is the next in memory. Returns
  // false if that is not the case.
  bool ReadByIndex(const Picked& picked, int64_t at, int64_t distance, std::byte* to) const {
    const RuntimeStart* start = nullptr;
    int64_t first = 0;
    size_t k = 1;
    for (const RuntimeStart& each : access_.starts) {
      if (!each.index.has_value()) continue;
      const Walk& walk = walks_[k++];
      if (walk.change() == 0) continue;
      if (start != nullptr || walk.change() != 1 || each.stride != 1) return false;
      start = &each;
      first = walk.at + picked.first;
    }
    if (start == nullptr || distance != 0 || picked.step != 1) return false;
    DispatchWidth(width_, [&]<class T>() {
      GatherClamped(reinterpret_cast<const T*>(Data()) + at, start->type, read_.arguments[start->argument],
                    first, picked.count, start->max, reinterpret_cast<T*>(to) + picked.first);
    });
    return true;
  }

  // Reads each element at its own starts.
  void ReadEach(const Picked& picked, int64_t at, int64_t distance, std::byte* to) const {
    if (ReadByIndex(picked, at, distance, to)) return;
    if (HasShortOffsets(kOffsetsAtOnce * std::abs(distance)))
      ReadByOffsets<int32_t>(picked, at, distance, to);
    else
      ReadByOffsets<int64_t>(picked, at, distance, to);
  }
  template <class Offset>
  void ReadByOffsets(const Picked& picked, int64_t at, int64_t distance, std::byte* to) const {
    alignas(64) Offset offsets[kOffsetsAtOnce];
    for (int64_t done = 0; done < picked.count; done += kOffsetsAtOnce) {
      const int64_t n = std::min(kOffsetsAtOnce, picked.count - done);
      FillOffsets(n, distance, offsets);
      size_t k = 1;
      for (const RuntimeStart& start : access_.starts) {
        if (!start.index.has_value()) continue;
        const Walk& walk = walks_[k++];
        if (walk.change() == 0) continue;
        DispatchComputeType(ComputeTypeOf(start.type), [&]<class T>() {
          if constexpr (std::is_integral_v<T>) {
            const int64_t change = picked.step * walk.change();
            const T* positions = static_cast<const T*>(read_.arguments[start.argument]) + walk.at +
                                 picked.first * walk.change() + done * change;
            AddClamped(n, positions, change, start, offsets);
          }
        });
      }
      DispatchWidth(width_, [&]<class T>() {
        const T* from = reinterpret_cast<const T*>(Data()) + at + done * distance;
        T* out = reinterpret_cast<T*>(to) + picked.first + done * picked.step;
        if (picked.step == 1) return GatherElements(from, offsets, n, out);
        for (int64_t i = 0; i < n; ++i) out[i * picked.step] = from[offsets[i]];
      });
    }
  }

  template <class T, class Offset>
  static void AddClamped(int64_t n, const T* positions, int64_t change, const RuntimeStart& start,
                         Offset* offsets) {
#if defined(HLO_AVX512_VECTORS)
    constexpr int64_t kMostApart = std::numeric_limits<int32_t>::max() / 16;
    if constexpr (sizeof(Offset) == 4 && sizeof(T) >= 4) {
      if (change <= kMostApart && change >= -kMostApart)
        return cpu::AddClamped<T>({positions, change, start.max, start.stride}, n, offsets);
    }
#endif
    const auto most = static_cast<T>(std::min<uint64_t>(start.max, std::numeric_limits<T>::max()));
    const auto add = [&](int64_t step, int64_t stride) {
      for (int64_t i = 0; i < n; ++i)
        offsets[i] +=
            static_cast<Offset>(static_cast<int64_t>(std::clamp<T>(positions[i * step], 0, most)) * stride);
    };
    if (change == 1 && start.stride == 1)
      add(1, 1);
    else if (change == 1)
      add(1, start.stride);
    else
      add(change, start.stride);
  }

  const Access& access_;
  int64_t begin_;
  const IrregularRead& read_;
  absl::InlinedVector<int64_t, 6> index_;
  absl::InlinedVector<Walk, 8> walks_;  // The offset, and the extras.
  int64_t width_;
};

}  // namespace

const std::byte* ReadIrregular(const IrregularRead& read, int64_t begin, int64_t n, std::byte* scratch) {
  return Reader(read, begin).Read(n, scratch);
}

}  // namespace hlo::cpu
