#pragma once
// This file factors and solves batches of small real matrices: each lane of a vector computes one matrix. The
// operations on a matrix, and so the results, are those of lu.h and triangular.h.

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "hlo_run/element_type.h"
#include "types/matrix.h"

namespace hlo::lapack {

// Dense row-major matrices of type f32 or f64, one after the other.
struct SmallBatch {
  ElementType type;
  int64_t count, rows, columns;
  const void* data;
};

// Returns true if such matrices are supported, and faster in a batch than one at a time.
bool IsSmallBatch(ElementType type, int64_t count, int64_t rows, int64_t columns);
// Returns true if right sides of small matrices are small enough too.
bool AreSmallRightSides(int64_t rows, int64_t columns);

// getrf: stores the factors of each matrix, which may overwrite it, its pivots (from 1) and its number of the
// first zero pivot (from 1), or 0. Results may be null.
void SmallLu(const SmallBatch& a, void* factors, int32_t* pivots, int32_t* infos);

// trsm: stores x with op(a) x = b, or x op(a) = b if not `left`, which may overwrite b.
void SmallSolve(const SmallBatch& a, const SmallBatch& b, const TriangleOptions& options, void* x);

// potrf: stores the factor of each matrix, which may overwrite it, and 0. The other triangle keeps its
// elements, or is set to 0 if `clears`. For a matrix without factor, calls `failed` with its number instead.
void SmallCholesky(const SmallBatch& a, bool lower, bool clears, void* factors, int32_t* infos,
                   absl::FunctionRef<void(int64_t)> failed);

}  // namespace hlo::lapack
