#pragma once
// This file gives singular vectors the factors that LAPACK gives them.

#include "absl/types/span.h"
#include "types/lapack_signs.h"
#include "types/matrix.h"

namespace hlo::reference::lapack {

// Multiplies the singular vectors of a, the columns of u and v, by factors of modulus 1, so that they are
// those of gesdd. Replaces the further columns of u and v. Does nothing if a has more rows and columns than
// kMaxSignedRows. u and v may have no data; a is overwritten.
template <class T>
void SetFactors(const Matrix<T>& a, absl::Span<const double> s, const Matrix<T>& u, const Matrix<T>& v,
                RealPrecision precision);

}  // namespace hlo::reference::lapack
