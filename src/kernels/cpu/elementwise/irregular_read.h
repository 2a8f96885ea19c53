#pragma once
// Reads of elements that strides alone do not find: behind edges, or at positions that another array holds.

#include <cstddef>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "kernels/cpu/memory/access.h"

namespace hlo::cpu {

struct IrregularRead {
  const Access& access;
  absl::Span<const int64_t> inner_dims;
  void* const* arguments;
  // At inner position 0: the place, and the numbers that VisitExtras visits.
  int64_t base;
  const int64_t* extras;
  // What access.next finds, as ReadIrregular does.
  absl::FunctionRef<const std::byte*(int64_t begin, int64_t n, std::byte* scratch)> read_next;
};

// The elements at inner positions [begin, begin + n), in their storage type: where they lie, or in `scratch`.
const std::byte* ReadIrregular(const IrregularRead& read, int64_t begin, int64_t n, std::byte* scratch);

}  // namespace hlo::cpu
