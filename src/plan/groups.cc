#include "plan/groups.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "base/check.h"
#include "plan/modes.h"
#include "plan/tile_calls.h"
#include "types/index.h"

namespace hlo::plan {
namespace {

const Shape& OperandShape(const Graph& graph, const Node& node, int32_t i) {
  return graph.values[node.operands[i]].shape;
}

const Shape& ResultShape(const Graph& graph, const Node& node) { return graph.values[node.results[0]].shape; }

// Dimensions of size 1 come or go, nothing else.
bool KeepsLargerDims(const Shape& a, const Shape& b) {
  std::vector<int64_t> left, right;
  for (int64_t d : a.dims()) {
    if (d != 1) left.push_back(d);
  }
  for (int64_t d : b.dims()) {
    if (d != 1) right.push_back(d);
  }
  return left == right;
}

// The dimensions of more than one element as they lie in memory, major ones first; nullopt where tiles or
// padding make it more than an order.
std::optional<Index> LargerDimsInMemory(const Shape& shape) {
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

// A bitcast that keeps type and elements, and may put them elsewhere.
bool IsPureBitcast(const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kBitcast) return false;
  const Shape &from = instruction.operand(0)->shape(), &to = instruction.shape();
  return from.IsArray() && to.IsArray() && from.type() == to.type() &&
         from.ElementCount() == to.ElementCount() && LargerDimsInMemory(from).has_value() &&
         LargerDimsInMemory(to).has_value();
}

}  // namespace

Uses::Uses(const Graph& graph) : uses_(graph.values.size()) {
  auto use = [&](ValueId v, const Node* node, int32_t operand) {
    if (v != kNoValue) uses_[v].push_back({node, operand});
  };
  for (const Node& node : graph.nodes) {
    const bool is_op = node.kind == Node::Kind::kOp;
    for (size_t i = 0; i < node.operands.size(); ++i)
      use(node.operands[i], is_op ? &node : nullptr, static_cast<int32_t>(i));
    use(node.predicate, nullptr, 0);
    for (ValueId v : node.next) use(v, nullptr, 0);
    for (const auto& branch : node.branch_results) {
      for (ValueId v : branch) use(v, nullptr, 0);
    }
  }
  for (ValueId v : graph.results) use(v, nullptr, 0);
}

bool IsStaticOp(const Node& node) { return node.kind == Node::Kind::kOp && !node.only_reference; }

bool IsElementwise(const Graph& graph, const Node& node) {
  if (!IsStaticOp(node) || node.results.size() != 1 || node.results[0] == kNoValue) return false;
  if (!HasTileCall(*node.instruction)) return false;
  const Shape& shape = ResultShape(graph, node);
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const Shape& operand = OperandShape(graph, node, static_cast<int32_t>(i));
    if (!operand.IsScalar() && !SameDimensions(operand, shape)) return false;
  }
  return true;
}

bool IsPositional(const Graph& graph, const Node& node) {
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
      const Shape &from = node.instruction->operand(0)->shape(), &to = node.instruction->shape();
      return Pick(from.dims(), *LargerDimsInMemory(from)) == Pick(to.dims(), *LargerDimsInMemory(to));
    }
    case Opcode::kReshape:
      return KeepsLargerDims(OperandShape(graph, node, 0), ResultShape(graph, node));
    default:
      return false;
  }
}

