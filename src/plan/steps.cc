#include "plan/steps.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "base/check.h"
#include "plan/associative.h"
#include "plan/tile_calls.h"
#include "plan/visit.h"
#include "types/index.h"

namespace hlo::plan {
namespace {

std::vector<int64_t> Iota(int64_t count) {
  std::vector<int64_t> result(count);
  for (int64_t i = 0; i < count; ++i) result[i] = i;
  return result;
}

class StepMaker {
 public:
  StepMaker(Graph& graph, const Groups& groups, const Merges& merges)
      : graph_(graph), groups_(groups), merges_(merges) {}

  std::vector<Step> Make(const Block& block) {
    std::vector<Step> steps;
    for (const Node* node : block.nodes) {
      if (node->kind == Node::Kind::kWhile)
        Loop(*node, &steps);
      else if (node->kind == Node::Kind::kConditional)
        steps.push_back({node->instruction, Branch(*node)});
      else if (!groups_.IsDead(*node) && !groups_.IsInlined(*node))
        Op(*node, &steps);
      if (!fused_.empty()) steps.back().fused = std::exchange(fused_, {});
    }
    return steps;
  }

 private:
  const Shape& ShapeOf(ValueId v) const { return graph_.values[v].shape; }

  void Op(const Node& node, std::vector<Step>* steps) {
    if (IsElementwise(graph_, node) || IsPositional(graph_, node) || IsDynamicSlice(node)) {
      if (IsPositional(graph_, node) && KeepsMemory(node) && Alias(node)) return;
      if (const MergedLoop* loop = merges_.LoopOf(node)) {
        if (loop->roots.back() == &node) steps->push_back({Shown(node), TileStep{{Loops(*loop)}}});
        return;
      }
      steps->push_back({Shown(node), TileStep{{Loops({{&node}, {node.results[0]}})}}});
      return;
    }
    if (node.only_reference) {
      steps->push_back({node.instruction, Reference(node)});
      return;
    }
    switch (node.instruction->opcode()) {
      case Opcode::kBitcast:
      case Opcode::kBitcastConvert:
      case Opcode::kReshape:
        if (KeepsMemory(node) && Alias(node)) return;
        break;
      case Opcode::kReduce:
        if (auto code = FindReduceCode(*node.instruction)) {
          steps->push_back({node.instruction, Reduce(node, std::move(*code))});
          return;
        }
        break;
      case Opcode::kDynamicUpdateSlice:
        steps->push_back({node.instruction, UpdateSlice(node)});
        return;
      case Opcode::kConcatenate:
        steps->push_back({node.instruction, Concatenate(node)});
        return;
      case Opcode::kPad:
        steps->push_back({node.instruction, Pad(node)});
        return;
      default:
        break;
    }
    if (const LibraryKernel kernel = FindLibraryKernel(*node.instruction); kernel.run != nullptr) {
      KernelStep step{kernel, {}, {}};
      step.operands.assign(node.operands.begin(), node.operands.end());
      step.results.assign(node.results.begin(), node.results.end());
      steps->push_back({node.instruction, std::move(step)});
      return;
    }
    steps->push_back({node.instruction, Reference(node)});
  }

  static const Instruction* Shown(const Node& node) {
    return node.shown != nullptr ? node.shown : node.instruction;
  }
  static ReferenceStep Reference(const Node& node) {
    ReferenceStep step;
    step.operands.assign(node.operands.begin(), node.operands.end());
    step.results.assign(node.results.begin(), node.results.end());
    return step;
  }

  // A reshape of a value at hand is the same buffer. Values that loops compute are not at hand.
  bool Alias(const Node& node) {
    const Node* producer = graph_.values[node.operands[0]].node;
    if (producer != nullptr && groups_.IsInlined(*producer)) return false;
    graph_.values[node.results[0]].same_as = node.operands[0];
    return true;
  }

  LoopBuilder Builder(const Shape& shape) const {
    return LoopBuilder(graph_, groups_, shape.dims(), Iota(shape.rank()), 0);
  }
  cpu::TileProgram Finished(LoopBuilder& builder) {
    fused_.insert(fused_.end(), builder.fused().begin(), builder.fused().end());
    builder.program().Finish();
    return std::move(builder.program());
  }

  cpu::TileProgram Loops(const MergedLoop& loop) {
    const Shape& shape = ShapeOf(loop.roots[0]->results[0]);
    LoopBuilder builder = Builder(shape);
    for (const Node* root : loop.roots) {
      const ValueId result = root->results[0];
      const cpu::TileValue value = builder.Compute(*root);
      if (root != loop.roots.back() && root->shown != nullptr) fused_.push_back(root->shown);
      if (std::find(loop.stored.begin(), loop.stored.end(), result) != loop.stored.end())
        builder.program().Store(value, builder.AccessOf(result, IndexMap::Identity(shape.rank())));
    }
    return Finished(builder);
  }

