#pragma once
// Eigenvectors and singular vectors are unique up to their signs. This file computes those that LAPACK
// returns for small matrices: its iterations, in its precision, determine the signs.

#include <cstdint>
#include <vector>

namespace hlo {

// The largest number of rows for which LAPACK computes eigenvectors by steqr and singular vectors by bdsqr.
inline constexpr int64_t kMaxSignedRows = 25;

enum class RealPrecision { kSingle, kDouble };

// Vectors of length n, one after the other.
struct VectorList {
  int64_t n = 0;
  std::vector<double> elements;

  bool empty() const { return elements.empty(); }
  const double* at(int64_t i) const { return elements.data() + i * n; }
  double* at(int64_t i) { return elements.data() + i * n; }
};

// steqr: returns the eigenvectors of a tridiagonal matrix, in ascending order of the eigenvalues. Returns no
// vectors if the matrix has more than kMaxSignedRows rows, or if the iteration does not converge.
VectorList SteqrVectors(int64_t n, const double* diagonal, const double* off_diagonal,
                        RealPrecision precision);

// bdsdc: returns the left and right singular vectors of a bidiagonal matrix, in descending order of the
// singular values. The elements `beside` the diagonal are above it, or below it if `lower`. Returns no
// vectors in the same cases.
struct SingularVectorList {
  VectorList left, right;
};
SingularVectorList BdsdcVectors(int64_t n, const double* diagonal, const double* beside, bool lower,
                                RealPrecision precision);

}  // namespace hlo
