#pragma once
// Enumerates the elements in a window, for reduce-window, select-and-scatter and convolution (semantics 5.2).

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo_run/attribute.h"
#include "ir/window_order.h"
#include "types/index.h"

namespace hlo::reference {

// A base element and the window element that covers it, as offsets in their buffers.
struct Tap {
  int64_t base;
  int64_t window;
};

class WindowTaps {
 public:
  // `base_strides` and `window_strides` have one entry per window dimension. `peeled` are the
  // elements that come after all others.
  static absl::StatusOr<WindowTaps> Make(Window window, absl::Span<const int64_t> base_dims,
                                         const Index& base_strides, const Index& window_strides,
                                         PeeledElements peeled = {}) {
    for (size_t d = 0; d < window.size(); ++d) {
      const WindowDim& dim = window[d];
      const bool small = WithinReach(dim.padding_low) && WithinReach(dim.padding_high) &&
                         WithinReach((base_dims[d] - 1) * dim.base_dilation) &&
                         WithinReach((dim.size - 1) * dim.window_dilation);
      if (!small) return absl::UnimplementedError("windows that reach over 2^60 positions are not evaluated");
    }
    return WindowTaps(window, base_dims, base_strides, window_strides, peeled);
  }

  // Returns the taps of the window at output position o, row-major over the window but for the peeled ones.
  // Taps in padding or in holes of the base dilation are omitted:
  //   p[d] = o[d] * stride + w[d] * window_dilation - padding_low, a multiple of base_dilation;
  //   the base element is p / base_dilation.
  // If the window is reversed, the tap of position w has the window element size - 1 - w.
  absl::Span<const Tap> At(const Index& o) {
    taps_.clear();
    AppendTaps(o, false);
    if (peeled_.dimension >= 0) AppendTaps(o, true);
    return taps_;
  }

 private:
  WindowTaps(Window window, absl::Span<const int64_t> base_dims, const Index& base_strides,
             const Index& window_strides, PeeledElements peeled)
      : window_(window),
        base_dims_(base_dims),
        base_strides_(base_strides),
        window_strides_(window_strides),
        peeled_(peeled) {}

  // Appends the peeled taps, or all others.
  void AppendTaps(const Index& o, bool peeled) {
    product_.assign(1, Tap{0, 0});
    for (size_t d = 0; d < window_.size(); ++d) {
      const WindowDim& dim = window_[d];
      line_.clear();
      AppendLine(dim, base_dims_[d], o[d]);
      if (static_cast<int64_t>(d) == peeled_.dimension) {
        std::erase_if(line_, [&](const Tap& tap) {
          const int64_t w = dim.reversed ? dim.size - 1 - tap.window : tap.window;
          return (w >= peeled_.first) != peeled;
        });
      }
      next_.clear();
      for (const Tap& outer : product_) {
        for (const Tap& tap : line_) {
          next_.push_back(
              {outer.base + tap.base * base_strides_[d], outer.window + tap.window * window_strides_[d]});
        }
      }
      std::swap(product_, next_);
    }
    taps_.insert(taps_.end(), product_.begin(), product_.end());
  }

  // Appends the taps along one dimension. The loop steps through the window or the base, whichever has the
  // larger dilation; there are at most as many taps as base elements.
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

  // Returns the smallest i >= 0 with i * step >= value.
  static int64_t CeilOfQuotient(int64_t value, int64_t step) {
    return value <= 0 ? 0 : (value - 1) / step + 1;
  }

  Window window_;
  Index base_dims_, base_strides_, window_strides_;
  PeeledElements peeled_;
  std::vector<Tap> taps_, product_, next_, line_;
};

}  // namespace hlo::reference
