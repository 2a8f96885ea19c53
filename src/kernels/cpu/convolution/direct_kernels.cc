#include "kernels/cpu/convolution/direct_kernels.h"

#include <array>
#include <utility>

namespace hlo::cpu {
namespace {

template <class T, Terms kTerms, int kRows, int kVectors, bool kIsWhole>
void SumTile(const RunOperands<T>& operands) {
  Tile<T> tile = operands.tile;
  const T *first_a = tile.a, *first_b = tile.b;
  const bool kernel_is_a = operands.kernel_is_a;
  Vector<T> sums[kRows][kVectors] = {};
  for (const Offsets& run : operands.runs) {
    tile.a = first_a + (kernel_is_a ? run.kernel : run.input);
    const T* b = first_b + (kernel_is_a ? run.input : run.kernel);
    RowCursor<T, kRows, true> a(tile);
    AddTerms<T, kTerms, kRows, kVectors, kIsWhole>(tile.k_count, a, b, tile, sums);
  }
#pragma GCC unroll 32
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) StoreColumns<T, kVectors, kIsWhole>(tile, i, v, sums[i][v]);
  }
}

template <class T>
using TileKernel = void (*)(const RunOperands<T>&);

template <class T, Terms kTerms, int kVectors, bool kIsWhole, int... kRows>
constexpr std::array<TileKernel<T>, sizeof...(kRows)> TileKernels(std::integer_sequence<int, kRows...>) {
  return {SumTile<T, kTerms, kRows + 1, kVectors, kIsWhole>...};
}

template <class T, Terms kTerms, int kVectors>
TileKernel<T> FindKernel(int64_t rows, bool is_whole) {
  constexpr auto kSequence = std::make_integer_sequence<int, MaxRows(kVectors)>();
  static constexpr auto kWhole = TileKernels<T, kTerms, kVectors, true>(kSequence),
                        kPartial = TileKernels<T, kTerms, kVectors, false>(kSequence);
  return (is_whole ? kWhole : kPartial)[static_cast<size_t>(rows - 1)];
}

template <class T, Terms kTerms>
TileKernel<T> FindKernel(int64_t rows, int64_t vectors, bool is_whole) {
  if (vectors == 1) return FindKernel<T, kTerms, 1>(rows, is_whole);
  if (vectors == 2) return FindKernel<T, kTerms, 2>(rows, is_whole);
  if constexpr (kMaxVectorsOfFewRows > 4) {
    if (vectors == 8) return FindKernel<T, kTerms, 8>(rows, is_whole);
  }
  return FindKernel<T, kTerms, 4>(rows, is_whole);
}

}  // namespace

template <class T>
void SumRuns(const RunOperands<T>& operands, int64_t rows, int64_t vectors) {
  const bool is_whole = operands.tile.last == kLanes<T>;
  if constexpr (std::is_same_v<T, uint32_t>) {
    if (operands.terms == Terms::kPairs)
      return FindKernel<T, Terms::kPairs>(rows, vectors, is_whole)(operands);
  }
  FindKernel<T, Terms::kSingle>(rows, vectors, is_whole)(operands);
}

template void SumRuns<float>(const RunOperands<float>&, int64_t, int64_t);
template void SumRuns<double>(const RunOperands<double>&, int64_t, int64_t);
template void SumRuns<uint32_t>(const RunOperands<uint32_t>&, int64_t, int64_t);

}  // namespace hlo::cpu
