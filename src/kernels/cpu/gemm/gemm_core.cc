#include "kernels/cpu/gemm/gemm_core.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "absl/types/span.h"
#include "base/arithmetic.h"
#include "base/check.h"
#include "base/pages.h"
#include "base/parallel.h"
#include "kernels/cpu/gemm/amx.h"
#include "kernels/cpu/gemm/gemm_kernels.h"

namespace hlo::cpu {
namespace {

struct Free {
  void operator()(void* p) const { std::free(p); }
};
struct ScratchBuffer {
  std::unique_ptr<void, Free> data;
  int64_t byte_count = 0;
};

// --- Packing

// Separates a complex panel of b into real parts followed by imaginary parts in each row.
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

// Returns the number of panels in a work item: small enough to occupy many threads, large enough for the
// panels to stay in the L2 cache.
int64_t PanelsPerPiece(int64_t panels, int64_t most, int64_t pieces_wanted) {
  return std::clamp<int64_t>(panels / std::max<int64_t>(1, pieces_wanted), 1, most);
}

// Limits the width of a work item: epilogues prefer long rows, and panels of short sums are small.
int64_t WidestPiece(int64_t k_count) { return std::clamp<int64_t>(256 * kPanelDepth / k_count, 256, 1024); }

constexpr int64_t kSmallBlock = 256 << 10;  // In bytes.

// One operand of a block of the result: a matrix that is read in place, or panels for up to kPanelDepth
// terms.
template <class T, int kWidth>
struct BlockOperand {
  const PanelSource<T, kWidth>& source;
  PlainMatrix<T> in_place;  // Without data if the operand is packed.
  int64_t first, count;     // The rows, or columns, of the result.
  T* panels;

  // Returns the number of parts that threads pack.
  int64_t Bunches() const {
    return in_place.data != nullptr ? 0 : CeilDiv(CeilDiv(count, kWidth), source.bunch());
  }
  // Packs a part, and returns its panels.
  absl::Span<T> Pack(int64_t bunch, int64_t k_first, int64_t k_count) const {
    const int64_t most = source.bunch() * kWidth, start = bunch * most, lines = std::min(most, count - start);
    T* to = panels + start * k_count;
    source.PackPanels(first + start, lines, k_first, k_count, to);
    return {to, static_cast<size_t>(RoundUp(lines, kWidth) * k_count)};
  }
  double PackingNanoseconds(int64_t k_count) const {
    return Bunches() == 0 ? 0 : static_cast<double>(count * k_count) * (0.3 + source.nanoseconds());
  }
  // Returns the panels from a line on, whose index is a multiple of kWidth.
  Panels<T> At(int64_t line, int64_t k_first, int64_t k_count) const {
    if (in_place.data == nullptr) return {panels + line * k_count, kWidth * k_count, 1, kWidth, true};
    const int64_t stride = in_place.stride, k_stride = in_place.k_stride;
    return {in_place.data + (first + line) * stride + k_first * k_stride, kWidth * stride, stride, k_stride,
            false};
  }
};

// A block of the result, with its operands.
template <class T, Terms kTerms>
struct Block {
  static constexpr int kRows = kPanelRows<T, kTerms>, kColumns = kPanelColumns<T, kTerms>;
  int64_t row, rows, column, columns;  // They count rows and columns of the whole result.
  T* sums;
  int64_t ld;
  BlockOperand<T, kRows> a;
  BlockOperand<T, kColumns> b;

  int64_t RowPanels() const { return CeilDiv(rows, kRows); }
  int64_t ColumnPanels() const { return CeilDiv(columns, kColumns); }

  void Pack(int64_t k_first, int64_t k_count) const {
    const int64_t a_bunches = a.Bunches();
    ParallelFor(a_bunches + b.Bunches(), a.PackingNanoseconds(k_count) + b.PackingNanoseconds(k_count),
                [&](int64_t bunch) {
                  if (bunch < a_bunches) {
                    a.Pack(bunch, k_first, k_count);
                    return;
                  }
                  const absl::Span<T> panels = b.Pack(bunch - a_bunches, k_first, k_count);
                  if constexpr (kComplex<T>)
                    SplitParts(static_cast<int64_t>(panels.size()) / kColumns, panels.data());
                });
  }

