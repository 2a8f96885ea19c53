// Calls of LAPACK, of cuSOLVER and similar GPU libraries, and XLA's own linear algebra targets (semantics 9.4
// to 9.6). The last two dimensions are matrices, the others a batch.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "base/counted.h"
#include "base/status.h"
#include "fmt/format.h"
#include "reference/arrays.h"
#include "reference/custom/functions.h"
#include "reference/custom/matrix_calls.h"
#include "reference/custom/options.h"
#include "reference/custom/slices.h"
#include "reference/lapack/householder.h"
#include "reference/lapack/spectral.h"
#include "reference/lapack/systems.h"

namespace hlo::reference::custom {
namespace {

using Complex = std::complex<double>;

// Returns a size or flag that older targets pass as an operand.
int64_t ScalarOperand(const OpContext& context, int64_t i) {
  const absl::StatusOr<Literal> number = AsIndices(context.operands[i]);
  return number.ok() && number->element_count() > 0 ? number->span<int64_t>()[0] : 0;
}

// Converts `pivots` to 1-based indices.
void CountFromOne(absl::Span<int64_t> pivots) {
  for (int64_t& pivot : pivots) ++pivot;
}

// Converts 0-based pivots, which are row exchanges, to a permutation.
void PermutationOf(absl::Span<const int64_t> pivots, absl::Span<int64_t> permutation) {
  const auto rows = static_cast<int64_t>(permutation.size());
  std::iota(permutation.begin(), permutation.end(), 0);
  for (int64_t i = 0; i < std::min<int64_t>(rows, static_cast<int64_t>(pivots.size())); ++i) {
    if (pivots[i] >= 0 && pivots[i] < rows) std::swap(permutation[i], permutation[pivots[i]]);
  }
}

template <class T>
void Conjugate(Matrix<T> a) {
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t j = 0; j < a.columns; ++j) a(i, j) = hlo::Conj(a(i, j));
  }
}

absl::Status Store(const absl::StatusOr<int64_t>& number, int64_t& to) {
  if (number.ok()) to = *number;
  return number.status();
}

absl::StatusOr<Literal> PotrfOf(OpContext& context, int array, bool lower) {
  return EachMatrix(context, array, [&]<class T>(Slice<T> slice) {
    return Store(lapack::Potrf(slice.Copy(array, 0), lower), slice.info(1));
  });
}

absl::StatusOr<Literal> GetrfOf(OpContext& context, int array) {
  return EachMatrix(context, array, [&]<class T>(Slice<T> slice) {
    const auto pivots = slice.template vector<int64_t>(1);
    slice.info(2) = lapack::Getrf(slice.Copy(array, 0), pivots);
    CountFromOne(pivots);
  });
}

absl::StatusOr<Literal> GeqrfOf(OpContext& context, int array) {
  return EachMatrix(context, array,
                    [&]<class T>(Slice<T> slice) { lapack::Geqrf(slice.Copy(array, 0), slice.vector(1)); });
}

absl::StatusOr<Literal> OrgqrOf(OpContext& context, int array) {
  return EachMatrix(context, array, [&]<class T>(Slice<T> slice) {
    lapack::Orgqr(slice.Copy(array, 0), slice.in_vector(array + 1));
  });
}

// The operand `scale`, if any, scales the right sides.
absl::StatusOr<Literal> TrsmOf(OpContext& context, int array, const TriangleOptions& options,
                               std::optional<int> scale = std::nullopt) {
  return EachMatrix(context, array, [&]<class T>(Slice<T> slice) {
    const Matrix<T> x = slice.Copy(array + 1, 0);
    if (scale.has_value()) {
      for (T& element : slice.vector(0)) element *= slice.template scalar<T>(*scale);
    }
    return lapack::Trsm(slice.in(array), x, options);
  });
}

RealPrecision PrecisionOf(const OpContext& context, int array) {
  const ElementType type = context.operands[array].type();
  const bool is_double = type == ElementType::kF64 || type == ElementType::kC128;
  return is_double ? RealPrecision::kDouble : RealPrecision::kSingle;
}

