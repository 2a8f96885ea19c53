#pragma once
// Windows over arrays, as kernels walk them.

#include <optional>

#include "absl/types/span.h"
#include "hlo_run/attribute.h"
#include "kernels/cuda/window_body.h"

namespace hlo::cuda {

inline bool HasNoWindow(const WindowDim& dim) { return dim == WindowDim{}; }

// A thread for each element of `dims`, whose windows lie over an array of `other_dims`. nullopt: too many
// dimensions with a window, too many elements, or numbers out of reach.
std::optional<WindowGeometry> MakeGeometry(absl::Span<const int64_t> dims,
                                           absl::Span<const int64_t> other_dims, Window window);

// The most elements that lie under one window.
int64_t MostTaps(absl::Span<const int64_t> base_dims, Window window);

inline LaunchShape EachElement(const WindowGeometry& geometry) {
  return {{(geometry.count + kWindowThreads - 1) / kWindowThreads}, kWindowThreads};
}

}  // namespace hlo::cuda
