#pragma once
// Lowers computations on scalars (the to_apply of reductions, scatters, sorts, scans and maps).

#include <cstdint>
#include <optional>

#include "hlo_run/module.h"
#include "loops/scalar_function.h"

namespace hlo::plan {

// The machine that runs the code. Tiles support neither loops nor many values; GPU threads, each of which
// runs the code on its own elements, support both.
enum class CodeTarget : uint8_t { kTiles, kThreads };

// Lowers a computation whose parameters are arrays of the shape `lanes` or tuples of them; its results are
// the root, or the elements of a tuple root. All branches of a conditional are computed, and one is selected.
// Every operation rounds. Returns nullopt if the computation has other operations or shapes.
std::optional<loops::ScalarFunction> FindLaneCode(const Computation& computation,
                                                  absl::Span<const int64_t> lanes,
                                                  CodeTarget target = CodeTarget::kTiles);

// Lowers any to_apply of (accumulators..., values...).
std::optional<loops::ScalarFunction> FindCombinerCode(const Computation& to_apply,
                                                      absl::Span<const ElementType> types,
                                                      CodeTarget target = CodeTarget::kTiles);

// Lowers a sort's to_apply of (a of operand 0, b of operand 0, a of operand 1, ...): true if a comes before
// b.
std::optional<loops::ScalarFunction> FindComparatorCode(const Computation& to_apply,
                                                        absl::Span<const ElementType> types,
                                                        CodeTarget target = CodeTarget::kTiles);

// Lowers a scalar expression of one parameter; nullopt if it has operations that are not elementwise.
std::optional<loops::ScalarFunction> FindUnaryCode(const Instruction& root, const Instruction& parameter);

}  // namespace hlo::plan
