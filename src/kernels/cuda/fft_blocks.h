#pragma once
// What does one block transform, with which passes and threads?

#include <initializer_list>
#include <optional>
#include <vector>

#include "kernels/cuda/fft_plan.h"

namespace hlo::cuda {

// The passes of one block; nullopt where it takes no transform of this length.
struct Factors {
  std::vector<uint32_t> radices;
  bool wide = false;
  uint32_t points_each = kFftValues;  // The least of a thread.
};
std::optional<Factors> FactorsOf(int64_t n, bool is_double);

bool IsSmooth(int64_t n, std::initializer_list<int64_t> primes);

// The two factors nearest to each other of which the second fits into a block, and the first too or, `once`,
// its own two.
struct Split {
  int64_t rows, columns;
};
std::optional<Split> SplitOf(int64_t n, bool is_double, bool once = true);
// Whether blocks transform it, at once or split.
bool HasPlan(int64_t n, bool is_double);

// Sets what a step over lines of n points lacks once its addresses and flags stand: passes, threads, and how
// lines are shared out.
void SetBlocks(FftStep& step, int64_t n, int64_t lines, bool is_double);

}  // namespace hlo::cuda
