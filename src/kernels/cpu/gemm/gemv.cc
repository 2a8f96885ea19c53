#include "kernels/cpu/gemm/gemv.h"

#include <algorithm>
#include <cstddef>

#include "base/parallel.h"
#include "kernels/cpu/gemm/gemm_core.h"
#include "types/dispatch.h"

namespace hlo::cpu {
namespace {

// Returns the first n elements in type T, n <= kLanes<T>; other lanes are 0.
template <class T, class S>
Vector<T> LoadFirstAs(const S* from, int64_t n) {
  if constexpr (std::is_same_v<T, S>) {
    return LoadFirst(from, static_cast<int>(n));
  } else {
    S elements[kLanes<T>] = {};
    std::copy_n(from, n, elements);
    return LoadAs<T>(static_cast<const S*>(elements));
  }
}

// Adds kDepth terms of the sums for all full vectors of columns.
template <class T, class S, int kRows, int kDepth>
void AddRows(int64_t whole, const T* a, int64_t a_ld, const S* b, int64_t b_ld, T* out, int64_t out_ld) {
  Vector<T> factors[kRows][kDepth];
#pragma GCC unroll 4
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int d = 0; d < kDepth; ++d) factors[i][d] = Broadcast(a[i * a_ld + d]);
  }
  for (int64_t j = 0; j < whole; j += kLanes<T>) {
    Vector<T> row[kDepth];
#pragma GCC unroll 4
    for (int d = 0; d < kDepth; ++d) row[d] = LoadAs<T>(b + d * b_ld + j);
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) {
      Vector<T> sum = LoadVector(out + i * out_ld + j);
#pragma GCC unroll 4
      for (int d = 0; d < kDepth; ++d) sum += factors[i][d] * row[d];
      StoreVector(out + i * out_ld + j, sum);
    }
  }
}

// Adds sum over k of a[i, k] * b[k, j] to out[i, j], k ascending, for `chunks` times kRows rows. Rows of b
// are contiguous.
template <class T, class S, int kRows>
void AddRowByRow(int64_t chunks, int64_t n, int64_t k_count, const T* a, int64_t a_ld, const S* b,
                 int64_t b_ld, T* out, int64_t out_ld) {
  constexpr int kLane = kLanes<T>;
  constexpr int kDepth = 4;
  const int64_t whole = n / kLane * kLane;
  int64_t k = 0;
  for (; k + kDepth <= k_count; k += kDepth) {
    for (int64_t i = 0; i < chunks * kRows; i += kRows)
      AddRows<T, S, kRows, kDepth>(whole, a + i * a_ld + k, a_ld, b + k * b_ld, b_ld, out + i * out_ld,
                                   out_ld);
  }
  for (; k < k_count; ++k) {
    for (int64_t i = 0; i < chunks * kRows; i += kRows)
      AddRows<T, S, kRows, 1>(whole, a + i * a_ld + k, a_ld, b + k * b_ld, b_ld, out + i * out_ld, out_ld);
  }
  if (whole == n) return;
  const int64_t rest = n - whole;
  for (int64_t first = 0; first < chunks * kRows; first += kRows) {
    T* to = out + first * out_ld + whole;
    Vector<T> sums[kRows];
    for (int i = 0; i < kRows; ++i) sums[i] = LoadFirst(to + i * out_ld, static_cast<int>(rest));
    for (k = 0; k < k_count; ++k) {
      const Vector<T> row = LoadFirstAs<T>(b + k * b_ld + whole, rest);
      for (int i = 0; i < kRows; ++i) sums[i] += Broadcast(a[(first + i) * a_ld + k]) * row;
    }
    for (int i = 0; i < kRows; ++i) StoreFirst(to + i * out_ld, sums[i], static_cast<int>(rest));
  }
}

