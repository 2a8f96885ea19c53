#include "kernels/cpu/convolution/in_place_kernels.h"

#include <array>
#include <utility>

namespace hlo::cpu {
namespace {

template <int kRows, int kVectors, bool kIsWhole>
void SumTile(const RunOperands& operands) {
  Tile<float> tile = operands.tile;
  const float *first_a = tile.a, *first_b = tile.b;
  const bool kernel_is_a = operands.kernel_is_a;
  Vector<float> sums[kRows][kVectors] = {};
  for (const Offsets& run : operands.runs) {
    tile.a = first_a + (kernel_is_a ? run.kernel : run.input);
    const float* b = first_b + (kernel_is_a ? run.input : run.kernel);
    RowCursor<float, kRows, true> a(tile);
    AddTerms<float, Terms::kSingle, kRows, kVectors, kIsWhole>(tile.k_count, a, b, tile, sums);
  }
#pragma GCC unroll 32
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) StoreColumns<float, kVectors, kIsWhole>(tile, i, v, sums[i][v]);
  }
}

using TileKernel = void (*)(const RunOperands&);

template <int kVectors, bool kIsWhole, int... kRows>
constexpr std::array<TileKernel, sizeof...(kRows)> TileKernels(std::integer_sequence<int, kRows...>) {
  return {SumTile<kRows + 1, kVectors, kIsWhole>...};
}

template <int kVectors>
TileKernel FindKernel(int64_t rows, bool is_whole) {
  constexpr auto kSequence = std::make_integer_sequence<int, MaxRows(kVectors)>();
  static constexpr auto kWhole = TileKernels<kVectors, true>(kSequence),
                        kPartial = TileKernels<kVectors, false>(kSequence);
  return (is_whole ? kWhole : kPartial)[static_cast<size_t>(rows - 1)];
}

}  // namespace

void SumRuns(const RunOperands& operands, int64_t rows, int64_t vectors) {
  const bool is_whole = operands.tile.last == kLanes<float>;
  (vectors == 1 ? FindKernel<1>(rows, is_whole) : FindKernel<2>(rows, is_whole))(operands);
}

}  // namespace hlo::cpu
