#pragma once
// Which elements lie under a window? Shared by reduce-window, select-and-scatter and convolution
// (semantics 5.2).

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
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
  static absl::StatusOr<WindowTaps> Make(Window window, absl::Span<const int64_t> base_dims,
                                         const Index& base_strides, const Index& window_strides) {
    for (size_t d = 0; d < window.size(); ++d) {
      const WindowDim& dim = window[d];
      const bool small = WithinReach(dim.padding_low) && WithinReach(dim.padding_high) &&
                         WithinReach((base_dims[d] - 1) * dim.base_dilation) &&
                         WithinReach((dim.size - 1) * dim.window_dilation);
      if (!small) return absl::UnimplementedError("windows that reach over 2^60 positions are not evaluated");
    }
    return WindowTaps(window, base_dims, base_strides, window_strides);
  }

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
  WindowTaps(Window window, absl::Span<const int64_t> base_dims, const Index& base_strides,
             const Index& window_strides)
      : window_(window),
        base_dims_(base_dims),
        base_strides_(base_strides),
        window_strides_(window_strides) {}

  // The taps along one dimension, as positions. Of the window's elements and the base's, the loop takes those
  // that lie farther apart: there are at most as many as the base has.
  void AppendLine(const WindowDim& dim, int64_t base_size, int64_t o) {
    const int64_t origin = o * dim.stride - dim.padding_low;
    const auto append = [&](int64_t base, int64_t w) {
      line_.push_back({base, dim.reversed ? dim.size - 1 - w : w});
    };
    if (dim.window_dilation >= dim.base_dilation) {
      for (int64_t w = CeilOfQuotient(-origin, dim.window_dilation); w < dim.size; ++w) {
        const int64_t p = origin + w * dim.window_dilation;
        if (p / dim.base_dilation >= base_size) break;
        if (p % dim.base_dilation == 0) append(p / dim.base_dilation, w);
      }
    } else {
      for (int64_t base = CeilOfQuotient(origin, dim.base_dilation); base < base_size; ++base) {
        const int64_t p = base * dim.base_dilation - origin;
        if (p / dim.window_dilation >= dim.size) break;
        if (p % dim.window_dilation == 0) append(base, p / dim.window_dilation);
      }
    }
  }

  // The first i >= 0 with i * step >= value.
  static int64_t CeilOfQuotient(int64_t value, int64_t step) {
    return value <= 0 ? 0 : (value - 1) / step + 1;
  }

  Window window_;
  Index base_dims_, base_strides_, window_strides_;
  std::vector<Tap> taps_, next_, line_;
};

}  // namespace hlo::reference