absl::StatusOr<Literal> SyevdOf(OpContext& context, int array, bool lower) {
  return EachMatrix(context, array, [&]<class T>(Slice<T> slice) {
    const int64_t info = lapack::Syevd(slice.Copy(array, 0), lower, slice.template vector<double>(1),
                                       PrecisionOf(context, array));
    if (context.shape().elements().size() > 2) slice.info(2) = info;
  });
}

// Computes the results (a, s, u, v^H or v, info).
absl::StatusOr<Literal> GesddOf(OpContext& context, int array, bool vectors, bool adjoint) {
  return EachMatrix(context, array, [&]<class T>(Slice<T> slice) {
    Matrix<T> u, v;
    if (vectors) {
      u = slice.out(2);
      v = adjoint ? slice.out(3).Transposed() : slice.out(3);
    }
    slice.info(4) =
        lapack::Gesdd(slice.in(array), slice.template vector<double>(1), u, v, PrecisionOf(context, array));
    if (vectors && adjoint) Conjugate(v);
  });
}

// Stores eigenvalues as two real arrays or one complex array.
template <class T>
void StoreEigenvalues(const Slice<T>& slice, int result, absl::Span<const Complex> w, bool in_parts) {
  for (size_t i = 0; i < w.size(); ++i) {
    if (in_parts) {
      slice.template vector<double>(result)[i] = w[i].real();
      slice.template vector<double>(result + 1)[i] = w[i].imag();
    } else {
      slice.template vector<Complex>(result)[i] = w[i];
    }
  }
}

// Computes the results from `first` on: w or (wr, wi), vl, vr, info.
absl::StatusOr<Literal> GeevOf(OpContext& context, int array, int first, bool in_parts, bool left,
                               bool right) {
  const bool single = PrecisionOf(context, array) == RealPrecision::kSingle;
  return EachMatrix(context, array, [&]<class T>(Slice<T> slice) {
    const int vl = first + (in_parts ? 2 : 1);
    const Matrix<const T> a = slice.in(array);
    std::vector<Complex> w(a.rows);
    Matrix<Complex> left_vectors, right_vectors;
    if (left) left_vectors = slice.template matrix<Complex>(vl);
    if (right) right_vectors = slice.template matrix<Complex>(vl + 1);
    slice.info(vl + 2) = lapack::Geev(a, absl::MakeSpan(w), left_vectors, right_vectors, single);
    StoreEigenvalues<T>(slice, first, w, in_parts);
  });
}

struct GeesResults {
  int z, w, info;
  bool in_parts;
};
absl::StatusOr<Literal> GeesOf(OpContext& context, int array, const GeesResults& results) {
  const bool single = PrecisionOf(context, array) == RealPrecision::kSingle;
  return EachMatrix(context, array, [&]<class T>(Slice<T> slice) {
    const Matrix<T> t = slice.Copy(array, 0);
    std::vector<Complex> w(t.rows);
    slice.info(results.info) = lapack::Gees(t, slice.out(results.z), absl::MakeSpan(w), single);
    StoreEigenvalues<T>(slice, results.w, w, results.in_parts);
  });
}

absl::StatusOr<Literal> GehrdOf(OpContext& context, int array, int64_t low, int64_t high) {
  const int64_t n = context.operands[array].dim(context.operands[array].rank() - 1);
  if (low < 1 || high > std::max<int64_t>(n, 1) || low > high) {
    return absl::FailedPreconditionError(
        fmt::format("rows {} to {} of a matrix of {} are to be reduced; they count from 1", low, high, n));
  }
  return EachMatrix(context, array, [&]<class T>(Slice<T> slice) {
    if (n > 0) lapack::Gehrd(slice.Copy(array, 0), low - 1, high - 1, slice.vector(1));
  });
}

absl::StatusOr<Literal> SytrdOf(OpContext& context, int array, bool lower) {
  return EachMatrix(context, array, [&]<class T>(Slice<T> slice) {
    lapack::Sytrd(slice.Copy(array, 0), lower, slice.template vector<double>(1),
                  slice.template vector<double>(2), slice.vector(3));
  });
}

}  // namespace

