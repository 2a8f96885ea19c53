#pragma once
// Scatters that update one window. Unlike in dynamic-update-slice, a window that is out of bounds is dropped,
// not clamped.

#include <cstdint>
#include <optional>
#include <vector>

#include "hlo_run/module.h"
#include "loops/operation.h"

namespace hlo::plan {

struct WindowUpdate {
  ElementType type, index_type;
  int64_t count = 1;  // The number of elements in the window.
  struct Start {
    int64_t max, stride;  // Both are in elements.
  };
  std::vector<Start> starts = {};  // Indexed by component of the index vector.
  // The function of (old, update); nullopt: the update replaces the old value.
  std::optional<loops::Operation> combine = std::nullopt;
};

// Returns false if to_apply is more than one operation. Otherwise sets the function of (old, update), or
// nullopt if the update replaces the old value.
bool FindUpdateOperation(const Instruction& scatter, std::optional<loops::Operation>* combine);

std::optional<WindowUpdate> FindWindowUpdate(const Instruction& scatter);

// A scatter that updates one window of any form, for loops over its elements.
struct LoopUpdate {
  // The function of (old, update); nullopt: the update replaces the old value.
  std::optional<loops::Operation> combine = std::nullopt;
  std::vector<int64_t> max =
      {};                       // The last start at which the window fits, by component of the index vector.
  std::vector<int64_t> update;  // The dimension of the update for each dimension of the operand; -1: size 1.
};
std::optional<LoopUpdate> FindLoopUpdate(const Instruction& scatter);

}  // namespace hlo::plan
