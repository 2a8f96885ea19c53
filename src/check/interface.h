#pragma once
// Matches shapes across an interface: a call, a loop, an alias or the entry.

#include <string>

#include "absl/types/span.h"
#include "hlo_run/check.h"
#include "hlo_run/shape.h"

namespace hlo::check {

enum class Fit { kSame, kLayoutDiffers, kDiffers };

// The relation `match` of shape-rules 1.8: compatible or, if layout_sensitive, equal except for `relax`.
inline Fit MatchOf(const Shape& a, const Shape& b, const CheckOptions& options,
                   const ShapeEquality& relax = {}) {
  if (!Compatible(a, b)) return Fit::kDiffers;
  if (!options.layout_sensitive || Equal(a, b, relax)) return Fit::kSame;
  return Fit::kLayoutDiffers;
}

// The relation `prefix` of shape-rules 1.8: `part` is the bound part of `whole`.
bool IsPrefix(const Shape& part, const Shape& whole);

// Returns the element at a shape index; nullptr if it does not exist.
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
