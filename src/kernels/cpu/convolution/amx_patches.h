#pragma once
// This file packs the operands of a convolution into AMX tiles (amx.h): patches of the input, and the kernel.

#include <algorithm>
#include <utility>

#include "kernels/cpu/convolution/dense_strides.h"
#include "kernels/cpu/convolution/im2col.h"
#include "kernels/cpu/gemm/amx.h"
#include "kernels/cpu/gemm/bf16_pairs.h"
#include "kernels/cpu/memory/buffer_cache.h"

namespace hlo::cpu {

// Packs patches of an input whose features are contiguous.
template <class T, bool kIsFirst>
class AmxPatchSource final : public PanelSource<T, kAmxLines> {
 public:
  using Element = typename AmxTerms<T>::Element;
  // `input` points to the first element of the group's features.
  AmxPatchSource(const Element* input, const ConvolutionLayout& layout, absl::Span<const PatchDim> dims,
                 int scale)
      : patches_(input, layout, dims), k_count_(layout.taps() * layout.group_inputs), scale_(scale) {}

  void Pack(int64_t first, int64_t count, int64_t k_first, int64_t k_count, T* panel) const override {
    constexpr int64_t kPerWord = AmxTerms<T>::kPerWord, kMostWords = 128;  // The rows fit into the L1 cache.
    alignas(64) Element rows[kAmxLines * kMostWords * kPerWord];
    for (int64_t k = 0; k < k_count; k += kMostWords) {
      const int64_t words = std::min(kMostWords, k_count - k), ld = words * kPerWord;
      const int64_t begin = (k_first + k) * kPerWord, terms = std::min(ld, k_count_ - begin);
      patches_.CopyRows(first, count, begin, terms, rows, ld);
      AmxSource<T, kIsFirst>(rows, ld, 1, terms, scale_).Pack(0, count, 0, words, panel + k * kAmxLines);
    }
  }

 private:
  Patches<Element, kAmxLines> patches_;
  int64_t k_count_;
  int scale_;
};

// The operands of the products of a convolution.
template <class T>
class AmxOperands {
 public:
  using Element = typename AmxTerms<T>::Element;
  static constexpr Terms kTerms = Terms::kAmx;

  // The features of the input are contiguous. Copies the kernel to the order of patches, if it is in another
  // one. The scales are those of the kernel and the input.
  AmxOperands(const Element* input, const Element* kernel, BF16Scales scales, const ConvolutionLayout& layout)
      : input_(input), kernel_(kernel + layout.window_origin), scales_(scales) {
    ConvolutionLayout c = layout;
    StridedDims dims = {{c.outputs, &c.kernel_output_stride}, {c.group_inputs, &c.kernel_input_stride}};
    for (int64_t d = c.rank() - 1; d >= 0; --d) dims.push_back({c.window[d], &c.window_strides[d]});
    CopyDims order = MakeDense(dims);
    if (KeepsOrder(order)) return;
    copy_.resize(c.taps() * c.group_inputs * c.outputs * sizeof(Element));
    CopyInOrder(std::move(order), sizeof(Element), kernel_, copy_.data());
    kernel_ = reinterpret_cast<const Element*>(copy_.data());
  }

  // Multiplies patches with the kernel of a group. `offset` is that of the group's first element in the
  // input.
  void PatchesFirst(int64_t offset, const ConvolutionLayout& c, absl::Span<const PatchDim> dims,
                    int64_t count, int64_t group, ProductSink<T> sink) const {
    sink.scale = scales_.a + scales_.b;
    MultiplyPanels<T, Terms::kAmx>(count, c.group_outputs, Words(c),
                                   AmxPatchSource<T, true>(input_ + offset, c, dims, scales_.b),
                                   Kernel<false>(c, group), sink);
  }
  void KernelFirst(int64_t offset, const ConvolutionLayout& c, absl::Span<const PatchDim> dims, int64_t count,
                   int64_t group, ProductSink<T> sink) const {
    sink.scale = scales_.a + scales_.b;
    MultiplyPanels<T, Terms::kAmx>(c.group_outputs, count, Words(c), Kernel<true>(c, group),
                                   AmxPatchSource<T, false>(input_ + offset, c, dims, scales_.b), sink);
  }

 private:
  static int64_t Words(const ConvolutionLayout& c) { return AmxWords<T>(c.taps() * c.group_inputs); }
  template <bool kIsFirst>
  AmxSource<T, kIsFirst> Kernel(const ConvolutionLayout& c, int64_t group) const {
    return {kernel_ + group * c.group_outputs, 1, c.outputs, c.taps() * c.group_inputs, scales_.a};
  }

  const Element *input_, *kernel_;  // The kernel is in the order of patches.
  BF16Scales scales_;
  CachedVector<std::byte> copy_;  // The kernel, if it is copied.
};

}  // namespace hlo::cpu
