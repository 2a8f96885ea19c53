#include "plan/rewrite/sink_broadcasts.h"

#include <vector>

#include "hlo_run/builder.h"
#include "plan/calls/replacement.h"

namespace hlo::plan {

std::optional<CheckedModule> SinkBroadcasts(const Instruction& elementwise) {
  build::Builder builder(elementwise.name());
  std::vector<build::Op> scalars;
  for (const Instruction* operand : elementwise.operands()) {
    const Shape scalar = Shape::Array(operand->shape().type(), {});
    scalars.push_back(builder.Parameter(std::ssize(scalars), scalar));
  }
  const absl::Span<const AttrEntry> attributes = elementwise.attributes();
  const build::Op result = builder.Emit(elementwise.opcode(), scalars, {attributes.begin(), attributes.end()},
                                        Shape::Array(elementwise.shape().type(), {}));
  return BuildReplacement(builder, build::Broadcast(result, elementwise.shape().dims()), elementwise);
}

}  // namespace hlo::plan
