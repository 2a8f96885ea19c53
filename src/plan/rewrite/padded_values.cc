#include "plan/rewrite/padded_values.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/status.h"
#include "ir/result_shapes.h"
#include "plan/rewrite/dynamic_padding.h"

namespace hlo::plan {

PaddedValues::PaddedArray* PaddedValues::Find(ValueId v) {
  const auto found = v == kNoValue ? padded_.end() : padded_.find(graph_.Resolve(v));
  return found == padded_.end() ? nullptr : &found->second;
}

bool PaddedValues::CanPad(ValueId v, const Block* block) const {
  const Value& value = graph_.values[v];
  return value.shape.HasDynamicDim() && (value.parameter >= 0 || block == graph_.entry);
}

// Returns nullopt if an operand is not an array, or has dynamic sizes that are not known as values. The sizes
// of operands that are still to be padded are distinct negative numbers.
std::optional<PaddedValues::Operands> PaddedValues::Collect(const std::vector<Leaves>& operands,
                                                            Block* block) {
  Operands all;
  for (const Leaves& operand : operands) {
    if (operand.size() != 1 || operand[0] == kNoValue) return std::nullopt;
    const ValueId v = graph_.Resolve(operand[0]);
    const PaddedArray* padded = Find(v);
    const Shape& shape = graph_.values[v].shape;
    const bool must_pad = padded == nullptr && graph_.values[v].is_dynamic;
    if (must_pad && !CanPad(v, block)) return std::nullopt;
    std::vector<int64_t>& numbers = all.numbers.emplace_back(static_cast<size_t>(shape.rank()), -1);
    all.arguments.push_back({padded == nullptr ? v : padded->array});
    all.has_padded |= padded != nullptr || must_pad;
    all.must_pad |= must_pad;
    for (int64_t d = 0; d < shape.rank() && (must_pad || padded != nullptr); ++d) {
      const ValueId to_pad =
          shape.IsDynamic(d) ? -2 - static_cast<ValueId>(v * Shape::kMaxRank + d) : kNoValue;
      const ValueId size = must_pad ? to_pad : graph_.Resolve(padded->sizes[static_cast<size_t>(d)]);
      if (size == kNoValue) continue;
      const auto at = std::find(all.sizes.begin(), all.sizes.end(), size);
      numbers[static_cast<size_t>(d)] = at - all.sizes.begin();
      if (at == all.sizes.end()) all.sizes.push_back(size);
    }
  }
  return all;
}

absl::StatusOr<Leaves> PaddedValues::InlineConversion(std::optional<CheckedModule> module,
                                                      const std::vector<Leaves>& arguments, Block* block,
                                                      InlineModule inline_module) {
  HLO_CHECK(module.has_value());
  inlines_conversion_ = true;
  absl::StatusOr<Leaves> leaves = inline_module(*std::move(module), arguments, block);
  inlines_conversion_ = false;
  return leaves;
}

absl::StatusOr<Leaves> PaddedValues::Pad(ValueId v, Block* block, InlineModule inline_module) {
  if (graph_.values[v].parameter >= 0) block = graph_.entry;
  HLO_ASSIGN_OR_RETURN(
      Leaves parts, InlineConversion(PadToStaticModule(graph_.values[v].shape), {{v}}, block, inline_module));
  if (!CanPad(v, block)) return parts;
  const Shape& shape = graph_.values[v].shape;
  PaddedArray padded{parts[0], Leaves(static_cast<size_t>(shape.rank()), kNoValue), block, v};
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (shape.IsDynamic(d)) padded.sizes[static_cast<size_t>(d)] = parts[static_cast<size_t>(d) + 1];
  }
  padded_[v] = std::move(padded);
  return parts;
}

absl::Status PaddedValues::PadAll(const std::vector<Leaves>& operands, InlineModule inline_module) {
  for (const Leaves& operand : operands) {
    const ValueId v = graph_.Resolve(operand[0]);
    if (Find(v) != nullptr || !graph_.values[v].is_dynamic) continue;
    HLO_RETURN_IF_ERROR(Pad(v, graph_.entry, inline_module).status());
  }
  return absl::OkStatus();
}

absl::StatusOr<Leaves> PaddedValues::Split(ValueId v, const Shape& shape, Block* block,
                                           InlineModule inline_module) {
  v = graph_.Resolve(v);
  const Shape own = graph_.values[v].shape;
  Leaves parts = {v};
  if (const PaddedArray* padded = Find(v); padded != nullptr) {
    parts[0] = padded->array;
    for (const ValueId size : padded->sizes) parts.push_back(size);
  } else if (graph_.values[v].is_dynamic) {
    HLO_ASSIGN_OR_RETURN(parts, Pad(v, block, inline_module));
  } else {
    parts.resize(static_cast<size_t>(shape.rank()) + 1, kNoValue);
  }
  Leaves kept = {parts[0]};
  for (int64_t d = 0; d < shape.rank(); ++d) {
    ValueId size = parts[static_cast<size_t>(d) + 1];
    if (!shape.IsDynamic(d)) {
      if (size != kNoValue && own.IsDynamic(d))
        return absl::UnimplementedError("dynamic sizes of results that are declared static");
      continue;
    }
    if (size == kNoValue) {
      HLO_ASSIGN_OR_RETURN(const Leaves bound,
                           InlineConversion(SizeConstant(shape.dim(d)), {}, block, inline_module));
      size = bound[0];
    }
    kept.push_back(size);
  }
  return kept;
}

