#pragma once
// This file applies blocks of reflectors H = 1 - tau v v^H in the compact WY form 1 - v t v^H.

#include "absl/types/span.h"
#include "kernels/lapack/lanes.h"
#include "kernels/lapack/product.h"
#include "kernels/lapack/scratch.h"

namespace hlo::lapack {

// A sequence of reflectors. Row j holds the elements of v after index `shift + j`, where v is 1; elements up
// to that index are not read.
template <class T>
struct Reflectors {
  const T* rows;
  int64_t row_stride;
  int64_t count, length, shift;
  const T* taus;
};

// The sizes of a block's scratch memory, in elements.
struct BlockCounts {
  int64_t lines = 0, square = 0, product = 0;
  int64_t total() const { return lines + 2 * square + 2 * product; }

  // Returns the block size for this number of reflectors. Larger blocks make products faster but add work.
  static int64_t SizeOf(int64_t reflectors);
  // Returns the sizes for reflectors of this length that are applied to this number of columns, or rows.
  static BlockCounts For(int64_t length, int64_t reflectors, int64_t others, int64_t element_bytes);
};

// A block of reflectors H(0) H(1) ... = 1 - v t v^H = q, with memory to apply it.
template <class T>
class ReflectorBlock {
 public:
  explicit ReflectorBlock(const BlockCounts& counts) : counts_(counts), memory_(counts.total()) {}

  // Returns the scratch memory as lines.
  Matrix<T> Lines(int64_t count, int64_t length) const {
    return {memory_.data(), count, length, PaddedLength<T>(length), 1};
  }
  // Sets the reflectors from lines that hold v completely.
  void Set(const Matrix<T>& lines, const T* taus);
  // Reads reflectors from columns in the format of geqrf.
  void Read(const Matrix<const T>& columns, const T* taus);
  // Reads a range of the reflectors, starting at the first element that they change.
  void Read(const Reflectors<T>& reflectors, int64_t begin, int64_t count);

  // Computes c = q c or q^H c. One stride of c is 1.
  void ApplyLeft(const Matrix<T>& c, bool adjoint) const;
  // Computes c = c q or c q^H.
  void ApplyRight(const Matrix<T>& c, bool adjoint) const;
  // Computes c = q [1 0; 0 d] for c = [0 0; 0 d], to accumulate q from the last block to the first.
  void Extend(const Matrix<T>& c) const;

 private:
  int64_t count() const { return lines_.rows; }
  Source<T> v() const { return Plain(lines_.Transposed()); }
  Source<T> v_adjoint() const { return Plain(lines_).Conjugate(); }
  Source<T> t(bool adjoint) const { return adjoint ? Plain(t_).Conjugate() : Plain(t_.Transposed()); }
  // Computes c -= v t w.
  void Subtract(const Matrix<T>& w, const Matrix<T>& c, bool adjoint) const;
  // Returns memory for product `number` (of two), in the storage order of c.
  Matrix<T> ProductLike(const Matrix<T>& c, int64_t number, int64_t rows, int64_t columns) const;

  BlockCounts counts_;
  Scratch<T> memory_;
  Matrix<T> lines_;  // The lines of v.
  Matrix<T> t_;      // The transpose of t.
};

// Computes x = H(0) H(1) ... x, or multiplies by the adjoint of that product. One stride of x is 1.
template <class T>
void ApplyReflectors(const Reflectors<T>& reflectors, const Matrix<T>& x, bool adjoint = false);
// Returns the bytes of scratch memory that ApplyReflectors needs if x has `columns` columns.
int64_t ApplyReflectorsScratchBytes(int64_t count, int64_t length, int64_t columns, int64_t element_bytes);

// geqrf of a matrix whose columns are stored as lines; computes taus.size() reflectors.
template <class T>
void FactorLines(const Matrix<T>& lines, absl::Span<T> taus);
int64_t FactorLinesScratchBytes(int64_t lines, int64_t length, int64_t element_bytes);

}  // namespace hlo::lapack
