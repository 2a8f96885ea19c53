#include "reference/lapack/svd_signs.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <utility>
#include <vector>

#include "reference/lapack/householder.h"
#include "reference/lapack/owned.h"

namespace hlo::reference::lapack {
namespace {

// The reflector 1 - tau v v^H of the elements from `first` on.
template <class T>
struct Reflector {
  int64_t first;
  std::vector<T> v;
  T tau;

  // Returns h x for a column x, or h^H x.
  void Apply(const Matrix<T>& x, bool adjoint) const {
    T sum = 0;
    const auto count = static_cast<int64_t>(v.size());
    for (int64_t k = 0; k < count; ++k) sum += Conj(v[k]) * x(first + k, 0);
    sum *= adjoint ? Conj(tau) : tau;
    for (int64_t k = 0; k < count; ++k) x(first + k, 0) -= sum * v[k];
  }
};

// A bidiagonal matrix b with a = left b right^H. It is lower bidiagonal if a has more columns than rows, and
// no triangular factor of a is reduced in its place.
template <class T>
class BidiagonalForm {
 public:
  explicit BidiagonalForm(const Matrix<T>& a) : a_(a), lower_(a.rows < a.columns) {
    constexpr bool kIsReal = std::is_same_v<T, double>;
    const int64_t n = std::min(a.rows, a.columns), longer = std::max(a.rows, a.columns);
    Matrix<T> core = a;
    if (longer >= (kIsReal ? n * 11 / 6 : n * 17 / 9)) {
      for (int64_t j = 0; j < n; ++j) lower_ ? EliminateRow(a, j, j) : EliminateColumn(a, j, j);
      core = a.Block(0, 0, n, n);
      lower_ = false;
    }
    for (int64_t j = 0; j < n; ++j) {
      lower_ ? EliminateRow(core, j, j) : EliminateColumn(core, j, j);
      if (j + 1 < n) lower_ ? EliminateColumn(core, j + 1, j) : EliminateRow(core, j, j + 1);
    }
  }

  SingularVectorList Vectors(double scale, RealPrecision precision) const {
    const int64_t n = std::min(a_.rows, a_.columns);
    std::vector<double> diagonal, beside;
    for (int64_t j = 0; j < n; ++j) diagonal.push_back(std::real(a_(j, j)) * scale);
    for (int64_t j = 0; j + 1 < n; ++j)
      beside.push_back(std::real(lower_ ? a_(j + 1, j) : a_(j, j + 1)) * scale);
    return BdsdcVectors(n, diagonal.data(), beside.data(), lower_, precision);
  }

  void ApplyLeft(const Matrix<T>& x) const { ApplyAll(left_, x); }
  void ApplyRight(const Matrix<T>& x) const { ApplyAll(right_, x); }

 private:
  // Makes the reflector of a column, and replaces the column by (beta, 0, ...).
  static Reflector<T> Reflect(const Matrix<T>& column, int64_t first) {
    Reflector<T> reflector{first, {}, 0};
    for (int64_t k = 0; k < column.rows; ++k) reflector.v.push_back(column(k, 0));
    reflector.tau = MakeReflector(Matrix<T>::Dense(reflector.v.data(), column.rows, 1));
    for (int64_t k = 0; k < column.rows; ++k) column(k, 0) = k == 0 ? reflector.v[0] : T(0);
    reflector.v[0] = 1;
    return reflector;
  }

  void EliminateColumn(const Matrix<T>& a, int64_t i, int64_t j) {
    left_.push_back(Reflect(a.Block(i, j, a.rows - i, 1), i));
    for (int64_t k = j + 1; k < a.columns; ++k) left_.back().Apply(a.Column(k), /*adjoint=*/true);
  }
  // The rows of a are columns of a^H.
  void EliminateRow(const Matrix<T>& a, int64_t i, int64_t j) {
    const Matrix<T> adjoint = a.Transposed();
    EachElement(a, [&](int64_t k, int64_t l) { a(k, l) = Conj(a(k, l)); });
    right_.push_back(Reflect(adjoint.Block(j, i, a.columns - j, 1), j));
    for (int64_t k = i + 1; k < a.rows; ++k) right_.back().Apply(adjoint.Column(k), /*adjoint=*/true);
    EachElement(a, [&](int64_t k, int64_t l) { a(k, l) = Conj(a(k, l)); });
  }

