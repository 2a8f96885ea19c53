#pragma once
// What `algorithm=` of a dot makes of its operands (semantics 6.1, table): pieces of fewer bits, whose
// products a matrix unit forms one by one. XLA's CPU engine and its evaluator ignore the attribute; so does a
// run that does not ask for this.

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "hlo_run/attribute.h"
#include "hlo_run/literal.h"

namespace hlo::reference {

// The sum of products of two f64 arrays, not rounded.
using SumOfProducts = absl::FunctionRef<absl::StatusOr<Literal>(const Literal& lhs, const Literal& rhs)>;

// The algorithm's sum of products of two arrays of floats, in f64 and rounded to the algorithm's accumulator.
absl::StatusOr<Literal> SumByAlgorithm(PrecisionAlgorithm algorithm, const Literal& lhs, const Literal& rhs,
                                       SumOfProducts sum);

}  // namespace hlo::reference
