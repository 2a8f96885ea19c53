#pragma once
// Checks of the loops inside steps: accesses stay in their buffers, and a loop that writes where it reads
// does so element for element.

#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "kernels/cpu/loops/row_program.h"
#include "kernels/cpu/loops/tile_program.h"

namespace hlo::plan {

// Describes the arguments of a program. Arguments without a buffer (blocks that only the step sees) have no
// size.
struct ProgramArguments {
  absl::FunctionRef<std::optional<int64_t>(int32_t)> byte_count;
  absl::FunctionRef<bool(int32_t, int32_t)> overlap;  // Whether two arguments share bytes.
  absl::FunctionRef<bool(int32_t, int32_t)> same;     // Whether they are the same buffer.
};

// Each function returns what is wrong, or nothing.

// Whether every access of the program stays within its argument. Accesses up to edges are not bounded here.
std::optional<std::string> CheckBounds(const cpu::TileProgram& program, const ProgramArguments& arguments);

// Whether the program reads every element before it writes to the same place.
std::optional<std::string> CheckInPlace(const cpu::TileProgram& program, const ProgramArguments& arguments);

// The same of parts that run over the same rows, block by block.
std::optional<std::string> CheckInPlace(const cpu::RowProgram& program, const ProgramArguments& arguments);

}  // namespace hlo::plan
