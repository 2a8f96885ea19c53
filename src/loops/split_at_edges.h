#pragma once
// This file splits loops over arrays with interior padding (polyphase decomposition), and over short rows
// that consist of pieces.

#include <vector>

#include "loops/loop_program.h"

namespace hlo::loops {

// Returns programs that together do the same as a finished program; the program itself if no split helps.
// A dimension along which edges have a spacing is split by the remainder of the index modulo the spacing.
// Rows are then read without gaps or not at all. The innermost dimension stays whole. A dimension of short
// rows is split where edges begin or end, as in concatenations of coordinates.
std::vector<LoopProgram> SplitAtEdges(const LoopProgram& program);

}  // namespace hlo::loops
