#include "kernels/cpu/convolution/transposed_rows.h"

#include "kernels/cpu/convolution/dense_strides.h"
#include "kernels/cpu/convolution/depthwise.h"
#include "kernels/cpu/memory/buffer_cache.h"

namespace hlo::cpu {
namespace {

// Makes an array dense in the order batch, features, spatial dimensions. Returns the copy to it.
CopyDims MakeRows(const Index& sizes, Index* strides, const StridedDim& features, const StridedDim& batch) {
  StridedDims dims;
  for (int64_t d = sizes.rank() - 1; d >= 0; --d) dims.push_back({sizes[d], &(*strides)[d]});
  dims.push_back(features);
  dims.push_back(batch);
  return MakeDense(dims);
}

}  // namespace

bool TransposesRows(const ConvolutionLayout& c, int64_t lanes) {
  return 2 * c.groups < lanes && c.output[c.rank() - 1] >= lanes && c.taps() > 1 && DepthwiseRowFits(c);
}

int64_t TransposedRowsMemory(const ConvolutionLayout& c, int64_t element_size, int64_t width) {
  return c.input_count() * element_size + c.output_count() * width;
}

template <class T>
void TransposedRows(const T* input, const T* kernel, const ConvolutionLayout& c, NarrowRow<T> narrow,
                    int64_t width, void* out) {
  ConvolutionLayout rows = c;
  const CopyDims to_rows = MakeRows(c.input, &rows.input_strides, {c.groups, &rows.input_feature_stride},
                                    {c.batch, &rows.input_batch_stride});
  const CopyDims from_rows =
      Reversed(MakeRows(c.output, &rows.output_strides, {c.outputs, &rows.output_feature_stride},
                        {c.batch, &rows.output_batch_stride}));
  CachedVector<T> copy(static_cast<size_t>(c.input_count()));
  CachedVector<std::byte> result(static_cast<size_t>(c.output_count() * width));
  CopyInOrder(to_rows, sizeof(T), input, copy.data());
  DepthwiseRows<T>(copy.data(), kernel, rows, narrow, width, result.data());
  CopyInOrder(from_rows, width, result.data(), out);
}

#define HLO_REAL_TYPE(T) \
  template void TransposedRows<T>(const T*, const T*, const ConvolutionLayout&, NarrowRow<T>, int64_t, void*);
HLO_REAL_COMPUTE_TYPES(HLO_REAL_TYPE)
#undef HLO_REAL_TYPE

}  // namespace hlo::cpu
