#include "plan/validate/evaluate_graph.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/deadline.h"
#include "base/status.h"
#include "fmt/format.h"
#include "plan/analysis/live_nodes.h"
#include "reference/apply.h"
#include "reference/evaluator.h"
#include "reference/op.h"
#include "reference/supported.h"

namespace hlo::plan {
namespace {

void AddLeaves(const Literal& value, std::vector<Literal>* leaves) {
  if (!value.shape().IsTuple()) return leaves->push_back(value);
  for (const Literal& element : value.elements()) AddLeaves(element, leaves);
}

class GraphEvaluator {
 public:
  GraphEvaluator(const CheckedModule& module, const Graph& graph, const EvaluateOptions& options)
      : graph_(graph),
        evaluator_(MakePrograms(module, graph, options.custom_calls), options),
        live_(LiveNodes(graph)),
        values_(graph.values.size()) {}

  absl::StatusOr<std::vector<Literal>> Run(const std::vector<Literal>& parameters) {
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      const Value& value = graph_.values[v];
      if (value.constant != nullptr) values_[v] = *value.constant;
      if (value.parameter >= 0) values_[v] = parameters[value.parameter];
    }
    HLO_RETURN_IF_ERROR(RunBlock(*graph_.entry));
    std::vector<Literal> results;
    for (const ValueId v : graph_.results) results.push_back(At(v));
    return results;
  }

 private:
  Literal At(ValueId v) const {
    const ValueId real = graph_.Resolve(v);
    return real == kNoValue ? Literal::Token() : values_[real];
  }

  absl::Status RunBlock(const Block& block) {
    for (const Node* node : block.nodes) {
      if (!live_.contains(node)) continue;
      HLO_RETURN_IF_ERROR(Deadline::Check());
      switch (node->kind) {
        case Node::Kind::kOp:
          HLO_RETURN_IF_ERROR(IsOnLanes(*node) ? RunOnLanes(*node) : RunOp(*node));
          break;
        case Node::Kind::kWhile:
          HLO_RETURN_IF_ERROR(RunWhile(*node));
          break;
        case Node::Kind::kConditional:
          HLO_RETURN_IF_ERROR(RunConditional(*node));
          break;
      }
    }
    return absl::OkStatus();
  }

  absl::Status RunWhile(const Node& node) {
    for (size_t i = 0; i < node.results.size(); ++i) values_[node.results[i]] = At(node.operands[i]);
    while (true) {
      HLO_RETURN_IF_ERROR(RunBlock(*node.blocks[0]));
      if (!*reinterpret_cast<const bool*>(At(node.predicate).data())) return absl::OkStatus();
      HLO_RETURN_IF_ERROR(RunBlock(*node.blocks[1]));
      std::vector<Literal> next;
      for (const ValueId v : node.next) next.push_back(At(v));
      for (size_t i = 0; i < next.size(); ++i) values_[node.results[i]] = std::move(next[i]);
    }
  }

  absl::Status RunConditional(const Node& node) {
    const Literal choice = At(node.operands[0]);
    const auto last = static_cast<int64_t>(node.blocks.size()) - 1;
    int64_t branch = 0;
    if (choice.type() == ElementType::kPred) {
      branch = *reinterpret_cast<const bool*>(choice.data()) ? 0 : 1;
    } else {
      branch = choice.span<int32_t>()[0];
      if (branch < 0 || branch > last) branch = last;
    }
    HLO_RETURN_IF_ERROR(RunBlock(*node.blocks[branch]));
    for (size_t i = 0; i < node.results.size(); ++i)
      values_[node.results[i]] = At(node.branch_results[branch][i]);
    return absl::OkStatus();
  }

