#pragma once
// This file copies short rows between strided arrays and contiguous memory.

#include <cstdint>

namespace hlo::cpu {

// The elements of an array at `rows` rows of `length` positions; strides are in elements.
struct RowStrides {
  int64_t rows, length, row_stride, stride;
};

// Copies the elements of the rows to contiguous memory, or from it. Elements have `width` bytes (1, 2, 4, 8
// or 16). The memory does not overlap.
void ReadRows(const RowStrides& from, int64_t width, const void* array, void* contiguous);
void WriteRows(const RowStrides& to, int64_t width, void* array, const void* contiguous);

// Copies rows of a few bytes, whose distances are `from_row` and `to_row` bytes. Returns false if the rows
// are too long or too short.
bool CopyShortRows(int64_t rows, int64_t byte_count, const void* from, int64_t from_row, void* to,
                   int64_t to_row);

}  // namespace hlo::cpu
