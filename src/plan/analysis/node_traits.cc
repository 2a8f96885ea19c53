#include "plan/analysis/node_traits.h"

#include <algorithm>
#include <vector>

#include "ir/window_indexing.h"
#include "plan/analysis/window_update.h"
#include "plan/codegen/operations.h"
#include "types/index.h"

namespace hlo::plan {
namespace {

// True if the shapes differ only in dimensions of size 1.
bool HaveSameNonUnitDims(const Shape& a, const Shape& b) {
  std::vector<int64_t> left, right;
  for (int64_t d : a.dims()) {
    if (d != 1) left.push_back(d);
  }
  for (int64_t d : b.dims()) {
    if (d != 1) right.push_back(d);
  }
  return left == right;
}

// True if each dimension of the operand is one or several consecutive dimensions of the result.
bool SplitsDims(const Shape& operand, const Shape& result) {
  int64_t next = 0;
  for (const int64_t size : operand.dims()) {
    int64_t product = 1;
    while (product != size && next < result.rank()) product *= result.dim(next++);
    if (product != size) return false;
  }
  return true;
}

// True for a bitcast that keeps the type and number of elements; it may permute them.
bool IsPureBitcast(const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kBitcast) return false;
  const Shape &from = instruction.operand(0)->shape(), &to = instruction.shape();
  return from.IsArray() && to.IsArray() && from.type() == to.type() &&
         from.ElementCount() == to.ElementCount() && NonUnitDimsInMemoryOrder(from).has_value() &&
         NonUnitDimsInMemoryOrder(to).has_value();
}

// True for a reshape, or a bitcast that is one, of gathered elements that splits dimensions.
bool SplitsGather(const Graph& graph, const Node& node) {
  const Node* producer = graph.values[node.operands[0]].node;
  return producer != nullptr && IsFusibleGather(graph, *producer) && IsRowMajorReshape(node) &&
         SplitsDims(OperandShape(graph, node, 0), ResultShape(graph, node));
}

}  // namespace

std::optional<Index> NonUnitDimsInMemoryOrder(const Shape& shape) {
  const Layout* layout = shape.layout();
  const bool plain = layout == nullptr ||
                     (layout->tiles.empty() && (layout->element_size_in_bits == 0 ||
                                                layout->element_size_in_bits == BitWidth(shape.type())));
  if (!plain) return std::nullopt;
  Index dims;
  for (int64_t i = 0; i < shape.rank(); ++i) {
    const int64_t d = layout == nullptr ? i : layout->minor_to_major[shape.rank() - 1 - i];
    if (shape.dim(d) != 1) dims.push_back(d);
  }
  return dims;
}

bool IsStaticOp(const Node& node) { return node.kind == Node::Kind::kOp && !node.needs_reference; }

bool IsElementwise(const Graph& graph, const Node& node) {
  if (!IsStaticOp(node) || node.results.size() != 1 || node.results[0] == kNoValue) return false;
  if (!HasOperation(*node.instruction)) return false;
  const Shape& shape = ResultShape(graph, node);
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const Shape& operand = OperandShape(graph, node, static_cast<int32_t>(i));
    if (!operand.IsScalar() && !SameDimensions(operand, shape)) return false;
  }
  return true;
}

bool HasAffineIndexing(const Graph& graph, const Node& node) {
  if (!IsStaticOp(node)) return false;
  switch (node.instruction->opcode()) {
    case Opcode::kBroadcast:
    case Opcode::kTranspose:
    case Opcode::kSlice:
    case Opcode::kReverse:
    case Opcode::kIota:
      return true;
    case Opcode::kBitcast: {
      if (!IsPureBitcast(*node.instruction)) return false;
      if (SplitsGather(graph, node)) return true;
      const Shape &from = node.instruction->operand(0)->shape(), &to = node.instruction->shape();
      return Pick(from.dims(), *NonUnitDimsInMemoryOrder(from)) ==
             Pick(to.dims(), *NonUnitDimsInMemoryOrder(to));
    }
    case Opcode::kReshape:
      return HaveSameNonUnitDims(OperandShape(graph, node, 0), ResultShape(graph, node)) ||
             SplitsGather(graph, node);
    default:
      return false;
  }
}

namespace {

// True if operand and result are the same bytes, read as another type.
bool IsByteIdentical(const Instruction& bitcast) {
  const Shape &from = bitcast.operand(0)->shape(), &to = bitcast.shape();
  if (bitcast.opcode() == Opcode::kBitcast && (from.layout() != nullptr || to.layout() != nullptr))
    return false;
  // Signed integers of fewer than 8 bits are stored sign-extended.
  const auto is_code = [](ElementType type) {
    return IsSubByte(type) && !(IsIntegral(type) && IsSigned(type));
  };
  if (IsPred(from.type()) || IsPred(to.type())) return false;
  if (IsSubByte(from.type()) || IsSubByte(to.type()))
    return is_code(from.type()) && is_code(to.type()) && BitWidth(from.type()) == BitWidth(to.type());
  const bool whole_bytes = BitWidth(from.type()) % 8 == 0 && BitWidth(to.type()) % 8 == 0;
  return (whole_bytes || BitWidth(from.type()) == BitWidth(to.type())) &&
         DenseByteCount(from) == DenseByteCount(to);
}

}  // namespace

