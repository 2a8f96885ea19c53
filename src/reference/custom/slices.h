#pragma once
// Iterates over the matrices in a batched call, with operands and results in the wide type.

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/deadline.h"
#include "base/status.h"
#include "reference/op.h"
#include "types/matrix.h"

namespace hlo::reference::custom {

// Floats are f64, complex numbers c128, integers s64.
class Slices {
 public:
  // The first `leading` dimensions of operand `array`, and of all others with as many dimensions, are the
  // batch.
  static absl::StatusOr<Slices> Make(OpContext& context, int64_t array, int64_t leading);

  int64_t count() const { return count_; }
  bool is_complex() const { return is_complex_; }
  absl::StatusOr<Literal> Finish(const Shape& shape);

 private:
  template <class T>
  friend class Slice;

  int64_t leading_ = 0, count_ = 1;
  bool is_complex_ = false;
  std::vector<Literal> operands_, results_;
};

// Selects entry `number` of the batch.
template <class T>
class Slice {
 public:
  Slice(Slices& slices, int64_t number) : slices_(slices), number_(number) {}

  Matrix<const T> in(int i) const { return MatrixOf<const T>(slices_.operands_[i]); }
  Matrix<T> out(int i) const { return MatrixOf<T>(slices_.results_[i]); }
  // Returns the last dimension of an operand or result.
  template <class U = T>
  absl::Span<const U> in_vector(int i) const {
    return VectorOf<const U>(slices_.operands_[i]);
  }
  template <class U = T>
  absl::Span<U> vector(int i) const {
    return VectorOf<U>(slices_.results_[i]);
  }
  template <class U>
  Matrix<U> matrix(int i) const {
    return MatrixOf<U>(slices_.results_[i]);
  }
  int64_t& info(int i) const { return vector<int64_t>(i)[0]; }

  // Returns a scalar operand, which is the same for the whole batch.
  template <class U>
  U scalar(int i) const {
    const Literal& operand = slices_.operands_[i];
    if constexpr (std::is_same_v<U, std::complex<double>>) {
      if (IsComplex(operand.type())) return operand.span<std::complex<double>>()[0];
    }
    return operand.span<double>()[0];
  }

  void CopyElements(int from, int to) const {
    const auto source = in_vector<T>(from);
    std::copy(source.begin(), source.end(), vector<T>(to).begin());
  }
  // Returns result `to`, initialised with the elements of operand `from`.
  Matrix<T> Copy(int from, int to) const {
    CopyElements(from, to);
    return out(to);
  }

 private:
  template <class U>
  absl::Span<U> VectorOf(Literal& array) const {
    using Plain = std::remove_const_t<U>;
    const int64_t size = array.element_count() / std::max<int64_t>(1, slices_.count());
    return array.mutable_span<Plain>().subspan(number_ * size, size);
  }
  template <class U>
  Matrix<U> MatrixOf(Literal& array) const {
    const int64_t rank = array.rank();
    return Matrix<U>::Dense(VectorOf<U>(array).data(), array.dim(rank - 2), array.dim(rank - 1));
  }

  Slices& slices_;
  int64_t number_;
};

// Calls f for a matrix of the batch; returns its status if it has one.
template <class T, class F>
absl::Status StatusOf(F&& f, Slices& slices, int64_t number) {
  const auto call = [&] { return f.template operator()<T>(Slice<T>(slices, number)); };
  if constexpr (std::is_void_v<decltype(call())>) {
    call();
    return absl::OkStatus();
  } else {
    return call();
  }
}

// Calls f.operator()<T>(slice) for every matrix of the batch, where T is double or std::complex<double>, and
// returns the call's results, or the first error that f returns. Results are zero initially.
template <class F>
absl::StatusOr<Literal> EachSlice(OpContext& context, int64_t array, int64_t leading, F&& f) {
  absl::StatusOr<Slices> slices = Slices::Make(context, array, leading);
  if (!slices.ok()) return slices.status();
  try {
    for (int64_t i = 0; i < slices->count(); ++i) {
      HLO_RETURN_IF_ERROR(Deadline::Check());
      HLO_RETURN_IF_ERROR(slices->is_complex() ? StatusOf<std::complex<double>>(f, *slices, i)
                                               : StatusOf<double>(f, *slices, i));
    }
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("there is no memory for the work space of a matrix");
  }
  return slices->Finish(context.shape());
}

// The same, with matrices in the last two dimensions of operand `array`.
template <class F>
absl::StatusOr<Literal> EachMatrix(OpContext& context, int64_t array, F&& f) {
  return EachSlice(context, array, context.operands[array].rank() - 2, std::forward<F>(f));
}

}  // namespace hlo::reference::custom
