#pragma once
// Where does a loop read and write an array? Through strides; from positions that are known at run time; up
// to edges behind which another element takes the array's place.

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "hlo_run/element_type.h"

namespace hlo::cpu {

using Strides = absl::InlinedVector<int64_t, 4>;

// A number for each position of a loop: offset + sum over dims of index * stride. Outer dimensions are those
// of Each's `outer` index, inner ones those of the tiles.
struct Affine {
  int64_t offset = 0;
  Strides outer, inner;
};

// A position that is known when the program runs: an integer, clamped to [0, max].
struct RuntimeStart {
  int32_t argument;
  ElementType type;
  int64_t max;
  int64_t stride;       // In elements.
  int64_t element = 0;  // Of the argument, for all positions of the loop.
  // Which of the argument's elements it is, where it is another one for each position.
  std::optional<Affine> place = std::nullopt;
};

// Where one of an array's dimensions ends: the array has an element at those positions of the loop where `at`
// is a multiple of `spacing` in [0, size * spacing).
struct Edge {
  Affine at;
  int64_t size;
  int64_t spacing = 1;
  int64_t stride = 0;  // In elements, from one multiple to the next; on top of the access's own.
};

// Where the elements of an array lie, seen from the loop: offset + sum over dims of index * stride, in
// elements of `type`.
struct Access {
  int32_t argument = -1;  // Which of the pointers of a run, or one of those below.
  ElementType type = ElementType::kPred;
  int64_t offset = 0;
  Strides outer, inner;
  std::vector<RuntimeStart> starts;
  std::vector<Edge> edges = {};
  // The argument whose first element stands where an edge leaves the array none; kZeros: one of zeros.
  int32_t outside = kZeros;
  // Or the access of the same program whose element stands there; -1: none.
  int32_t next = -1;
  bool drops = false;  // Of a store: nothing is stored where a start is not within [0, max].

  static constexpr int32_t kIota = -1;    // The position itself is the element.
  static constexpr int32_t kInside = -2;  // Whether all edges have an element there.
  static constexpr int32_t kZeros = -1;

  bool IsArray() const { return argument >= 0; }
  // Whether strides alone tell where the elements lie.
  bool IsRegular() const {
    for (const RuntimeStart& start : starts) {
      if (start.place.has_value()) return false;
    }
    return edges.empty();
  }
};

// visit(argument) for what is read besides the array.
template <class AnyAccess, class Visit>
void VisitOthers(AnyAccess& access, Visit&& visit) {
  for (auto& start : access.starts) visit(start.argument);
  if (access.outside >= 0) visit(access.outside);
}
// visit(number) for what an access that is not regular needs to know of the position besides its strides.
template <class AnyAccess, class Visit>
void VisitExtras(AnyAccess& access, Visit&& visit) {
  for (auto& start : access.starts) {
    if (start.place.has_value()) visit(*start.place);
  }
  for (auto& edge : access.edges) visit(edge.at);
}

}  // namespace hlo::cpu