absl::StatusOr<Literal> Potrf(OpContext& context) {
  return PotrfOf(context, 0, LowerOf(Options(context.instruction)));
}
absl::StatusOr<Literal> PotrfByOperands(OpContext& context) {
  return PotrfOf(context, 3, ScalarOperand(context, 0) != 0);
}

// Returns (factor, workspace, info).
absl::StatusOr<Literal> CusolverCholesky(OpContext& context) {
  const bool lower = Options(context.instruction).Bool("lower", true);
  return EachMatrix(context, 0, [&]<class T>(Slice<T> slice) {
    return Store(lapack::Potrf(slice.Copy(0, 0), lower), slice.info(2));
  });
}

absl::StatusOr<Literal> Getrf(OpContext& context) { return GetrfOf(context, 0); }
absl::StatusOr<Literal> GetrfByOperands(OpContext& context) { return GetrfOf(context, 3); }
// Returns 0-based pivots and the row permutation.
absl::StatusOr<Literal> LuDecomposition(OpContext& context) {
  return EachMatrix(context, 0, [&]<class T>(Slice<T> slice) {
    const auto pivots = slice.template vector<int64_t>(1);
    lapack::Getrf(slice.Copy(0, 0), pivots);
    PermutationOf(pivots, slice.template vector<int64_t>(2));
  });
}
absl::StatusOr<Literal> PivotsToPermutation(OpContext& context) {
  return EachSlice(context, 0, context.operands[0].rank() - 1, [&]<class T>(Slice<T> slice) {
    PermutationOf(slice.template in_vector<int64_t>(0), slice.template vector<int64_t>(0));
  });
}

absl::StatusOr<Literal> Geqrf(OpContext& context) { return GeqrfOf(context, 0); }
absl::StatusOr<Literal> GeqrfByOperands(OpContext& context) { return GeqrfOf(context, 4); }
absl::StatusOr<Literal> Geqp3(OpContext& context) {
  return EachMatrix(context, 0, [&]<class T>(Slice<T> slice) {
    const auto given = slice.template in_vector<int64_t>(1);
    const auto pivots = slice.template vector<int64_t>(1);
    std::copy(given.begin(), given.end(), pivots.begin());
    lapack::Geqp3(slice.Copy(0, 0), pivots, slice.vector(2));
  });
}
absl::StatusOr<Literal> Orgqr(OpContext& context) { return OrgqrOf(context, 0); }
absl::StatusOr<Literal> OrgqrByOperands(OpContext& context) { return OrgqrOf(context, 5); }

std::string OrmqrMismatch(const Instruction& call) {
  const Options options(call);
  const Shape &a = call.operand(0)->shape(), &c = call.operand(2)->shape();
  const int64_t rows = a.dim(a.rank() - 2), wanted = c.dim(c.rank() - (options.Bool("left", true) ? 2 : 1));
  return rows == wanted
             ? ""
             : fmt::format("reflectors of {} are applied to {}", Counted(rows, "row"), ToString(c));
}
absl::StatusOr<Literal> Ormqr(OpContext& context) {
  const Options options(context.instruction);
  const bool left = options.Bool("left", true), adjoint = options.Bool("transpose", false);
  return EachMatrix(context, 0, [&]<class T>(Slice<T> slice) {
    lapack::Ormqr(slice.in(0), slice.in_vector(1), slice.Copy(2, 0), left, adjoint);
  });
}

namespace {

std::string TriangleMismatch(const Instruction& call, bool left) {
  const Shape &a = call.operand(0)->shape(), &b = call.operand(1)->shape();
  if (a.dim(a.rank() - 1) == b.dim(b.rank() - (left ? 2 : 1))) return "";
  return fmt::format("{} does not solve for {} on its {}", ToString(a), ToString(b), left ? "left" : "right");
}

}  // namespace