  // True if the node is an instruction of a map's scalar code, applied to all elements.
  bool IsOnLanes(const Node& node) const {
    if (node.results.size() != 1 || node.results[0] == kNoValue) return false;
    const Shape& declared = node.instruction->shape();
    return declared.IsArray() && declared.rank() == 0 && graph_.values[node.results[0]].shape.rank() > 0;
  }
  absl::Status RunOnLanes(const Node& node) {
    const Shape& shape = graph_.values[node.results[0]].shape;
    HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(shape));
    std::vector<Literal> whole;
    for (const ValueId operand : node.operands) whole.push_back(At(operand));
    const int64_t width = ByteCount(shape.type());
    for (int64_t k = 0; k < result.element_count(); ++k) {
      std::vector<Literal> operands;
      for (const Literal& each : whole) {
        HLO_ASSIGN_OR_RETURN(Literal scalar, Literal::Create(Shape::Array(each.type(), {})));
        const int64_t bytes = ByteCount(each.type());
        std::memcpy(scalar.mutable_data(), each.data() + (each.element_count() == 1 ? 0 : k * bytes), bytes);
        operands.push_back(std::move(scalar));
      }
      HLO_ASSIGN_OR_RETURN(const Literal element, Apply(node, std::move(operands)));
      std::memcpy(result.mutable_data() + k * width, element.data(), width);
    }
    values_[node.results[0]] = std::move(result);
    return absl::OkStatus();
  }

  absl::StatusOr<Literal> Apply(const Node& node, std::vector<Literal> operands) {
    const Instruction& instruction = *node.instruction;
    // A second reference to each literal prevents in-place updates.
    const std::vector<Literal> held = operands;
    reference::OpContext context{instruction, absl::MakeSpan(operands), evaluator_};
    absl::StatusOr<Literal> value = reference::Apply(context, reference::Reference(instruction.opcode()));
    if (value.ok()) return value;
    const Instruction* shown = node.replacement_of != nullptr ? node.replacement_of : &instruction;
    return reference::Located(value.status(), *shown);
  }

  absl::Status RunOp(const Node& node) {
    std::vector<Literal> operands;
    size_t leaf = 0;
    for (const Instruction* operand : node.instruction->operands())
      operands.push_back(Operand(operand->shape(), node, &leaf));
    HLO_ASSIGN_OR_RETURN(const Literal value, Apply(node, std::move(operands)));
    const std::vector<Literal> leaves = LeavesOf(value);
    if (leaves.size() != node.results.size())
      return absl::InternalError(fmt::format("'{}' has {} results, and {} in the graph",
                                             node.instruction->name(), leaves.size(), node.results.size()));
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (node.results[i] == kNoValue) continue;
      const Shape& shape = leaves[i].shape();
      values_[node.results[i]] = shape.IsBuffer() ? leaves[i].WithShape(shape.element(0)) : leaves[i];
    }
    return absl::OkStatus();
  }
  Literal Operand(const Shape& shape, const Node& node, size_t* leaf) const {
    if (shape.IsTuple()) {
      std::vector<Literal> elements;
      for (const Shape& element : shape.elements()) elements.push_back(Operand(element, node, leaf));
      return Literal::Tuple(std::move(elements));
    }
    const ValueId v = graph_.Resolve(node.operands[(*leaf)++]);
    if (v == kNoValue) return Literal::Token();
    // The graph drops layouts, which few functions read.
    if (graph_.values[v].is_dynamic || values_[v].shape() == shape) return values_[v];
    return values_[v].WithShape(shape);
  }

  const Graph& graph_;
  reference::Evaluator evaluator_;
  const absl::flat_hash_set<const Node*> live_;
  std::vector<Literal> values_;
};

}  // namespace

std::shared_ptr<const reference::Programs> MakePrograms(const CheckedModule& module, const Graph& graph,
                                                        const CustomCalls* custom_calls) {
  int64_t depth = 0;
  std::vector<const Computation*> callees_first =
      reference::CalledFrom(*module.module().entry(), &depth, custom_calls);
  for (const CheckedModule& call : graph.replacements) {
    for (const Computation* callee : reference::CalledFrom(*call.module().entry(), &depth, custom_calls))
      callees_first.push_back(callee);
  }
  return std::make_shared<const reference::Programs>(callees_first, custom_calls);
}

std::vector<Literal> LeavesOf(const Literal& value) {
  std::vector<Literal> leaves;
  AddLeaves(value, &leaves);
  return leaves;
}

absl::StatusOr<std::vector<Literal>> EvaluateGraph(const CheckedModule& module, const Graph& graph,
                                                   const std::vector<Literal>& parameters,
                                                   const EvaluateOptions& options) {
  const Deadline deadline(options.max_seconds);
  return GraphEvaluator(module, graph, options).Run(parameters);
}

}  // namespace hlo::plan
