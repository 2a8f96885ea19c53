#pragma once
// Factorisations, triangular solves and batch normalisations in double-double.

#include <optional>

#include "absl/status/statusor.h"
#include "debug/shadow/extended.h"

namespace hlo::debug {

// Return the result for the wide operands with their low parts; nullopt if a matrix is singular or not
// positive definite. T is DoubleDouble for f64 and ComplexDoubleDouble for c128.
template <class T>
absl::StatusOr<std::optional<ExtendedValue>> ExtendedCholesky(const RuleContext& context,
                                                              absl::Span<const ShadowValue> operands);
template <class T>
absl::StatusOr<std::optional<ExtendedValue>> ExtendedTriangularSolve(const RuleContext& context,
                                                                     absl::Span<const ShadowValue> operands);
// The call must be a continuous one.
template <class T>
absl::StatusOr<std::optional<ExtendedValues>> ExtendedMatrixCall(const RuleContext& context,
                                                                 absl::Span<const ShadowValue> operands);
// True for custom calls of potrf and trsm. Pivots and signs of vectors in other calls depend on rounding.
bool IsContinuousMatrixCall(const RuleContext& context);

// Return the result for f64 operands.
absl::StatusOr<std::optional<ExtendedValue>> ExtendedBatchNormInference(
    const RuleContext& context, absl::Span<const ShadowValue> operands);
absl::StatusOr<std::optional<ExtendedValues>> ExtendedBatchNormTraining(
    const RuleContext& context, absl::Span<const ShadowValue> operands);
absl::StatusOr<std::optional<ExtendedValues>> ExtendedBatchNormGrad(const RuleContext& context,
                                                                    absl::Span<const ShadowValue> operands);
// Rounds the sum of both parts once.
absl::StatusOr<std::optional<ExtendedValue>> ReducedPrecision(const RuleContext& context,
                                                              absl::Span<const ShadowValue> operands);

}  // namespace hlo::debug