// Adds sum over k of a[i, k] * b[j, k] to out[i, j] for kColumns columns j. Rows of a and b are contiguous.
template <class T, class S, int kRows, int kColumns>
void AddDots(int64_t k_count, const T* a, int64_t a_ld, const S* b, int64_t b_ld, T* out, int64_t out_ld) {
  constexpr int kLane = kLanes<T>;
  constexpr int kUnroll = kRows * kColumns >= 8 ? 1 : 2;
  Vector<T> sums[kUnroll][kRows][kColumns] = {};
  int64_t k = 0;
  for (; k + kUnroll * kLane <= k_count; k += kUnroll * kLane) {
#pragma GCC unroll 2
    for (int u = 0; u < kUnroll; ++u) {
      Vector<T> left[kRows];
#pragma GCC unroll 4
      for (int i = 0; i < kRows; ++i) left[i] = LoadVector(a + i * a_ld + k + u * kLane);
#pragma GCC unroll 4
      for (int j = 0; j < kColumns; ++j) {
        const Vector<T> right = LoadAs<T>(b + j * b_ld + k + u * kLane);
#pragma GCC unroll 4
        for (int i = 0; i < kRows; ++i) sums[u][i][j] += left[i] * right;
      }
    }
  }
  const int64_t rest = k_count - k;
  for (int64_t done = 0; done < rest; done += kLane) {
    const int64_t count = std::min<int64_t>(kLane, rest - done);
    Vector<T> left[kRows];
    for (int i = 0; i < kRows; ++i) left[i] = LoadFirst(a + i * a_ld + k + done, static_cast<int>(count));
    for (int j = 0; j < kColumns; ++j) {
      const Vector<T> right = LoadFirstAs<T>(b + j * b_ld + k + done, count);
      for (int i = 0; i < kRows; ++i) sums[0][i][j] += left[i] * right;
    }
  }
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) {
      Vector<T> sum = sums[0][i][j];
      if constexpr (kUnroll == 2) sum += sums[1][i][j];
      out[i * out_ld + j] += SumOfLanes<T>(sum);
    }
  }
}

// Returns true if elements of the type are widened to T by the load.
template <class T>
bool LoadsAs(ElementType type) {
  return IsStoredAs<T>(type) || (std::is_same_v<T, float> && loops::WidensOnLoad(type));
}

// The part of a product that one thread computes: columns [j_begin, j_end) and terms [k_begin, k_end).
template <class T>
struct Piece {
  int64_t chunks;  // Number of chunks of kRows rows.
  int64_t j_begin, j_end, k_begin, k_end;
  const T* a;
  int64_t a_ld;
  T* out;  // [kRows, out_ld], starting at column j_begin.
  int64_t out_ld;

  template <class S, int kRows>
  void Run(const MatrixView& b) const {
    const S* data = static_cast<const S*>(b.data) + j_begin * b.column_stride + k_begin * b.row_stride;
    Add<S, kRows>(data, b.row_stride, b.column_stride, 0, j_end - j_begin, k_begin, k_end - k_begin);
  }

  // Multiplies through a buffer in which small blocks of b are computed and widened.
  template <int kRows>
  void RunWidened(const MatrixView& b) const {
    const WidenBlock<T> widen = WidenBlockOf<T>(b.type);
    const std::byte* data = static_cast<const std::byte*>(b.data);
    const bool by_rows = std::abs(b.column_stride) <= std::abs(b.row_stride);
    int64_t j_step = by_rows ? 512 : 16, k_step = by_rows ? 32 : 1024;
    // Sums in the same order as for a matrix in memory.
    if (!by_rows && b.compute != nullptr && LoadsAs<T>(b.type)) j_step = 4, k_step = k_end - k_begin;
    T* block = Scratch<T>(ScratchSlot::kOperand, j_step * k_step);
    for (int64_t j = j_begin; j < j_end; j += j_step) {
      const int64_t columns = std::min(j_step, j_end - j);
      for (int64_t k = k_begin; k < k_end; k += k_step) {
        const int64_t depth = std::min(k_step, k_end - k);
        const int64_t at = j * b.column_stride + k * b.row_stride;
        const int64_t lines = by_rows ? depth : columns, length = by_rows ? columns : depth;
        int64_t stride = by_rows ? b.row_stride : b.column_stride,
                step = by_rows ? b.column_stride : b.row_stride;
        const std::byte* from = data + at * ByteCount(b.type);
        if (b.compute != nullptr) {
          void* computed = Scratch(ScratchSlot::kComputed, lines * length * ByteCount(b.type));
          b.compute->run(b.compute->context, {b.first + at, lines, length, stride, computed, length});
          from = static_cast<const std::byte*>(computed);
          stride = length;
          step = 1;
        }
        widen(from, stride, step, lines, length, block, length);
        Add<T, kRows>(block, by_rows ? columns : 1, by_rows ? 1 : depth, j - j_begin, columns, k, depth);
      }
    }
  }

