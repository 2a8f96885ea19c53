#pragma once
// How well do two shapes fit that must match across a boundary: a call, a loop, an alias, the module's edge?

#include <string>

#include "absl/types/span.h"
#include "hlo_run/check.h"
#include "hlo_run/shape.h"

namespace hlo::check {

enum class Fit { kSame, kLayoutDiffers, kDiffers };

// `match` of shape-rules 1.8: compatible; with layout_sensitive, equal but for what `relax` overlooks.
inline Fit MatchOf(const Shape& a, const Shape& b, const CheckOptions& options,
                   const ShapeEquality& relax = {}) {
  if (!Compatible(a, b)) return Fit::kDiffers;
  if (!options.layout_sensitive || Equal(a, b, relax)) return Fit::kSame;
  return Fit::kLayoutDiffers;
}

// `prefix` of shape-rules 1.8: the part of a shape that is bound so far.
bool IsPrefix(const Shape& part, const Shape& whole);

// The element at a path of tuple positions; nullptr where the path leaves the shape.
inline const Shape* SubshapeAt(const Shape& shape, absl::Span<const int64_t> index) {
  const Shape* at = &shape;
  for (int64_t i : index) {
    if (!at->IsTuple() || i < 0 || i >= static_cast<int64_t>(at->elements().size())) return nullptr;
    at = &at->element(i);
  }
  return at;
}

inline bool HasBuffer(const Shape& shape) {
  if (!shape.IsTuple()) return shape.IsBuffer();
  for (const Shape& element : shape.elements()) {
    if (HasBuffer(element)) return true;
  }
  return false;
}

inline std::string LayoutText(const Shape& shape) { return ToString(shape, {.layouts = true}); }

}  // namespace hlo::check