std::string TrsmMismatch(const Instruction& call) {
  return TriangleMismatch(call, TriangleOf(Options(call)).left);
}
absl::StatusOr<Literal> Trsm(OpContext& context) {
  // jaxlib 0.4.36 and its successors up to 0.6 passed a scale.
  const bool is_scaled = context.operands.size() > 2;
  return TrsmOf(context, 0, TriangleOf(Options(context.instruction)),
                is_scaled ? std::optional<int>(2) : std::nullopt);
}
std::string CublasTrsmMismatch(const Instruction& call) {
  return TriangleMismatch(call, OpcodeTriangleOf(Options(call)).left);
}
absl::StatusOr<Literal> CublasTrsm(OpContext& context) {
  return TrsmOf(context, 0, OpcodeTriangleOf(Options(context.instruction)));
}
// The operands are (left_side, lower, trans_a, diag, m, n, batch, alpha, a, b), where alpha scales b.
absl::StatusOr<Literal> TrsmByOperands(OpContext& context) {
  constexpr int kArray = 8;
  const TriangleOptions options{.left = ScalarOperand(context, 0) != 0,
                                .lower = ScalarOperand(context, 1) != 0,
                                .unit_diagonal = ScalarOperand(context, 3) != 0,
                                .op = OpOf(ScalarOperand(context, 2))};
  const Literal &a = context.operands[kArray], &b = context.operands[kArray + 1];
  if (a.dim(a.rank() - 1) != b.dim(b.rank() - (options.left ? 2 : 1)))
    return absl::FailedPreconditionError(
        fmt::format("{} does not solve for {}", ToString(a.shape()), ToString(b.shape())));
  return TrsmOf(context, kArray, options, kArray - 1);
}

absl::StatusOr<Literal> Gtsv(OpContext& context) {
  return EachSlice(context, 0, context.operands[0].rank() - 1, [&]<class T>(Slice<T> slice) {
    for (int i = 0; i < 4; ++i) slice.CopyElements(i, i);
    const auto below = slice.vector(0), above = slice.vector(2);
    const size_t n = below.size();
    if (n == 0) return;
    // The first subdiagonal and the last superdiagonal element are unused.
    slice.info(4) = lapack::Gtsv(below.subspan(1), slice.vector(1), above.first(n - 1), slice.out(3));
  });
}

absl::StatusOr<Literal> Syevd(OpContext& context) {
  return SyevdOf(context, 0, LowerOf(Options(context.instruction)));
}
absl::StatusOr<Literal> SyevdByOperands(OpContext& context) {
  return SyevdOf(context, 3, ScalarOperand(context, 0) != 0);
}
std::string SyevdRecordMismatch(const Instruction& call) {
  if (RecordReadsLower(call).has_value()) return "";
  return "needs its backend_config, a record of five 32-bit integers, which says which triangle it reads";
}
absl::StatusOr<Literal> SyevdByRecord(OpContext& context) {
  return SyevdOf(context, 0, *RecordReadsLower(context.instruction));
}
// The configuration is "lower,sort,iterations,tolerance".
std::string EighMismatch(const Instruction& call) {
  const std::string_view text = Options(call).text();
  if (!text.empty() && (text[0] == '0' || text[0] == '1')) return "";
  return "needs its backend_config, \"lower,sort,iterations,tolerance\", which says which triangle it reads";
}
absl::StatusOr<Literal> Eigh(OpContext& context) {
  return SyevdOf(context, 0, EighReadsLower(context.instruction));
}

namespace {

// Checks the shapes of u and v, or v^H if `adjoint`, for the singular vectors of an array.
std::string SingularMismatch(const Instruction& call, const Shape& a, bool adjoint) {
  const Shape &u = call.shape().element(2), &v = call.shape().element(3);
  const int64_t m = a.dim(a.rank() - 2), n = a.dim(a.rank() - 1), k = std::min(m, n);
  const int64_t p = u.dim(u.rank() - 1), q = v.dim(v.rank() - (adjoint ? 2 : 1));
  const bool fits = u.dim(u.rank() - 2) == m && (p == k || p == m) &&
                    v.dim(v.rank() - (adjoint ? 1 : 2)) == n && (q == k || q == n);
  if (fits) return "";
  return fmt::format("the singular vectors of {} do not fit {} and {}", ToString(a), ToString(u),
                     ToString(v));
}

}  // namespace

