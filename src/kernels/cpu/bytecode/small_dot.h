#pragma once
// Products of a few elements, where setting up a product of matrices would take longer than the product: all
// places are listed beforehand.

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/cpu/gemm/gemm.h"

namespace hlo::cpu {

// Two sums side by side: each addition waits for the one before it.
template <class T, class Term>
[[gnu::always_inline]] inline T SumOfTerms(int64_t terms, Term&& term) {
  double even = 0, odd = 0;
  int64_t k = 0;
  for (; k + 1 < terms; k += 2) {
    even += term(k);
    odd += term(k + 1);
  }
  if (k < terms) even += term(k);
  return static_cast<T>(even + odd);
}

class SmallDot {
 public:
  // nullopt where the product is larger, or of other types than f32 and f64.
  static std::optional<SmallDot> Make(const GemmProblem& problem);

  // The problem's operands and result; sums are taken in f64.
  void Run(const void* a, const void* b, void* c) const;

  // True if both take the same elements to the same places.
  bool operator==(const SmallDot&) const = default;

  ElementType type() const { return type_; }
  // How many neighbours it multiplies by as many others, where the sum of those is all; 0: it is more.
  int64_t line() const {
    return in_order_ && rows_.size() == 1 && n_ == 1 ? static_cast<int64_t>(row_terms_.size()) : 0;
  }

 private:
  template <class T>
  void RunAs(const T* a, const T* b, T* c) const;

  ElementType type_ = ElementType::kF32;
  // Of each row of each matrix of the batch, of the terms of a row, and likewise of the columns.
  std::vector<int32_t> rows_, row_terms_, columns_, column_terms_;
  int64_t m_ = 0, n_ = 0;
  bool in_order_ = false;  // The terms are neighbours, in both.
};

}  // namespace hlo::cpu