  // The extent of a work item, in row panels and column panels.
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
    const int64_t tallest = std::max<int64_t>(1, std::min<int64_t>(96, 96 * 256 / (wide * kColumns)) / kRows);
    return {PanelsPerPiece(row_panels, tallest, 64 / (column_panels / wide + 1)), wide};
  }

  // Stores the product over terms from k_first on or adds it to the sums, and finishes them if `is_last`.
  void Multiply(int64_t k_first, int64_t k_count, bool add, bool is_last, const ProductSink<T>& sink) const {
    const int64_t row_panels = RowPanels(), column_panels = ColumnPanels();
    const Piece shape = PieceOf(k_count, sink.HasEpilogue());
    const int64_t tall = shape.tall, wide = shape.wide;
    const int64_t down = CeilDiv(row_panels, tall), across = CeilDiv(column_panels, wide);
    const auto terms =
        static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(k_count);
    // Work items of a small block have short rows, and the whole block stays in the cache.
    const bool finishes_whole =
        is_last && sink.HasEpilogue() && rows * columns * static_cast<int64_t>(sizeof(T)) <= kSmallBlock;
    const bool is_only = is_last && !add;  // The sums of a work item are needed nowhere else.
    ParallelFor(down * across, ProductNanoseconds<T, kTerms>(terms), [&](int64_t piece) {
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
      const PanelProduct<T> product{.rows = piece_rows,
                                    .columns = piece_columns,
                                    .k_count = k_count,
                                    .a = a.At(r, k_first, k_count),
                                    .b = b.At(c, k_first, k_count)};
      if constexpr (kTerms == Terms::kAmx)
        MultiplyAmxPanels<T>(product, to, to_ld, add);
      else
        MultiplyPanelPairs<T, kTerms>(product, to, to_ld, add);
      if (is_last && !finishes_whole) sink.Finish(row + r, piece_rows, column + c, piece_columns, to, to_ld);
    });
    if (finishes_whole) sink.FinishRows(row, rows, column, columns, sums, ld);
  }
};

// Reading in place is faster than packing if each element is used at most so often. Long or many rows of the
// second operand, which is read once per panel of rows, should also stay in the L2 cache.
constexpr int64_t kMostUsesOfRows = 1024, kMostUsesOfColumns = 128, kMostBytesOfColumns = 1 << 20;

// Returns the first operand if it should be read in place.
template <class T, Terms kTerms>
PlainMatrix<T> RowsInPlace(const RowSource<T, kTerms>& a, int64_t n) {
  return kReadsRowsInPlace<T, kTerms> && n <= kMostUsesOfRows ? a.InPlace() : PlainMatrix<T>{};
}

// Returns the second operand if it should be read in place.
template <class T, Terms kTerms>
PlainMatrix<T> ColumnsInPlace(const ColumnSource<T, kTerms>& b, int64_t m, int64_t n, int64_t k) {
  if (kComplex<T> || m > kMostUsesOfColumns || n * k * static_cast<int64_t>(sizeof(T)) > kMostBytesOfColumns)
    return {};
  const PlainMatrix<T> matrix = b.InPlace();
  return matrix.stride == 1 && (kHasMasks || n % kLanes<Part<T>> == 0) ? matrix : PlainMatrix<T>{};
}

// Computes the product over terms k_begin, ..., k_end - 1 block by block and writes it to the sink.
template <class T, Terms kTerms>
void MultiplyBlocks(int64_t m, int64_t n, int64_t k_begin, int64_t k_end, const RowSource<T, kTerms>& a,
                    const ColumnSource<T, kTerms>& b, const ProductSink<T>& sink) {
  constexpr int kRows = kPanelRows<T, kTerms>, kColumns = kPanelColumns<T, kTerms>;
  constexpr int64_t kSide = 12288 / static_cast<int64_t>(sizeof(T));
  const int64_t most = sink.SumsInPlace() ? kSide : kSide / 3;
  const int64_t tall = RoundUp(std::min(m, most), kRows), wide = RoundUp(std::min(n, most), kColumns);
  const int64_t depth = std::min(kPanelDepth, k_end - k_begin);
  const PlainMatrix<T> a_matrix = RowsInPlace<T, kTerms>(a, n),
                       b_matrix = ColumnsInPlace<T, kTerms>(b, m, n, k_end - k_begin);
  const int64_t packed = (a_matrix.data != nullptr ? 0 : tall) + (b_matrix.data != nullptr ? 0 : wide);
  T* panels = Scratch<T>(ScratchSlot::kPanels, packed * depth);
  for (int64_t j = 0; j < n; j += wide) {
    for (int64_t i = 0; i < m; i += tall) {
      const int64_t rows = std::min(tall, m - i), columns = std::min(wide, n - j);
      Block<T, kTerms> block{
          .row = i,
          .rows = rows,
          .column = j,
          .columns = columns,
          .sums = nullptr,
          .ld = 0,
          .a = {a, a_matrix, i, rows, panels},
          .b = {b, b_matrix, j, columns, panels + (a_matrix.data != nullptr ? 0 : tall * depth)}};
      if (sink.SumsInPlace()) {
        block.ld = sink.row_stride;
        block.sums = static_cast<T*>(sink.At(i, j));
      } else {
        block.ld = sink.data == nullptr ? block.columns : RoundUp(block.columns, kColumns);
        block.sums = Scratch<T>(ScratchSlot::kSums, block.ld * block.rows);
      }
      for (int64_t k = k_begin; k < k_end; k += depth) {
        const int64_t k_count = std::min(depth, k_end - k);
        block.Pack(k, k_count);
        block.Multiply(k, k_count, k > k_begin, k + k_count == k_end, sink);
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
    // Panels use large pages: they are read together with distant rows, each of which needs a TLB entry.
    constexpr int64_t kPage = 4096, kManyPages = 2 << 20;
    buffer.data = nullptr;
    buffer.byte_count = RoundUp(byte_count, kPage);
    buffer.data.reset(AllocatePages(buffer.byte_count, kManyPages));
    HLO_CHECK(buffer.data != nullptr);
  }
  return buffer.data.get();
}

template <class T, Terms kTerms>
void MultiplyPanels(int64_t m, int64_t n, int64_t k, const RowSource<T, kTerms>& a,
                    const ColumnSource<T, kTerms>& b, const ProductSink<T>& sink) {
  if (m == 0 || n == 0) return;
  // Long sums of a small result are split along k; the partial sums are added in a fixed order.
  constexpr int64_t kLongest = 8 * kPanelDepth, kMaxPieces = 16;
  const int64_t pieces = m * n <= 128 * 128 ? std::min(k / kLongest, kMaxPieces) : 1;
  if (pieces <= 1 && k > 0) return MultiplyBlocks<T, kTerms>(m, n, 0, k, a, b, sink);
  T* sums = Scratch<T>(ScratchSlot::kPartials, std::max<int64_t>(pieces, 1) * m * n);
  if (k == 0) std::fill_n(sums, m * n, T{});
  const auto terms = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const auto begin = [&](int64_t p) {
    constexpr int64_t kUnit = kTerms == Terms::kAmx ? kAmxTileSide : 1;
    return p == pieces ? k : k * p / pieces / kUnit * kUnit;
  };
  ParallelFor(pieces, ProductNanoseconds<T, kTerms>(terms), [&](int64_t p) {
    const ProductSink<T> part{.data = sums + p * m * n, .row_stride = n, .byte_count = sizeof(T)};
    MultiplyBlocks<T, kTerms>(m, n, begin(p), begin(p + 1), a, b, part);
  });
  for (int64_t p = 1; p < pieces; ++p) {
    for (int64_t i = 0; i < m * n; ++i) sums[i] += sums[p * m * n + i];
  }
  sink.FinishRows(0, m, 0, n, sums, n);
}

#define HLO_TERMS(T, TERMS)                                                                     \
  template void MultiplyPanels<T, TERMS>(int64_t, int64_t, int64_t, const RowSource<T, TERMS>&, \
                                         const ColumnSource<T, TERMS>&, const ProductSink<T>&);
#define HLO_COMPUTE_TYPE(T) HLO_TERMS(T, Terms::kSingle)
HLO_COMPUTE_TYPES(HLO_COMPUTE_TYPE)
#undef HLO_COMPUTE_TYPE
HLO_TERMS(uint32_t, Terms::kPairs)
HLO_TERMS(float, Terms::kPairs)
HLO_TERMS(uint32_t, Terms::kQuads)
#if defined(HLO_AVX512_VECTORS)
HLO_TERMS(float, Terms::kAmx)
HLO_TERMS(uint32_t, Terms::kAmx)
#endif
#undef HLO_TERMS

}  // namespace hlo::cpu
