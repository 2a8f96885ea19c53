#pragma once
// Factorisations, triangular solves and batch normalisations of f64 arrays in double-double.

#include <optional>

#include "absl/status/statusor.h"
#include "debug/shadow/extended.h"

namespace hlo::debug {

// Return the result for the wide operands with their low parts, which are f64; nullopt if a matrix is
// singular or not positive definite.
absl::StatusOr<std::optional<ExtendedValue>> ExtendedCholesky(const RuleContext& context,
                                                              absl::Span<const ShadowValue> operands);
absl::StatusOr<std::optional<ExtendedValue>> ExtendedTriangularSolve(const RuleContext& context,
                                                                     absl::Span<const ShadowValue> operands);
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
