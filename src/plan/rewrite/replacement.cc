#include "plan/rewrite/replacement.h"

#include <utility>

#include "ir/result_shapes.h"

namespace hlo::plan {

std::optional<CheckedModule> BuildReplacement(build::Builder& builder, build::Op root,
                                              const Instruction& instruction) {
  if (!root.ok()) return std::nullopt;
  absl::StatusOr<CheckedModule> module = builder.Build(builder.SetName(root, instruction.name()));
  if (!module.ok() ||
      !SameDimensions(module->module().entry()->root()->shape(), ResultShapes(instruction)[0]))
    return std::nullopt;
  return *std::move(module);
}

}  // namespace hlo::plan
