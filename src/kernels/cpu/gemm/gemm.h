#pragma once
// This file declares matrix products (loops/gemm_problem.h). The order of summation depends on the shape
// alone; for bf16 it also depends on whether there are very small numbers. Each sum is rounded (or wrapped,
// or truncated) to the type of c once, at its end: semantics 6.1.

#include <cstdint>

#include "hlo_run/element_type.h"
#include "loops/gemm_problem.h"

namespace hlo::cpu {

// A block of an array. Its element (r, c) has index first + r * row_stride + c in the array and is stored at
// data[r * data_stride + c].
struct ArrayBlock {
  int64_t first, rows, columns, row_stride;
  void* data;
  int64_t data_stride;
};

// A callback that computes blocks of an operand on demand, or post-processes finished blocks of a result
// while they are in the cache, for example with a bias or an activation. It is called from several threads.
struct BlockFunction {
  void (*run)(const void* context, const ArrayBlock& block) = nullptr;
  const void* context = nullptr;
  double nanoseconds = 0;  // Approximate time per element.
};

// A batch of matrices in one buffer. `data` points to element [0, ..., 0].
struct GemmOperand : loops::MatrixLayout {
  const void* data = nullptr;
  // If set, `compute` provides the elements instead of `data`; their indices start at `first`. One of the
  // strides is then 1, the other positive, and rows and columns span one dimension each.
  const BlockFunction* compute = nullptr;
  int64_t first = 0;
};

// Returns the approximate number of columns in the blocks that an epilogue sees, for sums of k terms.
int64_t EpilogueColumns(int64_t k);

struct GemmProblem : loops::GemmProblemOf<GemmOperand> {
  void* c = nullptr;            // nullptr if only the epilogue sees the result.
  BlockFunction epilogue = {};  // Called exactly once per element of c.
};
using loops::GemmComputeType;
using loops::GemmSupports;

GemmProblem WithData(loops::GemmProblem problem, const void* a, const void* b, void* c);

// Returns true if operands in memory use another, faster kernel than computed operands.
bool GemmPrefersMemory(const GemmProblem& problem);

// Computes the product. c must not overlap a or b. Each thread caches about 20 MiB of scratch memory, and
// thin products need their few rows or columns in the compute type in addition.
void Gemm(const GemmProblem& problem);

}  // namespace hlo::cpu
