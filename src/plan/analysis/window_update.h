#pragma once
// A scatter that changes one window, whose elements lie side by side: an update of a slice but for starts
// outside, which are left out instead of clamped.

#include <cstdint>
#include <optional>
#include <vector>

#include "hlo_run/module.h"
#include "kernels/cpu/elementwise/tile_ops.h"

namespace hlo::plan {

struct WindowUpdate {
  ElementType type, index_type;
  int64_t count = 1;  // Elements of the window.
  struct Start {
    int64_t max, stride;  // In elements.
  };
  std::vector<Start> starts = {};  // By number in the index.
  cpu::TileCall combine = {};      // (old, update); no function: the update itself.
};

std::optional<WindowUpdate> FindWindowUpdate(const Instruction& scatter);

// A scatter that changes one window of any form, for loops over its elements.
struct LoopUpdate {
  cpu::TileCall combine = {};     // (old, update); no function: the update itself.
  std::vector<int64_t> max = {};  // By number in the index: the last place where the window fits.
  std::vector<int64_t> update;    // By dimension of the operand: that of the update; -1: a single place.
};
std::optional<LoopUpdate> FindLoopUpdate(const Instruction& scatter);

}  // namespace hlo::plan
