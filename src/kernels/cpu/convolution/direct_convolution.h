#pragma once
// This file implements direct convolution, without im2col, for convolutions whose patches would be packed for
// few products each. Micro-kernels read the kernel and the input in place, or copies of them with padding
// along one dimension. Base dilations are split into phases, which skip the zeros between elements.

#include <optional>
#include <type_traits>

#include "kernels/cpu/convolution/convolution.h"
#include "kernels/cpu/convolution/direct_mapping.h"

namespace hlo::cpu {

// The result of a convolution, whose sums `narrow` rounds to elements of `width` bytes.
template <class T>
struct RoundedResult {
  void* data = nullptr;  // If it is nullptr, only the epilogue sees the result.
  int64_t width = 0;
  NarrowRow<T> narrow = nullptr;
  BlockFunction epilogue = {};
};

// A direct convolution, as the phases of its base dilations; without base dilation there is one.
class DirectConvolution {
 public:
  // The types of sums.
  template <class T>
  static constexpr bool kSupports =
      std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, uint32_t>;

  // Returns nullopt if the layout or the type of the sums is not supported, or if a product of packed panels
  // is faster. With Terms::kPairs, the elements of u32 are pairs of signed halves.
  static std::optional<DirectConvolution> Make(const ConvolutionLayout& c, ElementType type,
                                               Terms terms = Terms::kSingle);

  // Returns the rows of the blocks that the epilogue gets; zeros if an epilogue is not supported.
  ProductRows rows() const;
  bool SupportsEpilogue() const { return rows().columns > 0; }
  // Returns an upper bound for the bytes that are allocated for results of `width` bytes.
  int64_t Memory(int64_t width, bool keeps_result) const;
  // Convolves with a finite kernel. Sums have type T (float, double or uint32_t, as in Make), and the order
  // of their terms depends on the sizes alone. The result is stored unless an epilogue is supported.
  template <class T>
  void Run(const T* input, const T* kernel, const RoundedResult<T>& result) const;

 private:
  CachedVector<Phase> phases_;
  int64_t element_size_ = 0;   // Bytes of a sum.
  int64_t count_ = 0;          // Elements of the result.
  bool is_one_phase_ = false;  // One phase has all outputs.
};

}  // namespace hlo::cpu
