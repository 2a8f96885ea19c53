#pragma once
// The signature of a custom-call target: one line that lists its operands and results, such as
//   T[*,m,n], s32[*,k] -> T[*,m,n], R[n]?, ...
// A list of operands precedes the arrow; a single result or the elements of a tuple follow it.
//   types    a name (s32, pred); T a float or complex type, R its real type, C its complex type;
//            F a float type, I an integer type, X and Y any type; each is the same throughout;
//            _ any value, token a token.
//   sizes    a letter is the same size throughout, m-1 is one less than m, k is min(m, n); * matches
//            any leading dimensions, the same throughout, and ... any sizes.
//   At the end of a list, items with ? are optional, and ... matches any further values.

#include <string>
#include <string_view>

#include "hlo_run/module.h"

namespace hlo::reference::custom {

// Returns "" if the instruction's operands and results match, otherwise a sentence with the mismatch.
std::string Mismatch(const Instruction& instruction, std::string_view signature);

}  // namespace hlo::reference::custom
