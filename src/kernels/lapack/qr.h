#pragma once
// Orthogonal factors as products of reflectors H = 1 - tau v v^H, by blocks of them: the contracts of
// linalg/householder.h, for matrices whose neighbours in a row are neighbours in memory. On several threads
// where that is worth while; results do not depend on how many.

#include "absl/types/span.h"
#include "linalg/matrix.h"

namespace hlo::factor {

using linalg::Complex;
using linalg::Matrix;

// What Geqrf or Orgqr of a matrix of so many rows and columns takes, besides the memory of Product.
int64_t QrScratchBytes(int64_t rows, int64_t columns, int64_t element_bytes);
// Likewise Ormqr: reflectors of so many rows, by so many rows or columns of c that they do not run along.
int64_t OrmqrScratchBytes(int64_t rows, int64_t reflectors, int64_t others, int64_t element_bytes);

// Likewise Geqp3.
int64_t Geqp3ScratchBytes(int64_t rows, int64_t columns, int64_t element_bytes);

// geqrf: r in the upper triangle, below it the reflectors of q = H(0) H(1) ...
template <class T>
void Geqrf(Matrix<T> a, absl::Span<T> taus);

// geqp3: the same with column pivoting. Columns whose number in `pivots` is not 0 go to the front as they
// are; in the end pivots[j] is the number (from 1) of the column that stands at j.
template <class T>
void Geqp3(Matrix<T> a, absl::Span<int64_t> pivots, absl::Span<T> taus);

// orgqr: the first columns of q, as many as a has, in place of the reflectors in its first columns.
template <class T>
void Orgqr(Matrix<T> a, absl::Span<const T> taus);

// ormqr: q c, q^H c, or with q on the right.
template <class T>
void Ormqr(Matrix<const T> reflectors, absl::Span<const T> taus, Matrix<T> c, bool left, bool adjoint);

}  // namespace hlo::factor
