#pragma once
// Instructions whose opcode alone does not tell whether they can be evaluated: why one cannot, or "" if it
// can.

#include <string>

#include "hlo_run/custom_calls.h"
#include "hlo_run/module.h"

namespace hlo::reference {

std::string RandomObstacle(const Instruction& instruction);
std::string CollectiveObstacle(const Instruction& instruction);
std::string CustomCallObstacle(const Instruction& instruction, const CustomCalls* custom_calls);
std::string TransferObstacle(const Instruction& transfer);

// Whether an infeed, outfeed, send, recv or done of these exchanges a value with the host.
bool NeedsHost(const Instruction& instruction);

}  // namespace hlo::reference
