#pragma once
// This file computes QR factorisations with blocked reflectors H = 1 - tau v v^H. The functions follow
// LAPACK's but require contiguous rows, and use several threads if worthwhile. Results do not
// depend on the number of threads.

#include "absl/types/span.h"
#include "types/matrix.h"

namespace hlo::lapack {

// Returns the bytes of scratch memory that Geqrf or Orgqr needs, besides that of Product.
int64_t QrScratchBytes(int64_t rows, int64_t columns, int64_t element_bytes);
// Returns the same for Ormqr; `others` is the size of c along which the reflectors do not extend.
int64_t OrmqrScratchBytes(int64_t rows, int64_t reflectors, int64_t others, int64_t element_bytes);

// Returns the same for Geqp3.
int64_t Geqp3ScratchBytes(int64_t rows, int64_t columns, int64_t element_bytes);

// geqrf: computes r in the upper triangle and the reflectors of q = H(0) H(1) ... below it.
template <class T>
void Geqrf(Matrix<T> a, absl::Span<T> taus);

// geqp3: like Geqrf, with column pivoting. Columns with a nonzero entry in `pivots` are moved to the front
// and not pivoted. On return, pivots[j] is the original number (from 1) of column j.
template <class T>
void Geqp3(Matrix<T> a, absl::Span<int64_t> pivots, absl::Span<T> taus);

// orgqr: replaces the reflectors in the first columns of a by the first a.columns columns of q.
template <class T>
void Orgqr(Matrix<T> a, absl::Span<const T> taus);

// ormqr: computes q c or q^H c, or c q or c q^H if not `left`.
template <class T>
void Ormqr(Matrix<const T> reflectors, absl::Span<const T> taus, Matrix<T> c, bool left, bool adjoint);

}  // namespace hlo::lapack
