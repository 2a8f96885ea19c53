#pragma once
// Describes gathers and scatters of a few windows, for bytecode.

#include <cstdint>
#include <optional>
#include <vector>

#include "hlo_run/literal.h"
#include "hlo_run/module.h"
#include "loops/operation.h"

namespace hlo::plan {

// The rows of the windows as moves between the operand and the other array, the result or the updates.
struct WindowMoves {
  // Moves the operand's element by clamp(index, 0, max) * stride. A scatter drops the window if the index is
  // outside [0, max].
  struct Start {
    int64_t index;  // The element of the array of indices.
    int64_t max, stride;
  };
  struct Move {
    int64_t operand, other;  // The first elements.
  };
  struct Window {
    std::vector<Start> starts = {};
    std::vector<Move> moves = {};
  };
  std::vector<Window> windows = {};  // In the order in which they are moved.
  ElementType index_type;
  int64_t width;   // Of an element in bytes.
  int64_t length;  // Of each move in elements.
  // A scatter's function of (old, update); nullopt: the update replaces the old value.
  std::optional<loops::Operation> combine = std::nullopt;
};

// Returns the moves of a gather or scatter of one array; nullopt if there are many, or for other
// instructions. If the indices are constants, windows have no starts, and those out of range are left out.
std::optional<WindowMoves> FindWindowMoves(const Instruction& instruction, const Literal* indices);

}  // namespace hlo::plan
