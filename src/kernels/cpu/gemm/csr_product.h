#pragma once
// This file multiplies a sparse matrix in CSR form by a dense matrix (semantics 9.5).

#include <cstdint>

#include "hlo_run/element_type.h"

namespace hlo::cpu {

struct CsrShape {
  ElementType type;
  ElementType index_type;  // s32 or s64.
  int64_t rows, values;
  int64_t dense_rows, dense_columns;
};

// True for f32, f64, c64 and c128.
bool CsrProductSupports(ElementType type);

// Row i of the sparse matrix has values[p] in column columns[p] for offsets[i] <= p < offsets[i + 1]. `out`
// is dense and overlaps no operand. Returns false if an offset or a column is out of range; the elements of
// out are then unspecified.
bool MultiplyCsr(const CsrShape& shape, const void* values, const void* offsets, const void* columns,
                 const void* dense, void* out);

}  // namespace hlo::cpu
