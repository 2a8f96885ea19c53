#pragma once
// This file declares the macro-kernel of matrix products over packed panels.

#include "kernels/cpu/gemm/gemm_core.h"

namespace hlo::cpu {

// Packed operands of a product: consecutive panels of kPanelRows<T> rows and of kPanelColumns<T> columns.
template <class T>
struct PackedProduct {
  int64_t rows, columns, k_count;
  const T *a, *b;
};
// Stores the product in to[i * ld + j], or adds it if `add`.
template <class T, Terms kTerms>
void MultiplyPacked(const PackedProduct<T>& product, T* to, int64_t ld, bool add);

}  // namespace hlo::cpu
