#include "plan/lower/loop_builder.h"

#include <algorithm>

#include "base/check.h"
#include "plan/analysis/node_traits.h"
#include "plan/codegen/operations.h"
#include "types/index.h"

namespace hlo::plan {

IndexMap IndexMap::Identity(int64_t rank) {
  IndexMap map;
  map.offset.assign(rank, 0);
  map.coefficients.assign(rank, std::vector<int64_t>(rank, 0));
  for (int64_t d = 0; d < rank; ++d) map.coefficients[d][d] = 1;
  return map;
}

namespace {

// Returns the map of the operand of a bitcast that moves no element.
IndexMap BitcastMap(const Instruction& bitcast, const IndexMap& map, size_t loop_rank) {
  const int64_t rank = bitcast.operand(0)->shape().rank();
  IndexMap mapped{.offset = std::vector<int64_t>(rank, 0),
                  .coefficients = std::vector(rank, std::vector<int64_t>(loop_rank, 0)),
                  .edges = map.edges};
  const Index from = *NonUnitDimsInMemoryOrder(bitcast.operand(0)->shape());
  const Index to = *NonUnitDimsInMemoryOrder(bitcast.shape());
  for (size_t i = 0; i < from.size(); ++i) {
    mapped.offset[from[i]] = map.offset[to[i]];
    mapped.coefficients[from[i]] = map.coefficients[to[i]];
  }
  return mapped;
}

// Returns the map of the operand of a reshape that adds or removes dimensions of size 1, or splits others.
IndexMap ReshapeMap(const Shape& operand, const Shape& result, const IndexMap& map, size_t loop_rank) {
  IndexMap mapped{.offset = {}, .coefficients = {}, .edges = map.edges};
  int64_t from = 0;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    int64_t offset = 0;
    std::vector<int64_t> coefficients(loop_rank, 0);
    for (int64_t product = 1; product != operand.dim(d); ++from) {
      const int64_t size = result.dim(from);
      product *= size;
      offset = offset * size + map.offset[from];
      for (size_t i = 0; i < loop_rank; ++i)
        coefficients[i] = coefficients[i] * size + map.coefficients[from][i];
    }
    mapped.offset.push_back(offset);
    mapped.coefficients.push_back(std::move(coefficients));
  }
  return mapped;
}

// Returns the map of the operand of a node with affine indexing, given the map of its result.
IndexMap OperandMap(const Graph& graph, const Node& node, const IndexMap& map, size_t loop_rank) {
  const Instruction& instruction = *node.instruction;
  const Shape& operand = OperandShape(graph, node, 0);
  IndexMap mapped;
  mapped.edges = map.edges;
  auto take = [&](int64_t d) {
    mapped.offset.push_back(map.offset[d]);
    mapped.coefficients.push_back(map.coefficients[d]);
  };
  switch (instruction.opcode()) {
    case Opcode::kBroadcast:
      for (int64_t d : instruction.Get<attr::dimensions>()) take(d);
      break;
    case Opcode::kTranspose: {
      // Dimension k of the result is dimension permutation[k] of the operand.
      const IntList permutation = instruction.Get<attr::dimensions>();
      for (int64_t d = 0; d < operand.rank(); ++d)
        take(std::find(permutation.begin(), permutation.end(), d) - permutation.begin());
      break;
    }
    case Opcode::kSlice: {
      const auto ranges = instruction.Get<attr::slice>();
      for (int64_t d = 0; d < operand.rank(); ++d) {
        take(d);
        mapped.offset[d] = ranges[d].start + mapped.offset[d] * ranges[d].stride;
        for (int64_t& c : mapped.coefficients[d]) c *= ranges[d].stride;
      }
      break;
    }
    case Opcode::kReverse: {
      const IntList reversed = instruction.Get<attr::dimensions>();
      for (int64_t d = 0; d < operand.rank(); ++d) {
        take(d);
        if (!Contains(reversed, d)) continue;
        mapped.offset[d] = operand.dim(d) - 1 - mapped.offset[d];
        for (int64_t& c : mapped.coefficients[d]) c = -c;
      }
      break;
    }
    case Opcode::kBitcast:
      if (!IsRowMajorReshape(node)) return BitcastMap(instruction, map, loop_rank);
      [[fallthrough]];
    default:
      return ReshapeMap(operand, ResultShape(graph, node), map, loop_rank);
  }
  return mapped;
}

}  // namespace

