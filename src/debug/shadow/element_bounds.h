#pragma once
// Error bounds of elementwise instructions on real numbers.

#include "hlo_run/opcode.h"

namespace hlo::debug {

// A number with the bound of its error.
struct Bounded {
  double value = 0, bound = 0;
};

// The number of operands that the functions below read; those that an opcode lacks are 0.
inline constexpr int kMaxOperands = 3;

// Returns an upper bound of |f(x', y', ...) - f(x, y, ...)| for operands within their bounds, where f(x, y,
// ...) = result. It is exact for monotone functions and uses derivatives for others. Infinity if there is no
// bound; negative if the opcode is not supported.
double InheritedBound(Opcode opcode, const Bounded* operands, double result);

// Returns the error that a legal implementation of the operation may add, in epsilons of the result type
// relative to `scale`. The scale is |result|; for additions, which may be associated otherwise, it is the sum
// of the magnitudes of the operands. The error of operations that do not round is 0.
struct OwnError {
  double epsilons = 0;
  double scale = 0;
};
OwnError OwnErrorOf(Opcode opcode, const Bounded* operands, double result);

}  // namespace hlo::debug
