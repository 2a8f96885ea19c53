#include "plan/calls/replacement.h"

#include <utility>

#include "ir/result_shapes.h"

namespace hlo::plan {

std::optional<CheckedModule> BuildReplacement(build::Builder& builder, absl::Span<const build::Op> results,
                                              const Instruction& instruction) {
  const auto shapes = ResultShapes(instruction);
  for (size_t k = 0; k < results.size(); ++k) {
    if (!results[k].ok() || !SameDimensions(results[k].shape(), shapes[k])) return std::nullopt;
  }
  const build::Op first = builder.SetName(results[0], instruction.name());
  absl::StatusOr<CheckedModule> module =
      builder.Build(results.size() == 1 ? first : builder.Tuple({results.begin(), results.end()}));
  return module.ok() ? std::optional(*std::move(module)) : std::nullopt;
}

}  // namespace hlo::plan
