#pragma once
// Pragmas for loops, for each compiler.

#ifdef __CUDACC__
// Fully unrolls a loop with a constant trip count over arrays that must stay in registers.
#define HLO_UNROLL _Pragma("unroll")
// Prevents unrolling, to limit code size.
#define HLO_ROLLED _Pragma("unroll 1")
#else
#define HLO_UNROLL _Pragma("GCC unroll 16")
#define HLO_ROLLED
#endif
