#pragma once
// Pragmas by which compilers vectorise loops.

// Precedes a loop whose iterations do not read values that other iterations write.
#if defined(__clang__)
#define HLO_INDEPENDENT_ITERATIONS _Pragma("clang loop vectorize(assume_safety)")
#else
#define HLO_INDEPENDENT_ITERATIONS _Pragma("GCC ivdep")
#endif
