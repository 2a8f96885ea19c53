#pragma once
// Mixed precision: instructions whose operands and results have different floating types although the opcode
// does not convert. XLA's verifier accepts them where mixed precision is allowed (shape-rules 3.1); their
// meaning is that
//   - a data movement converts its operands to the result's type first,
//   - every other instruction computes in the types of its operands, and its results are converted.
// The reference implements that in one place (reference/apply.h). Kernels and plans take none of them.

#include "hlo_run/module.h"

namespace hlo {

// Returns the type that operand `k` must have before its elements are moved: the result's, if the instruction
// is a data movement and `k` is among the operands that it moves; else the operand's own.
ElementType TypeToMove(const Instruction& instruction, int64_t k);

// Returns whether the instruction needs the conversions above.
bool MixesTypes(const Instruction& instruction);

}  // namespace hlo
