#include "plan/rewrite/padded_op.h"

#include <optional>

#include "ir/combiners.h"
#include "ir/neutral_element.h"
#include "plan/calls/call_builder.h"

namespace hlo::plan {

PaddedInstruction::PaddedInstruction(const Instruction& instruction, const std::vector<SizeNumbers>& sizes,
                                     int64_t size_count)
    : instruction(instruction), builder(instruction.name()) {
  const int64_t count = instruction.operand_count();
  for (int64_t k = 0; k < count; ++k)
    operands.push_back({builder.Parameter(k, PaddedShape(instruction.operand(k)->shape())), {}});
  std::vector<Op> all;
  for (int64_t k = 0; k < size_count; ++k)
    all.push_back(builder.Parameter(count + k, Shape::Array(ElementType::kS32, {})));
  for (size_t k = 0; k < operands.size(); ++k) {
    for (const int64_t number : sizes[k])
      operands[k].sizes.push_back(number < 0 ? Op() : all[static_cast<size_t>(number)]);
  }
}

Op PaddedInstruction::SizeOf(const PaddedOp& x, int64_t d) {
  const Op size = x.sizes[static_cast<size_t>(d)];
  return size.ok() ? size : Number(x.array.dims()[static_cast<size_t>(d)]);
}

std::vector<Op> PaddedInstruction::Arrays() const {
  std::vector<Op> arrays;
  for (const PaddedOp& operand : operands) arrays.push_back(operand.array);
  return arrays;
}

Op PaddedInstruction::Emit(const std::vector<Op>& arrays, const std::vector<AttrEntry>& other) {
  std::vector<AttrEntry> attributes(instruction.attributes().begin(), instruction.attributes().end());
  for (const AttrEntry& entry : other) {
    const auto found = std::find_if(attributes.begin(), attributes.end(),
                                    [&](const AttrEntry& old) { return old.id == entry.id; });
    if (found == attributes.end())
      attributes.push_back(entry);
    else
      *found = entry;
  }
  const Shape& shape = instruction.shape();
  if (shape.IsArray()) return builder.Emit(instruction.opcode(), arrays, attributes, PaddedShape(shape));
  return builder.Emit(instruction.opcode(), arrays, attributes);
}

PaddedOps PaddedInstruction::Results(Op emitted, const std::vector<std::vector<Op>>& sizes) {
  PaddedOps results;
  for (size_t k = 0; k < sizes.size(); ++k) {
    const bool is_tuple = emitted.ok() && emitted.shape().IsTuple();
    results.push_back(
        {is_tuple ? build::GetTupleElement(emitted, static_cast<int64_t>(k)) : emitted, sizes[k]});
  }
  return results;
}

build::Function PaddedInstruction::ToApply() { return Imported(builder, *instruction.Get<attr::to_apply>()); }

Op PaddedInstruction::NeutralElement() {
  const Instruction& root = *instruction.Get<attr::to_apply>()->root();
  const Op init = operands[1].array;
  if (!IsOnTwoParameters(root) || !root.shape().IsArray(init.type()) ||
      !root.operand(0)->shape().IsArray(init.type()))
    return {};
  const std::optional<double> value = NeutralOf(root.opcode(), init.type());
  if (!value.has_value()) return {};
  const Op neutral = build::ScalarLike(init, *value);
  // A sum keeps the sign of an initial zero, also if it is complex.
  return root.opcode() == Opcode::kAdd ? build::Select(build::Eq(init, neutral), init, neutral) : neutral;
}

Op IsWithin(build::Builder& builder, build::Dims dims, int64_t d, Op size) {
  return build::Lt(builder.Iota(Shape::Array(ElementType::kS32, dims), d), size);
}

Op Masked(Op x, int64_t d, Op size, Op fill) {
  return build::Select(IsWithin(*x.builder(), x.dims(), d, size), x,
                       build::BroadcastInDim(fill, x.dims(), {}));
}

Op SmallerSize(Op a, Op b) {
  if (!a.ok() || !b.ok()) return a.ok() ? a : b;
  return IsSame(a, b) ? a : build::Min(a, b);
}

}  // namespace hlo::plan
