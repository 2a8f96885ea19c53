#include "kernels/cpu/gemm_core.h"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/check.h"
#include "base/pages.h"
#include "base/parallel.h"

namespace hlo::cpu {
namespace {

struct Free {
  void operator()(void* p) const { std::free(p); }
};
struct ScratchBuffer {
  std::unique_ptr<void, Free> data;
  int64_t byte_count = 0;
};

constexpr int64_t RoundUp(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

// --- The innermost kernel

template <class T, Terms kTerms>
[[gnu::always_inline]] inline Vector<T> MultiplyAdd(Vector<T> sum, Vector<T> a, Vector<T> b) {
  if constexpr (kTerms == Terms::kPairs)
    return AddPairProducts(sum, a, b);
  else if constexpr (kTerms == Terms::kQuads)
    return AddQuadProducts(sum, a, b);
  else
    return sum + a * b;
}

// In all lanes; the bits of several terms are no number.
template <class T, Terms kTerms>
[[gnu::always_inline]] inline Vector<T> BroadcastTerm(const T* from) {
  if constexpr (kTerms != Terms::kSingle) {
    uint32_t bits;
    std::memcpy(&bits, from, sizeof bits);
    return BitsOf<Vector<T>>(Broadcast(bits));
  } else {
    return Broadcast(*from);
  }
}

// Calls for a block of the result, which comes from far away, into this level of the cache.
template <int kLevel, int kRows, int kColumns, class T>
[[gnu::always_inline]] inline void Prefetch(const T* c, int64_t ld) {
  constexpr int kLine = 64 / sizeof(T);
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
    const T* row = c + i * ld;
#pragma GCC unroll 2
    for (int j = 0; j < kColumns; j += kLine) __builtin_prefetch(row + j, kLevel == 1, 4 - kLevel);
    __builtin_prefetch(row + kColumns - 1, kLevel == 1, 4 - kLevel);  // Rows begin anywhere in a line.
  }
}
// Terms before the last when the result is called for into the first level: called for earlier, rows that
// lie a power of two apart are driven out again by the panels.
constexpr int64_t kLateTerms = 96;

// A row of sums behind the others: of 128 times b, which is what the other rows have too much.
template <Terms kTerms>
inline constexpr int kMoreRows = kTerms == Terms::kQuads ? 1 : 0;

// sums += a[k, i] * b[k, j] for k_count terms; both go on behind these.
template <class T, Terms kTerms, int kRows, int kVectors>
[[gnu::always_inline]] inline void AddTerms(int64_t k_count, const T*& a, const T*& b,
                                            Vector<T> (&sums)[kRows][kVectors]) {
  constexpr int kOwn = kRows - kMoreRows<kTerms>;
#pragma GCC unroll 4
  for (int64_t k = 0; k < k_count; ++k) {
    Vector<T> row[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) row[v] = LoadVector(b + v * kLanes<T>);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      const Vector<T> factor =
          i < kOwn ? BroadcastTerm<T, kTerms>(a + i) : BitsOf<Vector<T>>(Broadcast(0x80808080u));
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sums[i][v] = MultiplyAdd<T, kTerms>(sums[i][v], factor, row[v]);
    }
    a += kPanelRows<T>;
    b += kPanelColumns<T>;
  }
}

// c[i, j] = or += sum over k of a[k, i] * b[k, j] for kRows rows and kVectors vectors of columns.
template <class T, Terms kTerms, int kRows, int kVectors>
void RealKernel(int64_t k_count, const T* a, const T* b, T* c, int64_t ld, bool add) {
  constexpr int kLane = kLanes<T>;
  Vector<T> sums[kRows + kMoreRows<kTerms>][kVectors] = {};
  const int64_t early = std::max<int64_t>(0, k_count - kLateTerms);
  if (early > 0) {
    Prefetch<2, kRows, kVectors * kLane>(c, ld);
    AddTerms<T, kTerms>(early, a, b, sums);
  }
  Prefetch<1, kRows, kVectors * kLane>(c, ld);
  AddTerms<T, kTerms>(k_count - early, a, b, sums);
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      if constexpr (kMoreRows<kTerms> == 1) sums[i][v] -= sums[kRows][v];
      T* to = c + i * ld + v * kLane;
      StoreVector(to, add ? LoadVector(to) + sums[i][v] : sums[i][v]);
    }
  }
}

