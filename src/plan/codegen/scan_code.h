#pragma once
// The to_apply of a scan as tile code.

#include <optional>

#include "hlo_run/module.h"
#include "kernels/cpu/loops/reduce_program.h"
#include "plan/codegen/scalar_code.h"

namespace hlo::plan {

// What the scan runs along: an input, else an output.
const Shape& ScannedShape(const Instruction& scan);

// Of (inputs..., carries...), a lane for each position of the other dimensions: (outputs..., carries...).
// nullopt where it is more than such code, or not of the declared types.
std::optional<cpu::TileCode> FindScanCode(const Instruction& scan, CodeFor runs = CodeFor::kTiles);

}  // namespace hlo::plan
