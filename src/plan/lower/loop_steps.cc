#include "plan/lower/loop_steps.h"

#include <algorithm>
#include <utility>

#include "base/arithmetic.h"
#include "types/index.h"

namespace hlo::plan {
namespace {

constexpr int64_t kMinPaddedElements = 4096;  // In elements; smaller results are filled as a whole.

// Maps the positions of `loop` to those of a shape with the same elements in the same order, up to dimensions
// of size 1.
IndexMap WithoutUnitDims(const Shape& shape, const Shape& loop) {
  const IndexMap identity = IndexMap::Identity(loop.rank());
  IndexMap map;
  int64_t next = 0;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (shape.dim(d) == 1) {
      map.offset.push_back(0);
      map.coefficients.emplace_back(loop.rank(), 0);
      continue;
    }
    while (loop.dim(next) == 1) ++next;
    map.offset.push_back(0);
    map.coefficients.push_back(identity.coefficients[next++]);
  }
  return map;
}

}  // namespace

LoopBuilder LoopSteps::Builder(absl::Span<const int64_t> dims, int32_t rotation) const {
  return LoopBuilder(graph_, fusion_, dims, StoredOrder(std::ssize(dims), rotation), 0);
}
loops::LoopProgram LoopSteps::FinishProgram(LoopBuilder& builder) {
  builder.program().Finish();
  return TakeProgram(builder);
}
loops::LoopProgram LoopSteps::TakeProgram(LoopBuilder& builder) {
  fused_.insert(fused_.end(), builder.fused().begin(), builder.fused().end());
  return std::move(builder.program());
}

loops::LoopProgram LoopSteps::Loops(const FusedLoop& loop) {
  const Shape& shape = ShapeOf(loop.roots[0]->results[0]);
  int32_t rotation = 0;
  for (const ValueId stored : loop.stored) rotation = std::max(rotation, RotationOf(stored));
  LoopBuilder builder = Builder(shape.dims(), rotation);
  for (const Node* root : loop.roots) {
    const ValueId result = root->results[0];
    const loops::Value value = builder.Compute(*root);
    if (root != loop.roots.back() && root->named_after != nullptr) fused_.push_back(root->named_after);
    if (std::find(loop.stored.begin(), loop.stored.end(), result) != loop.stored.end())
      builder.program().Store(value, builder.AccessOf(result, IndexMap::Identity(shape.rank())));
  }
  if (loop.update != nullptr) {
    if (loop.roots.back()->named_after != nullptr) fused_.push_back(loop.roots.back()->named_after);
    const IndexMap map = WithoutUnitDims(ShapeOf(loop.update->operands[1]), shape);
    builder.program().Store(builder.Value(loop.updating), WindowOf(*loop.update, map, builder));
  }
  return FinishProgram(builder);
}

loops::Access LoopSteps::WindowOf(const Node& update, const IndexMap& map, const LoopBuilder& builder) const {
  const ValueId result = update.results[0];
  loops::Access access = builder.AccessOf(result, map);
  builder.AddStarts(absl::MakeConstSpan(update.operands).subspan(2), result, ShapeOf(update.operands[1]),
                    &access);
  return access;
}

// Copies the whole operand; omitted if the update is in place.
TileStep LoopSteps::CopyOf(ValueId operand, ValueId result) {
  TileStep step;
  step.updated = operand;
  step.result = result;
  LoopBuilder whole = Builder(ShapeOf(result).dims(), RotationOf(result));
  const IndexMap identity = IndexMap::Identity(ShapeOf(result).rank());
  whole.program().Store(whole.Value(operand), whole.AccessOf(result, identity));
  step.programs.push_back(FinishProgram(whole));
  return step;
}

TileStep LoopSteps::UpdateSlice(const Node& node) {
  const ValueId operand = node.operands[0], result = node.results[0];
  TileStep step = CopyOf(operand, result);
  if (const FusedLoop* loop = siblings_.LoopOf(node)) {
    step.programs.push_back(Loops(*loop));
    return step;
  }
  LoopBuilder window = Builder(ShapeOf(node.operands[1]).dims(), RotationOf(result));
  window.program().Store(window.Value(node.operands[1]),
                         WindowOf(node, IndexMap::Identity(ShapeOf(result).rank()), window));
  step.programs.push_back(FinishProgram(window));
  return step;
}