// Two panels of rows with one vector of columns: a narrow result leaves registers free for as many sums.
template <class T, Terms kTerms>
void NarrowKernel(int64_t k_count, const T* a, const T* b, T* c, int64_t ld, bool add) {
  constexpr int kRows = kPanelRows<T>;
  const T* lower = a + kRows * k_count;
  Prefetch<1, 2 * kRows, kLanes<T>>(c, ld);
  Vector<T> sums[2][kRows] = {};
  for (int64_t k = 0; k < k_count; ++k) {
    const Vector<T> row = LoadVector(b);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i)
      sums[0][i] = MultiplyAdd<T, kTerms>(sums[0][i], BroadcastTerm<T, kTerms>(a + i), row);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i)
      sums[1][i] = MultiplyAdd<T, kTerms>(sums[1][i], BroadcastTerm<T, kTerms>(lower + i), row);
    a += kRows;
    lower += kRows;
    b += kPanelColumns<T>;
  }
#pragma GCC unroll 2
  for (int p = 0; p < 2; ++p) {
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      T* to = c + (p * kRows + i) * ld;
      StoreVector(to, add ? LoadVector(to) + sums[p][i] : sums[p][i]);
    }
  }
}

// RealKernel for complex numbers; a row of b is its real parts, then its imaginary parts.
template <class T, int kRows, int kVectors>
void ComplexKernel(int64_t k_count, const T* a, const T* b, T* c, int64_t ld, bool add) {
  using R = Part<T>;
  constexpr int kLane = kLanes<R>;
  static_assert(kVectors == 1 && kPanelColumns<T> == kLane);
  Vector<R> re[kRows] = {}, im[kRows] = {};
  const R* from_a = reinterpret_cast<const R*>(a);
  const R* from_b = reinterpret_cast<const R*>(b);
#pragma GCC unroll 2
  for (int64_t k = 0; k < k_count; ++k) {
    const Vector<R> b_re = LoadVector(from_b), b_im = LoadVector(from_b + kLane);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      const Vector<R> a_re = Broadcast(from_a[2 * i]), a_im = Broadcast(from_a[2 * i + 1]);
      re[i] += a_re * b_re;
      re[i] -= a_im * b_im;
      im[i] += a_re * b_im;
      im[i] += a_im * b_re;
    }
    from_a += 2 * kPanelRows<T>;
    from_b += 2 * kLane;
  }
  for (int i = 0; i < kRows; ++i) {
    T* to = c + i * ld;
    for (int j = 0; j < kLane; ++j) {
      const T sum(re[i][j], im[i][j]);
      to[j] = add ? to[j] + sum : sum;
    }
  }
}

template <class T>
using Kernel = void (*)(int64_t, const T*, const T*, T*, int64_t, bool);

// By rows and vectors of columns, each less one.
template <class T, Terms kTerms>
struct Kernels {
  static constexpr int kVectors = kComplex<T> ? 1 : 2;
  Kernel<T> by_size[kPanelRows<T>][kVectors];

  static const Kernels& Get() {
    static const Kernels kernels;
    return kernels;
  }

 private:
  Kernels() { Fill<1>(); }
  template <int kRows>
  void Fill() {
    if constexpr (kComplex<T>) {
      by_size[kRows - 1][0] = ComplexKernel<T, kRows, 1>;
    } else {
      by_size[kRows - 1][0] = RealKernel<T, kTerms, kRows, 1>;
      by_size[kRows - 1][1] = RealKernel<T, kTerms, kRows, 2>;
    }
    if constexpr (kRows < kPanelRows<T>) Fill<kRows + 1>();
  }
};

// --- Packing

// A panel of b for ComplexKernel.
template <class T>
void SplitParts(int64_t k_count, T* panel) {
  using R = Part<T>;
  constexpr int kLane = kPanelColumns<T>;
  R parts[2 * kLane];
  for (int64_t k = 0; k < k_count; ++k) {
    R* row = reinterpret_cast<R*>(panel + k * kLane);
    for (int j = 0; j < kLane; ++j) {
      parts[j] = row[2 * j];
      parts[kLane + j] = row[2 * j + 1];
    }
    std::memcpy(row, parts, sizeof parts);
  }
}

// --- Blocks