namespace {

// Other types for the same bytes.
bool HasSameBytes(const Instruction& bitcast) {
  const Shape &from = bitcast.operand(0)->shape(), &to = bitcast.shape();
  if (bitcast.opcode() == Opcode::kBitcast && (from.layout() != nullptr || to.layout() != nullptr))
    return false;
  // Signed integers of fewer than 8 bits fill their byte with the sign.
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

bool KeepsMemory(const Node& node) {
  if (!IsStaticOp(node)) return false;
  const Instruction& instruction = *node.instruction;
  if (instruction.opcode() == Opcode::kReshape) return true;
  if (instruction.opcode() == Opcode::kBitcastConvert) return HasSameBytes(instruction);
  if (instruction.opcode() == Opcode::kBitcast &&
      !instruction.operand(0)->shape().IsArray(instruction.shape().type()))
    return HasSameBytes(instruction);
  if (!IsPureBitcast(instruction)) return false;
  const Index from = *LargerDimsInMemory(instruction.operand(0)->shape()),
              to = *LargerDimsInMemory(instruction.shape());
  return std::is_sorted(from.begin(), from.end()) && std::is_sorted(to.begin(), to.end());
}

bool IsDynamicSlice(const Node& node) {
  return IsStaticOp(node) && node.instruction->opcode() == Opcode::kDynamicSlice;
}

bool TakesLoops(const Graph& graph, const Node& node, int32_t operand) {
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
    default:
      return IsElementwise(graph, node) || IsPositional(graph, node);
  }
}

Groups::Groups(const Graph& graph, const Uses& uses) : graph_(graph), uses_(uses) {
  // Users come after what they use.
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) Decide(*node);
  // What is computed from other places of the array that it updates comes first: then the update is in place.
  for (const Node& node : graph.nodes) {
    if (!IsStaticOp(node) || node.instruction->opcode() != Opcode::kDynamicUpdateSlice) continue;
    if (ReadsElsewhere(node)) inlined_.erase(graph.values[node.operands[1]].node);
  }
}

const Node* Groups::RootOf(const Node& node) const {
  return IsElementwise(graph_, node) ? paths_.at(&node)[0].root : nullptr;
}

bool Groups::IsUsed(ValueId v) const {
  const std::vector<Uses::Use>& uses = uses_.of(v);
  return std::any_of(uses.begin(), uses.end(),
                     [&](const Uses::Use& use) { return use.node == nullptr || !IsDead(*use.node); });
}

bool Groups::ReadsElsewhere(const Node& update) const {
  absl::flat_hash_set<std::pair<ValueId, bool>> visited;
  // `stays`: v is computed at the position where the update writes.
  const auto reads = [&](const auto& self, ValueId v, bool stays) -> bool {
    if (!visited.emplace(v, stays).second) return false;
    const Node* node = graph_.values[v].node;
    if (node == nullptr || !IsInlined(*node)) return v == update.operands[0];
    if (IsDynamicSlice(*node)) {
      const bool same_place =
          stays && SameDimensions(ResultShape(graph_, *node), OperandShape(graph_, update, 1)) &&
          std::equal(node->operands.begin() + 1, node->operands.end(), update.operands.begin() + 2);
      return node->operands[0] == update.operands[0] && !same_place;
    }
    stays &= IsElementwise(graph_, *node);
    return std::any_of(node->operands.begin(), node->operands.end(),
                       [&](ValueId operand) { return self(self, operand, stays); });
  };
  return reads(reads, update.operands[1], true);
}

void Groups::Decide(const Node& node) {
  if (node.kind != Node::Kind::kOp) return;
  bool used = node.has_effect, joins = node.results.size() == 1 && node.results[0] != kNoValue;
  const bool elementwise = joins && IsElementwise(graph_, node);
  const bool positional = joins && IsPositional(graph_, node);
  const bool window = joins && IsDynamicSlice(node);
  joins = (elementwise || positional || window) && CurrentModes().fuses;
  std::vector<Path> paths;
  for (ValueId result : node.results) {
    if (result == kNoValue) continue;
    for (const Uses::Use& use : uses_.of(result)) {
      if (use.node != nullptr && dead_.contains(use.node)) continue;
      used = true;
      if (use.node == nullptr || use.node->block != node.block ||
          !TakesLoops(graph_, *use.node, use.operand)) {
        joins = false;
        continue;
      }
      const Node& user = *use.node;
      const bool user_elementwise = IsElementwise(graph_, user), user_positional = IsPositional(graph_, user);
      const bool scalar =
          ResultShape(graph_, node).IsScalar() && !(user_elementwise && ResultShape(graph_, user).IsScalar());
      const bool expands = (user_positional && user.instruction->opcode() == Opcode::kBroadcast) ||
                           (user_elementwise && scalar);
      const bool moves = user_positional || (user_elementwise && scalar);
      if (inlined_.contains(&user)) {
        for (Path path : paths_[&user]) {
          path.identity &= !moves;
          path.expands |= expands;
          paths.push_back(path);
        }
      } else if (user_elementwise || user_positional) {
        paths.push_back({&user, 0, !moves, expands});
      } else {
        const bool by_operand = user.instruction->opcode() != Opcode::kReduce;
        paths.push_back({&user, by_operand ? use.operand : 0, true, false});
      }
      if (paths.size() > 64) joins = false;
    }
  }
  if (!used) {
    dead_[&node] = 1;
    return;
  }
  if (!joins) return;
  if (elementwise) {
    // Once: at one place of one loop, or several times at the same position of it.
    const bool same =
        std::all_of(paths.begin(), paths.end(), [&](const Path& p) { return p == paths[0] && p.identity; });
    if (!same && paths.size() != 1) return;
    if (paths[0].expands) return;
    int32_t& size = sizes_[paths[0].root];
    if (size >= kMostInLoop) return;
    ++size;
    paths.resize(1);
  }
  inlined_[&node] = 1;
  paths_[&node] = std::move(paths);
}

