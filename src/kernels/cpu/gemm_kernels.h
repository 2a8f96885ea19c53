#pragma once
// The innermost loops of products of matrices, over packed panels.

#include <cstring>

#include "kernels/cpu/gemm_core.h"

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

// A panel of b for complex numbers: of each row real parts, then imaginary parts.
template <class T>
void SplitParts(int64_t k_count, T* panel) {
  using R = Part<T>;
  constexpr int kLane = kPanelColumns<T>;
  R parts[2 * kLane];
  for (int64_t k = 0; k < k_count; ++k) {
    R* row = reinterpret_cast<R*>(panel + k * kLane);
    for (int j = 0; j < kLane; ++j) {
      parts[j] = row[2 * j];
      parts[kLane + j] = row[2 * j + 1];
    }
    std::memcpy(row, parts, sizeof parts);
  }
}

}  // namespace hlo::cpu
