#pragma once
// Lowers instructions to operations on tiles.

#include <optional>

#include "hlo_run/module.h"
#include "kernels/cpu/loops/reduce_program.h"
#include "kernels/cpu/loops/tile_program.h"

namespace hlo::plan {

// True if the instruction has an elementwise tile operation.
bool HasTileCall(const Instruction& instruction);
// True if all instructions of the computation are elementwise operations on scalars.
bool IsElementwiseCode(const Computation& computation);
// True if the to_apply of a map is elementwise.
bool IsElementwiseMap(const Instruction& map);
// Appends the instruction to the program and rounds the result to its type.
cpu::TileValue ApplyInstruction(const Instruction& instruction, absl::Span<const cpu::TileValue> operands,
                                cpu::TileProgram& program);
cpu::TileValue ApplyInstruction(const Instruction& instruction, absl::Span<const cpu::TileValue> operands,
                                cpu::TileCode& code);
cpu::TileValue Rounded(ElementType type, cpu::TileValue value, cpu::TileProgram& program);

// True if the root of a to_apply is one operation on an accumulator and a value that may be reassociated.
bool IsReassociable(const Instruction& root);

// The to_apply of a reduction as tile code of accumulators, then values; nullopt if it has other operations
// than elementwise ones on scalars.
struct ReduceCode {
  cpu::TileCode code;
  cpu::Grouping grouping;
  cpu::TileCall fold;  // Folds a whole tile, if there is such a function.
};
std::optional<ReduceCode> FindReduceCode(const Instruction& reduce);

}  // namespace hlo::plan
