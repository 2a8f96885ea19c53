#pragma once
// Many reflectors H = 1 - tau v v^H at a time: products of them as 1 - v t v^H.

#include "absl/types/span.h"
#include "kernels/lapack/lanes.h"
#include "kernels/lapack/product.h"
#include "kernels/lapack/scratch.h"

namespace hlo::factor {

// Reflectors 0, 1, ...: row j holds v's elements from `shift + j` on, where v has its 1; what stands there
// and before is not read.
template <class T>
struct Reflectors {
  const T* rows;
  int64_t row_stride;
  int64_t count, length, shift;
  const T* taus;
};

// The memory of a block, in elements.
struct BlockCounts {
  int64_t lines = 0, square = 0, product = 0;
  int64_t total() const { return lines + 2 * square + 2 * product; }

  // How many of so many reflectors a block takes: the more, the faster products are, and the more is done
  // besides.
  static int64_t SizeOf(int64_t reflectors);
  // For reflectors of so many elements, applied to so many columns, or rows.
  static BlockCounts For(int64_t length, int64_t reflectors, int64_t others, int64_t element_bytes);
};

// Some reflectors H(0) H(1) ... = 1 - v t v^H = q, and memory to apply them.
template <class T>
class ReflectorBlock {
 public:
  explicit ReflectorBlock(const BlockCounts& counts) : counts_(counts), memory_(counts.total()) {}

  // Memory of so many lines.
  Matrix<T> Lines(int64_t count, int64_t length) const {
    return {memory_.data(), count, length, PaddedLength<T>(length), 1};
  }
  // The columns of v, whole.
  void Set(const Matrix<T>& lines, const T* taus);
  // Columns of reflectors as geqrf stores them.
  void Read(const Matrix<const T>& columns, const T* taus);
  // Some of the reflectors, from the first element on that they change.
  void Read(const Reflectors<T>& reflectors, int64_t begin, int64_t count);

  // c = q c or q^H c; one stride of c is 1.
  void ApplyLeft(const Matrix<T>& c, bool adjoint) const;
  // c = c q or c q^H
  void ApplyRight(const Matrix<T>& c, bool adjoint) const;
  // The columns of q that c has, if c is [0 0; 0 d] and these reflectors come before those of d.
  void Extend(const Matrix<T>& c) const;

 private:
  int64_t count() const { return lines_.rows; }
  Source<T> v() const { return Plain(lines_.Transposed()); }
  Source<T> v_adjoint() const { return Plain(lines_).Conjugate(); }
  Source<T> t(bool adjoint) const { return adjoint ? Plain(t_).Conjugate() : Plain(t_.Transposed()); }
  // c -= v t w
  void Subtract(const Matrix<T>& w, const Matrix<T>& c, bool adjoint) const;
  // One of two products, in the order of c.
  Matrix<T> ProductLike(const Matrix<T>& c, int64_t number, int64_t rows, int64_t columns) const;

  BlockCounts counts_;
  Scratch<T> memory_;
  Matrix<T> lines_;  // Of v.
  Matrix<T> t_;      // The transpose of t.
};

// x = H(0) H(1) ... x, or the adjoint of that product; of x one stride is 1.
template <class T>
void ApplyReflectors(const Reflectors<T>& reflectors, const Matrix<T>& x, bool adjoint = false);
// Bytes of scratch memory that takes, with x of so many columns.
int64_t ApplyReflectorsScratchBytes(int64_t count, int64_t length, int64_t columns, int64_t element_bytes);

// geqrf of a matrix whose columns are lines, as long as `taus` has room.
template <class T>
void FactorLines(const Matrix<T>& lines, absl::Span<T> taus);
int64_t FactorLinesScratchBytes(int64_t lines, int64_t length, int64_t element_bytes);

}  // namespace hlo::factor
