#include "plan/rewrite/graph_builder.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/status.h"
#include "ir/element_types.h"
#include "ir/result_shapes.h"

namespace hlo::plan {
namespace {

void CollectLeafShapes(const Shape& shape, std::vector<const Shape*>* shapes) {
  if (!shape.IsTuple()) return shapes->push_back(&shape);
  for (const Shape& element : shape.elements()) CollectLeafShapes(element, shapes);
}

// True if results have dynamic sizes whenever operands have.
bool PropagatesDynamicSizes(const Instruction& instruction) {
  return instruction.opcode() != Opcode::kGetDimensionSize &&
         !(instruction.opcode() == Opcode::kCustomCall &&
           instruction.Get<attr::custom_call_target>() == "PadToStatic");
}

}  // namespace

Leaves Concatenated(const std::vector<Leaves>& parts) {
  Leaves all;
  for (const Leaves& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

Block* GraphBuilder::NewBlock(Block* parent, Node* owner) {
  graph_.blocks.push_back({parent, owner, {}});
  return &graph_.blocks.back();
}

Node* GraphBuilder::NewNode(Node::Kind kind, const Instruction& instruction, Block* block) {
  graph_.nodes.push_back({});
  Node* node = &graph_.nodes.back();
  node->kind = kind;
  node->instruction = node->named_after = &instruction;
  node->block = block;
  node->has_effect = effects_.Has(instruction);
  return node;
}

Leaves GraphBuilder::NewLeaves(const Shape& shape, Node* node) {
  Leaves leaves;
  AppendLeaves(shape, node, &leaves);
  return leaves;
}

void GraphBuilder::AppendLeaves(const Shape& shape, Node* node, Leaves* leaves) {
  if (shape.IsArray()) {
    leaves->push_back(graph_.NewValue(shape, node));
  } else if (shape.IsBuffer()) {
    leaves->push_back(graph_.NewValue(shape.element(0), node));
  } else if (shape.IsTuple()) {
    for (const Shape& element : shape.elements()) AppendLeaves(element, node, leaves);
  } else {
    leaves->push_back(kNoValue);
  }
}

Node* GraphBuilder::AddOp(const Instruction& instruction, const Shape& shape, Leaves operands, Block* block) {
  Node* node = NewNode(Node::Kind::kOp, instruction, block);
  std::vector<const Shape*> expected;
  for (const Instruction* operand : instruction.operands()) CollectLeafShapes(operand->shape(), &expected);
  HLO_CHECK(expected.size() == operands.size());
  for (size_t i = 0; i < expected.size(); ++i) HLO_CHECK(HasType(operands[i], *expected[i]));
  node->results = NewLeaves(shape, node);
  const bool has_dynamic_operand = HasDynamic(operands);
  const bool is_dynamic = instruction.opcode() == Opcode::kSetDimensionSize ||
                          (has_dynamic_operand && PropagatesDynamicSizes(instruction));
  for (const ValueId result : node->results) {
    if (result != kNoValue && graph_.values[result].shape.rank() > 0)
      graph_.values[result].is_dynamic |= is_dynamic;
  }
  node->operands = std::move(operands);
  node->needs_reference = MixesTypes(instruction) || has_dynamic_operand || HasDynamic(node->results) ||
                          IsUserCustomCall(instruction);
  block->nodes.push_back(node);
  return node;
}

Leaves GraphBuilder::Constant(const Literal& literal) {
  Leaves leaves;
  AppendConstant(literal, &leaves);
  return leaves;
}

void GraphBuilder::AppendConstant(const Literal& literal, Leaves* leaves) {
  if (literal.shape().IsTuple()) {
    for (const Literal& element : literal.elements()) AppendConstant(element, leaves);
    return;
  }
  if (!literal.shape().IsArray()) {
    leaves->push_back(kNoValue);
    return;
  }
  const ValueId value = graph_.NewValue(literal.shape(), nullptr);
  graph_.values[value].constant = &literal;
  leaves->push_back(value);
}

absl::StatusOr<ValueId> GraphBuilder::Zeros(const Shape& shape) {
  if (!shape.IsArray()) return kNoValue;
  HLO_ASSIGN_OR_RETURN(Literal zeros, Literal::CreateZeros(shape.WithoutLayouts()));
  return graph_.NewConstant(std::move(zeros));
}

// Kernels rely on the types that instructions declare, so the bound values must have them.
bool GraphBuilder::HasType(ValueId v, const Shape& leaf) const {
  const Shape& array = leaf.IsBuffer() ? leaf.element(0) : leaf;
  return v == kNoValue ? !array.IsArray() : array.IsArray(graph_.values[v].shape.type());
}

absl::StatusOr<std::optional<Leaves>> GraphBuilder::Forward(const Shape& shape,
                                                            const std::vector<LeafSource>& sources,
                                                            const std::vector<Leaves>& operands) {
  std::vector<const Shape*> shapes;
  CollectLeafShapes(shape, &shapes);
  Leaves leaves;
  for (size_t i = 0; i < sources.size(); ++i) {
    const auto [operand, leaf] = sources[i];
    if (operand == LeafSource::kZeros) {
      HLO_ASSIGN_OR_RETURN(const ValueId zeros, Zeros(*shapes[i]));
      leaves.push_back(zeros);
    } else if (HasType(operands[operand][leaf], *shapes[i])) {
      leaves.push_back(operands[operand][leaf]);
    } else {
      return std::nullopt;
    }
  }
  return leaves;
}

void GraphBuilder::SetReplaced(const Instruction& instruction, size_t first, const Leaves& leaves) {
  for (size_t i = first; i < graph_.nodes.size(); ++i) graph_.nodes[i].replacement_of = &instruction;
  const absl::Span<const Shape> shapes = ResultShapes(instruction);
  const bool has_arrays = std::all_of(shapes.begin(), shapes.end(),
                                      [](const Shape& s) { return s.IsArray() && !s.HasDynamicDim(); });
  for (size_t i = 0; has_arrays && i < std::min(leaves.size(), shapes.size()); ++i) {
    Value& value = graph_.values[leaves[i]];
    if (value.node == nullptr || value.node->replacement_of != &instruction) continue;
    if (!SameDimensions(value.shape, shapes[i]) || value.shape.type() != shapes[i].type()) continue;
    value.instruction = &instruction;
    value.leaf = static_cast<int32_t>(i);
  }
}

bool GraphBuilder::IsDynamic(ValueId v) const {
  const ValueId real = graph_.Resolve(v);
  return real != kNoValue && (graph_.values[v].is_dynamic || graph_.values[real].is_dynamic);
}

bool GraphBuilder::HasDynamic(const Leaves& leaves) const {
  return std::any_of(leaves.begin(), leaves.end(), [&](ValueId v) { return IsDynamic(v); });
}

bool GraphBuilder::HasDynamic(const std::vector<Leaves>& operands) const {
  return std::any_of(operands.begin(), operands.end(),
                     [&](const Leaves& leaves) { return HasDynamic(leaves); });
}

bool GraphBuilder::IsUserCustomCall(const Instruction& instruction) const {
  return custom_calls_ != nullptr && instruction.opcode() == Opcode::kCustomCall &&
         custom_calls_->FindFunction(instruction.Get<attr::custom_call_target>()) != nullptr;
}

}  // namespace hlo::plan
