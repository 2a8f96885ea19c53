#pragma once
// Instructions as operations on tiles.

#include <optional>

#include "hlo_run/module.h"
#include "kernels/cpu/reduce_program.h"
#include "kernels/cpu/tile_program.h"

namespace hlo::plan {

// Whether an elementwise instruction has a tile operation.
bool HasTileCall(const Instruction& instruction);
// Appends it, with the rounding that its result type asks for.
cpu::TileValue ApplyInstruction(const Instruction& instruction, absl::Span<const cpu::TileValue> operands,
                                cpu::TileProgram& program);
cpu::TileValue Rounded(ElementType type, cpu::TileValue value, cpu::TileProgram& program);

// A reduction's to_apply as tile code: accumulators, then values; nullopt where it is more than elementwise
// operations on scalars.
struct ReduceCode {
  cpu::TileCode code;
  bool any_order;
  cpu::TileCall fold;  // Of a whole tile, where there is one.
};
std::optional<ReduceCode> FindReduceCode(const Instruction& reduce);

// A scalar expression of one parameter as tile code; nullopt where it is more than elementwise operations.
std::optional<cpu::TileCode> FindUnaryCode(const Instruction& root, const Instruction& parameter);

}  // namespace hlo::plan