LoopBuilder::LoopBuilder(const Graph& graph, const LoopFusion& fusion, absl::Span<const int64_t> dims,
                         absl::Span<const int64_t> order, int64_t outer)
    : graph_(graph),
      fusion_(fusion),
      dims_(dims.begin(), dims.end()),
      order_(order.begin(), order.end()),
      outer_(outer),
      program_(Pick(dims, order.first(outer)), Pick(dims, order.subspan(outer))),
      identity_(&*maps_.insert(IndexMap::Identity(static_cast<int64_t>(dims.size()))).first) {}

loops::Affine LoopBuilder::AffineOf(int64_t offset, absl::Span<const int64_t> strides) const {
  loops::Affine affine{offset, {}, {}};
  for (size_t i = 0; i < order_.size(); ++i)
    (static_cast<int64_t>(i) < outer_ ? affine.outer : affine.inner).push_back(strides[order_[i]]);
  return affine;
}

loops::Affine LoopBuilder::OffsetOf(absl::Span<const int64_t> array_strides, const IndexMap& map) const {
  int64_t offset = 0;
  std::vector<int64_t> strides(dims_.size(), 0);
  for (size_t d = 0; d < array_strides.size(); ++d) {
    offset += map.offset[d] * array_strides[d];
    for (size_t i = 0; i < dims_.size(); ++i) strides[i] += map.coefficients[d][i] * array_strides[d];
  }
  return AffineOf(offset, strides);
}

void LoopBuilder::AddEdges(const IndexMap& map, loops::Access* access) const {
  for (const IndexMap::Edge& edge : map.edges)
    access->edges.push_back({AffineOf(edge.offset, edge.coefficients), edge.size, edge.spacing, edge.stride});
}

loops::Access LoopBuilder::AccessOf(ValueId v, const IndexMap& map) const {
  const loops::Affine index = OffsetOf(StoredStrides(graph_.values[v]), map);
  loops::Access access{v, graph_.values[v].shape.type(), index.offset, index.outer, index.inner, {}};
  AddEdges(map, &access);
  return access;
}

void LoopBuilder::AddStarts(absl::Span<const ValueId> starts, ValueId whole, const Shape& window,
                            loops::Access* access) const {
  const Shape& shape = graph_.values[whole].shape;
  const Index strides = StoredStrides(graph_.values[whole]);
  // Older modules pass a vector of start indices instead of a scalar for each dimension.
  const bool is_vector = !starts.empty() && graph_.values[starts[0]].shape.rank() == 1;
  HLO_CHECK(is_vector || std::ssize(starts) == shape.rank());
  for (int64_t d = 0; d < shape.rank(); ++d) {
    const ValueId start = starts[is_vector ? 0 : d];
    access->starts.push_back({start, graph_.values[start].shape.type(), shape.dim(d) - window.dim(d),
                              strides[d], is_vector ? d : 0});
  }
}

loops::Value LoopBuilder::Value(ValueId v) { return Build(v, identity_); }
loops::Value LoopBuilder::Value(ValueId v, const IndexMap& map) {
  return Build(v, &*maps_.insert(map).first);
}

loops::Value LoopBuilder::Compute(const Node& node) {
  if (!IsElementwise(graph_, node)) return Affine(node, *identity_);
  return built_[{node.results[0], identity_}] = Elementwise(node, identity_);
}

