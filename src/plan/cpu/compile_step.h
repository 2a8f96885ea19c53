#pragma once
// Compiles steps for the CPU: their loops, and the functions of their kernels.

#include <optional>
#include <variant>
#include <vector>

#include "kernels/cpu/loops/reduce_program.h"
#include "kernels/cpu/loops/row_program.h"
#include "kernels/cpu/loops/tile_program.h"
#include "plan/plan.h"
#include "plan/select/kernel.h"

namespace hlo::plan {

struct CpuProduct {
  ProductFn run;
  std::optional<cpu::TileProgram> loops[3];  // Indexed by ProductStep::Block.
};

// A compiled TileStep, ReduceStep, RowsStep, KernelStep or ProductStep; other steps have no code.
using CpuStep = std::variant<std::monostate, std::vector<cpu::TileProgram>, cpu::ReduceProgram,
                             cpu::RowProgram, KernelFn, CpuProduct>;

// Compiles a step of the plan.
CpuStep CompileStep(const Plan& plan, const Step& step);

}  // namespace hlo::plan
