#pragma once
// Pragmas for loops, for each compiler.

#ifdef __CUDACC__
// Fully unrolls a loop with a constant trip count over arrays that must stay in the registers of a GPU. The
// host, whose emulator runs the same loops, compiles many times faster without it.
#define HLO_UNROLL _Pragma("unroll")
// The same on the host too, for code that CPUs run fast.
#define HLO_UNROLL_EVERYWHERE _Pragma("unroll")
// Prevents unrolling, to limit code size.
#define HLO_ROLLED _Pragma("unroll 1")
#else
#define HLO_UNROLL
#define HLO_UNROLL_EVERYWHERE _Pragma("GCC unroll 16")
#define HLO_ROLLED
#endif
