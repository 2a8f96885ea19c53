#include "plan/rewrite/sized_values.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/status.h"
#include "ir/result_shapes.h"
#include "plan/rewrite/sized_arrays.h"

namespace hlo::plan {

SizedValues::Sized* SizedValues::Find(ValueId v) {
  const auto found = v == kNoValue ? sized_.end() : sized_.find(graph_.Resolve(v));
  return found == sized_.end() ? nullptr : &found->second;
}

bool SizedValues::CanLoad(ValueId v, const Block* block) const {
  const Value& value = graph_.values[v];
  return value.shape.HasDynamicDim() && (value.parameter >= 0 || block == graph_.entry);
}

// Returns nullopt if an operand is not an array, or has dynamic sizes that are not known as values. The sizes
// of operands that are still to be loaded are distinct negative numbers.
std::optional<SizedValues::Operands> SizedValues::Collect(const std::vector<Leaves>& operands, Block* block) {
  Operands all;
  for (const Leaves& operand : operands) {
    if (operand.size() != 1 || operand[0] == kNoValue) return std::nullopt;
    const ValueId v = graph_.Resolve(operand[0]);
    const Sized* sized = Find(v);
    const Shape& shape = graph_.values[v].shape;
    const bool must_load = sized == nullptr && graph_.values[v].is_dynamic;
    if (must_load && !CanLoad(v, block)) return std::nullopt;
    std::vector<int64_t>& numbers = all.numbers.emplace_back(static_cast<size_t>(shape.rank()), -1);
    all.arguments.push_back({sized == nullptr ? v : sized->array});
    all.has_sized |= sized != nullptr || must_load;
    all.must_load |= must_load;
    for (int64_t d = 0; d < shape.rank() && (must_load || sized != nullptr); ++d) {
      const ValueId to_load =
          shape.IsDynamic(d) ? -2 - static_cast<ValueId>(v * Shape::kMaxRank + d) : kNoValue;
      const ValueId size = must_load ? to_load : graph_.Resolve(sized->sizes[static_cast<size_t>(d)]);
      if (size == kNoValue) continue;
      const auto at = std::find(all.sizes.begin(), all.sizes.end(), size);
      numbers[static_cast<size_t>(d)] = at - all.sizes.begin();
      if (at == all.sizes.end()) all.sizes.push_back(size);
    }
  }
  return all;
}

absl::StatusOr<Leaves> SizedValues::InlineItself(std::optional<CheckedModule> module,
                                                 const std::vector<Leaves>& arguments, Block* block,
                                                 InlineModule inline_module) {
  HLO_CHECK(module.has_value());
  inlines_itself_ = true;
  absl::StatusOr<Leaves> leaves = inline_module(*std::move(module), arguments, block);
  inlines_itself_ = false;
  return leaves;
}

absl::StatusOr<Leaves> SizedValues::Load(ValueId v, Block* block, InlineModule inline_module) {
  if (graph_.values[v].parameter >= 0) block = graph_.entry;
  HLO_ASSIGN_OR_RETURN(Leaves parts,
                       InlineItself(WithoutSizes(graph_.values[v].shape), {{v}}, block, inline_module));
  if (!CanLoad(v, block)) return parts;
  const Shape& shape = graph_.values[v].shape;
  Sized sized{parts[0], Leaves(static_cast<size_t>(shape.rank()), kNoValue), block, v};
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (shape.IsDynamic(d)) sized.sizes[static_cast<size_t>(d)] = parts[static_cast<size_t>(d) + 1];
  }
  sized_[v] = std::move(sized);
  return parts;
}

absl::Status SizedValues::LoadAll(const std::vector<Leaves>& operands, InlineModule inline_module) {
  for (const Leaves& operand : operands) {
    const ValueId v = graph_.Resolve(operand[0]);
    if (Find(v) != nullptr || !graph_.values[v].is_dynamic) continue;
    HLO_RETURN_IF_ERROR(Load(v, graph_.entry, inline_module).status());
  }
  return absl::OkStatus();
}

absl::StatusOr<Leaves> SizedValues::Split(ValueId v, const Shape& shape, Block* block,
                                          InlineModule inline_module) {
  v = graph_.Resolve(v);
  const Shape own = graph_.values[v].shape;
  Leaves parts = {v};
  if (const Sized* sized = Find(v); sized != nullptr) {
    parts[0] = sized->array;
    for (const ValueId size : sized->sizes) parts.push_back(size);
  } else if (graph_.values[v].is_dynamic) {
    HLO_ASSIGN_OR_RETURN(parts, Load(v, block, inline_module));
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
                           InlineItself(SizeConstant(shape.dim(d)), {}, block, inline_module));
      size = bound[0];
    }
    kept.push_back(size);
  }
  return kept;
}

