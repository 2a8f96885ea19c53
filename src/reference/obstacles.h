#pragma once
// Instructions whose opcode alone does not tell whether they can be evaluated: why one cannot, or "" if it
// can.

#include <string>

#include "hlo_run/module.h"

namespace hlo::reference {

std::string RandomObstacle(const Instruction& instruction);
std::string CollectiveObstacle(const Instruction& instruction);
std::string CustomCallObstacle(const Instruction& instruction);

}  // namespace hlo::reference
