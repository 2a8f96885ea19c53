#pragma once
// Lowers the to_apply of a scan.

#include <optional>

#include "hlo_run/module.h"
#include "loops/scalar_function.h"
#include "plan/codegen/scalar_code.h"

namespace hlo::plan {

// Returns the shape that the scan iterates over: that of an input, else of an output.
const Shape& ScannedShape(const Instruction& scan);

// Lowers (inputs..., carries...) -> (outputs..., carries...), with a lane for each position of the other
// dimensions. Returns nullopt if to_apply cannot be lowered or does not have the declared types.
std::optional<loops::ScalarFunction> FindScanCode(const Instruction& scan,
                                                  CodeTarget target = CodeTarget::kTiles);

}  // namespace hlo::plan
