#pragma once
// Emulates `algorithm=` of a dot (semantics 6.1): operands are split into pieces of fewer bits, whose
// products a matrix unit computes. XLA's CPU engine and evaluator ignore the attribute, as runs do without
// this option.

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "hlo_run/attribute.h"
#include "hlo_run/literal.h"

namespace hlo::reference {

// Returns the sum of products of two f64 arrays without rounding.
using SumOfProducts = absl::FunctionRef<absl::StatusOr<Literal>(const Literal& lhs, const Literal& rhs)>;

// Returns the algorithm's sum of products of two float arrays, in f64 and rounded to the algorithm's
// accumulator type.
absl::StatusOr<Literal> SumByAlgorithm(PrecisionAlgorithm algorithm, const Literal& lhs, const Literal& rhs,
                                       SumOfProducts sum);

}  // namespace hlo::reference
