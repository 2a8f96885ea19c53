#pragma once
// Pragmas by which compilers vectorise loops.

// Stands before a loop no iteration of which reads what another one writes.
#if defined(__clang__)
#define HLO_INDEPENDENT_ITERATIONS _Pragma("clang loop vectorize(assume_safety)")
#else
#define HLO_INDEPENDENT_ITERATIONS _Pragma("GCC ivdep")
#endif
