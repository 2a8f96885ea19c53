#pragma once
// Generators of random bits.

#include <string>

#include "hlo_run/module.h"

namespace hlo::reference {

// Why a rng-bit-generator cannot be evaluated; empty if it can.
std::string RandomObstacle(const Instruction& instruction);

}  // namespace hlo::reference
