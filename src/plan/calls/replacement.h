#pragma once
// Modules that replace a single instruction.

#include <optional>
#include <vector>

#include "hlo_run/builder.h"
#include "hlo_run/check.h"

namespace hlo::plan {

// Builds the module with these results, of which the first gets the instruction's name. Returns nullopt if it
// is invalid, or the dimensions of a result differ from those of the instruction's.
std::optional<CheckedModule> BuildReplacement(build::Builder& builder, absl::Span<const build::Op> results,
                                              const Instruction& instruction);
inline std::optional<CheckedModule> BuildReplacement(build::Builder& builder, build::Op result,
                                                     const Instruction& instruction) {
  return BuildReplacement(builder, absl::MakeConstSpan(&result, 1), instruction);
}

// Converts dimension numbers to the builder's type.
inline std::vector<int64_t> ToVector(IntList numbers) { return {numbers.begin(), numbers.end()}; }

}  // namespace hlo::plan
