#pragma once
// This file scatters elements and rows, of bf16, f16 and types that are stored in their compute type.

#include <cstdint>
#include <optional>

#include "hlo_run/element_type.h"
#include "hlo_run/opcode.h"

namespace hlo::cpu {

struct ScatterLoops {
  // Computes result[at[i]] = result[at[i]] op update[from[i]] for i of [0, n) in order, and skips at[i] < 0.
  void (*by_offset)(int64_t n, void* result, const int64_t* at, const void* update,
                    const int64_t* from) = nullptr;
  // Does the same with at[i] = index[i] and from[i] = i, and skips indices outside [0, count).
  void (*by_index)(int64_t n, void* result, int64_t count, const int32_t* index,
                   const void* update) = nullptr;
  // Does the same as by_offset with `length` contiguous elements for each i.
  void (*by_row)(int64_t n, int64_t length, void* result, const int64_t* at, const void* update,
                 const int64_t* from) = nullptr;
};
// Returns the loops for an operation of FindTileFold; without an opcode, updates replace elements. The loops
// are null if there are none.
ScatterLoops FindScatterLoops(std::optional<Opcode> opcode, ElementType type);

}  // namespace hlo::cpu