// Of a panel count, how many go into one piece of work: few enough that there are pieces for many threads,
// many enough that their panels stay in the second level of the cache.
int64_t PanelsPerPiece(int64_t panels, int64_t most, int64_t pieces_wanted) {
  return std::clamp<int64_t>(panels / std::max<int64_t>(1, pieces_wanted), 1, most);
}

// An epilogue wants long rows; the panels of short sums are small.
int64_t WidestPiece(int64_t k_count) { return std::clamp<int64_t>(256 * kPanelDepth / k_count, 256, 1024); }

constexpr int64_t kSmallBlock = 256 << 10;  // In bytes.

// A block of the result, and the panels of both operands for kPanelDepth terms.
template <class T, Terms kTerms>
struct Block {
  static constexpr int kRows = kPanelRows<T>, kColumns = kPanelColumns<T>;
  int64_t row, rows, column, columns;  // In the whole result.
  T* sums;
  int64_t ld;
  T *a_panels, *b_panels;

  int64_t RowPanels() const { return RoundUp(rows, kRows) / kRows; }
  int64_t ColumnPanels() const { return RoundUp(columns, kColumns) / kColumns; }

  void Pack(int64_t k_first, int64_t k_count, const PanelSource<T, kRows>& a,
            const PanelSource<T, kColumns>& b) const {
    const int64_t row_panels = RowPanels(), column_panels = ColumnPanels();
    const int64_t a_bunch = a.bunch(), b_bunch = b.bunch();
    const int64_t row_bunches = RoundUp(row_panels, a_bunch) / a_bunch,
                  column_bunches = RoundUp(column_panels, b_bunch) / b_bunch;
    const double nanoseconds = static_cast<double>(rows * k_count) * (0.3 + a.nanoseconds()) +
                               static_cast<double>(columns * k_count) * (0.3 + b.nanoseconds());
    ParallelFor(row_bunches + column_bunches, nanoseconds, [&](int64_t bunch) {
      const bool is_a = bunch < row_bunches;
      const int64_t start = is_a ? bunch * a_bunch : (bunch - row_bunches) * b_bunch;
      const int64_t end =
          is_a ? std::min(start + a_bunch, row_panels) : std::min(start + b_bunch, column_panels);
      if (is_a) {
        a.PackPanels(row + start * kRows, std::min(end * kRows, rows) - start * kRows, k_first, k_count,
                     a_panels + start * kRows * k_count);
      } else {
        T* panels = b_panels + start * kColumns * k_count;
        b.PackPanels(column + start * kColumns, std::min(end * kColumns, columns) - start * kColumns, k_first,
                     k_count, panels);
        if constexpr (kComplex<T>) SplitParts((end - start) * k_count, panels);
      }
    });
  }

  // The row panels and column panels of a piece of the product.
  struct Piece {
    int64_t tall, wide;
  };
  Piece PieceOf(int64_t k_count, bool has_epilogue) const {
    const int64_t row_panels = RowPanels(), column_panels = ColumnPanels();
    if (!has_epilogue) {
      const int64_t tall = PanelsPerPiece(row_panels, 96 / kRows, 8);
      return {tall, PanelsPerPiece(column_panels, 256 / kColumns, 64 / (row_panels / tall + 1))};
    }
    const int64_t widest = WidestPiece(k_count);
    const int64_t wide = std::min(column_panels, widest / kColumns);
    const int64_t tallest = std::min<int64_t>(96, 96 * 256 / (wide * kColumns)) / kRows;
    return {PanelsPerPiece(row_panels, tallest, 64 / (column_panels / wide + 1)), wide};
  }

