#pragma once
// Checks the loops inside steps: accesses are in bounds, and in-place loops read each element before they
// overwrite it.

#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "loops/loop_program.h"
#include "loops/row_program.h"

namespace hlo::plan {

// Describes the arguments of a program. Arguments without a buffer (values that exist only block by block)
// have no size.
struct ProgramArguments {
  absl::FunctionRef<std::optional<int64_t>(int32_t)> byte_count;
  absl::FunctionRef<bool(int32_t, int32_t)> overlap;  // True if two arguments overlap.
  absl::FunctionRef<bool(int32_t, int32_t)> same;     // True if they are the same buffer.
};

// Each function returns an error message, or nullopt.

// Checks that every access of the program is within its argument. Accesses with edges are not bounded.
std::optional<std::string> CheckBounds(const loops::LoopProgram& program, const ProgramArguments& arguments);

// Checks that the program reads every element before it overwrites it.
std::optional<std::string> CheckInPlace(const loops::LoopProgram& program, const ProgramArguments& arguments);

// Likewise for parts that run over the same rows, block by block.
std::optional<std::string> CheckInPlace(const loops::RowProgram& program, const ProgramArguments& arguments);

}  // namespace hlo::plan
