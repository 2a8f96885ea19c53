#pragma once
// Instructions as operations on tiles.

#include <optional>

#include "hlo_run/module.h"
#include "kernels/cpu/loops/reduce_program.h"
#include "kernels/cpu/loops/tile_program.h"

namespace hlo::plan {

// Whether an elementwise instruction has a tile operation.
bool HasTileCall(const Instruction& instruction);
// Whether code on scalars is operations of that kind alone.
bool IsElementwiseCode(const Computation& computation);
// Whether a map's code is.
bool IsElementwiseMap(const Instruction& map);
// Appends it, with the rounding that its result type asks for.
cpu::TileValue ApplyInstruction(const Instruction& instruction, absl::Span<const cpu::TileValue> operands,
                                cpu::TileProgram& program);
cpu::TileValue ApplyInstruction(const Instruction& instruction, absl::Span<const cpu::TileValue> operands,
                                cpu::TileCode& code);
cpu::TileValue Rounded(ElementType type, cpu::TileValue value, cpu::TileProgram& program);

// Whether the root of a to_apply is one operation on an accumulator and a value that may be grouped at will.
bool IsRegrouped(const Instruction& root);

// A reduction's to_apply as tile code: accumulators, then values; nullopt where it is more than elementwise
// operations on scalars.
struct ReduceCode {
  cpu::TileCode code;
  cpu::Grouping grouping;
  cpu::TileCall fold;  // Of a whole tile, where there is one.
};
std::optional<ReduceCode> FindReduceCode(const Instruction& reduce);

}  // namespace hlo::plan