 private:
  // Adds the products of a block of b, of which one stride is 1.
  template <class S, int kRows>
  void Add(const S* b, int64_t row_stride, int64_t column_stride, int64_t column, int64_t columns, int64_t k,
           int64_t depth) const {
    if (column_stride == 1 && (columns > 1 || row_stride != 1)) {
      // The step keeps the sums in the L1 cache.
      const int64_t step = (chunks == 1 ? 4096 : 8192) / (chunks * kRows) / kLanes<T> * kLanes<T>;
      for (int64_t j = 0; j < columns; j += step) {
        AddRowByRow<T, S, kRows>(chunks, std::min(step, columns - j), depth, a + k, a_ld, b + j, row_stride,
                                 out + column + j, out_ld);
      }
      return;
    }
    constexpr int kColumns = kRows <= 2 ? 4 : 2;
    const auto dots = [&]<int kCount>(int64_t j) {
      for (int64_t i = 0; i < chunks * kRows; i += kRows) {
        AddDots<T, S, kRows, kCount>(depth, a + i * a_ld + k, a_ld, b + j * column_stride, column_stride,
                                     out + i * out_ld + column + j, out_ld);
      }
    };
    int64_t j = 0;
    for (; j + kColumns <= columns; j += kColumns) dots.template operator()<kColumns>(j);
    for (; j < columns; ++j) dots.template operator()<1>(j);
  }
};

template <class T, int kRows>
void RunPiece(const Piece<T>& piece, const MatrixView& b) {
  if (b.compute == nullptr && (b.row_stride == 1 || b.column_stride == 1)) {
    if constexpr (std::is_same_v<T, float>) {
      if (b.type == ElementType::kBF16) return piece.template Run<bfloat16, kRows>(b);
      if (b.type == ElementType::kF16) return piece.template Run<float16, kRows>(b);
      if (b.type == ElementType::kS8) return piece.template Run<int8_t, kRows>(b);
    }
    if (LoadsAs<T>(b.type)) return piece.template Run<T, kRows>(b);
  }
  piece.template RunWidened<kRows>(b);
}

}  // namespace

template <class T>
void MultiplyRows(int64_t rows, int64_t n, int64_t k_count, const T* a, int64_t a_ld, const MatrixView& b,
                  T* out, int64_t out_ld) {
  constexpr int64_t kColumns = 4096, kMaxPieces = 16;
  const bool by_rows = b.column_stride == 1;
  const int64_t depth = by_rows ? 256 : 1024;
  const int64_t across = std::max<int64_t>(1, by_rows ? n / kColumns : std::min<int64_t>(n / 8, 64));
  const int64_t deep =
      across >= kMaxPieces ? 1 : std::clamp<int64_t>(k_count / depth, 1, kMaxPieces / across);
  T* sums = deep == 1 ? out : Scratch<T>(ScratchSlot::kPartials, deep * rows * out_ld);
  std::fill_n(sums, deep * rows * out_ld, T{});
  const double reading =
      static_cast<double>(n) * static_cast<double>(k_count) *
      (std::max(0.1 * static_cast<double>(ByteCount(b.type)), 0.03 * static_cast<double>(rows)) +
       (b.compute == nullptr ? 0 : b.compute->nanoseconds));
  ParallelFor(across * deep, reading, [&](int64_t p) {
    const int64_t j = p % across, d = p / across;
    Piece<T> piece{.chunks = rows > kFewRows ? rows / kFewRows : 1,
                   .j_begin = n * j / across,
                   .j_end = n * (j + 1) / across,
                   .k_begin = k_count * d / deep,
                   .k_end = k_count * (d + 1) / deep,
                   .a = a,
                   .a_ld = a_ld,
                   .out_ld = out_ld};
    piece.out = sums + d * rows * out_ld + piece.j_begin;
    switch (rows) {
      case 1:
        return RunPiece<T, 1>(piece, b);
      case 2:
        return RunPiece<T, 2>(piece, b);
      case 3:
        return RunPiece<T, 3>(piece, b);
      default:
        return RunPiece<T, 4>(piece, b);
    }
  });
  if (deep == 1) return;
  std::copy_n(sums, rows * out_ld, out);
  for (int64_t d = 1; d < deep; ++d) {
    for (int64_t i = 0; i < rows * out_ld; ++i) out[i] += sums[d * rows * out_ld + i];
  }
}

#define HLO_COMPUTE_TYPE(T) \
  template void MultiplyRows<T>(int64_t, int64_t, int64_t, const T*, int64_t, const MatrixView&, T*, int64_t);
HLO_REAL_COMPUTE_TYPES(HLO_COMPUTE_TYPE)
#undef HLO_COMPUTE_TYPE

}  // namespace hlo::cpu
