#include "kernels/cpu/convolution/integer_pairs.h"

#include <algorithm>

#include "kernels/cpu/convolution/widened.h"
#include "kernels/cpu/gemm/gemm_core.h"
#include "kernels/cpu/memory/buffer_cache.h"
#include "kernels/cpu/memory/row_walk.h"
#include "kernels/cpu/simd/widen.h"
#include "types/index.h"

namespace hlo::cpu {
namespace {

// The dense kernel of pairs has the dimensions of the window, then pairs of input features, then outputs.
ConvolutionLayout PairLayout(ConvolutionLayout c) {
  c.group_inputs /= 2;
  for (int64_t d = 0; d < c.rank(); ++d) c.input_strides[d] /= 2;
  c.input_batch_stride /= 2;
  c.input_group_stride /= 2;
  c.kernel_output_stride = 1;
  c.kernel_input_stride = c.outputs;
  c.window_origin = 0;
  int64_t stride = c.outputs * c.group_inputs;
  for (int64_t d = c.rank() - 1; d >= 0; --d) {
    c.window_strides[d] = stride;
    stride *= c.window[d];
  }
  return c;
}

CachedVector<uint32_t> KernelPairs(const ConvolutionLayout& c, const DenseArray& kernel) {
  const WidenBlock<int16_t> widen = WidenBlockOf<int16_t>(kernel.type);
  CachedVector<int16_t> halves(static_cast<size_t>(c.group_inputs * c.outputs));
  CachedVector<uint32_t> pairs(static_cast<size_t>(c.taps() * (c.group_inputs / 2) * c.outputs));
  uint32_t* to = pairs.data();
  for (int64_t tap = 0; tap < c.taps(); ++tap) {
    int64_t at = c.window_origin;
    EachDigit(tap, c.window, [&](int64_t d, int64_t i) { at += i * c.window_strides[d]; });
    widen(static_cast<const std::byte*>(kernel.data) + at * ByteCount(kernel.type), c.kernel_input_stride,
          c.kernel_output_stride, c.group_inputs, c.outputs, halves.data(), c.outputs);
    for (int64_t k = 0; k < c.group_inputs; k += 2) {
      const int16_t *lower = halves.data() + k * c.outputs, *upper = lower + c.outputs;
      for (int64_t o = 0; o < c.outputs; ++o)
        *to++ = static_cast<uint16_t>(lower[o]) | static_cast<uint32_t>(upper[o]) << 16;
    }
  }
  return pairs;
}

bool AreEven(const ConvolutionLayout& c) {
  return std::all_of(c.input_strides.begin(), c.input_strides.end(), [](int64_t s) { return s % 2 == 0; }) &&
         c.group_inputs % 2 == 0 && c.input_batch_stride % 2 == 0;
}

}  // namespace

std::optional<IntegerPairConvolution> IntegerPairConvolution::Make(const ConvolutionLayout& layout,
                                                                   const DenseArray& input,
                                                                   const DenseArray& kernel) {
  if (!FitsPairs(input.type) || !FitsPairs(kernel.type) || layout.groups != 1 ||
      layout.input_feature_stride != 1 || !AreEven(layout))
    return std::nullopt;
  std::optional<DirectConvolution> direct =
      DirectConvolution::Make(PairLayout(layout), ElementType::kU32, Terms::kPairs);
  if (!direct.has_value()) return std::nullopt;
  return IntegerPairConvolution(layout, input, kernel, *std::move(direct));
}

int64_t IntegerPairConvolution::Memory(int64_t width, bool keeps_result) const {
  const int64_t elements =
      Product(input_.dims) + (layout_.taps() + 1) * layout_.group_inputs * layout_.outputs;
  return elements * static_cast<int64_t>(sizeof(int16_t)) + direct_.Memory(width, keeps_result);
}

void IntegerPairConvolution::Run(const RoundedResult<uint32_t>& result) const {
  const Widened<int16_t> halves(input_);  // Neighbours form pairs.
  const CachedVector<uint32_t> kernel = KernelPairs(layout_, kernel_);
  direct_.Run<uint32_t>(reinterpret_cast<const uint32_t*>(halves.data()), kernel.data(), result);
}

}  // namespace hlo::cpu