  static void ApplyAll(const std::vector<Reflector<T>>& reflectors, const Matrix<T>& x) {
    for (int64_t j = 0; j < x.columns; ++j) {
      for (auto reflector = reflectors.rbegin(); reflector != reflectors.rend(); ++reflector)
        reflector->Apply(x.Column(j), /*adjoint=*/false);
    }
  }

  const Matrix<T> a_;
  bool lower_;
  std::vector<Reflector<T>> left_, right_;
};

// Returns a matrix whose first columns are the vectors, completed by columns of the identity.
template <class T>
Owned<T> Completed(const VectorList& vectors, int64_t rows, int64_t columns) {
  Owned<T> x(rows, columns);
  EachElement(x.view, [&](int64_t i, int64_t j) {
    if (j < vectors.n)
      x.view(i, j) = i < vectors.n ? vectors.at(j)[i] : 0;
    else
      x.view(i, j) = i == j ? 1 : 0;
  });
  return x;
}

template <class T>
T ColumnDot(const Matrix<T>& x, const Matrix<T>& y, int64_t j) {
  T sum = 0;
  for (int64_t i = 0; i < x.rows; ++i) sum += Conj(x(i, j)) * y(i, j);
  return sum;
}

template <class T>
void ScaleColumn(const Matrix<T>& x, int64_t j, T product) {
  const double size = std::abs(product);
  for (int64_t i = 0; size > 0 && i < x.rows; ++i) x(i, j) *= product / size;
}

}  // namespace

template <class T>
void SetFactors(const Matrix<T>& a, absl::Span<const double> s, const Matrix<T>& u, const Matrix<T>& v,
                RealPrecision precision) {
  const auto n = static_cast<int64_t>(s.size());
  if (n == 0 || n > kMaxSignedRows || (u.data == nullptr && v.data == nullptr)) return;
  const double scale = LargestElement(a);
  EachElement(a, [&](int64_t i, int64_t j) { a(i, j) /= scale; });
  const BidiagonalForm<T> form(a);
  const SingularVectorList wanted = form.Vectors(scale, precision);
  if (wanted.left.empty()) return;
  const Owned<T> left = Completed<T>(wanted.left, a.rows, u.data == nullptr ? n : u.columns);
  const Owned<T> right = Completed<T>(wanted.right, a.columns, v.data == nullptr ? n : v.columns);
  form.ApplyLeft(left.view);
  form.ApplyRight(right.view);
  for (int64_t j = 0; j < n; ++j) {
    const T by_left = u.data == nullptr ? T(0) : ColumnDot(u, left.view, j);
    const T by_right = v.data == nullptr ? T(0) : ColumnDot(v, right.view, j);
    const bool is_negligible = s[j] <= std::numeric_limits<double>::epsilon() * s[0];
    if (u.data != nullptr) ScaleColumn(u, j, is_negligible ? by_left : by_left + by_right);
    if (v.data != nullptr) ScaleColumn(v, j, is_negligible ? by_right : by_left + by_right);
  }
  for (const auto& [to, from] : {std::pair(u, left.view), std::pair(v, right.view)}) {
    for (int64_t i = 0; to.data != nullptr && i < to.rows; ++i) {
      for (int64_t j = n; j < to.columns; ++j) to(i, j) = from(i, j);
    }
  }
}

template void SetFactors(const Matrix<double>&, absl::Span<const double>, const Matrix<double>&,
                         const Matrix<double>&, RealPrecision);
template void SetFactors(const Matrix<std::complex<double>>&, absl::Span<const double>,
                         const Matrix<std::complex<double>>&, const Matrix<std::complex<double>>&,
                         RealPrecision);

}  // namespace hlo::reference::lapack
