#pragma once
// Suggestions for misspelled opcodes.

#include <string_view>

namespace hlo {

// Returns the name of the opcode that `word` misspells, or "".
std::string_view ClosestOpcode(std::string_view word);

}  // namespace hlo
