#pragma once
// Which operands and results does a custom call's target have? One line of text says it, such as
//   T[*,m,n], s32[*,k] -> T[*,m,n], R[n]?, ...
// A list of arrays before the arrow, one after it: a single result, or the elements of a tuple.
//   types    a name (s32, pred); T a float or complex type, R its real type, C its complex one, F a float
//   type,
//            I an integer type, X and Y any type: each the same throughout. _ is any value, token a token.
//   sizes    a letter is the same number throughout, m-1 one less than m, k the smaller one of m and n; *
//   stands for
//            any leading dimensions, the same throughout, and ... for any sizes.
//   at the end of a list, items with ? may be absent, and ... is any number of further values.

#include <string>
#include <string_view>

#include "hlo_run/module.h"

namespace hlo::reference::custom {

// "" where the instruction's operands and results fit, else a sentence that says what does not.
std::string Misfit(const Instruction& instruction, std::string_view signature);

}  // namespace hlo::reference::custom
