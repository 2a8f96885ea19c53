#pragma once
// Why an instruction cannot be evaluated, or "" if it can.

#include <string>

#include "hlo_run/custom_calls.h"
#include "hlo_run/module.h"

namespace hlo::reference {

std::string Obstacle(const Instruction& instruction, const CustomCalls* custom_calls);

// Of some opcodes.
std::string RandomObstacle(const Instruction& instruction);
std::string CollectiveObstacle(const Instruction& instruction);
std::string CustomCallObstacle(const Instruction& instruction, const CustomCalls* custom_calls);
std::string TransferObstacle(const Instruction& transfer);

// Whether a known custom call gives its first operand back as it is.
bool IsIdentityCall(const Instruction& call);

// Whether an infeed, outfeed, send, recv or done of these exchanges a value with the host.
bool NeedsHost(const Instruction& instruction);

}  // namespace hlo::reference