  ReduceStep Reduce(const Node& node, ReduceCode code) {
    const Instruction& reduce = *node.instruction;
    const size_t count = node.operands.size() / 2;
    const Shape& shape = ShapeOf(node.operands[0]);
    const IntList reduced = reduce.Get<attr::dimensions>();
    std::vector<int64_t> kept_dims, reduced_dims;
    int64_t kept_count = 1;
    for (int64_t d = 0; d < shape.rank(); ++d) {
      const bool is_reduced = std::find(reduced.begin(), reduced.end(), d) != reduced.end();
      (is_reduced ? reduced_dims : kept_dims).push_back(d);
      if (!is_reduced) kept_count *= shape.dim(d);
    }
    // Rows where the elements that are combined lie side by side.
    int64_t last = shape.rank() - 1;
    while (last > 0 && shape.dim(last) == 1) --last;
    const bool minor_reduced = last >= 0 && std::find(reduced.begin(), reduced.end(), last) != reduced.end();
    const bool short_rows = minor_reduced && shape.dim(last) < 32 && kept_count >= 256;
    bool rows = code.grouping == cpu::Grouping::kAny && ((minor_reduced && !short_rows) || kept_count == 1);
    int64_t parts = 1;
    cpu::ReduceProgram::Pick pick = cpu::ReduceProgram::Pick::kNone;
    if (code.grouping == cpu::Grouping::kNone && IsAssociative(reduce, code)) {
      code.grouping = cpu::Grouping::kNeighbours;
      if (minor_reduced && !short_rows && reduced_dims.size() == 1 && IsIotaAlong(node, last))
        pick = FindPick(*reduce.Get<attr::to_apply>(), code.code, TypesOf(reduce));
      // One dimension that lies side by side.
      if (pick != cpu::ReduceProgram::Pick::kNone)
        rows = true;
      else if (minor_reduced && Product(shape.dims()) == kept_count * shape.dim(last))
        parts = PartCount(shape.dim(last));
    }
    std::vector<cpu::ReduceProgram::Result> results;
    for (size_t k = 0; k < count; ++k) {
      results.push_back({node.operands[count + k], node.results[k], ShapeOf(node.operands[count + k]).type(),
                         ShapeOf(node.results[k]).type()});
    }
    if (parts > 1) {
      const int64_t length = shape.dim(last) / parts;
      return {{RowsInParts(node, last, parts), true, std::move(code.code), code.grouping, code.fold,
               std::move(results), length}};
    }
    std::vector<int64_t> order = rows ? kept_dims : reduced_dims;
    const auto outer = static_cast<int64_t>(order.size());
    const std::vector<int64_t>& inner = rows ? reduced_dims : kept_dims;
    order.insert(order.end(), inner.begin(), inner.end());
    LoopBuilder builder(graph_, groups_, shape.dims(), order, outer);
    for (size_t k = 0; k < count; ++k) builder.program().Yield(builder.Value(node.operands[k]));
    return {{Finished(builder), rows, std::move(code.code), code.grouping, code.fold, std::move(results), 1,
             pick}};
  }

  static bool IsAssociative(const Instruction& reduce, const ReduceCode& code) {
    return plan::IsAssociative(*reduce.Get<attr::to_apply>(), code.code, TypesOf(reduce));
  }
  static std::vector<ElementType> TypesOf(const Instruction& reduce) {
    std::vector<ElementType> types;
    for (int64_t k = 0; k < reduce.operand_count() / 2; ++k)
      types.push_back(reduce.operand(k)->shape().type());
    return types;
  }
  // Whether the second operand of a reduction counts along the dimension.
  bool IsIotaAlong(const Node& reduce, int64_t dimension) const {
    if (reduce.operands.size() != 4) return false;
    const Node* node = graph_.values[reduce.operands[1]].node;
    return node != nullptr && node->kind == Node::Kind::kOp && groups_.IsInlined(*node) &&
           node->instruction->opcode() == Opcode::kIota &&
           node->instruction->Get<attr::iota_dimension>() == dimension;
  }

  // Into how many parts of equal length, side by side in a tile, a row is cut; 1: too short, or without
  // divisor.
  static int64_t PartCount(int64_t length) {
    constexpr int64_t kMost = 128, kFewest = 16;
    if (length < 2 * kFewest) return 1;
    for (int64_t parts = std::min(kMost, length / 2); parts >= kFewest; --parts) {
      if (length % parts == 0) return parts;
    }
    return 1;
  }

