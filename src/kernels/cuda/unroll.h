#pragma once
// HLO_UNROLL before a short loop, so that what it indexes lies in registers.

#ifdef __CUDACC__
#define HLO_UNROLL _Pragma("unroll")
#else
#define HLO_UNROLL _Pragma("GCC unroll 16")
#endif
