#include "plan/lower/make_steps.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "plan/analysis/counted_loops.h"
#include "plan/analysis/node_traits.h"
#include "plan/codegen/operations.h"
#include "plan/lower/loop_steps.h"
#include "plan/select/library_kernels.h"
#include "plan/visit.h"

namespace hlo::plan {
namespace {

class StepMaker {
 public:
  StepMaker(Graph& graph, const LoopFusion& fusion, const SiblingFusion& siblings)
      : graph_(graph), fusion_(fusion), siblings_(siblings), loops_(graph, fusion, siblings) {}

  std::vector<Step> Make(const Block& block) {
    std::vector<Step> steps;
    for (const Node* node : block.nodes) {
      const size_t count = steps.size();
      if (node->kind == Node::Kind::kWhile)
        Loop(*node, &steps);
      else if (node->kind == Node::Kind::kConditional)
        steps.push_back({node->instruction, Branch(*node)});
      else if (!fusion_.IsDead(*node) && !fusion_.IsFused(*node))
        Op(*node, &steps);
      if (steps.size() > count) steps.back().node = node;
      if (std::vector<const Instruction*> fused = loops_.TakeFused(); !fused.empty())
        steps.back().fused = std::move(fused);
    }
    return steps;
  }

 private:
  const Shape& ShapeOf(ValueId v) const { return graph_.values[v].shape; }

  void Op(const Node& node, std::vector<Step>* steps) {
    if (IsElementwise(graph_, node) || HasAffineIndexing(graph_, node) || IsDynamicSlice(node) ||
        fusion_.IsGatherLoop(node)) {
      if (HasAffineIndexing(graph_, node) && IsNoOpReshape(node) && TryAlias(node)) return;
      if (const FusedLoop* loop = siblings_.LoopOf(node)) {
        if (loop->roots.back() == &node && loop->update == nullptr)
          steps->push_back({NamedAfter(node), TileStep{{loops_.Loops(*loop)}}});
        return;
      }
      steps->push_back({NamedAfter(node), TileStep{{loops_.Loops({{&node}, {node.results[0]}})}}});
      return;
    }
    if (node.needs_reference) {
      steps->push_back({node.instruction, Reference(node)});
      std::get<ReferenceStep>(steps->back().what).is_required = true;
      return;
    }
    switch (node.instruction->opcode()) {
      case Opcode::kBitcast:
      case Opcode::kBitcastConvert:
      case Opcode::kReshape:
        if (IsNoOpReshape(node) && TryAlias(node)) return;
        break;
      case Opcode::kReduce:
        if (auto code = FindReduceCode(*node.instruction)) {
          steps->push_back({node.instruction, loops_.Reduce(node, std::move(*code))});
          return;
        }
        break;
      case Opcode::kDynamicUpdateSlice:
        steps->push_back({node.instruction, loops_.UpdateSlice(node)});
        return;
      case Opcode::kScatter:
        if (const auto update = FindLoopUpdate(*node.instruction)) {
          steps->push_back({node.instruction, loops_.ScatterWindow(node, *update)});
          return;
        }
        break;
      case Opcode::kConcatenate:
        steps->push_back({node.instruction, loops_.Concatenate(node)});
        return;
      case Opcode::kPad:
        steps->push_back({node.instruction, loops_.Pad(node)});
        return;
      default:
        break;
    }
    if (const LibraryKernel kernel = FindLibraryKernel(*node.instruction); kernel.run != nullptr) {
      KernelStep step{kernel.description(), {}, {}};
      step.operands.assign(node.operands.begin(), node.operands.end());
      step.results.assign(node.results.begin(), node.results.end());
      steps->push_back({node.instruction, std::move(step)});
      return;
    }
    steps->push_back({node.instruction, Reference(node)});
  }

  static const Instruction* NamedAfter(const Node& node) {
    return node.named_after != nullptr ? node.named_after : node.instruction;
  }
  static ReferenceStep Reference(const Node& node) {
    ReferenceStep step;
    step.operands.assign(node.operands.begin(), node.operands.end());
    step.results.assign(node.results.begin(), node.results.end());
    return step;
  }

  // A reshape of a stored value is an alias. Fused values are not stored.
  bool TryAlias(const Node& node) {
    const Node* producer = graph_.values[node.operands[0]].node;
    if (producer != nullptr && fusion_.IsFused(*producer)) return false;
    if (graph_.values[node.operands[0]].rotation != 0 || graph_.values[node.results[0]].rotation != 0)
      return false;
    Value &stored = graph_.values[node.operands[0]], &reshaped = graph_.values[node.results[0]];
    reshaped.replaced_by = node.operands[0];
    if (producer != nullptr && producer->replacement_of != nullptr &&
        producer->replacement_of == reshaped.instruction) {
      stored.instruction = reshaped.instruction;
      stored.leaf = reshaped.leaf;
    }
    return true;
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

  // Returns the counted loop if its limit is a constant or stored.
  std::optional<CountedLoop> Counted(const Node& node) const {
    std::optional<CountedLoop> counted = FindCountedLoop(graph_, node);
    if (!counted.has_value()) return counted;
    const Node* producer = graph_.values[counted->limit].node;
    return producer != nullptr && fusion_.IsFused(*producer) ? std::nullopt : counted;
  }

  // Hoists loop-invariant steps out of the loop.
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
  const LoopFusion& fusion_;
  const SiblingFusion& siblings_;
  LoopSteps loops_;
};

}  // namespace

std::vector<Step> MakeSteps(Graph& graph, const LoopFusion& fusion, const SiblingFusion& siblings,
                            const Block& block) {
  return StepMaker(graph, fusion, siblings).Make(block);
}

void EliminateDeadKernelResults(const LoopFusion& fusion, std::vector<Step>& steps, ChangeCounter& changes) {
  for (Step& step : steps) {
    VisitNestedSteps(step,
                     [&](std::vector<Step>& nested) { EliminateDeadKernelResults(fusion, nested, changes); });
    if (auto* kernel = std::get_if<KernelStep>(&step.what)) {
      const auto is_unused = [&](Slot result) {
        return kernel->kernel.skips_unused && result != kNoValue && !fusion.IsLive(result);
      };
      const bool changes_kernel = kernel->kernel.in_place_results_on_cpu > kernel->kernel.in_place_results ||
                                  std::any_of(kernel->results.begin(), kernel->results.end(), is_unused);
      if (!changes_kernel || !changes.Allow("kernel_result_dce", step.instruction->name())) continue;
      kernel->kernel.in_place_results =
          std::max(kernel->kernel.in_place_results, kernel->kernel.in_place_results_on_cpu);
      for (Slot& result : kernel->results) {
        if (is_unused(result)) result = kNoValue;
      }
    }
  }
}

}  // namespace hlo::plan