IndexMap IndexMap::Identity(int64_t rank) {
  IndexMap map;
  map.offset.assign(rank, 0);
  map.coefficients.assign(rank, std::vector<int64_t>(rank, 0));
  for (int64_t d = 0; d < rank; ++d) map.coefficients[d][d] = 1;
  return map;
}

namespace {

// The map of a positional node's operand, given that of its result.
IndexMap OperandMap(const Graph& graph, const Node& node, const IndexMap& map, size_t loop_rank) {
  const Instruction& instruction = *node.instruction;
  const Shape& operand = OperandShape(graph, node, 0);
  const Shape& result = ResultShape(graph, node);
  IndexMap mapped;
  auto take = [&](int64_t d) {
    mapped.offset.push_back(map.offset[d]);
    mapped.coefficients.push_back(map.coefficients[d]);
  };
  switch (instruction.opcode()) {
    case Opcode::kBroadcast:
      for (int64_t d : instruction.Get<attr::dimensions>()) take(d);
      break;
    case Opcode::kTranspose: {
      // result dimension k is operand dimension permutation[k].
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
        if (std::find(reversed.begin(), reversed.end(), d) == reversed.end()) continue;
        mapped.offset[d] = operand.dim(d) - 1 - mapped.offset[d];
        for (int64_t& c : mapped.coefficients[d]) c = -c;
      }
      break;
    }
    case Opcode::kBitcast: {
      mapped.offset.assign(operand.rank(), 0);
      mapped.coefficients.assign(operand.rank(), std::vector<int64_t>(loop_rank, 0));
      const Index from = *LargerDimsInMemory(instruction.operand(0)->shape());
      const Index to = *LargerDimsInMemory(instruction.shape());
      for (size_t i = 0; i < from.size(); ++i) {
        mapped.offset[from[i]] = map.offset[to[i]];
        mapped.coefficients[from[i]] = map.coefficients[to[i]];
      }
      break;
    }
    default: {  // A reshape by dimensions of size 1.
      int64_t from = 0;
      for (int64_t d = 0; d < operand.rank(); ++d) {
        if (operand.dim(d) == 1) {
          mapped.offset.push_back(0);
          mapped.coefficients.emplace_back(loop_rank, 0);
          continue;
        }
        while (result.dim(from) == 1) ++from;
        take(from++);
      }
    }
  }
  return mapped;
}

}  // namespace

LoopBuilder::LoopBuilder(const Graph& graph, const Groups& groups, absl::Span<const int64_t> dims,
                         absl::Span<const int64_t> order, int64_t outer)
    : graph_(graph),
      groups_(groups),
      dims_(dims.begin(), dims.end()),
      order_(order.begin(), order.end()),
      outer_(outer),
      program_(Pick(dims, order.first(outer)), Pick(dims, order.subspan(outer))) {}

void LoopBuilder::SetStrides(absl::Span<const int64_t> strides, cpu::Access* access) const {
  for (size_t i = 0; i < order_.size(); ++i)
    (static_cast<int64_t>(i) < outer_ ? access->outer : access->inner).push_back(strides[order_[i]]);
}

