#include "kernels/cpu/elementwise/copy_array.h"

#include <algorithm>
#include <cstring>

#include "absl/container/inlined_vector.h"
#include "base/arithmetic.h"
#include "base/parallel.h"
#include "kernels/cpu/elementwise/tile_loops.h"
#include "kernels/cpu/simd/simd.h"

namespace hlo::cpu {
namespace {

constexpr int64_t kChunk = 16 << 10;      // Elements per work item.
constexpr int64_t kBlock = 32;            // Rows of a transposed block.
constexpr double kNanosecondsEach = 0.4;  // Approximate.

using Dims = absl::InlinedVector<CopyDim, 6>;

// Drops dimensions of size 1 and merges dimensions that are contiguous in both arrays.
Dims Collapsed(absl::Span<const CopyDim> dims) {
  Dims result;
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
  } else if (to_stride == 1) {
    for (int64_t i = 0; i < n; ++i) to[i] = from[i * from_stride];
  } else {
    for (int64_t i = 0; i < n; ++i) to[i * to_stride] = from[i * from_stride];
  }
}

// Sets to[i * to_stride + k] = from[i + k * from_stride], in register tiles for supported element sizes.
template <class T>
void TransposePanel(int64_t rows, int64_t columns, T* to, int64_t to_stride, const T* from,
                    int64_t from_stride) {
  int64_t k = 0;
  if constexpr (sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8) {
    // Integer vectors preserve all bits.
    constexpr int64_t kSide = kLanes<T>;
    for (; k + kSide <= columns; k += kSide) {
      int64_t i = 0;
      for (; i + kSide <= rows; i += kSide) {
        Vector<T> square[kSide];
        for (int64_t r = 0; r < kSide; ++r) square[r] = LoadVector(from + i + (k + r) * from_stride);
        Transpose<T>(square);
        for (int64_t r = 0; r < kSide; ++r) StoreVector(to + (i + r) * to_stride + k, square[r]);
      }
      for (; i < rows; ++i)
        CopyRow(kSide, to + i * to_stride + k, 1, from + i + k * from_stride, from_stride);
    }
  }
  constexpr int64_t kSide = 16;
  for (; k < columns; k += kSide) {
    const int64_t length = std::min(kSide, columns - k);
    for (int64_t i = 0; i < rows; ++i)
      CopyRow(length, to + i * to_stride + k, 1, from + i + k * from_stride, from_stride);
  }
}

// The loop order of a copy: the inner dimension and, if it is a different one, the dimension with the
// smallest stride in `from`.
struct Walk {
  Dims outer;
  CopyDim inner{1, 1, 1}, across{1, 0, 0};
  bool transposes = false;
};

Walk MakeWalk(absl::Span<const CopyDim> dims) {
  Walk walk{Collapsed(dims)};
  if (walk.outer.empty()) return walk;
  walk.inner = walk.outer.back();
  walk.outer.pop_back();
  if (walk.inner.from_stride == 1 || walk.inner.to_stride != 1) return walk;
  for (size_t d = 0; d < walk.outer.size(); ++d) {
    if (walk.outer[d].from_stride != 1 || walk.inner.from_stride == 0) continue;
    walk.transposes = true;
    walk.across = walk.outer[d];
    walk.outer.erase(walk.outer.begin() + static_cast<std::ptrdiff_t>(d));
    break;
  }
  return walk;
}

struct Offsets {
  int64_t from = 0, to = 0;
};
Offsets OffsetsOf(int64_t number, const Dims& dims) {
  Offsets offsets;
  for (auto d = dims.rbegin(); d != dims.rend(); ++d) {
    offsets.from += number % d->size * d->from_stride;
    offsets.to += number % d->size * d->to_stride;
    number /= d->size;
  }
  return offsets;
}

template <class T>
void Copy(const Walk& walk, const T* from, T* to) {
  int64_t rows = 1;
  for (const CopyDim& d : walk.outer) rows *= d.size;
  const CopyDim &inner = walk.inner, &across = walk.across;
  const double nanoseconds =
      kNanosecondsEach * static_cast<double>(rows) * static_cast<double>(inner.size * across.size);
  if (walk.transposes) {
    const int64_t blocks = CeilDiv(across.size, kBlock);
    ParallelFor(rows * blocks, nanoseconds, [&](int64_t i) {
      const Offsets offsets = OffsetsOf(i / blocks, walk.outer);
      const int64_t begin = i % blocks * kBlock;
      TransposePanel(std::min(kBlock, across.size - begin), inner.size,
                     to + offsets.to + begin * across.to_stride, across.to_stride,
                     from + offsets.from + begin, inner.from_stride);
    });
    return;
  }
  const int64_t pieces = CeilDiv(inner.size, kChunk);
  const int64_t rows_per_chunk = std::max<int64_t>(1, kChunk / inner.size);
  ParallelFor(CeilDiv(rows, rows_per_chunk) * pieces, nanoseconds, [&](int64_t i) {
    const int64_t begin = i % pieces * kChunk, n = std::min(kChunk, inner.size - begin);
    const int64_t first = i / pieces * rows_per_chunk;
    for (int64_t r = first; r < std::min(rows, first + rows_per_chunk); ++r) {
      const Offsets offsets = OffsetsOf(r, walk.outer);
      CopyRow(n, to + offsets.to + begin * inner.to_stride, inner.to_stride,
              from + offsets.from + begin * inner.from_stride, inner.from_stride);
    }
  });
}

}  // namespace

void CopyArray(absl::Span<const CopyDim> dims, int64_t width, const void* from, void* to) {
  for (const CopyDim& d : dims) {
    if (d.size == 0) return;
  }
  const Walk walk = MakeWalk(dims);
  DispatchWidth(width, [&]<class T>() { Copy<T>(walk, static_cast<const T*>(from), static_cast<T*>(to)); });
}

}  // namespace hlo::cpu
