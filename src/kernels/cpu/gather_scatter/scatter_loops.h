#pragma once
// What scatter does to single elements, on types whose elements lie in memory as in lanes.

#include <cstdint>
#include <optional>

#include "hlo_run/element_type.h"
#include "hlo_run/opcode.h"

namespace hlo::cpu {

struct ScatterLoops {
  // result[at[i]] = result[at[i]] op update[from[i]] for i of [0, n) in order, but where at[i] < 0.
  void (*by_place)(int64_t n, void* result, const int64_t* at, const void* update,
                   const int64_t* from) = nullptr;
  // The same with at[i] = index[i], but where it is outside [0, count), and from[i] = i.
  void (*by_index)(int64_t n, void* result, int64_t count, const int32_t* index,
                   const void* update) = nullptr;
};
// Of the operations that FindTileFold has; without one the update takes the element's place.
ScatterLoops FindScatterLoops(std::optional<Opcode> opcode, ElementType type);

}  // namespace hlo::cpu