Leaves PaddedValues::NewParts(const Shape& shape, Node* node) {
  Leaves parts = {graph_.NewValue(Shape::Array(shape.type(), shape.dims()), node)};
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (shape.IsDynamic(d)) parts.push_back(graph_.NewValue(Shape::Scalar(ElementType::kS32), node));
  }
  return parts;
}

size_t PaddedValues::Join(ValueId v, absl::Span<const ValueId> parts, Block* block) {
  const Shape& shape = graph_.values[v].shape;
  PaddedArray padded{parts[0], Leaves(static_cast<size_t>(shape.rank()), kNoValue), block};
  size_t next = 1;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (shape.IsDynamic(d)) padded.sizes[static_cast<size_t>(d)] = parts[next++];
  }
  padded_[v] = std::move(padded);
  return next;
}

absl::StatusOr<std::optional<Leaves>> PaddedValues::Compute(const Instruction& instruction,
                                                            const std::vector<Leaves>& operands, Block* block,
                                                            InlineModule inline_module) {
  const bool states_sizes = StatesSizes(instruction);
  if (inlines_conversion_) return std::nullopt;
  if (states_sizes && block != graph_.entry) return std::nullopt;  // Sizes are checked after the run.
  std::optional<Operands> all = Collect(operands, block);
  if (!all.has_value() || (!states_sizes && !all->has_padded)) return std::nullopt;
  std::optional<PaddedExpansion> expansion =
      ExpandPadded(instruction, all->numbers, static_cast<int64_t>(all->sizes.size()));
  if (!expansion.has_value()) return std::nullopt;
  if (all->must_pad) {
    HLO_RETURN_IF_ERROR(PadAll(operands, inline_module));
    all = Collect(operands, block);
  }
  for (const ValueId size : all->sizes) all->arguments.push_back({size});
  HLO_ASSIGN_OR_RETURN(Leaves leaves, inline_module(std::move(expansion->module), all->arguments, block));
  const absl::Span<const Shape> shapes = ResultShapes(instruction);
  Leaves results;
  size_t next = shapes.size();
  for (size_t k = 0; k < shapes.size(); ++k) {
    if (!shapes[k].HasDynamicDim()) {
      results.push_back(leaves[k]);
      continue;
    }
    results.push_back(graph_.NewValue(shapes[k], nullptr));
    PaddedArray& padded = padded_[results.back()];
    padded = {leaves[k], Leaves(static_cast<size_t>(shapes[k].rank()), kNoValue), block};
    for (const int64_t d : expansion->dimensions[k])
      padded.sizes[static_cast<size_t>(d)] = graph_.Resolve(leaves[next++]);
  }
  if (states_sizes) AddChecks(instruction, operands);
  return results;
}

// Lets the executor check the sizes that an instruction states.
void PaddedValues::AddChecks(const Instruction& instruction, const std::vector<Leaves>& operands) {
  for (size_t k = 1; k < operands.size(); ++k) {
    const int64_t dimension = instruction.opcode() == Opcode::kSetDimensionSize
                                  ? instruction.Get<attr::dimensions>()[0]
                                  : static_cast<int64_t>(k) - 1;
    checked_sizes_.push_back(operands[k][0]);
    checks_.push_back({.dimension = dimension, .instruction = &instruction});
  }
}

absl::Status PaddedValues::SliceToDynamic(Leaves& leaves, InlineModule inline_module) {
  for (ValueId& v : leaves) {
    PaddedArray* padded = Find(v);
    if (padded == nullptr) continue;
    if (padded->dynamic == kNoValue) {
      std::vector<int64_t> dimensions;
      std::vector<Leaves> arguments = {{padded->array}};
      for (size_t d = 0; d < padded->sizes.size(); ++d) {
        if (padded->sizes[d] == kNoValue) continue;
        dimensions.push_back(static_cast<int64_t>(d));
        arguments.push_back({padded->sizes[d]});
      }
      Block* const block = padded->block;
      HLO_ASSIGN_OR_RETURN(
          const Leaves sliced,
          InlineConversion(SliceToDynamicModule(graph_.values[padded->array].shape, dimensions), arguments,
                           block, inline_module));
      padded = Find(v);
      padded->dynamic = sliced[0];
    }
    v = padded->dynamic;
  }
  return absl::OkStatus();
}

void PaddedValues::SetResults(Leaves leaves) {
  const size_t count = leaves.size();
  for (size_t k = 0; k < count; ++k) {
    const PaddedArray* padded = Find(leaves[k]);
    if (padded == nullptr) continue;
    leaves[k] = padded->array;
    for (size_t d = 0; d < padded->sizes.size(); ++d) {
      if (padded->sizes[d] == kNoValue) continue;
      leaves.push_back(padded->sizes[d]);
      graph_.sizes.push_back({.dimension = static_cast<int64_t>(d), .leaf = static_cast<int32_t>(k)});
    }
  }
  leaves.insert(leaves.end(), checked_sizes_.begin(), checked_sizes_.end());
  graph_.sizes.insert(graph_.sizes.end(), checks_.begin(), checks_.end());
  graph_.results = std::move(leaves);
}

}  // namespace hlo::plan