loops::Value LoopBuilder::Build(ValueId v, const IndexMap* map) {
  const auto known = built_.find({v, map});
  if (known != built_.end()) return known->second;
  const Node* node = graph_.values[v].node;
  loops::Value value;
  if (node == nullptr || !fusion_.IsFused(*node)) {
    loops::Access access = AccessOf(v, *map);
    // A select replaces the elements beyond the edges of a padded operand later, and a scalar can be read at
    // any position.
    if (graph_.values[v].shape.IsScalar()) access.edges.clear();
    value = program_.Load(std::move(access));
  } else {
    if (node->named_after != nullptr) fused_.push_back(node->named_after);
    value = IsElementwise(graph_, *node) ? Elementwise(*node, map) : Affine(*node, *map);
  }
  built_[{v, map}] = value;
  return value;
}

loops::Value LoopBuilder::Elementwise(const Node& node, const IndexMap* map) {
  const Shape& shape = ResultShape(graph_, node);
  const bool copies =
      node.instruction->opcode() == Opcode::kCopy && OperandShape(graph_, node, 0).type() == shape.type();
  if (copies) return Build(node.operands[0], map);
  std::vector<loops::Value> operands;
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const bool scalar = OperandShape(graph_, node, static_cast<int32_t>(i)).IsScalar() && !shape.IsScalar();
    operands.push_back(scalar ? Value(node.operands[i], IndexMap::Scalar()) : Build(node.operands[i], map));
  }
  return ApplyInstruction(*node.instruction, operands, program_);
}

loops::Value LoopBuilder::Affine(const Node& node, const IndexMap& map) {
  const Instruction& instruction = *node.instruction;
  if (instruction.opcode() == Opcode::kIota) {
    const int64_t d = instruction.Get<attr::iota_dimension>();
    const loops::Affine index = AffineOf(map.offset[d], map.coefficients[d]);
    const loops::Value value = program_.Load(
        {loops::Access::kIota, ResultShape(graph_, node).type(), index.offset, index.outer, index.inner, {}});
    return Rounded(ResultShape(graph_, node).type(), value, program_);
  }
  if (instruction.opcode() == Opcode::kDynamicSlice) return program_.Load(DynamicSliceAccess(node, map));
  if (instruction.opcode() == Opcode::kGather) return program_.Load(GatherAccess(node, map));
  if (instruction.opcode() == Opcode::kConcatenate) return Concatenated(node, map);
  if (instruction.opcode() == Opcode::kPad) return Padded(node, map);
  return Value(node.operands[0], OperandMap(graph_, node, map, dims_.size()));
}

loops::Access LoopBuilder::DynamicSliceAccess(const Node& node, const IndexMap& map) const {
  loops::Access access = AccessOf(node.operands[0], map);
  AddStarts(absl::MakeConstSpan(node.operands).subspan(1), node.operands[0], ResultShape(graph_, node),
            &access);
  return access;
}

