#pragma once
// This file converts positions of a loop to indices and iterates over its rows.

#include <algorithm>
#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "loops/access.h"

namespace hlo::cpu {

using loops::Strides;

// Splits a linear index into digits, the last dimension fastest, and calls visit(dimension, digit).
template <class Visit>
void EachDigit(int64_t number, absl::Span<const int64_t> dims, Visit&& visit) {
  for (int64_t d = static_cast<int64_t>(dims.size()) - 1; d > 0; --d) {
    visit(d, number % dims[d]);
    number /= dims[d];
  }
  if (!dims.empty()) visit(0, number);
}

// Splits inner positions [begin, begin + n) into groups of rows with a constant distance:
// visit(offset of the first element, rows, distance between rows, stride, elements of a row, elements
// before).
template <class Visit>
void EachRowGroup(absl::Span<const int64_t> dims, const Strides& strides, int64_t base, int64_t begin,
                  int64_t n, Visit&& visit) {
  if (dims.empty()) return visit(base, 1, 0, 0, n, 0);
  const int64_t last = static_cast<int64_t>(dims.size()) - 1, row = dims[last];
  absl::InlinedVector<int64_t, 6> index(dims.size());
  int64_t at = base;
  EachDigit(begin, dims, [&](int64_t d, int64_t i) {
    index[d] = i;
    at += i * strides[d];
  });
  const auto next_row = [&] {
    at -= index[last] * strides[last];
    index[last] = 0;
    for (int64_t d = last - 1; d >= 0; --d) {
      at += strides[d];
      if (++index[d] < dims[d]) return;
      at -= dims[d] * strides[d];
      index[d] = 0;
    }
  };
  for (int64_t done = 0; done < n;) {
    const int64_t left = n - done;
    if (index[last] != 0 || left < row || last == 0) {
      const int64_t length = std::min(left, row - index[last]);
      visit(at, 1, 0, strides[last], length, done);
      done += length;
    } else {
      const int64_t rows = std::min(left / row, dims[last - 1] - index[last - 1]);
      visit(at, rows, strides[last - 1], strides[last], row, done);
      done += rows * row;
      at += (rows - 1) * strides[last - 1];
      index[last - 1] += rows - 1;
    }
    if (done < n) next_row();
  }
}

// Splits inner positions [begin, begin + n) into parts of rows: visit(offset of the first element, stride,
// count, elements before).
template <class Visit>
void EachRow(absl::Span<const int64_t> dims, const Strides& strides, int64_t base, int64_t begin, int64_t n,
             Visit&& visit) {
  EachRowGroup(dims, strides, base, begin, n,
               [&](int64_t at, int64_t rows, int64_t distance, int64_t stride, int64_t length, int64_t done) {
                 for (int64_t r = 0; r < rows; ++r)
                   visit(at + r * distance, stride, length, done + r * length);
               });
}

}  // namespace hlo::cpu
