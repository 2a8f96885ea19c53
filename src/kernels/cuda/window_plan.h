#pragma once
// Windows over arrays, as kernels walk them.

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "hlo_run/attribute.h"
#include "kernels/cuda/window_body.h"

namespace hlo::cuda {

inline bool HasNoWindow(const WindowDim& dim) { return dim == WindowDim{}; }

// The same windows over a base without what lies beside it everywhere: it may be out of reach.
std::vector<WindowDim> Clipped(Window window, absl::Span<const int64_t> base_dims,
                               absl::Span<const int64_t> result_dims);

// A thread for each element of `dims`, whose windows lie over an array of `other_dims`. nullopt: too many
// dimensions with a window, too many elements, or numbers out of reach.
template <class Geometry>
std::optional<Geometry> MakeGeometryOf(absl::Span<const int64_t> dims, absl::Span<const int64_t> other_dims,
                                       Window window);
inline std::optional<WindowGeometry> MakeGeometry(absl::Span<const int64_t> dims,
                                                  absl::Span<const int64_t> other_dims, Window window) {
  return MakeGeometryOf<WindowGeometry>(dims, other_dims, window);
}

// The most elements that lie under one window.
int64_t MostTaps(absl::Span<const int64_t> base_dims, Window window);

inline LaunchShape EachElement(const WindowGeometry& geometry) {
  return {{(geometry.count + kWindowThreads - 1) / kWindowThreads}, kWindowThreads};
}

}  // namespace hlo::cuda
