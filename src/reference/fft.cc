// Discrete Fourier transforms (semantics 6.5) in f64.

#include <complex>
#include <utility>

#include "base/deadline.h"
#include "base/root_of_unity.h"
#include "base/status.h"
#include "reference/arrays.h"
#include "reference/op.h"

namespace hlo::reference {
namespace {

using Number = std::complex<double>;

// Returns exp(-2 pi i k / n) for every k, or the conjugates.
std::vector<Number> Roots(int64_t n, bool conjugate) {
  std::vector<Number> roots(n);
  for (int64_t k = 0; k < n; ++k) {
    const Number root(RootOfUnity(static_cast<uint64_t>(k), static_cast<uint64_t>(n)));
    roots[k] = conjugate ? std::conj(root) : root;
  }
  return roots;
}

int64_t SmallestPrimeFactor(int64_t n) {
  for (int64_t p = 2; p * p <= n; ++p) {
    if (n % p == 0) return p;
  }
  return n;
}

// X[k] = sum over j of x[j] root^(j k). For n = p m, it consists of p transforms of every p-th element: X[k]
// = sum over r < p of root^(r k) X_r[k mod m].
absl::Status Transform(const Number* x, int64_t stride, int64_t n, const std::vector<Number>& roots,
                       Number* out, DeadlineChecker& deadline) {
  if (n == 1) {
    out[0] = x[0];
    return absl::OkStatus();
  }
  const int64_t p = SmallestPrimeFactor(n), m = n / p;
  const auto root_step = static_cast<int64_t>(roots.size()) / n;
  std::vector<Number> parts(n);
  for (int64_t r = 0; r < p; ++r)
    HLO_RETURN_IF_ERROR(Transform(x + r * stride, stride * p, m, roots, parts.data() + r * m, deadline));
  for (int64_t k = 0; k < n; ++k) {
    HLO_RETURN_IF_ERROR(deadline.Spend(4 * p));
    Number sum = 0;
    for (int64_t r = 0; r < p; ++r) sum += roots[r * k % n * root_step] * parts[r * m + k % m];
    out[k] = sum;
  }
  return absl::OkStatus();
}

// Transforms every line along a dimension in place.
absl::Status TransformDimension(Literal& array, int64_t dimension, bool inverse) {
  const int64_t n = array.dim(dimension);
  if (array.element_count() == 0) return absl::OkStatus();
  const std::vector<Number> roots = Roots(n, inverse);
  const View dense = View::Dense(array.dims());
  const Index others = OtherDims(array.rank(), {dimension});
  const Index starts = Pick(dense.dims, others), strides = Pick(dense.strides, others);
  const int64_t stride = dense.strides[dimension];
  Number* data = array.mutable_span<Number>().data();
  std::vector<Number> line(n);
  DeadlineChecker deadline;
  for (const Index& i : EachIndex(starts)) {
    Number* start = data + Offset(i, strides);
    HLO_RETURN_IF_ERROR(Transform(start, stride, n, roots, line.data(), deadline));
    for (int64_t k = 0; k < n; ++k) start[k * stride] = inverse ? line[k] / static_cast<double>(n) : line[k];
  }
  return absl::OkStatus();
}

// Returns the array with its last dimension resized to bins 0..size-1; missing bins are X[k] = conj(X[n -
// k]).
absl::StatusOr<Literal> WithLastSize(const Literal& array, int64_t size) {
  Shape shape = array.shape();
  shape.set_dim(array.rank() - 1, size);
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(shape));
  const int64_t bins = array.dim(array.rank() - 1);
  const absl::Span<const Number> in = array.span<Number>();
  const absl::Span<Number> out = result.mutable_span<Number>();
  for (int64_t i = 0; i < result.element_count(); ++i) {
    const int64_t line = i / size * bins, k = i % size;
    out[i] = k < bins ? in[line + k] : size - k < bins ? std::conj(in[line + size - k]) : 0;
  }
  return result;
}

}  // namespace

// Transforms the last dimensions, one per entry of fft_length. RFFT keeps bins 0..n/2 of the last one, and
// IRFFT starts from them; inverse transforms divide by the number of elements.
absl::StatusOr<Literal> Fft(OpContext& context) {
  const FftType type = context.instruction.Get<attr::fft_type>();
  const bool inverse = type == FftType::kIfft || type == FftType::kIrfft;
  const IntList length = context.instruction.Get<attr::fft_length>();
  HLO_ASSIGN_OR_RETURN(Literal array, Widened(context.operands[0], ElementType::kC128));
  HLO_RETURN_IF_ERROR(array.MakeUnique());
  const int64_t last = array.rank() - 1, outer_count = static_cast<int64_t>(length.size()) - 1;
  if (length.empty()) return Rounded(array, context.shape());
  // The last dimension is transformed while it is complete: before bins are dropped or after they are added.
  if (type == FftType::kRfft) {
    HLO_RETURN_IF_ERROR(TransformDimension(array, last, inverse));
    HLO_ASSIGN_OR_RETURN(array, WithLastSize(array, context.shape().dim(last)));
  }
  for (int64_t d = last - outer_count; d < last; ++d)
    HLO_RETURN_IF_ERROR(TransformDimension(array, d, inverse));
  if (type == FftType::kIrfft) {
    HLO_ASSIGN_OR_RETURN(array, WithLastSize(array, context.shape().dim(last)));
  }
  if (type != FftType::kRfft) HLO_RETURN_IF_ERROR(TransformDimension(array, last, inverse));
  return Rounded(array, context.shape());
}

}  // namespace hlo::reference