Leaves SizedValues::NewParts(const Shape& shape, Node* node) {
  Leaves parts = {graph_.NewValue(Shape::Array(shape.type(), shape.dims()), node)};
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (shape.IsDynamic(d)) parts.push_back(graph_.NewValue(Shape::Scalar(ElementType::kS32), node));
  }
  return parts;
}

size_t SizedValues::Join(ValueId v, absl::Span<const ValueId> parts, Block* block) {
  const Shape& shape = graph_.values[v].shape;
  Sized sized{parts[0], Leaves(static_cast<size_t>(shape.rank()), kNoValue), block};
  size_t next = 1;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (shape.IsDynamic(d)) sized.sizes[static_cast<size_t>(d)] = parts[next++];
  }
  sized_[v] = std::move(sized);
  return next;
}

absl::StatusOr<std::optional<Leaves>> SizedValues::Compute(const Instruction& instruction,
                                                           const std::vector<Leaves>& operands, Block* block,
                                                           InlineModule inline_module) {
  const bool states_sizes = StatesSizes(instruction);
  if (inlines_itself_) return std::nullopt;
  if (states_sizes && block != graph_.entry) return std::nullopt;  // Sizes are checked after the run.
  std::optional<Operands> all = Collect(operands, block);
  if (!all.has_value() || (!states_sizes && !all->has_sized)) return std::nullopt;
  std::optional<SizedExpansion> expansion =
      ExpandAtBounds(instruction, all->numbers, static_cast<int64_t>(all->sizes.size()));
  if (!expansion.has_value()) return std::nullopt;
  if (all->must_load) {
    HLO_RETURN_IF_ERROR(LoadAll(operands, inline_module));
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
    Sized& sized = sized_[results.back()];
    sized = {leaves[k], Leaves(static_cast<size_t>(shapes[k].rank()), kNoValue), block};
    for (const int64_t d : expansion->dimensions[k])
      sized.sizes[static_cast<size_t>(d)] = graph_.Resolve(leaves[next++]);
  }
  if (states_sizes) AddChecks(instruction, operands);
  return results;
}

// Lets the executor check the sizes that an instruction states.
void SizedValues::AddChecks(const Instruction& instruction, const std::vector<Leaves>& operands) {
  for (size_t k = 1; k < operands.size(); ++k) {
    const int64_t dimension = instruction.opcode() == Opcode::kSetDimensionSize
                                  ? instruction.Get<attr::dimensions>()[0]
                                  : static_cast<int64_t>(k) - 1;
    checked_sizes_.push_back(operands[k][0]);
    checks_.push_back({.dimension = dimension, .instruction = &instruction});
  }
}

absl::Status SizedValues::Store(Leaves& leaves, InlineModule inline_module) {
  for (ValueId& v : leaves) {
    Sized* sized = Find(v);
    if (sized == nullptr) continue;
    if (sized->stored == kNoValue) {
      std::vector<int64_t> dimensions;
      std::vector<Leaves> arguments = {{sized->array}};
      for (size_t d = 0; d < sized->sizes.size(); ++d) {
        if (sized->sizes[d] == kNoValue) continue;
        dimensions.push_back(static_cast<int64_t>(d));
        arguments.push_back({sized->sizes[d]});
      }
      Block* const block = sized->block;
      HLO_ASSIGN_OR_RETURN(const Leaves stored,
                           InlineItself(WithSizes(graph_.values[sized->array].shape, dimensions), arguments,
                                        block, inline_module));
      sized = Find(v);
      sized->stored = stored[0];
    }
    v = sized->stored;
  }
  return absl::OkStatus();
}

void SizedValues::SetResults(Leaves leaves) {
  const size_t count = leaves.size();
  for (size_t k = 0; k < count; ++k) {
    const Sized* sized = Find(leaves[k]);
    if (sized == nullptr) continue;
    leaves[k] = sized->array;
    for (size_t d = 0; d < sized->sizes.size(); ++d) {
      if (sized->sizes[d] == kNoValue) continue;
      leaves.push_back(sized->sizes[d]);
      graph_.sizes.push_back({.dimension = static_cast<int64_t>(d), .leaf = static_cast<int32_t>(k)});
    }
  }
  leaves.insert(leaves.end(), checked_sizes_.begin(), checked_sizes_.end());
  graph_.sizes.insert(graph_.sizes.end(), checks_.begin(), checks_.end());
  graph_.results = std::move(leaves);
}

}  // namespace hlo::plan
