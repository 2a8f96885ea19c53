#include "kernels/lapack/product.h"

#include <algorithm>
#include <utility>

#include "kernels/cpu/gemm/gemm.h"

namespace hlo::lapack {
namespace {

// Copies a conjugated block of the matrix at `context`.
template <class T>
void CopyConjugate(const void* context, const cpu::ArrayBlock& block) {
  const T* from = static_cast<const T*>(context) + block.first;
  T* to = static_cast<T*>(block.data);
  for (int64_t r = 0; r < block.rows; ++r) {
    for (int64_t c = 0; c < block.columns; ++c)
      to[r * block.data_stride + c] = std::conj(from[r * block.row_stride + c]);
  }
}

// Converts a source to an operand of a product.
class Operand {
 public:
  template <class T>
  explicit Operand(const Source<T>& source)
      : conjugate_{
            source.type == ElementType::kC64 ? &CopyConjugate<std::complex<float>> : &CopyConjugate<Complex>,
            source.data, 0.5} {
    const bool conjugates = source.conjugate && IsComplex(source.type);
    operand_ = {{.type = source.type,
                 .row_stride = source.row_stride,
                 .column_stride = source.column_stride,
                 .batch_strides = {}},
                conjugates ? nullptr : source.data,
                conjugates ? &conjugate_ : nullptr};
  }
  Operand(const Operand&) = delete;
  Operand& operator=(const Operand&) = delete;
  const cpu::GemmOperand& operator*() const { return operand_; }

 private:
  cpu::BlockFunction conjugate_;
  cpu::GemmOperand operand_;
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
cpu::GemmProblem ProblemOf(const Operand& a, const Operand& b, int64_t depth, const Matrix<T>& c) {
  return {{.m = c.rows,
           .n = c.columns,
           .k = depth,
           .batch_dims = {},
           .a = *a,
           .b = *b,
           .c_type = kElementType<T>,
           .c_row_stride = c.row_stride,
           .c_batch_strides = {}}};
}

// Calls f(a, b, c, transposed) so that the rows of c are contiguous, transposing the product if needed.
template <class T, class F>
void WithRows(const Source<T>& a, const Source<T>& b, const Matrix<T>& c, F&& f) {
  if (c.column_stride == 1) return f(a, b, c, false);
  f(b.Transposed(), a.Transposed(), c.Transposed(), true);
}

}  // namespace

template <class T>
void Product(const Source<T>& a, const Source<T>& b, const Matrix<T>& c) {
  WithRows(a, b, c, [](const Source<T>& left, const Source<T>& right, const Matrix<T>& to, bool) {
    const Operand lhs(left), rhs(right);
    cpu::GemmProblem problem = ProblemOf(lhs, rhs, left.columns, to);
    problem.c = to.data;
    cpu::Gemm(problem);
  });
}

template <class T>
void SubtractProduct(const Source<T>& a, const Source<T>& b, const Matrix<T>& c, Part part) {
  if (a.columns == 0) return;
  WithRows(a, b, c, [&](const Source<T>& left, const Source<T>& right, const Matrix<T>& to, bool transposed) {
    const Part other = part == Part::kLower ? Part::kUpper : part == Part::kUpper ? Part::kLower : part;
    const Operand lhs(left), rhs(right);
    cpu::GemmProblem problem = ProblemOf(lhs, rhs, left.columns, to);
    const Difference<T> difference{to.data, to.row_stride, transposed ? other : part};
    problem.epilogue = {&Difference<T>::Take, &difference, 0.3};
    cpu::Gemm(problem);
  });
}

#define HLO_INSTANTIATE(T)                                                     \
  template void Product(const Source<T>&, const Source<T>&, const Matrix<T>&); \
  template void SubtractProduct(const Source<T>&, const Source<T>&, const Matrix<T>&, Part);
HLO_INSTANTIATE(double)
HLO_INSTANTIATE(Complex)
#undef HLO_INSTANTIATE

}  // namespace hlo::lapack