cpu::Access LoopBuilder::AccessOf(ValueId v, const IndexMap& map) const {
  const Shape& shape = graph_.values[v].shape;
  cpu::Access access;
  access.argument = v;
  access.type = shape.type();
  std::vector<int64_t> strides(dims_.size(), 0);
  const Index shape_strides = RowMajorStrides(shape.dims());
  for (int64_t d = 0; d < shape.rank(); ++d) {
    access.offset += map.offset[d] * shape_strides[d];
    for (size_t i = 0; i < dims_.size(); ++i) strides[i] += map.coefficients[d][i] * shape_strides[d];
  }
  SetStrides(strides, &access);
  return access;
}

void LoopBuilder::AddStarts(absl::Span<const ValueId> starts, const Shape& whole, const Shape& window,
                            cpu::Access* access) const {
  const Index strides = RowMajorStrides(whole.dims());
  for (int64_t d = 0; d < whole.rank(); ++d) {
    access->starts.push_back(
        {starts[d], graph_.values[starts[d]].shape.type(), whole.dim(d) - window.dim(d), strides[d]});
  }
}

cpu::TileValue LoopBuilder::Value(ValueId v) {
  return Build(v, IndexMap::Identity(static_cast<int64_t>(dims_.size())), true);
}
cpu::TileValue LoopBuilder::Value(ValueId v, const IndexMap& map) { return Build(v, map, false); }

cpu::TileValue LoopBuilder::Compute(const Node& node) {
  const IndexMap identity = IndexMap::Identity(static_cast<int64_t>(dims_.size()));
  if (!IsElementwise(graph_, node)) return Positional(node, identity);
  return built_[node.results[0]] = Elementwise(node, identity, true);
}

cpu::TileValue LoopBuilder::Build(ValueId v, const IndexMap& map, bool identity) {
  if (identity) {
    const auto known = built_.find(v);
    if (known != built_.end()) return known->second;
  }
  const Node* node = graph_.values[v].node;
  cpu::TileValue value;
  if (node == nullptr || !groups_.IsInlined(*node)) {
    value = program_.Load(AccessOf(v, map));
  } else {
    if (node->shown != nullptr) fused_.push_back(node->shown);
    value = IsElementwise(graph_, *node) ? Elementwise(*node, map, identity) : Positional(*node, map);
  }
  if (identity) built_[v] = value;
  return value;
}

cpu::TileValue LoopBuilder::Elementwise(const Node& node, const IndexMap& map, bool identity) {
  const Shape& shape = ResultShape(graph_, node);
  std::vector<cpu::TileValue> operands;
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const bool scalar = OperandShape(graph_, node, static_cast<int32_t>(i)).IsScalar() && !shape.IsScalar();
    operands.push_back(scalar ? Build(node.operands[i], IndexMap::Scalar(), false)
                              : Build(node.operands[i], map, identity));
  }
  return ApplyInstruction(*node.instruction, operands, program_);
}

cpu::TileValue LoopBuilder::Positional(const Node& node, const IndexMap& map) {
  const Instruction& instruction = *node.instruction;
  if (instruction.opcode() == Opcode::kIota) {
    const int64_t d = instruction.Get<attr::iota_dimension>();
    cpu::Access access;
    access.type = ResultShape(graph_, node).type();
    access.offset = map.offset[d];
    SetStrides(map.coefficients[d], &access);
    const cpu::TileValue value = program_.Load(std::move(access));
    return Rounded(ResultShape(graph_, node).type(), value, program_);
  }
  if (instruction.opcode() == Opcode::kDynamicSlice) {
    cpu::Access access = AccessOf(node.operands[0], map);
    AddStarts(absl::MakeConstSpan(node.operands).subspan(1), OperandShape(graph_, node, 0),
              ResultShape(graph_, node), &access);
    return program_.Load(std::move(access));
  }
  return Build(node.operands[0], OperandMap(graph_, node, map, dims_.size()), false);
}

}  // namespace hlo::plan