TileStep LoopSteps::ScatterWindow(const Node& node, const LoopUpdate& update) {
  const ValueId operand = node.operands[0], indices = node.operands[1], result = node.results[0];
  const Instruction& scatter = *node.instruction;
  const Shape& shape = ShapeOf(result);
  TileStep step = CopyOf(operand, result);
  LoopBuilder window = Builder(ShapeOf(node.operands[2]).dims(), 0);
  const IndexMap identity = IndexMap::Identity(ShapeOf(node.operands[2]).rank());
  IndexMap map = IndexMap::Identity(shape.rank());
  for (int64_t d = 0; d < shape.rank(); ++d) {
    const int64_t from = update.update[d];
    map.coefficients[d] =
        from < 0 ? std::vector<int64_t>(identity.offset.size(), 0) : identity.coefficients[from];
  }
  loops::Access access = window.AccessOf(result, map);
  const Index strides = StoredStrides(graph_.values[result]);
  const IntList dims = scatter.Get<attr::scatter_dims_to_operand_dims>();
  for (size_t k = 0; k < update.max.size(); ++k) {
    access.starts.push_back(
        {indices, ShapeOf(indices).type(), update.max[k], strides[dims[k]], static_cast<int64_t>(k)});
  }
  access.drops = true;
  loops::Value value = window.Value(node.operands[2]);
  if (update.combine.has_value()) {
    loops::Access old = access;
    old.argument = operand;
    const loops::Value before = window.program().Load(std::move(old));
    value = window.program().Apply(*update.combine, loops::ComputeTypeOf(shape.type()), {before, value});
  }
  window.program().Store(value, std::move(access));
  step.programs.push_back(FinishProgram(window));
  return step;
}

TileStep LoopSteps::Concatenate(const Node& node) {
  const ValueId result = node.results[0];
  const int64_t dimension = node.instruction->Get<attr::dimensions>()[0];
  TileStep step;
  int64_t at = 0;
  for (ValueId operand : node.operands) {
    LoopBuilder part = Builder(ShapeOf(operand).dims(), RotationOf(result));
    IndexMap map = IndexMap::Identity(ShapeOf(result).rank());
    map.offset[dimension] = at;
    at += ShapeOf(operand).dim(dimension);
    part.program().Store(part.Value(operand), part.AccessOf(result, map));
    step.programs.push_back(FinishProgram(part));
  }
  return step;
}

TileStep LoopSteps::Pad(const Node& node) {
  const ValueId operand = node.operands[0], result = node.results[0];
  const Shape& from = ShapeOf(operand);
  const Shape& to = ShapeOf(result);
  const auto padding = node.instruction->Get<attr::padding>();
  bool is_spaced = false;
  std::vector<int64_t> dims;
  IndexMap read = IndexMap::Identity(from.rank()), write = read;
  for (int64_t d = 0; d < from.rank(); ++d) {
    const int64_t spacing = padding[d].interior + 1;
    const int64_t first = padding[d].low >= 0 ? 0 : CeilDiv(-padding[d].low, spacing);
    const int64_t room = to.dim(d) - 1 - padding[d].low;
    const int64_t last = room < 0 ? -1 : std::min(from.dim(d) - 1, room / spacing);
    is_spaced |= spacing > 1;
    dims.push_back(std::max<int64_t>(0, last - first + 1));
    read.offset[d] = first;
    write.offset[d] = padding[d].low + first * spacing;
    write.coefficients[d][d] = spacing;
  }
  const bool is_empty = std::find(dims.begin(), dims.end(), 0) != dims.end();
  TileStep step;
  if (is_spaced || is_empty || *to.ElementCount() < kMinPaddedElements)
    step.programs.push_back(Fill(node, {to.dims().begin(), to.dims().end()}, IndexMap::Identity(to.rank())));
  else
    FillAround(node, dims, write, &step);
  if (is_empty) return step;
  LoopBuilder copy = Builder(dims, RotationOf(result));
  copy.program().Store(copy.Value(operand, read), copy.AccessOf(result, write));
  step.programs.push_back(FinishProgram(copy));
  return step;
}

loops::LoopProgram LoopSteps::Fill(const Node& pad, const std::vector<int64_t>& dims, const IndexMap& map) {
  LoopBuilder fill = Builder(dims, RotationOf(pad.results[0]));
  fill.program().Store(fill.Value(pad.operands[1], IndexMap::Scalar()), fill.AccessOf(pad.results[0], map));
  return FinishProgram(fill);
}

void LoopSteps::FillAround(const Node& pad, absl::Span<const int64_t> box, const IndexMap& at,
                           TileStep* step) {
  const Shape& whole = ShapeOf(pad.results[0]);
  std::vector<int64_t> dims(whole.dims().begin(), whole.dims().end());
  IndexMap map = IndexMap::Identity(whole.rank());
  for (int64_t d = 0; d < whole.rank(); ++d) {
    const int64_t end = at.offset[d] + box[d];
    for (const auto& [begin, length] :
         {std::pair(int64_t{0}, at.offset[d]), std::pair(end, whole.dim(d) - end)}) {
      map.offset[d] = begin;
      dims[d] = length;
      if (length > 0) step->programs.push_back(Fill(pad, dims, map));
    }
    map.offset[d] = at.offset[d];
    dims[d] = box[d];
  }
}

}  // namespace hlo::plan
