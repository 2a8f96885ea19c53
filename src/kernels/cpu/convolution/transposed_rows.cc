#include "kernels/cpu/convolution/transposed_rows.h"

#include "kernels/cpu/convolution/depthwise.h"
#include "kernels/cpu/elementwise/copy_array.h"
#include "kernels/cpu/memory/buffer_cache.h"

namespace hlo::cpu {
namespace {

int64_t InputCount(const ConvolutionLayout& c) { return c.batch * Product(c.input) * c.groups; }
int64_t OutputCount(const ConvolutionLayout& c) { return c.batch * Product(c.output) * c.outputs; }

// Sets the strides to those of a dense array in the order batch, features, spatial dimensions. Returns the
// dimensions of the copy to it.
CopyDims MakeRows(const Index& sizes, int64_t features, int64_t batch, Index* strides,
                  int64_t* feature_stride, int64_t* batch_stride) {
  CopyDims copy;
  int64_t count = 1;
  const auto add = [&](int64_t size, int64_t* stride) {
    copy.push_back({size, *stride, count});
    *stride = count;
    count *= size;
  };
  for (int64_t d = sizes.rank() - 1; d >= 0; --d) add(sizes[d], &(*strides)[d]);
  add(features, feature_stride);
  add(batch, batch_stride);
  return copy;
}

}  // namespace

bool TransposesRows(const ConvolutionLayout& c, int64_t lanes) {
  return 2 * c.groups < lanes && c.output[c.rank() - 1] >= lanes && c.taps() > 1 && DepthwiseRowFits(c);
}

int64_t TransposedRowsMemory(const ConvolutionLayout& c, int64_t element_size, int64_t width) {
  return InputCount(c) * element_size + OutputCount(c) * width;
}

template <class T>
void TransposedRows(const T* input, const T* kernel, const ConvolutionLayout& c, NarrowRow<T> narrow,
                    int64_t width, void* out) {
  ConvolutionLayout rows = c;
  const CopyDims to_rows = MakeRows(c.input, c.groups, c.batch, &rows.input_strides,
                                    &rows.input_feature_stride, &rows.input_batch_stride);
  CopyDims from_rows = MakeRows(c.output, c.outputs, c.batch, &rows.output_strides,
                                &rows.output_feature_stride, &rows.output_batch_stride);
  for (CopyDim& dim : from_rows) std::swap(dim.from_stride, dim.to_stride);
  CachedVector<T> copy(static_cast<size_t>(InputCount(c)));
  CachedVector<std::byte> result(static_cast<size_t>(OutputCount(c) * width));
  CopyInOrder(to_rows, sizeof(T), input, copy.data());
  DepthwiseRows<T>(copy.data(), kernel, rows, narrow, width, result.data());
  CopyInOrder(from_rows, width, result.data(), out);
}

#define HLO_REAL_TYPE(T) \
  template void TransposedRows<T>(const T*, const T*, const ConvolutionLayout&, NarrowRow<T>, int64_t, void*);
HLO_REAL_COMPUTE_TYPES(HLO_REAL_TYPE)
#undef HLO_REAL_TYPE

}  // namespace hlo::cpu
