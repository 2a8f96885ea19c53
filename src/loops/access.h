#pragma once
// This file describes how a loop accesses an array: by strides, with run-time starts, and with edges beyond
// which another element is used.

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "hlo_run/element_type.h"

namespace hlo::loops {

using Strides = absl::InlinedVector<int64_t, 4>;

// An affine function of the loop position: offset + sum over dims of index * stride. Outer dimensions are
// those of the outer index, inner ones those of the tiles.
struct Affine {
  int64_t offset = 0;
  Strides outer, inner;
};

// A start index that is known at run time: an integer, clamped to [0, max].
struct RuntimeStart {
  int32_t argument;
  ElementType type;
  int64_t max;
  int64_t stride;       // In elements.
  int64_t element = 0;  // The element of the argument that holds it, for all positions of the loop.
  // The element of the argument if it varies with the position.
  std::optional<Affine> index = std::nullopt;
};

// The bounds of one dimension of an array: an element exists at positions of the loop where `at` is a
// multiple of `spacing` in [0, size * spacing).
struct Edge {
  Affine at;
  int64_t size;
  int64_t spacing = 1;
  int64_t stride = 0;  // In elements, per multiple; added to the access's own.
};

// The address of an array's elements as a function of the loop position: offset + sum over dims of index *
// stride, in elements of `type`.
struct Access {
  int32_t argument = -1;  // Index of the pointer, or one of the constants below.
  ElementType type = ElementType::kPred;
  int64_t offset = 0;
  Strides outer, inner;
  std::vector<RuntimeStart> starts;
  std::vector<Edge> edges = {};
  // The argument whose first element is used beyond an edge; kZeros stands for zeros.
  int32_t outside = kZeros;
  // The access of the same program that is used beyond an edge instead, or -1.
  int32_t next = -1;
  bool drops = false;  // For stores: nothing is stored if a start is outside [0, max].

  static constexpr int32_t kIota = -1;    // The element is the position itself.
  static constexpr int32_t kInside = -2;  // The element is true if all edges contain the position.
  static constexpr int32_t kZeros = -1;

  bool IsArray() const { return argument >= 0; }
  // Returns true if the address is affine in the position.
  bool IsRegular() const {
    for (const RuntimeStart& start : starts) {
      if (start.index.has_value()) return false;
    }
    return edges.empty();
  }
};

// Calls visit(argument) for the other arguments that are read.
template <class AnyAccess, class Visit>
void VisitOthers(AnyAccess& access, Visit&& visit) {
  for (auto& start : access.starts) visit(start.argument);
  if (access.outside >= 0) visit(access.outside);
}
// Calls visit(affine) for the additional affine functions of an irregular access.
template <class AnyAccess, class Visit>
void VisitExtras(AnyAccess& access, Visit&& visit) {
  for (auto& start : access.starts) {
    if (start.index.has_value()) visit(*start.index);
  }
  for (auto& edge : access.edges) visit(edge.at);
}

}  // namespace hlo::loops
