#pragma once
// Error bounds of elementwise instructions on real numbers.

#include "hlo_run/opcode.h"

namespace hlo::debug {

// A number with the bound of its error.
struct Bounded {
  double value = 0, bound = 0;
};

// Returns how far f(x', y', ...) may be from f(x, y, ...) = result if each operand is within its bound:
// exactly for monotone functions, by derivatives otherwise. Infinity if it is unbounded; negative if the
// opcode is not one of these functions.
double InheritedBound(Opcode opcode, const Bounded* operands, double result);

// Returns the error that a legal implementation of the operation may add, in epsilons of the result type
// relative to `scale`: |result|, and the sum of the magnitudes of the operands for additions, which may be
// associated otherwise. 0 for operations that do not round.
struct OwnError {
  double epsilons = 0;
  double scale = 0;
};
OwnError OwnErrorOf(Opcode opcode, const Bounded* operands, double result);

}  // namespace hlo::debug
