#include "plan/fusion/sibling_fusion.h"

#include <algorithm>

#include "plan/analysis/node_traits.h"
#include "plan/analysis/uses.h"

namespace hlo::plan {
namespace {

constexpr size_t kMaxOpenLoops = 8;   // The number of candidates for each root.
constexpr size_t kMaxOutputs = 8;     // Each output needs its own tiles.
constexpr int64_t kFewElements = 64;  // Starting a loop costs more than so few elements.

bool Contains(const std::vector<ValueId>& values, ValueId v) {
  return std::find(values.begin(), values.end(), v) != values.end();
}

}  // namespace

SiblingFusion::SiblingFusion(const Graph& graph, const Uses& uses, const LoopFusion& fusion, bool enabled,
                             ChangeCounter& changes)
    : graph_(graph), uses_(uses), fusion_(fusion), changes_(changes) {
  if (!enabled) return;
  for (const Block& block : graph.blocks) Visit(block);
  for (int32_t number = 0; number < static_cast<int32_t>(loops_.size()); ++number) {
    for (const Node* root : loops_[number].roots) {
      if (IsStored(*root, number)) loops_[number].stored.push_back(root->results[0]);
    }
  }
}

const FusedLoop* SiblingFusion::LoopOf(const Node& node) const {
  const auto found = loop_of_.find(&node);
  if (found == loop_of_.end()) return nullptr;
  const FusedLoop& loop = loops_[found->second];
  return loop.roots.size() == 1 && loop.update == nullptr ? nullptr : &loop;
}

// Returns the value that has the elements of the update in the same order.
ValueId SiblingFusion::SourceOf(ValueId update) const {
  while (true) {
    const Node* node = graph_.values[update].node;
    if (node == nullptr || !fusion_.IsFused(*node) || !HasAffineIndexing(graph_, *node)) return update;
    const Instruction& instruction = *node->instruction;
    bool keeps = IsNoOpReshape(*node);
    if (instruction.opcode() == Opcode::kBroadcast) {
      const IntList dims = instruction.Get<attr::dimensions>();
      keeps = std::is_sorted(dims.begin(), dims.end()) &&
              OperandShape(graph_, *node, 0).ElementCount() == ResultShape(graph_, *node).ElementCount();
    }
    if (!keeps) return update;
    update = node->operands[0];
  }
}

// Fuses an update with the open loop that computes its elements, as that loop's last store.
bool SiblingFusion::FuseUpdate(const Node& node, bool is_variant, std::vector<OpenLoop>& open) {
  if (!IsStaticOp(node) || node.instruction->opcode() != Opcode::kDynamicUpdateSlice) return false;
  if (*OperandShape(graph_, node, 1).ElementCount() <= kFewElements) return false;
  const ValueId source = SourceOf(node.operands[1]);
  const auto own = std::find_if(open.begin(), open.end(), [&](const OpenLoop& each) {
    return each.is_variant == is_variant && Contains(each.outputs, source) &&
           !Contains(each.reads, node.operands[0]);
  });
  if (own == open.end() || !changes_.Allow("sibling_fusion", node.instruction->name())) return false;
  FusedLoop& loop = loops_[own->loop];
  loop.update = &node;
  loop.updating = source;
  loop_of_[&node] = own->loop;
  open.erase(own);
  return true;
}

SiblingFusion::Loads SiblingFusion::LoadsOf(const Node& root, int64_t* op_count) const {
  Loads loads;
  absl::flat_hash_map<ValueId, bool> visited;  // True if it is read only at the root's position.
  const auto visit = [&](const auto& self, ValueId v, bool stays) -> void {
    if (v == kNoValue) return;
    const auto [known, is_new] = visited.emplace(v, stays);
    if (!is_new && (!known->second || stays)) return;
    known->second = stays;
    const Node* node = graph_.values[v].node;
    if (node == nullptr || !fusion_.IsFused(*node)) {
      loads[v] = stays;
      return;
    }
    ++*op_count;
    const bool elementwise = IsElementwise(graph_, *node);
    for (const ValueId operand : node->operands)
      self(self, operand,
           stays && elementwise && SameDimensions(graph_.values[operand].shape, graph_.values[v].shape));
  };
  ++*op_count;
  const bool elementwise = IsElementwise(graph_, root);
  for (const ValueId operand : root.operands) {
    visit(visit, operand,
          elementwise && SameDimensions(graph_.values[operand].shape, graph_.values[root.results[0]].shape));
  }
  return loads;
}

// True if the node is not invariant in the enclosing loop. Invariant nodes are hoisted and must not be fused
// with variant ones.
bool SiblingFusion::IsLoopVariant(const Node& node) {
  const Node* loop = node.block->owner;
  bool is_variant = node.has_effect || node.kind != Node::Kind::kOp;
  for (const ValueId operand : node.operands) {
    const Node* producer = operand == kNoValue ? nullptr : graph_.values[operand].node;
    if (producer == nullptr) continue;
    const auto known = variant_.find(producer);
    is_variant |=
        producer == loop || (producer->block == node.block && known != variant_.end() && known->second);
  }
  return variant_[&node] = is_variant;
}

bool SiblingFusion::CanFuse(const OpenLoop& open, const Node& root, const Loads& loads, int64_t op_count,
                            bool is_variant) const {
  const Shape& shape = graph_.values[root.results[0]].shape;
  if (open.is_variant != is_variant || open.op_count + op_count > kMaxOpsInLoop ||
      open.outputs.size() >= kMaxOutputs || !SameDimensions(graph_.values[open.outputs[0]].shape, shape))
    return false;
  bool shares = *shape.ElementCount() <= kFewElements;
  for (const auto& [v, stays] : loads) {
    if (Contains(open.outputs, v)) {
      if (!stays) return false;
      shares = true;
    }
    shares |= stays && Contains(open.loads, v);
  }
  return shares;
}

void SiblingFusion::Visit(const Block& block) {
  std::vector<OpenLoop> open;
  for (const Node* node : block.nodes) {
    const bool is_variant = IsLoopVariant(*node);
    if (node->kind != Node::Kind::kOp) {
      open.clear();
      continue;
    }
    if (fusion_.IsDead(*node) || fusion_.IsFused(*node)) continue;
    FuseUpdate(*node, is_variant, open);
    int64_t op_count = 0;
    // A reshape may be an alias instead of a loop.
    const bool is_loop = IsElementwise(graph_, *node) && !HasAffineIndexing(graph_, *node);
    const Loads loads = LoadsOf(*node, &op_count);
    auto taking = open.rend();
    if (is_loop) {
      taking = std::find_if(open.rbegin(), open.rend(), [&](const OpenLoop& each) {
        return CanFuse(each, *node, loads, op_count, is_variant);
      });
    }
    if (taking != open.rend() && !changes_.Allow("sibling_fusion", node->instruction->name()))
      taking = open.rend();
    const int32_t joined = taking == open.rend() ? -1 : taking->loop;
    // This node reads the outputs of other loops, which must now stay before it.
    open.erase(std::remove_if(open.begin(), open.end(),
                              [&](const OpenLoop& each) {
                                return each.loop != joined &&
                                       std::any_of(loads.begin(), loads.end(), [&](const auto& load) {
                                         return Contains(each.outputs, load.first);
                                       });
                              }),
               open.end());
    if (!is_loop) continue;
    if (joined < 0) {
      if (open.size() == kMaxOpenLoops) open.erase(open.begin());
      open.push_back({static_cast<int32_t>(loops_.size()), 0, is_variant, {}, {}, {}});
      loops_.emplace_back();
    }
    const auto own = std::find_if(open.begin(), open.end(), [&](const OpenLoop& each) {
      return each.loop == (joined < 0 ? static_cast<int32_t>(loops_.size()) - 1 : joined);
    });
    own->op_count += op_count;
    own->outputs.push_back(node->results[0]);
    for (const auto& [v, stays] : loads) {
      if (stays && !Contains(own->loads, v)) own->loads.push_back(v);
      own->reads.push_back(v);
    }
    loops_[own->loop].roots.push_back(node);
    loop_of_[node] = own->loop;
  }
}

bool SiblingFusion::IsStored(const Node& root, int32_t loop) const {
  return std::any_of(uses_.of(root.results[0]).begin(), uses_.of(root.results[0]).end(),
                     [&](const Uses::Use& use) {
                       if (use.node == nullptr) return true;
                       if (fusion_.IsDead(*use.node)) return false;
                       const Node* user = fusion_.IsFused(*use.node) ? fusion_.RootOf(*use.node) : use.node;
                       if (user != nullptr && user == loops_[loop].update) return false;
                       const auto found = user == nullptr ? loop_of_.end() : loop_of_.find(user);
                       return found == loop_of_.end() || found->second != loop;
                     });
}

}  // namespace hlo::plan