std::string GesddMismatch(const Instruction& call) {
  const std::optional<MatrixCall> asked = MatrixCallOf(call);
  if (!asked.has_value() || !asked->vectors) return "";
  return SingularMismatch(call, call.operand(0)->shape(), asked->adjoint);
}
std::string OldGesddMismatch(const Instruction& call) {
  return SingularMismatch(call, call.operand(6)->shape(), /*adjoint=*/true);
}
absl::StatusOr<Literal> Gesdd(OpContext& context) {
  return GesddOf(context, 0, IsVectorMode(Options(context.instruction).Letter("mode", 'S')),
                 /*adjoint=*/true);
}
absl::StatusOr<Literal> Gesvd(OpContext& context) {
  return GesddOf(context, 0, Options(context.instruction).Bool("compute_uv", true), /*adjoint=*/true);
}
absl::StatusOr<Literal> Gesvdj(OpContext& context) {
  return GesddOf(context, 0, Options(context.instruction).Bool("compute_uv", true), /*adjoint=*/false);
}
// The operands are (full matrices?, vectors?, batch, m, n, work size, a).
absl::StatusOr<Literal> GesddByOperands(OpContext& context) {
  return GesddOf(context, 6, ScalarOperand(context, 1) != 0, /*adjoint=*/true);
}

absl::StatusOr<Literal> RealGeev(OpContext& context) {
  const Options options(context.instruction);
  return GeevOf(context, 0, 0, /*in_parts=*/true, IsVectorMode(options.Letter("compute_left", 'V')),
                IsVectorMode(options.Letter("compute_right", 'V')));
}
absl::StatusOr<Literal> ComplexGeev(OpContext& context) {
  const Options options(context.instruction);
  return GeevOf(context, 0, 0, /*in_parts=*/false, IsVectorMode(options.Letter("compute_left", 'V')),
                IsVectorMode(options.Letter("compute_right", 'V')));
}
absl::StatusOr<Literal> CusolverGeev(OpContext& context) {
  const Options options(context.instruction);
  return GeevOf(context, 0, 1, /*in_parts=*/false, options.Bool("left", true), options.Bool("right", true));
}
// The operands are (batch, n, left?, right?, a); the results start with a workspace.
absl::StatusOr<Literal> RealGeevByOperands(OpContext& context) {
  return GeevOf(context, 4, 3, /*in_parts=*/true, IsVectorMode(static_cast<char>(ScalarOperand(context, 2))),
                IsVectorMode(static_cast<char>(ScalarOperand(context, 3))));
}
absl::StatusOr<Literal> ComplexGeevByOperands(OpContext& context) {
  return GeevOf(context, 4, 2, /*in_parts=*/false, IsVectorMode(static_cast<char>(ScalarOperand(context, 2))),
                IsVectorMode(static_cast<char>(ScalarOperand(context, 3))));
}

absl::StatusOr<Literal> RealGees(OpContext& context) { return GeesOf(context, 0, {1, 2, 5, true}); }
absl::StatusOr<Literal> ComplexGees(OpContext& context) { return GeesOf(context, 0, {1, 2, 4, false}); }
absl::StatusOr<Literal> RealGeesByOperands(OpContext& context) { return GeesOf(context, 4, {3, 1, 4, true}); }
absl::StatusOr<Literal> ComplexGeesByOperands(OpContext& context) {
  return GeesOf(context, 4, {3, 2, 4, false});
}

absl::StatusOr<Literal> Gehrd(OpContext& context) {
  const Options options(context.instruction);
  const int64_t n = context.operands[0].dim(context.operands[0].rank() - 1);
  return GehrdOf(context, 0, options.Int("low", 1), options.Int("high", n));
}
// The operands are (n, low, high, rows, batch, work size, a).
absl::StatusOr<Literal> GehrdByOperands(OpContext& context) {
  return GehrdOf(context, 6, ScalarOperand(context, 1), ScalarOperand(context, 2));
}

