#pragma once
// Functions that return why an instruction cannot be evaluated, or "" if it can.

#include <string>

#include "hlo_run/custom_calls.h"
#include "hlo_run/module.h"

namespace hlo::reference {

std::string UnsupportedReason(const Instruction& instruction, const CustomCalls* custom_calls);

// For specific opcodes.
std::string RandomUnsupportedReason(const Instruction& instruction);
std::string CollectiveUnsupportedReason(const Instruction& instruction);
std::string CustomCallUnsupportedReason(const Instruction& instruction, const CustomCalls* custom_calls);
std::string TransferUnsupportedReason(const Instruction& transfer);

// True if a known custom call returns its first operand unchanged.
bool IsIdentityCall(const Instruction& call);

// True for a call of Python, which fails when it runs if it has results.
bool IsPythonCallback(const Instruction& instruction);

// True if an infeed, outfeed, send, recv or done exchanges a value with the host.
bool NeedsHost(const Instruction& instruction);

}  // namespace hlo::reference
