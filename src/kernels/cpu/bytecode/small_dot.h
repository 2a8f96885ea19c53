#pragma once
// This file multiplies matrices of a few elements, for which the setup of Gemm would dominate: all offsets
// are precomputed.

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "kernels/cpu/gemm/gemm.h"

namespace hlo::cpu {

// Returns the sum of term(0), term(1), ..., numbers or vectors of type Sum. Uses two accumulators to hide the
// latency of additions.
template <class Sum, class Term>
[[gnu::always_inline]] inline Sum AddTerms(int64_t terms, Term&& term) {
  Sum even{}, odd{};
  int64_t k = 0;
  for (; k + 1 < terms; k += 2) {
    even += term(k);
    odd += term(k + 1);
  }
  if (k < terms) even += term(k);
  return even + odd;
}
template <class T, class Term>
[[gnu::always_inline]] inline T SumOfTerms(int64_t terms, Term&& term) {
  return static_cast<T>(AddTerms<double>(terms, term));
}

// Rows of several columns of f32 are accumulated in f32 from this number of terms on, and in f64 below it.
// Vectors of terms of f32 are accumulated in f32: each lane adds a fraction of them.
inline constexpr int64_t kMinFloatTerms = 33;

// Returns the dot product of contiguous vectors. Short ones have the sums of SumOfTerms.
template <class T>
T DotOfLines(const T* x, const T* y, int64_t terms);

class SmallDot {
 public:
  // Returns nullopt if the product is too large or its type is neither f32 nor f64.
  static std::optional<SmallDot> Make(const loops::GemmProblem& problem);

  // Computes the problem's product.
  void Run(const void* a, const void* b, void* c) const;

  // Returns true if both read and write the same offsets.
  bool operator==(const SmallDot&) const = default;

  ElementType type() const { return type_; }
  // The rows and columns of each matrix of the batch as offsets of their first elements, and the offsets of
  // the terms of a row and of a column. Results are in row-major order.
  struct Offsets {
    const std::vector<int32_t>&rows, &row_terms, &columns, &column_terms;
    int64_t m, n;  // The rows and columns of one matrix.
  };
  Offsets offsets() const { return {rows_, row_terms_, columns_, column_terms_, m_, n_}; }
  // Returns the length if the product is a single dot product of contiguous vectors, otherwise 0.
  int64_t line() const {
    return in_order_ && rows_.size() == 1 && n_ == 1 ? static_cast<int64_t>(row_terms_.size()) : 0;
  }

 private:
  using Terms = std::vector<int32_t>;

  // Computes the products of a row with all columns if they fill a vector, and returns their number. The
  // terms are those of the row, and those of a column.
  template <class T>
  static int64_t RunVectors(const T* x, const Terms& row_terms, const T* b, const Terms& column_terms,
                            const int32_t* columns, int64_t n, T* c);
  template <class T>
  void RunAs(const T* a, const T* b, T* c) const;
  template <class T>
  void RunRow(const T* x, const T* b, const int32_t* columns, T* c) const;
  // Computes the products of rows at these offsets with a column; the results are n elements apart.
  template <class T>
  void RunColumn(const T* a, absl::Span<const int32_t> rows, const T* y, T* c) const;
  bool UsesLines() const;
  bool UsesVectorsOfRows() const;
  bool UsesEach() const;
  void ExpandOffsets();

  ElementType type_ = ElementType::kF32;
  // Offsets of each row of each matrix of the batch and of the terms of a row; the same for columns.
  std::vector<int32_t> rows_, row_terms_, columns_, column_terms_;
  // The row and the column of each result; empty unless UsesEach.
  std::vector<int32_t> row_of_each_, column_of_each_;
  int64_t m_ = 0, n_ = 0;
  bool in_order_ = false;  // Terms are contiguous in both operands.
  bool has_contiguous_columns_ = false;
  bool is_column_ = false;  // n is 1, and rows are contiguous.
};

}  // namespace hlo::cpu