loops::Access LoopBuilder::GatherAccess(const Node& node, const IndexMap& map) {
  const Instruction& gather = *node.instruction;
  const ValueId indices = node.operands[1];
  const Shape &operand = OperandShape(graph_, node, 0), &index_shape = graph_.values[indices].shape;
  const IntList offset_dims = gather.Get<attr::offset_dims>(), sizes = gather.Get<attr::slice_sizes>(),
                batches = gather.Get<attr::operand_batching_dims>(),
                start_map = gather.Get<attr::start_index_map>();
  const int64_t vector_dim = gather.Get<attr::index_vector_dim>();
  const Index positions = OtherDims(ResultShape(graph_, node).rank(), offset_dims);
  const std::vector<int64_t> none(dims_.size(), 0);
  IndexMap of_operand, of_indices;
  of_operand.edges = map.edges;
  const auto set = [&](IndexMap* mapped, int64_t d, int64_t result_dim) {
    mapped->offset[d] = map.offset[result_dim];
    mapped->coefficients[d] = map.coefficients[result_dim];
  };
  of_operand.offset.assign(operand.rank(), 0);
  of_operand.coefficients.assign(operand.rank(), none);
  of_indices.offset.assign(index_shape.rank(), 0);
  of_indices.coefficients.assign(index_shape.rank(), none);
  const Index windows = OtherDims(operand.rank(), gather.Get<attr::collapsed_slice_dims>(), batches);
  for (size_t k = 0; k < windows.size(); ++k) set(&of_operand, windows[k], offset_dims[k]);
  const auto position_of = [&](int64_t index_dim) {
    return positions[index_dim < vector_dim ? index_dim : index_dim - 1];
  };
  for (int64_t d = 0; d < index_shape.rank(); ++d) {
    if (d != vector_dim && index_shape.dim(d) != 1) set(&of_indices, d, position_of(d));
  }
  for (size_t k = 0; k < batches.size(); ++k)
    set(&of_operand, batches[k], position_of(gather.Get<attr::start_indices_batching_dims>()[k]));
  loops::Access access = AccessOf(node.operands[0], of_operand);
  const Index strides = StoredStrides(graph_.values[node.operands[0]]);
  for (size_t k = 0; k < start_map.size(); ++k) {
    const int64_t d = start_map[k];
    auto [argument, index] = IndexOf(node, k, of_indices);
    loops::RuntimeStart start{argument, index_shape.type(), operand.dim(d) - std::max<int64_t>(1, sizes[d]),
                              strides[d], index.offset};
    const auto moves = [](const loops::Strides& s) {
      return std::any_of(s.begin(), s.end(), [](int64_t stride) { return stride != 0; });
    };
    if (moves(index.outer) || moves(index.inner)) start.index = std::move(index);
    access.starts.push_back(std::move(start));
  }
  return access;
}

// Returns where component k of a gather's index vectors is stored. The map leads to component 0.
std::pair<int32_t, loops::Affine> LoopBuilder::IndexOf(const Node& gather, size_t k, IndexMap map) {
  ValueId indices = gather.operands[1];
  const Shape& shape = graph_.values[indices].shape;
  const int64_t vector_dim = gather.instruction->Get<attr::index_vector_dim>();
  const auto fused_producer = [&](ValueId v) -> const Node* {
    const Node* node = graph_.values[v].node;
    return node != nullptr && fusion_.IsFused(*node) ? node : nullptr;
  };
  const Node* reshape = fused_producer(indices);
  if (reshape != nullptr && !IsConcatenate(*reshape) && !HasAffineIndexing(graph_, *reshape))
    indices = reshape->operands[0];
  else
    reshape = nullptr;
  const Node* concatenation = fused_producer(indices);
  if (concatenation != nullptr && !IsConcatenate(*concatenation)) concatenation = nullptr;
  if (concatenation != nullptr)
    indices = concatenation->operands[k];
  else if (vector_dim < shape.rank())
    map.offset[vector_dim] = static_cast<int64_t>(k);
  if (reshape == nullptr) {
    const loops::Access index = OperandAccess(indices, map);
    return {index.argument, {index.offset, index.outer, index.inner}};
  }
  // The components are stored in the order of the reshaped array.
  for (const Node* producer = fused_producer(indices); producer != nullptr;
       producer = fused_producer(indices))
    indices = producer->operands[0];
  Index dims(shape.dims().begin(), shape.dims().end());
  if (concatenation != nullptr) dims[vector_dim] = 1;
  HLO_CHECK(graph_.values[indices].rotation == 0);
  return {indices, OffsetOf(RowMajorStrides(dims), map)};
}

// Returns the access to a value that is stored, or to the operand of fused data movement.
loops::Access LoopBuilder::OperandAccess(ValueId v, const IndexMap& map) {
  const Node* node = graph_.values[v].node;
  if (node == nullptr || !fusion_.IsFused(*node)) return AccessOf(v, map);
  if (node->named_after != nullptr) fused_.push_back(node->named_after);
  if (IsDynamicSlice(*node)) return DynamicSliceAccess(*node, map);
  if (node->instruction->opcode() == Opcode::kGather) return GatherAccess(*node, map);
  return OperandAccess(node->operands[0], OperandMap(graph_, *node, map, dims_.size()));
}

