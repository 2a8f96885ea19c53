#include "plan/graph.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/status.h"
#include "fmt/format.h"
#include "reference/program.h"

namespace hlo::plan {
namespace {

constexpr size_t kMostNodes = 1 << 20;

bool IsStatic(const Shape& shape) {
  if (shape.IsArray()) return !shape.HasDynamicDim() && !shape.HasUnboundedDim();
  return std::all_of(shape.elements().begin(), shape.elements().end(), IsStatic);
}

bool HasDefaultLayout(const Shape& shape) { return shape.layout() == nullptr; }

class Flattener {
 public:
  Flattener(const reference::Effects& effects, Graph& graph) : effects_(effects), graph_(graph) {}

  using Leaves = std::vector<ValueId>;

  absl::StatusOr<Leaves> Inline(const Computation& computation, const std::vector<Leaves>& arguments,
                                Block* block) {
    absl::flat_hash_map<const Instruction*, Leaves> leaves;
    for (const Instruction* instruction : reference::LiveInstructions(computation, effects_)) {
      if (graph_.nodes.size() > kMostNodes)
        return absl::UnimplementedError("the module's calls unfold into too many instructions");
      std::vector<Leaves> operands;
      for (const Instruction* operand : instruction->operands()) operands.push_back(leaves[operand]);
      if (instruction->opcode() == Opcode::kParameter) {
        leaves[instruction] = arguments[instruction->Get<attr::number>()];
        continue;
      }
      HLO_ASSIGN_OR_RETURN(leaves[instruction], Enter(*instruction, operands, block));
    }
    return leaves[computation.root()];
  }

  ValueId NewValue(const Shape& shape, Node* node) {
    graph_.values.push_back({shape.WithoutLayouts(), node});
    return static_cast<ValueId>(graph_.values.size() - 1);
  }
  // A new value for every leaf.
  void NewLeaves(const Shape& shape, Node* node, Leaves* leaves) {
    if (shape.IsArray()) {
      leaves->push_back(NewValue(shape, node));
    } else if (shape.IsTuple()) {
      for (const Shape& element : shape.elements()) NewLeaves(element, node, leaves);
    } else {
      leaves->push_back(kNoValue);
    }
  }
  Block* NewBlock(Block* parent, Node* owner) {
    graph_.blocks.push_back({parent, owner, {}});
    return &graph_.blocks.back();
  }

 private:
  Node* NewNode(Node::Kind kind, const Instruction& instruction, Block* block) {
    graph_.nodes.push_back({});
    Node* node = &graph_.nodes.back();
    node->kind = kind;
    node->instruction = &instruction;
    node->block = block;
    node->has_effect = effects_.Has(instruction);
    return node;
  }

