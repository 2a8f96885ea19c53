#pragma once
// Products of a few elements, where setting up a product of matrices would take longer than the product: all
// places are listed beforehand.

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/cpu/gemm.h"

namespace hlo::cpu {

class SmallDot {
 public:
  // nullopt where the product is larger, or of other types than f32 and f64.
  static std::optional<SmallDot> Make(const GemmProblem& problem);

  // The problem's operands and result; sums are taken in f64.
  void Run(const void* a, const void* b, void* c) const;

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
