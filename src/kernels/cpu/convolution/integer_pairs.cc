#include "kernels/cpu/convolution/integer_pairs.h"

#include <algorithm>
#include <cstring>

#include "base/arithmetic.h"
#include "base/parallel.h"
#include "kernels/cpu/memory/buffer_cache.h"
#include "kernels/cpu/memory/row_walk.h"
#include "types/index.h"

namespace hlo::cpu {
namespace {

bool FitsHalf(ElementType type) {
  return type == ElementType::kS8 || type == ElementType::kU8 || type == ElementType::kS16;
}

// Calls `visit` with a null pointer to the elements' type.
template <class Visit>
void DispatchHalf(ElementType type, Visit&& visit) {
  if (type == ElementType::kS8) return visit(static_cast<const int8_t*>(nullptr));
  if (type == ElementType::kU8) return visit(static_cast<const uint8_t*>(nullptr));
  visit(static_cast<const int16_t*>(nullptr));
}

// Returns the elements as halves, so that neighbours form pairs.
CachedVector<uint32_t> PairsOf(const DenseArray& array) {
  const int64_t count = Product(array.dims);
  CachedVector<uint32_t> pairs(static_cast<size_t>(CeilDiv<int64_t>(count, 2)));
  auto* to = reinterpret_cast<int16_t*>(pairs.data());
  DispatchHalf(array.type, [&]<class T>(const T*) {
    const T* from = static_cast<const T*>(array.data);
    constexpr int64_t kChunk = 16384;
    ParallelFor(CeilDiv(count, kChunk), static_cast<double>(count) * 0.1, [&](int64_t chunk) {
      std::copy(from + chunk * kChunk, from + std::min(count, (chunk + 1) * kChunk), to + chunk * kChunk);
    });
  });
  return pairs;
}

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
  CachedVector<uint32_t> pairs(static_cast<size_t>(c.taps() * (c.group_inputs / 2) * c.outputs));
  DispatchHalf(kernel.type, [&]<class T>(const T*) {
    const T* first = static_cast<const T*>(kernel.data) + c.window_origin;
    uint32_t* to = pairs.data();
    for (int64_t tap = 0; tap < c.taps(); ++tap) {
      int64_t at = 0;
      EachDigit(tap, c.window, [&](int64_t d, int64_t i) { at += i * c.window_strides[d]; });
      for (int64_t k = 0; k < c.group_inputs; k += 2) {
        const T *low = first + at + k * c.kernel_input_stride, *high = low + c.kernel_input_stride;
        for (int64_t o = 0; o < c.outputs; ++o) {
          const int64_t place = o * c.kernel_output_stride;
          const int16_t pair[] = {low[place], high[place]};
          std::memcpy(to++, pair, sizeof pair);
        }
      }
    }
  });
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
  if (!FitsHalf(input.type) || !FitsHalf(kernel.type) || layout.groups != 1 ||
      layout.input_feature_stride != 1 || !AreEven(layout))
    return std::nullopt;
  std::optional<InPlaceConvolution> in_place =
      InPlaceConvolution::Make(PairLayout(layout), ElementType::kU32, Terms::kPairs);
  if (!in_place.has_value()) return std::nullopt;
  return IntegerPairConvolution(layout, input, kernel, *std::move(in_place));
}

int64_t IntegerPairConvolution::Memory(int64_t width, bool keeps_result) const {
  const int64_t elements = Product(input_.dims) + layout_.taps() * layout_.group_inputs * layout_.outputs;
  return elements * static_cast<int64_t>(sizeof(int16_t)) + in_place_.Memory(width, keeps_result);
}

void IntegerPairConvolution::Run(const RoundedResult<uint32_t>& result) const {
  const CachedVector<uint32_t> input = PairsOf(input_), kernel = KernelPairs(layout_, kernel_);
  in_place_.Run<uint32_t>(input.data(), kernel.data(), result);
}

}  // namespace hlo::cpu
