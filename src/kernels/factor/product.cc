#include "kernels/factor/product.h"

#include <algorithm>
#include <utility>

#include "kernels/cpu/gemm.h"

namespace hlo::factor {
namespace {

template <class T>
constexpr ElementType kType = std::is_same_v<T, double> ? ElementType::kF64 : ElementType::kC128;

// Gives blocks of the conjugate of a matrix whose elements are counted from `context` on.
void Conjugated(const void* context, const cpu::ArrayBlock& block) {
  const auto* from = static_cast<const Complex*>(context) + block.first;
  auto* to = static_cast<Complex*>(block.data);
  for (int64_t r = 0; r < block.rows; ++r) {
    for (int64_t c = 0; c < block.columns; ++c)
      to[r * block.data_stride + c] = std::conj(from[r * block.row_stride + c]);
  }
}

// An operand of a product, and what it is computed by.
template <class T>
class Side {
 public:
  explicit Side(const Factor<T>& factor)
      : matrix_(factor.matrix),
        conjugates_(factor.conjugate && !std::is_same_v<T, double>),
        conjugate_{&Conjugated, factor.matrix.data, 0.5} {}
  cpu::GemmOperand operand() const {
    return {.data = conjugates_ ? nullptr : matrix_.data,
            .type = kType<T>,
            .row_stride = matrix_.row_stride,
            .column_stride = matrix_.column_stride,
            .batch_strides = {},
            .compute = conjugates_ ? &conjugate_ : nullptr};
  }

 private:
  Matrix<const T> matrix_;
  bool conjugates_;
  cpu::BlockFunction conjugate_;
};

template <class T>
struct Difference {
  T* data;
  int64_t row_stride;
  Part part;

  static void Take(const void* context, const cpu::ArrayBlock& block) {
    const auto& difference = *static_cast<const Difference*>(context);
    const auto* product = static_cast<const T*>(block.data);
    T* to = difference.data + block.first;
    const int64_t row = block.first / difference.row_stride, column = block.first % difference.row_stride;
    for (int64_t r = 0; r < block.rows; ++r) {
      const int64_t diagonal = row + r - column;
      int64_t begin = 0, end = block.columns;
      if (difference.part == Part::kLower) end = std::min(end, diagonal + 1);
      if (difference.part == Part::kUpper) begin = std::max<int64_t>(begin, diagonal);
      for (int64_t c = begin; c < end; ++c) to[c] -= product[c];
      to += difference.row_stride;
      product += block.data_stride;
    }
  }
};

template <class T>
cpu::GemmProblem ProblemOf(const Side<T>& a, const Side<T>& b, int64_t depth, const Matrix<T>& c) {
  return {.m = c.rows,
          .n = c.columns,
          .k = depth,
          .batch_dims = {},
          .a = a.operand(),
          .b = b.operand(),
          .c_type = kType<T>,
          .c_row_stride = c.row_stride,
          .c_batch_strides = {},
          .epilogue = {}};
}

// Calls f(a, b, c, transposed) with neighbours in a row of c neighbours in memory.
template <class T, class F>
void WithRows(const Factor<T>& a, const Factor<T>& b, const Matrix<T>& c, F&& f) {
  if (c.column_stride == 1) return f(a, b, c, false);
  f(Factor<T>{b.matrix.Transposed(), b.conjugate}, Factor<T>{a.matrix.Transposed(), a.conjugate},
    c.Transposed(), true);
}

}  // namespace

template <class T>
void Product(const Factor<T>& a, const Factor<T>& b, const Matrix<T>& c) {
  WithRows(a, b, c, [](const Factor<T>& left, const Factor<T>& right, const Matrix<T>& to, bool) {
    const Side<T> lhs(left), rhs(right);
    cpu::GemmProblem problem = ProblemOf(lhs, rhs, left.matrix.columns, to);
    problem.c = to.data;
    cpu::Gemm(problem);
  });
}

template <class T>
void SubtractProduct(const Factor<T>& a, const Factor<T>& b, const Matrix<T>& c, Part part) {
  if (a.matrix.columns == 0) return;
  WithRows(a, b, c, [&](const Factor<T>& left, const Factor<T>& right, const Matrix<T>& to, bool transposed) {
    const Part other = part == Part::kLower ? Part::kUpper : part == Part::kUpper ? Part::kLower : part;
    const Side<T> lhs(left), rhs(right);
    cpu::GemmProblem problem = ProblemOf(lhs, rhs, left.matrix.columns, to);
    const Difference<T> difference{to.data, to.row_stride, transposed ? other : part};
    problem.epilogue = {&Difference<T>::Take, &difference, 0.3};
    cpu::Gemm(problem);
  });
}

#define HLO_INSTANTIATE(T)                                                     \
  template void Product(const Factor<T>&, const Factor<T>&, const Matrix<T>&); \
  template void SubtractProduct(const Factor<T>&, const Factor<T>&, const Matrix<T>&, Part);
HLO_INSTANTIATE(double)
HLO_INSTANTIATE(Complex)
#undef HLO_INSTANTIATE

}  // namespace hlo::factor
