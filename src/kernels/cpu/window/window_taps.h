#pragma once
// This file computes the elements of a dimension under a window.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

#include "absl/types/span.h"
#include "hlo_run/attribute.h"
#include "ir/window_order.h"
#include "kernels/cpu/memory/buffer_cache.h"
#include "types/index.h"

namespace hlo::cpu {

// A tap: `count` outputs first_output, + output_step, ... see base elements first_base, + base_step, ...
// under one window element.
struct TapRun {
  int64_t first_output, output_step, first_base, base_step, count;
};

// Returns the outputs and base elements of window element w, without padding and holes of base dilation.
inline TapRun RunOfTap(const WindowDim& dim, int64_t base_size, int64_t output_size, int64_t w) {
  const int64_t origin = w * dim.window_dilation - dim.padding_low;
  const int64_t divisor = std::gcd(dim.stride, dim.base_dilation);
  TapRun run{0, dim.base_dilation / divisor, 0, dim.stride / divisor, 0};
  int64_t o = origin >= 0 ? 0 : (-origin - 1) / dim.stride + 1;
  for (int64_t tries = 0; tries < run.output_step && o < output_size; ++tries, ++o) {
    const int64_t position = o * dim.stride + origin;
    if (position % dim.base_dilation != 0) continue;
    run.first_output = o;
    run.first_base = position / dim.base_dilation;
    if (run.first_base >= base_size) return run;
    run.count =
        std::min((output_size - 1 - o) / run.output_step, (base_size - 1 - run.first_base) / run.base_step) +
        1;
    return run;
  }
  return run;
}

// Calls visit(base, w) for the elements under the window at output o, ascending.
template <class Visit>
void EachTap(const WindowDim& dim, int64_t base_size, int64_t o, Visit&& visit) {
  const int64_t origin = o * dim.stride - dim.padding_low;
  int64_t w = origin >= 0 ? 0 : (-origin - 1) / dim.window_dilation + 1;
  for (; w < dim.size; ++w) {
    const int64_t position = origin + w * dim.window_dilation;
    if (position / dim.base_dilation >= base_size) return;
    if (position % dim.base_dilation == 0) visit(position / dim.base_dilation, w);
  }
}

// Appends the row-major offsets of the elements under a multi-dimensional window at output o: of the peeled
// ones, or of all others.
inline void AppendOffsets(absl::Span<const WindowDim> window, const Index& base_dims, const Index& strides,
                          const Index& o, PeeledElements peeled, bool is_last,
                          CachedVector<int64_t>* offsets) {
  CachedVector<int64_t> product, next;
  product.assign(1, 0);
  for (size_t d = 0; d < window.size(); ++d) {
    const bool is_peeled = static_cast<int64_t>(d) == peeled.dimension;
    next.clear();
    for (int64_t offset : product) {
      EachTap(window[d], base_dims[d], o[d], [&](int64_t base, int64_t w) {
        if (!is_peeled || (w >= peeled.first) == is_last) next.push_back(offset + base * strides[d]);
      });
    }
    std::swap(product, next);
  }
  offsets->insert(offsets->end(), product.begin(), product.end());
}
// Collects the offsets of the elements under a window in the order of semantics 5.3.
inline void OffsetsUnderWindow(absl::Span<const WindowDim> window, const Index& base_dims,
                               const Index& strides, const Index& o, PeeledElements peeled,
                               CachedVector<int64_t>* offsets) {
  offsets->clear();
  AppendOffsets(window, base_dims, strides, o, peeled, false, offsets);
  if (peeled.dimension >= 0) AppendOffsets(window, base_dims, strides, o, peeled, true, offsets);
}

inline bool IsTrivial(const WindowDim& dim) {
  return dim == WindowDim{} || dim == WindowDim{.reversed = true};
}

}  // namespace hlo::cpu
