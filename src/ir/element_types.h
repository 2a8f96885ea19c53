#pragma once
// Mixed precision: instructions whose operands and results have different float types although the opcode
// does not convert. XLA's verifier accepts them if mixed precision is allowed (shape-rules 3.1). Their
// semantics are:
//   - data movement converts its operands to the result type first;
//   - every other instruction computes in its operand types, and its results are converted;
//   - a computation that is applied to elements converts its arguments to the types of its parameters.
// The reference implements both in reference/apply.h. Kernels and plans support no mixed precision.

#include "hlo_run/module.h"

namespace hlo {

// Returns the type to which operand `k` is converted before its elements are moved: the result type if the
// instruction moves operand `k`, otherwise the operand's own type.
ElementType TypeToMove(const Instruction& instruction, int64_t k);

// True if the instruction needs these conversions.
bool MixesTypes(const Instruction& instruction);

// True if an fft transforms between f32 and c64, or between f64 and c128.
bool FftKeepsPrecision(const Instruction& fft);

}  // namespace hlo
