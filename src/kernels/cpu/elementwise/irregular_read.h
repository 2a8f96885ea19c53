#pragma once
// This file reads elements whose addresses are not affine: beyond edges, or at run-time indices.

#include <cstddef>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "loops/access.h"

namespace hlo::cpu {

struct IrregularRead {
  const loops::Access& access;
  absl::Span<const int64_t> inner_dims;
  void* const* arguments;
  // The offset at inner position 0, and the values that VisitExtras visits.
  int64_t base;
  const int64_t* extras;
  // Reads the elements of access.next like ReadIrregular.
  absl::FunctionRef<const std::byte*(int64_t begin, int64_t n, std::byte* scratch)> read_next;
};

// Returns the elements at inner positions [begin, begin + n) in storage type: in place, or in `scratch`.
const std::byte* ReadIrregular(const IrregularRead& read, int64_t begin, int64_t n, std::byte* scratch);

}  // namespace hlo::cpu
