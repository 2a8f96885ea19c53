#pragma once
// This file declares the macro-kernel of matrix products over panels, which are packed or read in place.

#include "kernels/cpu/gemm/gemm_core.h"

namespace hlo::cpu {

// Consecutive panels of one operand. Element (i, k) of panel p is
// data[p * panel_stride + i * stride + k * k_stride]. Packed panels are padded.
template <class T>
struct Panels {
  const T* data;
  int64_t panel_stride, stride, k_stride;
  bool is_packed;
};

// The operands of a product: panels of kPanelRows<T> rows and of kPanelColumns<T> columns. The stride of b is
// 1. Panels that are not packed must not be read beyond the rows and columns of the product.
template <class T>
struct PanelProduct {
  int64_t rows, columns, k_count;
  Panels<T> a, b;
};
// Stores the product in to[i * ld + j], or adds it if `add`.
template <class T, Terms kTerms>
void MultiplyPanelPairs(const PanelProduct<T>& product, T* to, int64_t ld, bool add);

// True if the target loads and stores the first lanes of a vector by one instruction.
inline constexpr bool kHasMasks = kVectorBytes >= 32;

// True if a may be read in place, with any strides.
template <class T, Terms kTerms>
inline constexpr bool kReadsRowsInPlace = kTerms == Terms::kSingle&& std::is_floating_point_v<T>;

}  // namespace hlo::cpu
