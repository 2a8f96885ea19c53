#include "plan/fusion/sibling_fusion.h"

#include <algorithm>

#include "plan/analysis/node_traits.h"
#include "plan/analysis/uses.h"

namespace hlo::plan {
namespace {

constexpr size_t kMostOpen = 8;       // Loops that a root is compared with.
constexpr size_t kMostOutputs = 8;    // Each needs tiles of its own.
constexpr int64_t kFewElements = 64;  // So short a loop costs less than to start it.

bool Contains(const std::vector<ValueId>& values, ValueId v) {
  return std::find(values.begin(), values.end(), v) != values.end();
}

}  // namespace

Merges::Merges(const Graph& graph, const Uses& uses, const Groups& groups, bool fuses)
    : graph_(graph), uses_(uses), groups_(groups) {
  if (!fuses) return;
  for (const Block& block : graph.blocks) Visit(block);
  for (int32_t number = 0; number < static_cast<int32_t>(loops_.size()); ++number) {
    for (const Node* root : loops_[number].roots) {
      if (IsStored(*root, number)) loops_[number].stored.push_back(root->results[0]);
    }
  }
}

const MergedLoop* Merges::LoopOf(const Node& node) const {
  const auto found = loop_of_.find(&node);
  if (found == loop_of_.end()) return nullptr;
  const MergedLoop& loop = loops_[found->second];
  return loop.roots.size() == 1 && loop.update == nullptr ? nullptr : &loop;
}

// The value whose elements an update has, in their order.
ValueId Merges::SourceOf(ValueId update) const {
  while (true) {
    const Node* node = graph_.values[update].node;
    if (node == nullptr || !groups_.IsInlined(*node) || !IsPositional(graph_, *node)) return update;
    const Instruction& instruction = *node->instruction;
    bool keeps = KeepsMemory(*node);
    if (instruction.opcode() == Opcode::kBroadcast) {
      const IntList dims = instruction.Get<attr::dimensions>();
      keeps = std::is_sorted(dims.begin(), dims.end()) &&
              OperandShape(graph_, *node, 0).ElementCount() == ResultShape(graph_, *node).ElementCount();
    }
    if (!keeps) return update;
    update = node->operands[0];
  }
}

// An update with what an open loop computes for others too is that loop's last store.
bool Merges::JoinUpdate(const Node& node, bool varies, std::vector<Open>& open) {
  if (!IsStaticOp(node) || node.instruction->opcode() != Opcode::kDynamicUpdateSlice) return false;
  if (*OperandShape(graph_, node, 1).ElementCount() <= kFewElements) return false;
  const ValueId source = SourceOf(node.operands[1]);
  const auto own = std::find_if(open.begin(), open.end(), [&](const Open& each) {
    return each.varies == varies && Contains(each.outputs, source) && !Contains(each.reads, node.operands[0]);
  });
  if (own == open.end()) return false;
  MergedLoop& loop = loops_[own->loop];
  loop.update = &node;
  loop.updating = source;
  loop_of_[&node] = own->loop;
  open.erase(own);
  return true;
}

Merges::Loads Merges::LoadsOf(const Node& root, int64_t* op_count) const {
  Loads loads;
  absl::flat_hash_map<ValueId, bool> visited;  // Whether at the root's position alone.
  const auto visit = [&](const auto& self, ValueId v, bool stays) -> void {
    if (v == kNoValue) return;
    const auto [known, is_new] = visited.emplace(v, stays);
    if (!is_new && (!known->second || stays)) return;
    known->second = stays;
    const Node* node = graph_.values[v].node;
    if (node == nullptr || !groups_.IsInlined(*node)) {
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

// Whether iterations of the loop around the node compute different values. What they compute alike goes
// before the loop, and must not be held back by what they do not.
bool Merges::Varies(const Node& node) {
  const Node* loop = node.block->owner;
  bool varies = node.has_effect || node.kind != Node::Kind::kOp;
  for (const ValueId operand : node.operands) {
    const Node* producer = operand == kNoValue ? nullptr : graph_.values[operand].node;
    if (producer == nullptr) continue;
    const auto known = varies_.find(producer);
    varies |= producer == loop || (producer->block == node.block && known != varies_.end() && known->second);
  }
  return varies_[&node] = varies;
}

bool Merges::Takes(const Open& open, const Node& root, const Loads& loads, int64_t op_count,
                   bool varies) const {
  const Shape& shape = graph_.values[root.results[0]].shape;
  if (open.varies != varies || open.op_count + op_count > kMostInLoop ||
      open.outputs.size() >= kMostOutputs || !SameDimensions(graph_.values[open.outputs[0]].shape, shape))
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

void Merges::Visit(const Block& block) {
  std::vector<Open> open;
  for (const Node* node : block.nodes) {
    const bool varies = Varies(*node);
    if (node->kind != Node::Kind::kOp) {
      open.clear();
      continue;
    }
    if (groups_.IsDead(*node) || groups_.IsInlined(*node)) continue;
    JoinUpdate(*node, varies, open);
    int64_t op_count = 0;
    // What only gives other dimensions may be the same memory, and no loop at all.
    const bool is_loop = IsElementwise(graph_, *node) && !IsPositional(graph_, *node);
    const Loads loads = LoadsOf(*node, &op_count);
    auto taking = open.rend();
    if (is_loop) {
      taking = std::find_if(open.rbegin(), open.rend(),
                            [&](const Open& each) { return Takes(each, *node, loads, op_count, varies); });
    }
    const int32_t joined = taking == open.rend() ? -1 : taking->loop;
    // Who reads the others' values comes after them.
    open.erase(std::remove_if(open.begin(), open.end(),
                              [&](const Open& each) {
                                return each.loop != joined &&
                                       std::any_of(loads.begin(), loads.end(), [&](const auto& load) {
                                         return Contains(each.outputs, load.first);
                                       });
                              }),
               open.end());
    if (!is_loop) continue;
    if (joined < 0) {
      if (open.size() == kMostOpen) open.erase(open.begin());
      open.push_back({static_cast<int32_t>(loops_.size()), 0, varies, {}, {}, {}});
      loops_.emplace_back();
    }
    const auto own = std::find_if(open.begin(), open.end(), [&](const Open& each) {
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

bool Merges::IsStored(const Node& root, int32_t loop) const {
  return std::any_of(uses_.of(root.results[0]).begin(), uses_.of(root.results[0]).end(),
                     [&](const Uses::Use& use) {
                       if (use.node == nullptr) return true;
                       if (groups_.IsDead(*use.node)) return false;
                       const Node* user = groups_.IsInlined(*use.node) ? groups_.RootOf(*use.node) : use.node;
                       if (user != nullptr && user == loops_[loop].update) return false;
                       const auto found = user == nullptr ? loop_of_.end() : loop_of_.find(user);
                       return found == loop_of_.end() || found->second != loop;
                     });
}

}  // namespace hlo::plan