  // Adds the panels' product to the sums, or stores it; finishes them after the last.
  void Multiply(int64_t k_count, bool add, bool is_last, const ProductSink<T>& sink) const {
    const int64_t row_panels = RowPanels(), column_panels = ColumnPanels();
    const auto [tall, wide] = PieceOf(k_count, sink.HasEpilogue());
    const int64_t down = RoundUp(row_panels, tall) / tall, across = RoundUp(column_panels, wide) / wide;
    const auto terms =
        static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(k_count);
    // Pieces of a small block have short rows, and the block stays in the cache as a whole.
    const bool finishes_whole =
        is_last && sink.HasEpilogue() && rows * columns * static_cast<int64_t>(sizeof(T)) <= kSmallBlock;
    const bool is_only = is_last && !add;  // Sums of a piece go nowhere else.
    ParallelFor(down * across, ProductNanoseconds<T>(terms), [&](int64_t piece) {
      const int64_t i = piece % down * tall, j = piece / down * wide;
      const int64_t i_end = std::min(i + tall, row_panels), j_end = std::min(j + wide, column_panels);
      const int64_t r = i * kRows, c = j * kColumns;
      const int64_t piece_rows = std::min(i_end * kRows, rows) - r,
                    piece_columns = std::min(j_end * kColumns, columns) - c;
      T* to = sums + r * ld + c;
      int64_t to_ld = ld;
      if (is_only && !sink.SumsInPlace() && !finishes_whole) {
        to_ld = piece_columns;
        to = Scratch<T>(ScratchSlot::kPiece, piece_rows * piece_columns);
      }
      MultiplyPiece(i, i_end, j, j_end, k_count, add, to, to_ld);
      if (is_last && !finishes_whole) sink.Finish(row + r, piece_rows, column + c, piece_columns, to, to_ld);
    });
    if (finishes_whole) sink.FinishRows(row, rows, column, columns, sums, ld);
  }

 private:
  void MultiplyPiece(int64_t i_begin, int64_t i_end, int64_t j_begin, int64_t j_end, int64_t k_count,
                     bool add, T* to, int64_t to_ld) const {
    const Kernels<T, kTerms>& kernels = Kernels<T, kTerms>::Get();
    constexpr int kLane = kColumns / Kernels<T, kTerms>::kVectors;
    for (int64_t j = j_begin; j < j_end; ++j) {
      const int64_t n = std::min<int64_t>(kColumns, columns - j * kColumns);
      const T* b = b_panels + j * kColumns * k_count;
      for (int64_t i = i_begin; i < i_end;) {
        int64_t m = std::min<int64_t>(kRows, rows - i * kRows);
        const T* a = a_panels + i * kRows * k_count;
        T* c = to + (i - i_begin) * kRows * to_ld + (j - j_begin) * kColumns;
        Kernel<T> kernel = kernels.by_size[m - 1][(n - 1) / kLane];
        ++i;
        if constexpr (!kComplex<T> && kTerms != Terms::kQuads) {
          if (n <= kLane && i < i_end && (i + 1) * kRows <= rows) {
            kernel = NarrowKernel<T, kTerms>;
            m = 2 * kRows;
            ++i;
          }
        }
        if (n % kLane == 0) {
          kernel(k_count, a, b, c, to_ld, add);
          continue;
        }
        alignas(64) T edge[2 * kRows * kColumns];
        kernel(k_count, a, b, edge, kColumns, false);
        for (int64_t r = 0; r < m; ++r) {
          for (int64_t s = 0; s < n; ++s) {
            T& sum = c[r * to_ld + s];
            sum = add ? sum + edge[r * kColumns + s] : edge[r * kColumns + s];
          }
        }
      }
    }
  }
};

// sink = a * b over all of k, block after block.
template <class T, Terms kTerms>
void MultiplyBlocks(int64_t m, int64_t n, int64_t k_begin, int64_t k_end,
                    const PanelSource<T, kPanelRows<T>>& a, const PanelSource<T, kPanelColumns<T>>& b,
                    const ProductSink<T>& sink) {
  constexpr int kRows = kPanelRows<T>, kColumns = kPanelColumns<T>;
  constexpr int64_t kSide = 12288 / static_cast<int64_t>(sizeof(T));
  const int64_t most = sink.SumsInPlace() ? kSide : kSide / 3;
  const int64_t tall = RoundUp(std::min(m, most), kRows), wide = RoundUp(std::min(n, most), kColumns);
  const int64_t depth = std::min(kPanelDepth, k_end - k_begin);
  T* panels = Scratch<T>(ScratchSlot::kPanels, (tall + wide) * depth);
  for (int64_t j = 0; j < n; j += wide) {
    for (int64_t i = 0; i < m; i += tall) {
      Block<T, kTerms> block{
          .row = i, .rows = std::min(tall, m - i), .column = j, .columns = std::min(wide, n - j)};
      block.a_panels = panels;
      block.b_panels = panels + tall * depth;
      if (sink.SumsInPlace()) {
        block.ld = sink.row_stride;
        block.sums = static_cast<T*>(sink.At(i, j));
      } else {
        block.ld = sink.data == nullptr ? block.columns : RoundUp(block.columns, kColumns);
        block.sums = Scratch<T>(ScratchSlot::kSums, block.ld * block.rows);
      }
      for (int64_t k = k_begin; k < k_end; k += depth) {
        const int64_t k_count = std::min(depth, k_end - k);
        block.Pack(k, k_count, a, b);
        block.Multiply(k_count, k > k_begin, k + k_count == k_end, sink);
      }
    }
  }
}

}  // namespace