loops::Value LoopBuilder::Concatenated(const Node& node, const IndexMap& map) {
  const int64_t dimension = node.instruction->Get<attr::dimensions>()[0];
  std::vector<loops::Access> accesses;
  IndexMap shifted = map;
  for (const ValueId operand : node.operands) {
    const int64_t size = graph_.values[operand].shape.dim(dimension);
    const IndexMap::Edge end{shifted.offset[dimension], shifted.coefficients[dimension], size, 1, 0};
    IndexMap inside = shifted;
    const bool is_last = accesses.size() + 1 == node.operands.size();
    if (!is_last && CanExceed(end)) inside.edges.push_back(end);
    accesses.push_back(OperandAccess(operand, inside));
    if (!is_last && !CanExceed(end)) break;
    shifted.offset[dimension] -= size;
  }
  return program_.Load(std::move(accesses));
}

// True if the loop reaches positions beyond the edge.
bool LoopBuilder::CanExceed(const IndexMap::Edge& edge) const {
  int64_t least = edge.offset, most = edge.offset;
  for (size_t i = 0; i < dims_.size(); ++i) {
    const int64_t c = edge.coefficients[i];
    (c < 0 ? least : most) += c * (std::max<int64_t>(1, dims_[i]) - 1);
  }
  return edge.spacing > 1 || least < 0 || most >= edge.size;
}

// Reads the operand where it has an element, and replaces the value by the padding value elsewhere.
loops::Value LoopBuilder::Padded(const Node& node, const IndexMap& map) {
  const auto padding = node.instruction->Get<attr::padding>();
  const ValueId operand = node.operands[0];
  const Shape& shape = graph_.values[operand].shape;
  const Index strides = StoredStrides(graph_.values[operand]);
  IndexMap inside = map, own;
  // This edge covers the dimension and those after it, as long as these have no edge. It bounds the access in
  // the same way as the position, and its stride is that of the element.
  IndexMap::Edge behind{0, std::vector<int64_t>(dims_.size(), 0), 1, 1, 0};
  for (int64_t d = shape.rank() - 1; d >= 0; --d) {
    inside.offset[d] -= padding[d].low;
    const int64_t spacing = padding[d].interior + 1;
    IndexMap::Edge edge{inside.offset[d], inside.coefficients[d], shape.dim(d), spacing,
                        spacing > 1 ? strides[d] : 0};
    const bool leaves = CanExceed(edge);
    if (behind.size > 0 && spacing == 1) {
      behind.offset += edge.offset * behind.size;
      for (size_t i = 0; i < dims_.size(); ++i) behind.coefficients[i] += edge.coefficients[i] * behind.size;
      behind.size *= edge.size;
      edge = behind;
    }
    if (leaves) {
      own.edges.push_back(edge);
      behind.size = 0;
    }
    if (spacing == 1) continue;
    inside.offset[d] = 0;
    inside.coefficients[d].assign(dims_.size(), 0);
  }
  inside.edges.insert(inside.edges.end(), own.edges.begin(), own.edges.end());
  const Node* producer = graph_.values[operand].node;
  if (producer == nullptr || !fusion_.IsFused(*producer)) {
    loops::Access access = AccessOf(operand, inside);
    if (!own.edges.empty()) access.outside = node.operands[1];
    return program_.Load(std::move(access));
  }
  const loops::Value value = Value(operand, inside);
  if (own.edges.empty()) return value;
  const loops::Affine still = AffineOf(0, std::vector<int64_t>(dims_.size(), 0));
  loops::Access mask{loops::Access::kInside, ElementType::kPred, 0, still.outer, still.inner, {}};
  AddEdges(own, &mask);
  const loops::Value is_inside = program_.Load(std::move(mask));
  const loops::Value otherwise = Value(node.operands[1], IndexMap::Scalar());
  return program_.Apply(loops::SelectOf(shape.type()), loops::ComputeTypeOf(shape.type()),
                        {is_inside, value, otherwise});
}

}  // namespace hlo::plan
