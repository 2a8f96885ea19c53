#pragma once
// This file splits loops over arrays with interior padding (polyphase decomposition).

#include <vector>

#include "loops/loop_program.h"

namespace hlo::loops {

// Returns programs that together do the same as a finished program. A dimension along which edges have a
// spacing is split by the remainder of the index modulo the spacing, so that rows are read without gaps or
// not at all. The innermost dimension stays whole. Returns the program itself if it has no such dimension.
std::vector<LoopProgram> SplitPhases(const LoopProgram& program);

}  // namespace hlo::loops