  // The reduced dimension is position part * length + i: all parts at once for one i after the other.
  cpu::TileProgram RowsInParts(const Node& node, int64_t dimension, int64_t parts) {
    const Shape& shape = ShapeOf(node.operands[0]);
    const int64_t rank = shape.rank(), length = shape.dim(dimension) / parts;
    std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
    dims[dimension] = length;
    dims.push_back(parts);
    IndexMap map = IndexMap::Identity(rank + 1);
    map.offset.pop_back();
    map.coefficients.pop_back();
    map.coefficients[dimension][rank] = length;
    std::vector<int64_t> order;
    for (int64_t d = 0; d < rank; ++d) {
      if (d != dimension) order.push_back(d);
    }
    order.push_back(dimension);
    order.push_back(rank);
    LoopBuilder builder(graph_, groups_, dims, order, rank);
    for (size_t k = 0; k < node.operands.size() / 2; ++k)
      builder.program().Yield(builder.Value(node.operands[k], map));
    return Finished(builder);
  }

  // The whole operand, unless it is updated in place, and then the window.
  TileStep UpdateSlice(const Node& node) {
    const ValueId operand = node.operands[0], update = node.operands[1], result = node.results[0];
    TileStep step;
    step.updated = operand;
    step.result = result;
    LoopBuilder whole = Builder(ShapeOf(result));
    const IndexMap identity = IndexMap::Identity(ShapeOf(result).rank());
    whole.program().Store(whole.Value(operand), whole.AccessOf(result, identity));
    step.programs.push_back(Finished(whole));
    LoopBuilder window = Builder(ShapeOf(update));
    cpu::Access access = window.AccessOf(result, identity);
    window.AddStarts(absl::MakeConstSpan(node.operands).subspan(2), ShapeOf(result), ShapeOf(update),
                     &access);
    window.program().Store(window.Value(update), std::move(access));
    step.programs.push_back(Finished(window));
    return step;
  }

  TileStep Concatenate(const Node& node) {
    const ValueId result = node.results[0];
    const int64_t dimension = node.instruction->Get<attr::dimensions>()[0];
    TileStep step;
    int64_t at = 0;
    for (ValueId operand : node.operands) {
      LoopBuilder part = Builder(ShapeOf(operand));
      IndexMap map = IndexMap::Identity(ShapeOf(result).rank());
      map.offset[dimension] = at;
      at += ShapeOf(operand).dim(dimension);
      part.program().Store(part.Value(operand), part.AccessOf(result, map));
      step.programs.push_back(Finished(part));
    }
    return step;
  }

  // The padding value everywhere, then those elements of the operand that negative padding leaves.
  TileStep Pad(const Node& node) {
    const ValueId operand = node.operands[0], value = node.operands[1], result = node.results[0];
    const Shape& from = ShapeOf(operand);
    const Shape& to = ShapeOf(result);
    TileStep step;
    LoopBuilder fill = Builder(to);
    fill.program().Store(fill.Value(value, IndexMap::Scalar()),
                         fill.AccessOf(result, IndexMap::Identity(to.rank())));
    step.programs.push_back(Finished(fill));
    const auto padding = node.instruction->Get<attr::padding>();
    std::vector<int64_t> dims;
    IndexMap read = IndexMap::Identity(from.rank()), write = read;
    for (int64_t d = 0; d < from.rank(); ++d) {
      const int64_t spacing = padding[d].interior + 1;
      const int64_t first = padding[d].low >= 0 ? 0 : (-padding[d].low + spacing - 1) / spacing;
      const int64_t room = to.dim(d) - 1 - padding[d].low;
      const int64_t last = room < 0 ? -1 : std::min(from.dim(d) - 1, room / spacing);
      dims.push_back(std::max<int64_t>(0, last - first + 1));
      read.offset[d] = first;
      write.offset[d] = padding[d].low + first * spacing;
      write.coefficients[d][d] = spacing;
    }
    if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return step;
    LoopBuilder copy(graph_, groups_, dims, Iota(from.rank()), 0);
    copy.program().Store(copy.Value(operand, read), copy.AccessOf(result, write));
    step.programs.push_back(Finished(copy));
    return step;
  }