bool IsNoOpReshape(const Node& node) {
  if (!IsStaticOp(node)) return false;
  const Instruction& instruction = *node.instruction;
  if (instruction.opcode() == Opcode::kReshape) return true;
  if (instruction.opcode() == Opcode::kBitcastConvert) return IsByteIdentical(instruction);
  if (instruction.opcode() == Opcode::kBitcast &&
      !instruction.operand(0)->shape().IsArray(instruction.shape().type()))
    return IsByteIdentical(instruction);
  if (!IsPureBitcast(instruction)) return false;
  const Index from = *NonUnitDimsInMemoryOrder(instruction.operand(0)->shape()),
              to = *NonUnitDimsInMemoryOrder(instruction.shape());
  return std::is_sorted(from.begin(), from.end()) && std::is_sorted(to.begin(), to.end());
}

bool IsRowMajorReshape(const Node& node) {
  if (!IsStaticOp(node)) return false;
  const Instruction& instruction = *node.instruction;
  if (instruction.opcode() == Opcode::kReshape) return true;
  return IsPureBitcast(instruction) && instruction.shape().layout() == nullptr &&
         instruction.operand(0)->shape().layout() == nullptr;
}

bool IsDynamicSlice(const Node& node) {
  return IsStaticOp(node) && node.instruction->opcode() == Opcode::kDynamicSlice;
}

bool IsFusibleGather(const Graph& graph, const Node& node) {
  if (!IsStaticOp(node) || node.instruction->opcode() != Opcode::kGather) return false;
  const Instruction& gather = *node.instruction;
  const Shape &operand = OperandShape(graph, node, 0), &indices = OperandShape(graph, node, 1);
  const size_t window_rank = OtherDims(operand.rank(), gather.Get<attr::collapsed_slice_dims>(),
                                       gather.Get<attr::operand_batching_dims>())
                                 .size();
  return IsIntegral(indices.type()) && operand.type() == ResultShape(graph, node).type() &&
         *operand.ElementCount() > 0 && window_rank == gather.Get<attr::offset_dims>().size() &&
         HasUnambiguousIndices(gather);
}

bool HasSingleIndexVector(const Node& gather) {
  const Instruction& instruction = *gather.instruction;
  const Shape& indices = instruction.operand(1)->shape();
  for (int64_t d = 0; d < indices.rank(); ++d) {
    if (d != instruction.Get<attr::index_vector_dim>() && indices.dim(d) != 1) return false;
  }
  return true;
}

bool IsConcatenate(const Node& node) {
  return IsStaticOp(node) && node.instruction->opcode() == Opcode::kConcatenate;
}

bool IsConcatenationOfIndices(const Graph& graph, const Node& node, int64_t index_vector_dim) {
  if (!IsConcatenate(node)) return false;
  const int64_t dimension = node.instruction->Get<attr::dimensions>()[0];
  bool fits = dimension == index_vector_dim;
  for (size_t k = 0; fits && k < node.operands.size(); ++k)
    fits = OperandShape(graph, node, static_cast<int32_t>(k)).dim(dimension) == 1;
  return fits;
}

bool KeepsIndexVectors(const Graph& graph, const Node& node, const Node& gather) {
  const Shape &from = OperandShape(graph, node, 0), &to = ResultShape(graph, node);
  return IsRowMajorReshape(node) && from.rank() > 0 && to.rank() > 0 &&
         gather.instruction->Get<attr::index_vector_dim>() == to.rank() - 1 &&
         from.dim(from.rank() - 1) == to.dim(to.rank() - 1);
}

bool IsPad(const Node& node) { return IsStaticOp(node) && node.instruction->opcode() == Opcode::kPad; }

bool HasInteriorPadding(const Node& pad) {
  const auto padding = pad.instruction->Get<attr::padding>();
  return std::any_of(padding.begin(), padding.end(), [](const auto& p) { return p.interior > 0; });
}

bool CanFuseOperand(const Graph& graph, const Node& node, int32_t operand) {
  if (!IsStaticOp(node)) return false;
  switch (node.instruction->opcode()) {
    case Opcode::kReduce:
      return operand < static_cast<int32_t>(node.operands.size() / 2) &&
             FindReduceCode(*node.instruction).has_value();
    case Opcode::kConcatenate:
      return true;
    case Opcode::kPad:
      return operand == 0;
    case Opcode::kDynamicUpdateSlice:
      return operand == 1;
    case Opcode::kScatter:
      return operand == 2 && FindLoopUpdate(*node.instruction).has_value();
    default:
      return IsElementwise(graph, node) || HasAffineIndexing(graph, node);
  }
}

}  // namespace hlo::plan
