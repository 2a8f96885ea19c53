#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_segmented_reduce.cuh>
#include <cub/device/device_segmented_sort.cuh>

#include "cub_calls.h"

namespace hlo::bench {

template <class T>
cudaError_t CubSort(void* scratch, size_t& bytes, const T* in, T* out, int64_t n, cudaStream_t stream) {
  return cub::DeviceRadixSort::SortKeys(scratch, bytes, in, out, n, 0, 8 * sizeof(T), stream);
}
template <class T>
cudaError_t CubSortPairs(void* scratch, size_t& bytes, const T* in, T* out, const int32_t* numbers_in,
                         int32_t* numbers_out, int64_t n, cudaStream_t stream) {
  return cub::DeviceRadixSort::SortPairs(scratch, bytes, in, out, numbers_in, numbers_out, n, 0,
                                         8 * sizeof(T), stream);
}
template <class T>
cudaError_t CubSortRows(void* scratch, size_t& bytes, const T* in, T* out, int64_t n, int64_t rows,
                        const int* begins, cudaStream_t stream) {
  return cub::DeviceSegmentedSort::SortKeys(scratch, bytes, in, out, n, rows, begins, begins + 1, stream);
}
template <class T>
cudaError_t CubSortRowPairs(void* scratch, size_t& bytes, const T* in, T* out, const int32_t* numbers_in,
                            int32_t* numbers_out, int64_t n, int64_t rows, const int* begins,
                            cudaStream_t stream) {
  return cub::DeviceSegmentedSort::SortPairs(scratch, bytes, in, out, numbers_in, numbers_out, n, rows,
                                             begins, begins + 1, stream);
}
template <class T>
cudaError_t CubSums(void* scratch, size_t& bytes, const T* in, T* out, int64_t n, cudaStream_t stream) {
  return cub::DeviceScan::InclusiveSum(scratch, bytes, in, out, n, stream);
}
template <class T>
cudaError_t CubReduce(void* scratch, size_t& bytes, const T* in, T* out, int64_t n, cudaStream_t stream) {
  return cub::DeviceReduce::Sum(scratch, bytes, in, out, n, stream);
}
template <class T>
cudaError_t CubReduceRows(void* scratch, size_t& bytes, const T* in, T* out, int64_t rows, const int* begins,
                          cudaStream_t stream) {
  return cub::DeviceSegmentedReduce::Sum(scratch, bytes, in, out, rows, begins, begins + 1, stream);
}

#define HLO_CUB_SORTS(T)                                                                                \
  template cudaError_t CubSort(void*, size_t&, const T*, T*, int64_t, cudaStream_t);                    \
  template cudaError_t CubSortPairs(void*, size_t&, const T*, T*, const int32_t*, int32_t*, int64_t,    \
                                    cudaStream_t);                                                      \
  template cudaError_t CubSortRows(void*, size_t&, const T*, T*, int64_t, int64_t, const int*,          \
                                   cudaStream_t);                                                       \
  template cudaError_t CubSortRowPairs(void*, size_t&, const T*, T*, const int32_t*, int32_t*, int64_t, \
                                       int64_t, const int*, cudaStream_t);
HLO_CUB_SORTS(uint16_t)
HLO_CUB_SORTS(uint32_t)
HLO_CUB_SORTS(uint64_t)
HLO_CUB_SORTS(float)
#define HLO_CUB_SUMS(T)                                                                \
  template cudaError_t CubSums(void*, size_t&, const T*, T*, int64_t, cudaStream_t);   \
  template cudaError_t CubReduce(void*, size_t&, const T*, T*, int64_t, cudaStream_t); \
  template cudaError_t CubReduceRows(void*, size_t&, const T*, T*, int64_t, const int*, cudaStream_t);
HLO_CUB_SUMS(int32_t)
HLO_CUB_SUMS(float)
HLO_CUB_SUMS(double)

}  // namespace hlo::bench
