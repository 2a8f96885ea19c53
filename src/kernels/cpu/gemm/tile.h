#pragma once
// This file defines the parts of micro-kernels: a tile of the result, whose sums are kept in registers.

#include <cstdint>
#include <cstring>

#include "base/arithmetic.h"
#include "kernels/cpu/gemm/gemm_kernels.h"

namespace hlo::cpu {

template <class T, Terms kTerms>
[[gnu::always_inline]] inline Vector<T> MultiplyAdd(Vector<T> sum, Vector<T> a, Vector<T> b) {
  if constexpr (kTerms == Terms::kPairs)
    return AddPairProducts(sum, a, b);
  else if constexpr (kTerms == Terms::kQuads)
    return AddQuadProducts(sum, a, b);
  else
    return sum + a * b;
}

// Broadcasts a term to all lanes. Packed terms are copied as bits, because they are not a number.
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

// The extra row of kQuads accumulates 128 * b, the contribution of the bias to every other row.
template <Terms kTerms>
inline constexpr int kMoreRows = kTerms == Terms::kQuads ? 1 : 0;

// The operands and the result of a micro-kernel.
template <class T>
struct Tile {
  int64_t k_count;
  const T* a;
  int64_t a_stride, a_k_stride;  // Unused if a is packed.
  const T* b;
  int64_t b_k_stride;
  T* c;
  int64_t ld;
  bool add;
  int last, loaded;  // The number of columns in the last vector, and of those that may be loaded from b.
};

// A position in the rows of a, whose addresses are computed from few registers.
template <class T, int kRows, bool kInPlace>
struct RowCursor {
  static constexpr int kGroup = kInPlace ? 4 : kRows;
  explicit RowCursor(const Tile<T>& tile)
      : stride(kInPlace ? tile.a_stride : 1), k_stride(kInPlace ? tile.a_k_stride : kPanelRows<T>) {
    for (int g = 0; g * kGroup < kRows; ++g) group[g] = tile.a + g * kGroup * stride;
  }
  [[gnu::always_inline]] const T* Row(int i) const { return group[i / kGroup] + i % kGroup * stride; }
  [[gnu::always_inline]] void Advance() {
#pragma GCC unroll 8
    for (const T*& first : group) first += k_stride;
  }

  const T* group[CeilDiv(kRows, kGroup)];
  int64_t stride, k_stride;
};

// Loads and stores the columns of one row of a tile.
template <class T, int kVectors, bool kIsWhole>
[[gnu::always_inline]] inline Vector<T> LoadColumns(const T* row, int v, int last) {
  const T* from = row + v * kLanes<T>;
  if (kIsWhole || v + 1 < kVectors || (!kHasMasks && last == kLanes<T>)) return LoadVector(from);
  return LoadFirst(from, last);
}
template <class T, int kVectors, bool kIsWhole>
[[gnu::always_inline]] inline void StoreColumns(const Tile<T>& tile, int row, int v, Vector<T> sum) {
  T* to = tile.c + row * tile.ld + v * kLanes<T>;
  if (tile.add) sum += LoadColumns<T, kVectors, kIsWhole>(to - v * kLanes<T>, v, tile.last);
  if (kIsWhole || v + 1 < kVectors)
    StoreVector(to, sum);
  else
    StoreFirst(to, sum, tile.last);
}

// Adds a[k, i] * b[k, j] to the sums for k_count terms, and advances the operands past these terms.
template <class T, Terms kTerms, int kRows, int kVectors, bool kIsWhole, class Cursor>
[[gnu::always_inline]] inline void AddTerms(int64_t k_count, Cursor& a, const T*& b, const Tile<T>& tile,
                                            Vector<T> (&sums)[kRows][kVectors]) {
  constexpr int kOwn = kRows - kMoreRows<kTerms>;
  const int64_t step = tile.b_k_stride;
  const int last = tile.loaded;
#pragma GCC unroll 4
  for (int64_t k = 0; k < k_count; ++k) {
    Vector<T> row[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) row[v] = LoadColumns<T, kVectors, kIsWhole>(b, v, last);
#pragma GCC unroll 32
    for (int i = 0; i < kRows; ++i) {
      const Vector<T> factor =
          i < kOwn ? BroadcastTerm<T, kTerms>(a.Row(i)) : BitsOf<Vector<T>>(Broadcast(0x80808080u));
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sums[i][v] = MultiplyAdd<T, kTerms>(sums[i][v], factor, row[v]);
    }
    a.Advance();
    b += step;
  }
}

}  // namespace hlo::cpu
