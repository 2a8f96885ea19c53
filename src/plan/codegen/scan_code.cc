#include "plan/codegen/scan_code.h"

#include "ir/result_shapes.h"
#include "types/index.h"

namespace hlo::plan {

const Shape& ScannedShape(const Instruction& scan) {
  const bool has_input = scan.operand_count() > scan.Get<attr::num_carries>();
  return has_input ? scan.operand(0)->shape() : ResultShapes(scan)[0];
}

std::optional<loops::ScalarFunction> FindScanCode(const Instruction& scan, CodeTarget target) {
  const int64_t carries = scan.Get<attr::num_carries>();
  const absl::Span<const Shape> results = ResultShapes(scan);
  if (scan.operand_count() == carries && static_cast<int64_t>(results.size()) == carries) return std::nullopt;
  // The results must have the declared types.
  const Computation& to_apply = *scan.Get<attr::to_apply>();
  const Shape& root = to_apply.root()->shape();
  const absl::Span<const Shape> values = root.IsTuple() ? root.elements() : absl::MakeConstSpan(&root, 1);
  if (values.size() != results.size()) return std::nullopt;
  for (size_t k = 0; k < values.size(); ++k) {
    if (!values[k].IsArray(results[k].type())) return std::nullopt;
  }
  for (int64_t i = 0; i < scan.operand_count(); ++i) {
    if (!to_apply.parameter(i)->shape().IsArray(scan.operand(i)->shape().type())) return std::nullopt;
  }
  Index others;
  const Shape& shape = ScannedShape(scan);
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (d != scan.Get<attr::dimensions>()[0]) others.push_back(shape.dim(d));
  }
  return FindLaneCode(to_apply, others, target);
}

}  // namespace hlo::plan
