#pragma once
// Marks functions that the CUDA compiler compiles for the device too. Other compilers see plain inline
// functions. The device calls larger functions, HLO_HOST_DEVICE_CALLED, because each is used in many places.

#ifdef __CUDACC__
#define HLO_HOST_DEVICE __host__ __device__ __forceinline__
#define HLO_HOST_DEVICE_CALLED inline __host__ __device__ __noinline__
#else
#define HLO_HOST_DEVICE inline
#define HLO_HOST_DEVICE_CALLED inline
#endif
