#pragma once
// Walks over the leaves of a shape in depth-first order. The leaves are the arrays, buffers and tokens in its
// tuples; a shape without tuples is its own leaf.

#include <utility>
#include <vector>

#include "hlo_run/shape.h"

namespace hlo {

// Calls visit(leaf) for each leaf.
template <class Visit>
void VisitLeaves(const Shape& shape, const Visit& visit) {
  if (!shape.IsTuple()) return visit(shape);
  for (const Shape& element : shape.elements()) VisitLeaves(element, visit);
}

// Returns the shape with map(leaf) in place of each leaf.
template <class Map>
Shape MapLeaves(const Shape& shape, const Map& map) {
  if (!shape.IsTuple()) return map(shape);
  std::vector<Shape> elements;
  elements.reserve(shape.elements().size());
  for (const Shape& element : shape.elements()) elements.push_back(MapLeaves(element, map));
  return Shape::Tuple(std::move(elements));
}

}  // namespace hlo
