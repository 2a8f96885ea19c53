#pragma once
// Iteration over windows, prepared for kernels.

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "base/arithmetic.h"
#include "hlo_run/attribute.h"
#include "kernels/cuda/window/window_body.h"

namespace hlo::cuda {

inline bool HasNoWindow(const WindowDim& dim) { return dim == WindowDim{}; }

// Returns equivalent windows without the elements that are always outside the base, whose coordinates could
// overflow.
std::vector<WindowDim> Clipped(Window window, absl::Span<const int64_t> base_dims,
                               absl::Span<const int64_t> result_dims);

// Returns the geometry of one thread per element of `dims`, whose windows cover an array of `other_dims`.
// Returns nullopt if there are too many windowed dimensions or elements, or numbers overflow.
template <class Geometry>
std::optional<Geometry> MakeGeometryOf(absl::Span<const int64_t> dims, absl::Span<const int64_t> other_dims,
                                       Window window);
inline std::optional<WindowGeometry> MakeGeometry(absl::Span<const int64_t> dims,
                                                  absl::Span<const int64_t> other_dims, Window window) {
  return MakeGeometryOf<WindowGeometry>(dims, other_dims, window);
}

// Does the same for the windows of the results over the base, which are visited in the order of
// semantics 5.3.
template <class Geometry>
std::optional<Geometry> MakeWindowsOf(absl::Span<const int64_t> result_dims,
                                      absl::Span<const int64_t> base_dims, Window window);

// Returns the maximum number of base elements under one window.
int64_t MaxTaps(absl::Span<const int64_t> base_dims, Window window);

inline LaunchShape EachElement(const WindowGeometry& geometry) {
  return {{CeilDiv(geometry.count, kWindowThreads)}, kWindowThreads};
}

}  // namespace hlo::cuda
