#include "kernels/cpu/gemm/amx.h"

#include "kernels/cpu/simd/simd.h"

#if defined(HLO_AVX512_VECTORS) && defined(__x86_64__)

#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "base/isa_select.h"

// Marks functions that use tiles. Other functions must run on processors without AMX.
#define HLO_USES_AMX [[gnu::target("amx-tile,amx-bf16,amx-int8")]]

namespace hlo::cpu {
namespace {

// Asks Linux for the state of the tiles, which processes do not have by default.
bool RequestTiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

// --- Packing

constexpr int64_t kTileWords = int64_t{kAmxTileSide} * kAmxTileSide;

// Zero-extends one element of each of 16 lines, which are consecutive in memory.
[[gnu::always_inline]] inline Vector<uint32_t> LoadWidened(const bfloat16* from) { return LoadHalves(from); }
[[gnu::always_inline]] inline Vector<uint32_t> LoadWidened(const uint8_t* from) {
  return BitsOf<Vector<uint32_t>>(LoadBytes(from));
}

// Loads one word of each of 16 lines, which are consecutive in memory.
template <class T>
[[gnu::always_inline]] inline Vector<uint32_t> LoadWords(const typename AmxTerms<T>::Element* from,
                                                         int64_t k_stride) {
  constexpr int kPerWord = AmxTerms<T>::kPerWord;
  Vector<uint32_t> words{};
#pragma GCC unroll 4
  for (int t = 0; t < kPerWord; ++t) {
    const auto* line = from + t * k_stride;
    __builtin_prefetch(line + kAmxStep<T> * k_stride);  // The next step, whose lines are far apart in memory.
    words |= LoadWidened(line) << (t * 32 / kPerWord);
  }
  return words;
}

// Multiplies the two bf16 numbers of each word by a power of two. Scaled numbers are normal or zero.
[[gnu::always_inline]] inline Vector<uint32_t> Scaled(Vector<uint32_t> words, Vector<float> factor) {
  const auto scaled = [&](Vector<uint32_t> v) {
    return BitsOf<Vector<uint32_t>>(BitsOf<Vector<float>>(v) * factor);
  };
  return scaled(words << 16) >> 16 | scaled(words & 0xffff0000u);
}

// Copies a matrix of lines to rows that are `ld` elements apart.
template <class Element>
void CopyLines(const Element* from, int64_t stride, int64_t k_stride, int64_t lines, int64_t terms,
               Element* to, int64_t ld) {
  for (int64_t i = 0; i < lines; ++i, from += stride, to += ld) {
    if (k_stride == 1) {
      std::copy_n(from, terms, to);
    } else {
      for (int64_t k = 0; k < terms; ++k) to[k] = from[k * k_stride];
    }
  }
}

}  // namespace

bool HasAmx() {
  static const bool has_amx = isa::HasFeature("amx-tile") && isa::HasFeature("amx-bf16") &&
                              isa::HasFeature("amx-int8") && RequestTiles();
  return has_amx;
}

template <class T, bool kIsFirst>
void AmxSource<T, kIsFirst>::PackTile(int64_t first, int64_t lines, int64_t term, T* tile) const {
  const Element* from = data_ + first * stride_ + term * k_stride_;
  int64_t stride = stride_, k_stride = k_stride_;
  const int64_t terms = std::min(kAmxStep<T>, k_count_ - term);
  alignas(64) Element copy[kAmxTileSide * kAmxStep<T>];
  if (lines < kAmxTileSide || terms < kAmxStep<T> || (stride != 1 && k_stride != 1)) {
    std::fill_n(copy, kAmxTileSide * kAmxStep<T>, Element{});
    CopyLines(from, stride, k_stride, lines, terms, copy, kAmxStep<T>);
    from = copy;
    stride = kAmxStep<T>;
    k_stride = 1;
  }
  Vector<uint32_t> rows[kAmxTileSide];
  const bool has_rows = k_stride == 1;
  if (has_rows) {
#pragma GCC unroll 16
    for (int i = 0; i < kAmxTileSide; ++i) std::memcpy(&rows[i], from + i * stride, sizeof rows[i]);
  } else {
#pragma GCC unroll 16
    for (int i = 0; i < kAmxTileSide; ++i)
      rows[i] = LoadWords<T>(from + i * AmxTerms<T>::kPerWord * k_stride, k_stride);
  }
  if (std::is_same_v<Element, bfloat16> && scale_ != 0) {
    const auto factor = Vector<float>{} + std::ldexp(1.0f, scale_);
    for (Vector<uint32_t>& row : rows) row = Scaled(row, factor);
  }
  if (has_rows != kIsFirst) Transpose<uint32_t>(rows);
  std::memcpy(tile, rows, sizeof rows);
}

template <class T, bool kIsFirst>
void AmxSource<T, kIsFirst>::PackPanels(int64_t first, int64_t count, int64_t k_first, int64_t k_count,
                                        T* panels) const {
  for (int64_t k = 0; k < k_count; k += kAmxTileSide) {
    for (int64_t line = 0; line < count; line += kAmxTileSide) {
      const int64_t panel = line / kAmxLines, half = line % kAmxLines / kAmxTileSide;
      T* tile = panels + panel * kAmxLines * k_count + k * kAmxLines + half * kTileWords;
      PackTile(first + line, std::min<int64_t>(kAmxTileSide, count - line),
               (k_first + k) * AmxTerms<T>::kPerWord, tile);
    }
  }
}

// --- Multiplication

namespace {

// The operand of the instruction that configures tiles; its layout is that of the architecture.
struct alignas(64) TileConfiguration {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

thread_local bool t_has_configured_tiles = false;

// Loading a configuration waits until the stores of earlier blocks are done, so it happens once per product.
HLO_USES_AMX void ConfigureTiles() {
  static constexpr TileConfiguration kEightWholeTiles;
  if (t_has_configured_tiles) return;
  _tile_loadconfig(&kEightWholeTiles);
  t_has_configured_tiles = true;
}

// Adds the products of tiles 4 and 5, which hold rows, and of tiles 6 and 7, which hold columns, to tiles 0
// to 3.
template <class T, int kTall, int kWide>
HLO_USES_AMX [[gnu::always_inline]] inline void AddTileProducts() {
  if constexpr (std::is_same_v<T, float>) {
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (kWide == 2) _tile_dpbf16ps(1, 4, 7);
    if constexpr (kTall == 2) _tile_dpbf16ps(2, 5, 6);
    if constexpr (kTall == 2 && kWide == 2) _tile_dpbf16ps(3, 5, 7);
  } else {
    _tile_dpbssd(0, 4, 6);
    if constexpr (kWide == 2) _tile_dpbssd(1, 4, 7);
    if constexpr (kTall == 2) _tile_dpbssd(2, 5, 6);
    if constexpr (kTall == 2 && kWide == 2) _tile_dpbssd(3, 5, 7);
  }
}

// The micro-kernel: stores kTall x kWide tiles of the product at c, or adds them. Rows are `ld` bytes apart.
template <class T, int kTall, int kWide>
HLO_USES_AMX void TileKernel(const T* a, const T* b, int64_t steps, T* c, int64_t ld, bool add) {
  constexpr int64_t kRow = kAmxTileSide * sizeof(T);
  T* const lower = c + kAmxTileSide * ld / static_cast<int64_t>(sizeof(T));
  if (add) {
    _tile_loadd(0, c, ld);
    if constexpr (kWide == 2) _tile_loadd(1, c + kAmxTileSide, ld);
    if constexpr (kTall == 2) _tile_loadd(2, lower, ld);
    if constexpr (kTall == 2 && kWide == 2) _tile_loadd(3, lower + kAmxTileSide, ld);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  for (int64_t s = 0; s < steps; ++s, a += 2 * kTileWords, b += 2 * kTileWords) {
    _tile_loadd(4, a, kRow);
    if constexpr (kTall == 2) _tile_loadd(5, a + kTileWords, kRow);
    _tile_loadd(6, b, kRow);
    if constexpr (kWide == 2) _tile_loadd(7, b + kTileWords, kRow);
    AddTileProducts<T, kTall, kWide>();
  }
  _tile_stored(0, c, ld);
  if constexpr (kWide == 2) _tile_stored(1, c + kAmxTileSide, ld);
  if constexpr (kTall == 2) _tile_stored(2, lower, ld);
  if constexpr (kTall == 2 && kWide == 2) _tile_stored(3, lower + kAmxTileSide, ld);
}

// Stores or adds the first rows and columns of a block whose rows are kAmxLines words apart.
template <class T>
void StoreEdge(const T* block, int64_t rows, int64_t columns, T* to, int64_t ld, bool add) {
  for (int64_t i = 0; i < rows; ++i, block += kAmxLines, to += ld) {
    for (int64_t j = 0; j < columns; j += kLanes<T>) {
      const auto n = static_cast<int>(std::min<int64_t>(kLanes<T>, columns - j));
      Vector<T> sum = LoadVector(block + j);
      if (add) sum += LoadFirst(to + j, n);
      StoreFirst(to + j, sum, n);
    }
  }
}

}  // namespace

template <class T>
void MultiplyAmxPanels(const PanelProduct<T>& p, T* to, int64_t ld, bool add) {
  using Kernel = void (*)(const T*, const T*, int64_t, T*, int64_t, bool);
  constexpr Kernel kKernels[2][2] = {{TileKernel<T, 1, 1>, TileKernel<T, 1, 2>},
                                     {TileKernel<T, 2, 1>, TileKernel<T, 2, 2>}};
  const int64_t steps = p.k_count / kAmxTileSide;
  alignas(64) T edge[kAmxLines * kAmxLines];
  ConfigureTiles();
  for (int64_t j = 0; j < p.columns; j += kAmxLines) {
    const T* b = p.b.data + j / kAmxLines * p.b.panel_stride;
    const int64_t columns = std::min<int64_t>(kAmxLines, p.columns - j);
    for (int64_t i = 0; i < p.rows; i += kAmxLines) {
      const T* a = p.a.data + i / kAmxLines * p.a.panel_stride;
      const int64_t rows = std::min<int64_t>(kAmxLines, p.rows - i);
      T* c = to + i * ld + j;
      const Kernel kernel = kKernels[rows > kAmxTileSide ? 1 : 0][columns > kAmxTileSide ? 1 : 0];
      if (rows % kAmxTileSide == 0 && columns % kAmxTileSide == 0) {
        kernel(a, b, steps, c, ld * static_cast<int64_t>(sizeof(T)), add);
      } else {
        kernel(a, b, steps, edge, kAmxLines * sizeof(T), false);
        StoreEdge(edge, rows, columns, c, ld, add);
      }
    }
  }
}

HLO_USES_AMX void ReleaseAmxTiles() {
  if (!t_has_configured_tiles) return;
  _tile_release();
  t_has_configured_tiles = false;
}

#define HLO_AMX(T)                    \
  template class AmxSource<T, true>;  \
  template class AmxSource<T, false>; \
  template void MultiplyAmxPanels<T>(const PanelProduct<T>&, T*, int64_t, bool);
HLO_AMX(float)
HLO_AMX(uint32_t)
#undef HLO_AMX

}  // namespace hlo::cpu

#else

namespace hlo::cpu {
bool HasAmx() { return false; }
void ReleaseAmxTiles() {}
}  // namespace hlo::cpu

#endif