absl::StatusOr<Literal> Sytrd(OpContext& context) {
  return SytrdOf(context, 0, LowerOf(Options(context.instruction)));
}
// The operands are (n, lower?, rows, batch, work size, a).
absl::StatusOr<Literal> SytrdByOperands(OpContext& context) {
  return SytrdOf(context, 5, ScalarOperand(context, 1) != 0);
}

// c = alpha a a^T + beta c
absl::StatusOr<Literal> Syrk(OpContext& context) {
  const bool transpose = Options(context.instruction).Bool("transpose", false);
  return EachMatrix(context, 0, [&]<class T>(Slice<T> slice) {
    const Matrix<const T> a = transpose ? slice.in(0).Transposed() : slice.in(0);
    const Matrix<T> c = slice.Copy(1, 0);
    const T alpha = slice.template scalar<T>(2), beta = slice.template scalar<T>(3);
    for (int64_t i = 0; i < c.rows; ++i) {
      for (int64_t j = 0; j < c.columns; ++j) {
        T sum = 0;
        for (int64_t k = 0; k < a.columns; ++k) sum += a(i, k) * a(j, k);
        c(i, j) = alpha * sum + beta * c(i, j);
      }
    }
  });
}
std::string SyrkMismatch(const Instruction& call) {
  const Shape &a = call.operand(0)->shape(), &c = call.operand(1)->shape();
  const int64_t rows = a.dim(a.rank() - (Options(call).Bool("transpose", false) ? 1 : 2));
  if (rows == c.dim(c.rank() - 1)) return "";
  return fmt::format("the product of {} with its transpose does not have the shape {}", ToString(a),
                     ToString(c));
}

// Computes the upper Cholesky factor of r^T r + w w^T with Givens rotations.
absl::StatusOr<Literal> CholeskyUpdate(OpContext& context) {
  return EachMatrix(context, 0, [&]<class T>(Slice<T> slice) {
    const Matrix<T> r = slice.Copy(0, 0);
    slice.CopyElements(1, 1);
    const auto w = slice.vector(1);
    for (int64_t k = 0; k < r.rows; ++k) {
      const double norm = std::hypot(std::abs(r(k, k)), std::abs(w[k]));
      if (norm == 0) continue;
      const T c = r(k, k) / norm, s = w[k] / norm;
      for (int64_t j = k; j < r.columns; ++j) {
        const T x = r(k, j), y = w[j];
        r(k, j) = c * x + s * y;
        w[j] = c * y - s * x;
      }
    }
  });
}

namespace {

// Solves as gtsv, and calls if_singular(x) for systems without a solution.
template <class IfSingular>
absl::StatusOr<Literal> TridiagonalSolveOf(OpContext& context, IfSingular if_singular) {
  return EachMatrix(context, 3, [&]<class T>(Slice<T> slice) {
    std::vector<T> parts[3];
    for (int i = 0; i < 3; ++i) parts[i].assign(slice.in_vector(i).begin(), slice.in_vector(i).end());
    const Matrix<T> b = slice.Copy(3, 0);
    const int64_t n = b.rows;
    if (n == 0) return;
    if (lapack::Gtsv(absl::MakeSpan(parts[0]).subspan(1), absl::MakeSpan(parts[1]),
                     absl::MakeSpan(parts[2]).first(n - 1), b) != 0)
      if_singular(b);
  });
}

}  // namespace

// Singular matrices are an error: the library perturbs pivots in a way that is not documented.
absl::StatusOr<Literal> TridiagonalSolvePerturbed(OpContext& context) {
  bool singular = false;
  HLO_ASSIGN_OR_RETURN(Literal x, TridiagonalSolveOf(context, [&](auto) { singular = true; }));
  if (!singular) return x;
  return absl::FailedPreconditionError(
      "the matrix is singular, and what the library computes then is not known");
}

absl::StatusOr<Literal> Gtsv2(OpContext& context) {
  return TridiagonalSolveOf(context, []<class T>(Matrix<T> x) {
    for (int64_t i = 0; i < x.rows; ++i) {
      for (int64_t j = 0; j < x.columns; ++j) x(i, j) = T(std::numeric_limits<double>::quiet_NaN());
    }
  });
}

}  // namespace hlo::reference::custom