int64_t EpilogueColumns(int64_t k) {
  return WidestPiece(k <= kPanelDepth ? std::max<int64_t>(k, 1) : kPanelDepth);
}

void* Scratch(ScratchSlot slot, int64_t byte_count) {
  static thread_local ScratchBuffer buffers[static_cast<int>(ScratchSlot::kCount)];
  ScratchBuffer& buffer = buffers[static_cast<int>(slot)];
  if (buffer.byte_count < byte_count) {
    // Panels are read in turn with rows that lie far apart: each takes an entry of the table of pages.
    constexpr int64_t kPage = 4096, kManyPages = 2 << 20;
    buffer.data = nullptr;
    buffer.byte_count = RoundUp(byte_count, kPage);
    buffer.data.reset(AllocatePages(buffer.byte_count, kManyPages));
    HLO_CHECK(buffer.data != nullptr);
  }
  return buffer.data.get();
}

template <class T, Terms kTerms>
void MultiplyPanels(int64_t m, int64_t n, int64_t k, const PanelSource<T, kPanelRows<T>>& a,
                    const PanelSource<T, kPanelColumns<T>>& b, const ProductSink<T>& sink) {
  if (m == 0 || n == 0) return;
  // A long sum for a small result: pieces of it, then their sum in order.
  constexpr int64_t kLongest = 8 * kPanelDepth, kMostPieces = 16;
  const int64_t pieces = m * n <= 128 * 128 ? std::min(k / kLongest, kMostPieces) : 1;
  if (pieces <= 1 && k > 0) return MultiplyBlocks<T, kTerms>(m, n, 0, k, a, b, sink);
  T* sums = Scratch<T>(ScratchSlot::kPartials, std::max<int64_t>(pieces, 1) * m * n);
  if (k == 0) std::fill_n(sums, m * n, T{});
  const auto terms = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  ParallelFor(pieces, ProductNanoseconds<T>(terms), [&](int64_t p) {
    const ProductSink<T> part{.data = sums + p * m * n, .row_stride = n, .byte_count = sizeof(T)};
    MultiplyBlocks<T, kTerms>(m, n, k * p / pieces, k * (p + 1) / pieces, a, b, part);
  });
  for (int64_t p = 1; p < pieces; ++p) {
    for (int64_t i = 0; i < m * n; ++i) sums[i] += sums[p * m * n + i];
  }
  sink.FinishRows(0, m, 0, n, sums, n);
}

#define HLO_COMPUTE_TYPE(T)                                                                        \
  template void MultiplyPanels<T>(int64_t, int64_t, int64_t, const PanelSource<T, kPanelRows<T>>&, \
                                  const PanelSource<T, kPanelColumns<T>>&, const ProductSink<T>&);
HLO_COMPUTE_TYPE(float)
HLO_COMPUTE_TYPE(double)
HLO_COMPUTE_TYPE(uint32_t)
HLO_COMPUTE_TYPE(uint64_t)
HLO_COMPUTE_TYPE(std::complex<float>)
HLO_COMPUTE_TYPE(std::complex<double>)
#undef HLO_COMPUTE_TYPE

#define HLO_PAIRS(T)                                                   \
  template void MultiplyPanels<T, Terms::kPairs>(                      \
      int64_t, int64_t, int64_t, const PanelSource<T, kPanelRows<T>>&, \
      const PanelSource<T, kPanelColumns<T>>&, const ProductSink<T>&);
HLO_PAIRS(uint32_t)
HLO_PAIRS(float)
#undef HLO_PAIRS
template void MultiplyPanels<uint32_t, Terms::kQuads>(int64_t, int64_t, int64_t,
                                                      const PanelSource<uint32_t, kPanelRows<uint32_t>>&,
                                                      const PanelSource<uint32_t, kPanelColumns<uint32_t>>&,
                                                      const ProductSink<uint32_t>&);

}  // namespace hlo::cpu
