#pragma once
// This file declares matrix products by AMX, the matrix extension of x86-64. A tile of AMX has 16 rows of 16
// words. A word holds two bf16 terms or four s8 terms that are consecutive along the contracted dimension.
//
// A panel has kAmxLines lines, which are rows of the first operand or columns of the second. It is a sequence
// of steps of 16 words along the contracted dimension. A step consists of two tiles, the first one for lines
// 0 to 15. Row r of a tile of the first operand contains the words of line r; row r of a tile of the second
// operand contains word r of all 16 lines.

#include "base/arithmetic.h"
#include "kernels/cpu/gemm/gemm_core.h"
#include "kernels/cpu/gemm/gemm_kernels.h"

namespace hlo::cpu {

// True if the target has the vectors that the packing of tiles needs.
#if defined(HLO_AVX512_VECTORS) && defined(__x86_64__)
inline constexpr bool kPacksAmxTiles = true;
#else
inline constexpr bool kPacksAmxTiles = false;
#endif

// Returns true if the processor has AMX and the operating system lets this process use it.
bool HasAmx();

// The rows of a tile, and its words per row.
inline constexpr int kAmxTileSide = 16;

// The terms of a word, whose type T is also the type of the sums.
template <class T>
struct AmxTerms;
template <>
struct AmxTerms<float> {
  using Element = bfloat16;
  static constexpr int kPerWord = 2;
};
template <>
struct AmxTerms<uint32_t> {
  using Element = uint8_t;  // The bits of s8.
  static constexpr int kPerWord = 4;
};
// The number of terms in a step.
template <class T>
inline constexpr int64_t kAmxStep = int64_t{kAmxTileSide} * AmxTerms<T>::kPerWord;

// Returns the number of words in a line of `k` terms, which is a whole number of steps.
template <class T>
constexpr int64_t AmxWords(int64_t k) {
  return CeilDiv(k, kAmxStep<T>) * kAmxTileSide;
}

// Returns true if AMX is available and faster than vectors for m rows and sums of k terms. Packing the other
// operand pays off from a tile of rows on, and short steps waste most of a tile.
template <class T>
bool PrefersAmx(int64_t m, int64_t k) {
  return m >= kAmxTileSide && k >= kAmxStep<T> && HasAmx();
}

// Packs one operand of a product for MultiplyPanels<T, Terms::kAmx>, whose third size is
// AmxWords<T>(k_count).
template <class T, bool kIsFirst>
class AmxSource final : public PanelSource<T, kAmxLines> {
 public:
  using Element = typename AmxTerms<T>::Element;
  // Element (i, k) is 2^scale * data[i * stride + k * k_stride]. Terms from index k_count on are 0. The scale
  // is 0 for s8; for bf16, it is less than 128, and scaled elements are normal numbers.
  AmxSource(const void* data, int64_t stride, int64_t k_stride, int64_t k_count, int scale = 0)
      : data_(static_cast<const Element*>(data)),
        stride_(stride),
        k_stride_(k_stride),
        k_count_(k_count),
        scale_(scale) {}
  // The positions k_first and k_count are whole steps. A tile without lines is not written.
  void Pack(int64_t first, int64_t count, int64_t k_first, int64_t k_count, T* panel) const override {
    PackPanels(first, count, k_first, k_count, panel);
  }
  void PackPanels(int64_t first, int64_t count, int64_t k_first, int64_t k_count, T* panels) const override;
  int64_t bunch() const override { return 8; }  // Rows of columns are read in long pieces.

 private:
  void PackTile(int64_t first, int64_t lines, int64_t term, T* tile) const;

  const Element* data_;
  int64_t stride_, k_stride_, k_count_;
  int scale_;
};

// The macro-kernel for panels of tiles: stores the product in to[i * ld + j], or adds it if `add`. Leaves
// this thread's tiles configured.
template <class T>
void MultiplyAmxPanels(const PanelProduct<T>& product, T* to, int64_t ld, bool add);

// Releases this thread's tiles, if they are configured. A thread that also runs foreign code calls this after
// each product, because such code may configure tiles, too.
void ReleaseAmxTiles();

}  // namespace hlo::cpu
