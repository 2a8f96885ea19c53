#include "kernels/cpu/elementwise/copy_array.h"

#include <algorithm>
#include <cstring>

#include "absl/container/inlined_vector.h"
#include "base/arithmetic.h"
#include "base/parallel.h"
#include "kernels/cpu/elementwise/copy_apart.h"
#include "kernels/cpu/elementwise/copy_rows.h"
#include "kernels/cpu/elementwise/narrow_transpose.h"
#include "kernels/cpu/elementwise/tile_loops.h"
#include "kernels/cpu/simd/simd.h"

namespace hlo::cpu {
namespace {

constexpr int64_t kChunk = 16 << 10;      // Elements per work item.
constexpr int64_t kFewRows = 6;           // Fewer rows or columns are transposed one by one.
constexpr double kNanosecondsEach = 0.4;  // Approximate.

// Drops dimensions of size 1 and merges dimensions that are contiguous in both arrays.
CopyDims Collapsed(absl::Span<const CopyDim> dims) {
  CopyDims result;
  for (const CopyDim& d : dims) {
    if (d.size == 1) continue;
    if (!result.empty() && result.back().from_stride == d.size * d.from_stride &&
        result.back().to_stride == d.size * d.to_stride)
      result.back() = {result.back().size * d.size, d.from_stride, d.to_stride};
    else
      result.push_back(d);
  }
  return result;
}

template <class T>
void CopyRow(int64_t n, T* to, int64_t to_stride, const T* from, int64_t from_stride) {
  if (from_stride == 1 && to_stride == 1) {
    if (n <= 16) {
      for (int64_t i = 0; i < n; ++i) to[i] = from[i];
    } else {
      std::memmove(to, from, n * sizeof(T));
    }
  } else if (from_stride == 0 && to_stride == 1) {
    std::fill_n(to, n, *from);
  } else if (to_stride == 1 && n > 16) {
    CopyStrided(n, sizeof(T), to, 1, from, from_stride);
  } else {
    for (int64_t i = 0; i < n; ++i) to[i * to_stride] = from[i * from_stride];
  }
}

// Performs TransposePanel for at most as many rows and columns as a vector has lanes, in registers.
template <class T>
void TransposeSquare(int64_t rows, int64_t columns, T* to, int64_t to_stride, const T* from,
                     int64_t from_stride) {
  constexpr int64_t kSide = kLanes<T>;
  Vector<T> square[kSide];
  if (rows == kSide && columns == kSide) {
    for (int64_t r = 0; r < kSide; ++r) square[r] = LoadVector(from + r * from_stride);
    Transpose<T>(square);
    for (int64_t r = 0; r < kSide; ++r) StoreVector(to + r * to_stride, square[r]);
    return;
  }
  // Short rows are faster element by element, and there are no masks for narrow elements.
  constexpr int64_t kFewest = 6 * kSide;
  if constexpr (sizeof(T) >= 4) {
    if (rows * columns >= kFewest) {
      // Constant numbers of steps keep the square in registers.
#pragma GCC unroll 16
      for (int64_t r = 0; r < kSide; ++r)
        square[r] = LoadFirst(from + std::min(r, columns - 1) * from_stride, static_cast<int>(rows));
      Transpose<T>(square);
#pragma GCC unroll 16
      for (int64_t r = 0; r < kSide; ++r) {
        if (r < rows) StoreFirst(to + r * to_stride, square[r], static_cast<int>(columns));
      }
      return;
    }
  }
  for (int64_t i = 0; i < rows; ++i) CopyRow(columns, to + i * to_stride, 1, from + i, from_stride);
}

// Calls run(i, count, k, length) for blocks of at most `most_rows` rows from i on and `most_columns` columns
// from k on. If `overlaps`, the last blocks start earlier, so that they are whole.
template <class Run>
[[gnu::always_inline]] inline void EachBlock(int64_t rows, int64_t columns, int64_t most_rows,
                                             int64_t most_columns, bool overlaps, const Run& run) {
  const auto start = [&](int64_t at, int64_t size, int64_t most) {
    return overlaps && size >= most ? std::min(at, size - most) : at;
  };
  for (int64_t c = 0; c < columns; c += most_columns) {
    const int64_t k = start(c, columns, most_columns), length = std::min(most_columns, columns - k);
    for (int64_t r = 0; r < rows; r += most_rows) {
      const int64_t i = start(r, rows, most_rows);
      run(i, std::min(most_rows, rows - i), k, length);
    }
  }
}

// Performs TransposePanel for elements of one or two bytes.
template <class T>
void TransposeNarrowPanel(int64_t rows, int64_t columns, T* to, int64_t to_stride, const T* from,
                          int64_t from_stride) {
  // Fewer are faster element by element.
  constexpr int64_t kRows = kNarrowRows<T>, kFewestColumns = 16;
  if (columns < kFewestColumns) {
    for (int64_t r = 0; r < rows; ++r) CopyRow(columns, to + r * to_stride, 1, from + r, from_stride);
    return;
  }
  const int64_t last = rows - 1 + (columns - 1) * from_stride;
  EachBlock(rows, columns, kRows, kNarrowColumns<T>, true,
            [&](int64_t i, int64_t count, int64_t k, int64_t length) {
              const int64_t beyond = last - (i + kRows - 1);
              const int64_t whole = count == kRows ? columns
                                    : from_stride < 0 || beyond < 0
                                        ? 0
                                        : std::min(beyond / from_stride + 1, columns);
              TransposeNarrow(count, length, whole - k, to + i * to_stride + k, to_stride,
                              from + i + k * from_stride, from_stride);
            });
}

// True if few rows are transposed one by one, as elements at a small distance.
bool TransposesRows(int64_t rows, int64_t from_stride, int64_t width) {
  return rows < kFewRows && CollectsApart(from_stride, width);
}
// The same for columns.
bool TransposesColumns(int64_t columns, int64_t to_stride, int64_t width) {
  const int64_t most = width <= 2 ? kMostApart : kFewRows - 1;
  return columns <= most && to_stride >= 2 && to_stride <= kMostApart && width <= 8;
}

// Performs TransposePanel by squares of vectors. The compiler allocates registers better for a function of
// its own.
template <class T>
[[gnu::noinline]] void TransposeSquares(int64_t rows, int64_t columns, T* to, int64_t to_stride,
                                        const T* from, int64_t from_stride) {
  constexpr int64_t kSide = kLanes<T>;
  const bool overlaps = rows >= kSide && columns >= kSide && 2 * kSide * kSide <= rows * columns;
  const auto start = [&](int64_t at, int64_t size) { return overlaps ? std::min(at, size - kSide) : at; };
  for (int64_t c = 0; c < columns; c += kSide) {
    const int64_t k = start(c, columns), length = std::min(kSide, columns - k);
    for (int64_t r = 0; r < rows; r += kSide) {
      const int64_t i = start(r, rows), count = std::min(kSide, rows - i);
      TransposeSquare(count, length, to + i * to_stride + k, to_stride, from + i + k * from_stride,
                      from_stride);
    }
  }
}

// Sets to[i * to_stride + k] = from[i + k * from_stride].
template <class T>
void TransposePanel(int64_t rows, int64_t columns, T* to, int64_t to_stride, const T* from,
                    int64_t from_stride) {
  constexpr int64_t kSide = kLanes<T>, kPart = 4096 / sizeof(T);
  // Integer vectors preserve all bits.
  constexpr bool kHasVectors = sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8;
  if (TransposesRows(rows, from_stride, sizeof(T))) {
    EachBlock(rows, columns, 1, kPart, false, [&](int64_t i, int64_t, int64_t k, int64_t length) {
      CopyRow(length, to + i * to_stride + k, 1, from + i + k * from_stride, from_stride);
    });
  } else if (TransposesColumns(columns, to_stride, sizeof(T))) {
    for (int64_t k = 0; k < columns; ++k)
      CopyStrided(rows, sizeof(T), to + k, to_stride, from + k * from_stride, 1);
  } else if (sizeof(T) == 1 || (sizeof(T) == 2 && (rows < kSide || columns < kSide))) {
    if constexpr (sizeof(T) <= 2) TransposeNarrowPanel(rows, columns, to, to_stride, from, from_stride);
  } else if constexpr (kHasVectors) {
    TransposeSquares(rows, columns, to, to_stride, from, from_stride);
  } else {
    EachBlock(rows, columns, 16, 16, false, [&](int64_t i, int64_t count, int64_t k, int64_t length) {
      for (int64_t r = i; r < i + count; ++r)
        CopyRow(length, to + r * to_stride + k, 1, from + r + k * from_stride, from_stride);
    });
  }
}

// Returns the number of rows of a panel.
int64_t PanelRows(int64_t columns, int64_t to_stride, int64_t width) {
  constexpr int64_t kShortest = 32, kLongest = 2048, kLineBytes = 64;
  return TransposesColumns(columns, to_stride, width) ? kLongest : std::max(kShortest, kLineBytes / width);
}

// Copies the elements of two dimensions.
template <class T>
void CopyRows(CopyDim rows, CopyDim inner, const T* from, T* to) {
  constexpr int64_t kWidth = sizeof(T), kFewest = 8;
  const bool contiguous = inner.from_stride == 1 && inner.to_stride == 1;
  if (contiguous && CopyShortRows(rows.size, inner.size * kWidth, from, rows.from_stride * kWidth, to,
                                  rows.to_stride * kWidth))
    return;
  if (inner.size < kFewest && inner.size < rows.size) std::swap(rows, inner);
  for (int64_t r = 0; r < rows.size; ++r)
    CopyRow(inner.size, to + r * rows.to_stride, inner.to_stride, from + r * rows.from_stride,
            inner.from_stride);
}

struct Offsets {
  int64_t from = 0, to = 0;
};
Offsets OffsetsOf(int64_t number, const CopyDims& dims) {
  Offsets offsets;
  for (auto d = dims.rbegin(); d != dims.rend(); ++d) {
    offsets.from += number % d->size * d->from_stride;
    offsets.to += number % d->size * d->to_stride;
    number /= d->size;
  }
  return offsets;
}

}  // namespace

ArrayCopy::ArrayCopy(absl::Span<const CopyDim> dims, int64_t width) : outer_(Collapsed(dims)), width_(width) {
  is_empty_ = std::any_of(dims.begin(), dims.end(), [](const CopyDim& d) { return d.size == 0; });
  if (outer_.empty()) return;
  inner_ = outer_.back();
  outer_.pop_back();
  const bool is_column = inner_.from_stride != 0 && inner_.from_stride != 1 && inner_.to_stride == 1;
  for (size_t d = 0; is_column && d < outer_.size(); ++d) {
    if (outer_[d].from_stride != 1) continue;
    transposes_ = true;
    across_ = outer_[d];
    outer_.erase(outer_.begin() + static_cast<std::ptrdiff_t>(d));
    break;
  }
  for (const CopyDim& d : outer_) rows_ *= d.size;
}

template <class T>
void ArrayCopy::TransposeAs(const T* from, T* to) const {
  const int64_t panel = PanelRows(inner_.size, across_.to_stride, width_);
  const int64_t blocks = CeilDiv(across_.size, panel);
  const double nanoseconds = kNanosecondsEach * static_cast<double>(rows_ * inner_.size * across_.size);
  ParallelFor(rows_ * blocks, nanoseconds, [&](int64_t i) {
    const Offsets offsets = OffsetsOf(i / blocks, outer_);
    const int64_t begin = i % blocks * panel;
    TransposePanel(std::min(panel, across_.size - begin), inner_.size,
                   to + offsets.to + begin * across_.to_stride, across_.to_stride,
                   from + offsets.from + begin, inner_.from_stride);
  });
}

template <class T>
void ArrayCopy::RunAs(const T* from, T* to) const {
  const CopyDim last = outer_.empty() ? CopyDim{1, 0, 0} : outer_.back();
  if (outer_.size() <= 1 && rows_ * inner_.size <= kChunk) return CopyRows<T>(last, inner_, from, to);
  const int64_t pieces = CeilDiv(inner_.size, kChunk);
  const int64_t rows_per_chunk = std::max<int64_t>(1, kChunk / inner_.size);
  const double nanoseconds = kNanosecondsEach * static_cast<double>(rows_ * inner_.size);
  ParallelFor(CeilDiv(rows_, rows_per_chunk) * pieces, nanoseconds, [&](int64_t i) {
    const int64_t begin = i % pieces * kChunk, n = std::min(kChunk, inner_.size - begin);
    const int64_t first = i / pieces * rows_per_chunk;
    const int64_t end = std::min(rows_, first + rows_per_chunk);
    for (int64_t r = first; r < end;) {
      const Offsets offsets = OffsetsOf(r, outer_);
      const int64_t count = std::min(end - r, last.size - r % last.size);
      CopyRows<T>({count, last.from_stride, last.to_stride}, {n, inner_.from_stride, inner_.to_stride},
                  from + offsets.from + begin * inner_.from_stride,
                  to + offsets.to + begin * inner_.to_stride);
      r += count;
    }
  });
}

void ArrayCopy::Run(const void* from, void* to) const {
  if (is_empty_) return;
  DispatchWidth(width_, [&]<class T>() {
    if (transposes_)
      TransposeAs<T>(static_cast<const T*>(from), static_cast<T*>(to));
    else
      RunAs<T>(static_cast<const T*>(from), static_cast<T*>(to));
  });
}

void CopyInOrder(CopyDims dims, int64_t width, const void* from, void* to) {
  std::sort(dims.begin(), dims.end(),
            [](const CopyDim& a, const CopyDim& b) { return a.to_stride > b.to_stride; });
  CopyArray(dims, width, from, to);
}

}  // namespace hlo::cpu
