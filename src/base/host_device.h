#pragma once
// Marks functions that the CUDA compiler compiles for the device too. Other compilers see plain inline
// functions.

#ifdef __CUDACC__
#define HLO_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define HLO_HOST_DEVICE inline
#endif