  void Loop(const Node& node, std::vector<Step>* steps) {
    LoopStep loop{Make(*node.blocks[0]), Make(*node.blocks[1]), node.predicate, {}, {}};
    for (size_t i = 0; i < node.results.size(); ++i) {
      loop.initial.push_back({node.results[i], node.operands[i]});
      loop.next.push_back({node.results[i], node.next[i]});
    }
    Hoist(loop, steps);
    loop.counted = Counted(node);
    steps->push_back({node.instruction, std::move(loop)});
  }

  // Whose limit is in memory, where it is no constant.
  std::optional<CountedLoop> Counted(const Node& node) const {
    std::optional<CountedLoop> counted = FindCountedLoop(graph_, node);
    if (!counted.has_value()) return counted;
    const Node* producer = graph_.values[counted->limit].node;
    return producer != nullptr && groups_.IsInlined(*producer) ? std::nullopt : counted;
  }

  // Steps that compute the same in every iteration go before the loop.
  void Hoist(LoopStep& loop, std::vector<Step>* before) {
    absl::flat_hash_set<ValueId> varying;
    for (const Move& move : loop.next) varying.insert(graph_.Resolve(move.to));
    CollectWrites(loop.condition, &varying);
    CollectWrites(loop.body, &varying);
    for (std::vector<Step>* steps : {&loop.condition, &loop.body}) {
      std::vector<Step> kept;
      for (Step& step : *steps) {
        if (IsPure(step) && !Reads(step, varying)) {
          VisitSlots(step, [&](int32_t& v, bool is_write) {
            if (is_write) varying.erase(graph_.Resolve(v));
          });
          before->push_back(std::move(step));
        } else {
          kept.push_back(std::move(step));
        }
      }
      *steps = std::move(kept);
    }
  }
  static bool IsPure(const Step& step) {
    return std::holds_alternative<TileStep>(step.what) || std::holds_alternative<ReduceStep>(step.what) ||
           std::holds_alternative<KernelStep>(step.what);
  }
  bool Reads(Step& step, const absl::flat_hash_set<ValueId>& values) const {
    bool reads = false;
    VisitSlots(step,
               [&](int32_t& v, bool is_write) { reads |= !is_write && values.contains(graph_.Resolve(v)); });
    return reads;
  }
  void CollectWrites(std::vector<Step>& steps, absl::flat_hash_set<ValueId>* written) const {
    for (Step& step : steps) {
      if (auto* loop = std::get_if<LoopStep>(&step.what)) {
        for (const Move& move : loop->next) written->insert(graph_.Resolve(move.to));
        CollectWrites(loop->condition, written);
        CollectWrites(loop->body, written);
      } else if (auto* branch = std::get_if<BranchStep>(&step.what)) {
        for (BranchStep::Branch& each : branch->branches) {
          for (const Move& move : each.results) written->insert(graph_.Resolve(move.to));
          CollectWrites(each.steps, written);
        }
      } else {
        VisitSlots(step, [&](int32_t& v, bool is_write) {
          if (is_write) written->insert(graph_.Resolve(v));
        });
      }
    }
  }

  BranchStep Branch(const Node& node) {
    BranchStep step{node.operands[0], ShapeOf(node.operands[0]).type(), {}};
    for (size_t b = 0; b < node.blocks.size(); ++b) {
      BranchStep::Branch branch{Make(*node.blocks[b]), {}};
      for (size_t i = 0; i < node.results.size(); ++i)
        branch.results.push_back({node.results[i], node.branch_results[b][i]});
      step.branches.push_back(std::move(branch));
    }
    return step;
  }

  Graph& graph_;
  const Groups& groups_;
  const Merges& merges_;
  std::vector<const Instruction*> fused_;  // By the loops of the step that is being made.
};

}  // namespace

std::vector<Step> MakeSteps(Graph& graph, const Groups& groups, const Merges& merges, const Block& block) {
  return StepMaker(graph, groups, merges).Make(block);
}

void SaveMemory(const Groups& groups, std::vector<Step>& steps) {
  for (Step& step : steps) {
    if (auto* loop = std::get_if<LoopStep>(&step.what)) {
      SaveMemory(groups, loop->condition);
      SaveMemory(groups, loop->body);
    } else if (auto* branch = std::get_if<BranchStep>(&step.what)) {
      for (BranchStep::Branch& each : branch->branches) SaveMemory(groups, each.steps);
    } else if (auto* kernel = std::get_if<KernelStep>(&step.what)) {
      kernel->kernel.updated = std::max(kernel->kernel.updated, kernel->kernel.replaced);
      for (Slot& result : kernel->results) {
        if (kernel->kernel.skips_unused && result != kNoValue && !groups.IsUsed(result)) result = kNoValue;
      }
    }
  }
}

}  // namespace hlo::plan
