#pragma once
// CUB's algorithms behind plain functions, so that nvcc compiles nothing else of a benchmark. If scratch is
// null, they only set the number of scratch bytes. T: u16, u32, u64, f32 (sorts); s32, f32, f64 (scans,
// reductions).

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace hlo::bench {

template <class T>
cudaError_t CubSort(void* scratch, size_t& bytes, const T* in, T* out, int64_t n, cudaStream_t stream);
template <class T>
cudaError_t CubSortPairs(void* scratch, size_t& bytes, const T* in, T* out, const int32_t* numbers_in,
                         int32_t* numbers_out, int64_t n, cudaStream_t stream);
// Rows start at begins[0 .. rows]; n is the total number of elements.
template <class T>
cudaError_t CubSortRows(void* scratch, size_t& bytes, const T* in, T* out, int64_t n, int64_t rows,
                        const int* begins, cudaStream_t stream);
template <class T>
cudaError_t CubSortRowPairs(void* scratch, size_t& bytes, const T* in, T* out, const int32_t* numbers_in,
                            int32_t* numbers_out, int64_t n, int64_t rows, const int* begins,
                            cudaStream_t stream);
template <class T>
cudaError_t CubSums(void* scratch, size_t& bytes, const T* in, T* out, int64_t n, cudaStream_t stream);
template <class T>
cudaError_t CubReduce(void* scratch, size_t& bytes, const T* in, T* out, int64_t n, cudaStream_t stream);
template <class T>
cudaError_t CubReduceRows(void* scratch, size_t& bytes, const T* in, T* out, int64_t rows, const int* begins,
                          cudaStream_t stream);

}  // namespace hlo::bench
