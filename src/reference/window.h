#pragma once
// Which elements lie under a window? Shared by reduce-window, select-and-scatter and convolution
// (semantics 5.2).

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "hlo_run/attribute.h"
#include "types/index.h"

namespace hlo::reference {

// An element of the base array and the element of the window that lies on it, both as places in their
// buffers.
struct Tap {
  int64_t base;
  int64_t window;
};

class WindowTaps {
 public:
  // Places are counted with these strides, one for each dimension of the window.
  WindowTaps(Window window, absl::Span<const int64_t> base_dims, const Index& base_strides,
             const Index& window_strides)
      : window_(window),
        base_dims_(base_dims),
        base_strides_(base_strides),
        window_strides_(window_strides) {}

  // The taps of the window at output position o, row-major over the window. What lies on padding or on the
  // holes of base dilation is left out:
  //   p[d] = o[d] * stride + w[d] * window_dilation - padding_low, a multiple of base_dilation; element p /
  //   base_dilation.
  // Where the window is reversed, the tap of position w is the window's element size - 1 - w.
  absl::Span<const Tap> At(const Index& o) {
    taps_.assign(1, Tap{0, 0});
    for (size_t d = 0; d < window_.size(); ++d) {
      line_.clear();
      AppendLine(window_[d], base_dims_[d], o[d]);
      next_.clear();
      for (const Tap& outer : taps_) {
        for (const Tap& tap : line_) {
          next_.push_back(
              {outer.base + tap.base * base_strides_[d], outer.window + tap.window * window_strides_[d]});
        }
      }
      std::swap(taps_, next_);
    }
    return taps_;
  }

 private:
  // The taps along one dimension, as positions.
  void AppendLine(const WindowDim& dim, int64_t base_size, int64_t o) {
    const int64_t origin = o * dim.stride - dim.padding_low;
    const int64_t extent = base_size == 0 ? 0 : (base_size - 1) * dim.base_dilation + 1;
    int64_t w = origin < 0 ? (-origin + dim.window_dilation - 1) / dim.window_dilation : 0;
    for (; w < dim.size; ++w) {
      const int64_t p = origin + w * dim.window_dilation;
      if (p >= extent) break;
      if (p % dim.base_dilation == 0)
        line_.push_back({p / dim.base_dilation, dim.reversed ? dim.size - 1 - w : w});
    }
  }

  Window window_;
  Index base_dims_, base_strides_, window_strides_;
  std::vector<Tap> taps_, next_, line_;
};

}  // namespace hlo::reference
