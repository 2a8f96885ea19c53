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

// Returns nullopt if an operand is not an array, or has dynamic sizes that are not known as values.
std::optional<SizedValues::Operands> SizedValues::Collect(const std::vector<Leaves>& operands) {
  Operands all;
  for (const Leaves& operand : operands) {
    if (operand.size() != 1 || operand[0] == kNoValue) return std::nullopt;
    const ValueId v = graph_.Resolve(operand[0]);
    const Sized* sized = Find(v);
    if (sized == nullptr && graph_.values[v].is_dynamic) return std::nullopt;
    std::vector<int64_t>& numbers =
        all.numbers.emplace_back(static_cast<size_t>(graph_.values[v].shape.rank()), -1);
    all.arguments.push_back({sized == nullptr ? v : sized->array});
    all.has_sized |= sized != nullptr;
    for (size_t d = 0; sized != nullptr && d < sized->sizes.size(); ++d) {
      const ValueId size = sized->sizes[d];
      if (size == kNoValue) continue;
      const auto at = std::find(all.sizes.begin(), all.sizes.end(), size);
      numbers[d] = at - all.sizes.begin();
      if (at == all.sizes.end()) all.sizes.push_back(size);
    }
  }
  return all;
}

absl::StatusOr<std::optional<Leaves>> SizedValues::Compute(const Instruction& instruction,
                                                           const std::vector<Leaves>& operands, Block* block,
                                                           InlineModule inline_module) {
  const bool states_sizes = StatesSizes(instruction);
  if (is_storing_ || (sized_.empty() && !states_sizes)) return std::nullopt;
  if (states_sizes && block != graph_.entry) return std::nullopt;  // Sizes are checked after the run.
  std::optional<Operands> all = Collect(operands);
  if (!all.has_value() || (!states_sizes && !all->has_sized)) return std::nullopt;
  std::optional<SizedExpansion> expansion =
      ExpandAtBounds(instruction, all->numbers, static_cast<int64_t>(all->sizes.size()));
  if (!expansion.has_value()) return std::nullopt;
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
      std::optional<CheckedModule> module = WithSizes(graph_.values[sized->array].shape, dimensions);
      HLO_CHECK(module.has_value());
      is_storing_ = true;
      absl::StatusOr<Leaves> stored = inline_module(*std::move(module), arguments, sized->block);
      is_storing_ = false;
      HLO_RETURN_IF_ERROR(stored.status());
      sized->stored = (*stored)[0];
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
