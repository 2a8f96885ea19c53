#pragma once
// Compiles the loops of steps for the CPU.

#include <array>
#include <optional>
#include <variant>
#include <vector>

#include "kernels/cpu/loops/reduce_program.h"
#include "kernels/cpu/loops/row_program.h"
#include "kernels/cpu/loops/tile_program.h"
#include "plan/plan.h"

namespace hlo::plan {

// The loops of a ProductStep.
using ProductLoops = std::array<std::optional<cpu::TileProgram>, 3>;

// The loops of a TileStep, ReduceStep, RowsStep or ProductStep; other steps have none.
using CpuStep = std::variant<std::monostate, std::vector<cpu::TileProgram>, cpu::ReduceProgram,
                             cpu::RowProgram, ProductLoops>;

// Compiles the loops of a step of the plan.
CpuStep CompileStep(const Plan& plan, const Step& step);

}  // namespace hlo::plan
