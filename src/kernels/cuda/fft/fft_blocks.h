#pragma once
// Configures the transform of one thread block: passes, threads and lines.

#include <initializer_list>
#include <optional>
#include <vector>

#include "kernels/cuda/fft/fft_plan.h"

namespace hlo::cuda {

// The radices of a transform that fits into one thread block. FactorsOf returns nullopt if none exists for
// this length.
struct Factors {
  std::vector<uint32_t> radices;
  bool wide = false;
  uint32_t points_each = kFftValues;  // Minimum over the radices of the points per thread.
};
std::optional<Factors> FactorsOf(int64_t n, bool is_double);

bool IsSmooth(int64_t n, std::initializer_list<int64_t> primes);

// The two most balanced factors of n such that the second fits into a thread block. The first fits too or, if
// `may_split_rows`, can itself be split.
struct Split {
  int64_t rows, columns;
};
std::optional<Split> SplitOf(int64_t n, bool is_double, bool may_split_rows = true);
// True if a transform of n points fits into thread blocks, directly or split.
bool HasPlan(int64_t n, bool is_double);

// Completes a step over lines of n points after its addresses and flags are set: passes, threads, and lines
// per thread block.
void SetBlocks(FftStep& step, int64_t n, int64_t lines, bool is_double);

}  // namespace hlo::cuda