  static Leaves Joined(const std::vector<Leaves>& parts) {
    Leaves all;
    for (const Leaves& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
  }
  // The leaves of element `index` among those of a tuple.
  static Leaves Element(const Shape& tuple, const Leaves& leaves, int64_t index) {
    int64_t first = 0;
    for (int64_t i = 0; i < index; ++i) first += tuple.element(i).LeafCount();
    return Leaves(leaves.begin() + first, leaves.begin() + first + tuple.element(index).LeafCount());
  }

  absl::StatusOr<Leaves> Enter(const Instruction& instruction, const std::vector<Leaves>& operands,
                               Block* block) {
    const Shape& shape = instruction.shape();
    if (!IsStatic(shape)) return absl::UnimplementedError("dynamic sizes");
    switch (instruction.opcode()) {
      case Opcode::kConstant:
        return Constant(instruction);
      case Opcode::kTuple:
        return Joined(operands);
      case Opcode::kGetTupleElement:
        return Element(instruction.operand(0)->shape(), operands[0], instruction.Get<attr::index>());
      case Opcode::kOptBarrier:
      case Opcode::kAddDependency:
        return operands[0];
      case Opcode::kAfterAll:
        return Leaves{kNoValue};
      case Opcode::kCopy:
      case Opcode::kConvert:
        if (shape.IsTuple() || instruction.operand(0)->shape().type() == shape.type()) return operands[0];
        break;
      case Opcode::kBitcast:
        // Without layouts it is a reshape; with them the reference knows best.
        if (instruction.operand(0)->shape().type() == shape.type() && HasDefaultLayout(shape) &&
            HasDefaultLayout(instruction.operand(0)->shape()) &&
            SameDimensions(instruction.operand(0)->shape(), shape))
          return operands[0];
        break;
      case Opcode::kCall:
      case Opcode::kFusion:
        return Inline(*instruction.called_computations()[0], operands, block);
      case Opcode::kWhile:
        return While(instruction, operands[0], block);
      case Opcode::kConditional:
        return Conditional(instruction, operands, block);
      default:
        break;
    }
    if (Info(instruction.opcode()).has(kAsync)) return absl::UnimplementedError("asynchronous calls");
    Node* node = NewNode(Node::Kind::kOp, instruction, block);
    node->operands = Joined(operands);
    NewLeaves(shape, node, &node->results);
    block->nodes.push_back(node);
    return node->results;
  }

  absl::StatusOr<Leaves> Constant(const Instruction& instruction) {
    if (instruction.is_elided()) return absl::UnimplementedError("elided constants");
    Leaves leaves;
    AddConstant(*instruction.Get<attr::literal>(), &leaves);
    return leaves;
  }
  void AddConstant(const Literal& literal, Leaves* leaves) {
    if (literal.shape().IsTuple()) {
      for (const Literal& element : literal.elements()) AddConstant(element, leaves);
      return;
    }
    if (!literal.shape().IsArray()) {
      leaves->push_back(kNoValue);
      return;
    }
    const ValueId value = NewValue(literal.shape(), nullptr);
    graph_.values[value].constant = &literal;
    leaves->push_back(value);
  }

  absl::StatusOr<Leaves> While(const Instruction& instruction, const Leaves& initial, Block* block) {
    Node* node = NewNode(Node::Kind::kWhile, instruction, block);
    Leaves state;
    NewLeaves(instruction.shape(), node, &state);
    Block* condition = NewBlock(block, node);
    Block* body = NewBlock(block, node);
    HLO_ASSIGN_OR_RETURN(const Leaves predicate,
                         Inline(*instruction.Get<attr::condition>(), {state}, condition));
    HLO_ASSIGN_OR_RETURN(const Leaves next, Inline(*instruction.Get<attr::body>(), {state}, body));
    for (size_t i = 0; i < state.size(); ++i) {
      if (state[i] == kNoValue) continue;
      if (graph_.Resolve(next[i]) == state[i]) {  // No iteration changes it.
        graph_.values[state[i]].same_as = initial[i];
        continue;
      }
      node->operands.push_back(initial[i]);
      node->results.push_back(state[i]);
      node->next.push_back(next[i]);
    }
    node->predicate = predicate[0];
    node->blocks = {condition, body};
    block->nodes.push_back(node);
    return state;
  }

  absl::StatusOr<Leaves> Conditional(const Instruction& instruction, const std::vector<Leaves>& operands,
                                     Block* block) {
    Node* node = NewNode(Node::Kind::kConditional, instruction, block);
    node->operands = operands[0];
    Leaves results;
    NewLeaves(instruction.shape(), node, &results);
    const auto branches = instruction.called_computations();
    node->branch_results.resize(branches.size());
    for (size_t b = 0; b < branches.size(); ++b) {
      Block* branch = NewBlock(block, node);
      HLO_ASSIGN_OR_RETURN(const Leaves leaves, Inline(*branches[b], {operands[b + 1]}, branch));
      node->blocks.push_back(branch);
      for (size_t i = 0; i < results.size(); ++i) {
        if (results[i] != kNoValue) node->branch_results[b].push_back(leaves[i]);
      }
    }
    for (ValueId result : results) {
      if (result != kNoValue) node->results.push_back(result);
    }
    block->nodes.push_back(node);
    return results;
  }

  const reference::Effects& effects_;
  Graph& graph_;
};

}  // namespace

absl::StatusOr<Graph> Flatten(const CheckedModule& module) {
  const Computation& entry = *module.module().entry();
  int64_t depth = 0;
  const reference::Effects effects(reference::CalledFrom(entry, &depth));
  Graph graph;
  Flattener flattener(effects, graph);
  graph.entry = flattener.NewBlock(nullptr, nullptr);
  std::vector<std::vector<ValueId>> arguments;
  for (const Instruction* parameter : entry.parameters()) {
    if (!IsStatic(parameter->shape())) return absl::UnimplementedError("dynamic sizes");
    std::vector<ValueId> leaves;
    flattener.NewLeaves(parameter->shape(), nullptr, &leaves);
    for (ValueId leaf : leaves) {
      if (leaf != kNoValue) graph.values[leaf].parameter = static_cast<int32_t>(graph.parameters.size());
      graph.parameters.push_back(leaf);
    }
    arguments.push_back(std::move(leaves));
  }
  HLO_ASSIGN_OR_RETURN(graph.results, flattener.Inline(entry, arguments, graph.entry));
  for (ValueId& result : graph.results) result = graph.Resolve(result);
  for (Node& node : graph.nodes) {
    for (ValueId& v : node.operands) v = graph.Resolve(v);
    for (ValueId& v : node.next) v = graph.Resolve(v);
    for (auto& branch : node.branch_results) {
      for (ValueId& v : branch) v = graph.Resolve(v);
    }
    node.predicate = graph.Resolve(node.predicate);
  }
  return graph;
}

}  // namespace hlo::plan
