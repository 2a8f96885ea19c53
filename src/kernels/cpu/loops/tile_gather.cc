// This file gathers the strided elements of loads for native code: several rows at once, or by a table of
// offsets.

#include <algorithm>

#include "kernels/cpu/elementwise/copy_array.h"
#include "kernels/cpu/elementwise/tile_loops.h"
#include "kernels/cpu/loops/tile_program.h"
#include "kernels/cpu/memory/row_walk.h"
#include "kernels/cpu/simd/gather_elements.h"
#include "kernels/cpu/simd/spread_elements.h"

namespace hlo::cpu {
namespace {

// The sizes of rows that are transposed, and the fewest rows.
constexpr int64_t kShortestTransposed = 16, kLongestTransposed = 2048, kFewestTransposed = 4;

// Reads positions [begin, begin + n) of one run.
template <class T>
void ReadRun(const T* from, const GatherOffsets& offsets, const GatherOffsets::Run& run, int64_t begin,
             int64_t n, T* to) {
  using Pattern = GatherOffsets::Run::Pattern;
  const T* first = from + offsets.each[run.begin];
  const int64_t at = begin - run.begin;
  // The positions to the next whole pattern.
  const int64_t rest = std::min(n, (run.count - at % run.count) % run.count);
  switch (run.pattern) {
    case Pattern::kCopied:
      return CopyElements(first + at, n, to);
    case Pattern::kRepeated:
      std::copy_n(first + at % run.count, rest, to);
      if (n > rest) RepeatElements(first, run.count, n - rest, to + rest);
      return;
    case Pattern::kSpread:
      std::fill_n(to, rest, first[at / run.count]);
      if (n > rest) SpreadElements(first + (at + rest) / run.count, run.count, n - rest, to + rest);
      return;
    case Pattern::kAny:
      return GatherElements(from, offsets.each.data() + begin, n, to);
  }
}

// Reads positions [begin, begin + n) of the table.
template <class T>
void ReadPositions(const T* from, const GatherOffsets& offsets, int64_t begin, int64_t n, T* to) {
  if (offsets.runs.empty()) return GatherElements(from, offsets.each.data() + begin, n, to);
  auto run = std::upper_bound(offsets.runs.begin(), offsets.runs.end(), begin,
                              [](int64_t position, const auto& r) { return position < r.begin; }) -
             1;
  for (const int64_t end = begin + n; begin < end; ++run) {
    const int64_t count = std::min<int64_t>(end, run->begin + run->length) - begin;
    ReadRun(from, offsets, *run, begin, count, to);
    begin += count;
    to += count;
  }
}

}  // namespace

// Returns the number of rows from the one at position `begin` on that are next to each other in memory.
int64_t TileRunner::RowsAhead(int64_t begin) const {
  const absl::Span<const int64_t> inner = program_.inner_dims(), outer = program_.outer_dims();
  if (inner.size() > 1) return inner[inner.size() - 2] - begin / inner.back() % inner[inner.size() - 2];
  return outer_ < 0 ? 0 : outer.back() - outer_ % outer.back();
}

int64_t NativeTiles::TransposedBytes() const {
  return slot_bytes / tile * std::min(tile, kLongestTransposed) * kMostTransposed;
}

// Returns the elements of a row that IsTransposed. The second row in a sequence transposes those that follow.
// Returns nullptr if the row is not part of a sequence.
const std::byte* TileRunner::TransposedRow(size_t number, int64_t begin, int64_t n) {
  if (!reads_ahead_ || n < kShortestTransposed || n > kLongestTransposed) return nullptr;
  const NativeTiles::Read& read = native_->reads[number];
  const Access& access = AccessOf(read.access);
  const int64_t width = ByteCount(access.type);
  TransposedRows& block = transposed_[read.transposed];
  std::byte* buffer = NativeSlot(native_->slot_count) + native_->TransposedBytes() * read.transposed;
  const int64_t place = program_.accesses_.OffsetAt(read.access, base_.data(), begin);
  const int64_t row = place - block.place;
  const bool is_same = n == block.length && block.length > 0;
  if (is_same && row >= 0 && row < block.rows) return buffer + row * n * width;
  const bool is_next = is_same && row == std::max<int64_t>(block.rows, 1);
  const int64_t rows = is_next ? std::min(RowsAhead(begin), NativeTiles::kMostTransposed) : 0;
  block = {place, n, rows >= kFewestTransposed ? rows : 0};
  if (block.rows == 0) return nullptr;
  CopyArray({{rows, 1, n}, {n, access.inner.back(), 1}}, width,
            static_cast<const std::byte*>(arguments_[access.argument]) + place * width, buffer);
  return buffer;
}

// Transposes whole rows, at most as many as n positions have, and returns the number of positions. It is zero
// at other positions than the first one of a row, or if too few rows are next to each other.
int64_t TileRunner::TransposeRows(size_t number, int64_t begin, int64_t n, std::byte* to) const {
  const Access& access = AccessOf(native_->reads[number].access);
  const absl::Span<const int64_t> dims = program_.inner_dims();
  const int64_t row = dims.back();
  const bool fits =
      access.inner[dims.size() - 2] == 1 && access.inner.back() > 1 && row >= kShortestTransposed;
  if (!fits || begin % row != 0) return 0;
  const int64_t rows = std::min(n / row, RowsAhead(begin)), width = ByteCount(access.type);
  if (rows < kFewestTransposed) return 0;
  const int64_t place = program_.accesses_.OffsetAt(native_->reads[number].access, base_.data(), begin);
  CopyArray({{rows, 1, row}, {row, access.inner.back(), 1}}, width,
            static_cast<const std::byte*>(arguments_[access.argument]) + place * width, to);
  return rows * row;
}

bool TileRunner::IsInOneRow(int64_t begin, int64_t n) const {
  const int64_t row = program_.inner_dims().back();
  return begin % row + n <= row;
}

// Reads positions [begin, begin + n) of a row for all of these accesses.
void TileRunner::ReadInterleaved(const NativeTiles::Interleaved& all, int64_t begin, int64_t n) const {
  // Fewer columns and narrow elements are faster one by one, a part of the rows at a time, which stays in the
  // first cache.
  constexpr int64_t kFewestTransposed = 6, kNarrowestTransposed = 4, kPart = 256;
  const Access& access = AccessOf(all.access);
  const int64_t width = ByteCount(access.type), stride = access.inner.back();
  const std::byte* from = static_cast<const std::byte*>(arguments_[access.argument]) +
                          program_.accesses_.OffsetAt(all.access, base_.data(), begin) * width;
  std::byte* to = NativeSlot(all.slot);
  if (all.columns >= kFewestTransposed && width >= kNarrowestTransposed) {
    return CopyArray({{all.columns, 1, native_->slot_bytes / width}, {n, stride, 1}}, width, from, to);
  }
  for (int64_t i = 0; i < n; i += kPart) {
    for (int64_t c = 0; c < all.columns; ++c)
      CopyStrided(std::min(kPart, n - i), width, to + c * native_->slot_bytes + i * width, 1,
                  from + (i * stride + c) * width, stride);
  }
}

// Reads inner positions [begin, begin + n), as transposed rows and by the table.
const std::byte* TileRunner::Gather(size_t number, int64_t begin, int64_t n, std::byte* to) const {
  const NativeTiles::Read& read = native_->reads[number];
  const Access& access = AccessOf(read.access);
  const GatherOffsets& offsets = native_->offsets[read.offsets];
  const absl::Span<const int64_t> dims = program_.inner_dims().first(offsets.dim + 1);
  const auto* data = static_cast<const std::byte*>(arguments_[access.argument]);
  const auto size = std::ssize(offsets.each);
  for (int64_t done = 0; done < n;) {
    if (const int64_t transposed = TransposeRows(number, begin + done, n - done, to + done * read.width)) {
      done += transposed;
      continue;
    }
    const int64_t row = (begin + done) / offsets.period, phase = (begin + done) % offsets.period;
    const int64_t left = (dims.back() - row % dims.back()) * offsets.period;
    const int64_t count = std::min({n - done, std::min<int64_t>(size, left) - phase});
    int64_t place = base_[read.access];
    EachDigit(row, dims, [&](int64_t d, int64_t i) { place += i * access.inner[d]; });
    DispatchWidth(read.width, [&]<class T>() {
      ReadPositions(reinterpret_cast<const T*>(data) + place, offsets, phase, count,
                    reinterpret_cast<T*>(to) + done);
    });
    done += count;
  }
  return to;
}

}  // namespace hlo::cpu
