#pragma once
// The innermost loops of products of matrices, over packed panels.

#include "kernels/cpu/gemm/gemm_core.h"

namespace hlo::cpu {

// Rows times columns for so many terms: panels of kPanelRows<T> rows and of kPanelColumns<T> columns, each
// one behind the other.
template <class T>
struct PackedProduct {
  int64_t rows, columns, k_count;
  const T *a, *b;
};
// to[i * ld + j] = the product, or that is added.
template <class T, Terms kTerms>
void MultiplyPacked(const PackedProduct<T>& product, T* to, int64_t ld, bool add);

}  // namespace hlo::cpu
