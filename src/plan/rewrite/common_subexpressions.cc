#include "plan/rewrite/common_subexpressions.h"

#include <algorithm>
#include <concepts>
#include <ranges>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "plan/analysis/node_traits.h"

namespace hlo::plan {
namespace {

// --- Equality of instructions up to their operands

bool HaveSameAttributes(const Instruction& a, const Instruction& b);

bool IsEqual(const SliceRange& a, const SliceRange& b) {
  return a.start == b.start && a.limit == b.limit && a.stride == b.stride;
}
bool IsEqual(const PaddingDim& a, const PaddingDim& b) {
  return a.low == b.low && a.high == b.high && a.interior == b.interior;
}
// True for the same computation, or for two that apply the same operation to their parameters.
bool IsEqual(Computation* const& a, Computation* const& b) {
  if (a == b) return true;
  if (a == nullptr || b == nullptr) return false;
  const Instruction &x = *a->root(), &y = *b->root();
  if (x.opcode() != y.opcode() || x.operand_count() != 2 || y.operand_count() != 2 ||
      x.shape() != y.shape() || !HaveSameAttributes(x, y))
    return false;
  for (int64_t i = 0; i < 2; ++i) {
    const Instruction &from = *x.operand(i), &to = *y.operand(i);
    if (from.opcode() != Opcode::kParameter || to.opcode() != Opcode::kParameter ||
        from.shape() != to.shape() || from.Get<attr::number>() != to.Get<attr::number>())
      return false;
  }
  return true;
}
template <class T>
bool IsEqual(const T& a, const T& b) {
  if constexpr (std::ranges::range<T>)
    return std::ranges::equal(a, b, [](const auto& x, const auto& y) { return IsEqual(x, y); });
  else if constexpr (std::equality_comparable<T>)
    return a == b;
  else
    return false;
}

// Compares an attribute that both instructions may have. Some do not affect the result.
bool IsEqualAttribute(AttrId id, const Instruction& a, const Instruction& b) {
  switch (id) {
    case AttrId::sharding:
    case AttrId::frontend_attributes:
    case AttrId::statistics:
    case AttrId::control_predecessors:
    case AttrId::origin:
    case AttrId::metadata:
    case AttrId::backend_config:
      return true;
    default:
      break;
  }
  switch (id) {
#define HLO_ATTR(name, spelling, kind) \
  case AttrId::name:                   \
    return IsEqual(a.Get<attr::name>(), b.Get<attr::name>());
#include "hlo_run/attributes.def"
#undef HLO_ATTR
    default:
      return false;
  }
}

bool HaveSameAttributes(const Instruction& a, const Instruction& b) {
  for (const Instruction* instruction : {&a, &b}) {
    for (const AttrEntry& entry : instruction->attributes()) {
      if (!IsEqualAttribute(entry.id, a, b)) return false;
    }
  }
  return true;
}

// True if the node's result depends only on its operands and on the attributes that are compared.
bool MayBeShared(const Graph& graph, const Node& node) {
  if (!IsStaticOp(node) || node.has_effect || node.results.size() != 1 || node.results[0] == kNoValue ||
      std::ranges::find(node.operands, kNoValue) != node.operands.end())
    return false;
  if (IsElementwise(graph, node)) return true;
  switch (node.instruction->opcode()) {
    case Opcode::kBitcast:
    case Opcode::kBroadcast:
    case Opcode::kConcatenate:
    case Opcode::kConvolution:
    case Opcode::kDot:
    case Opcode::kDynamicSlice:
    case Opcode::kDynamicUpdateSlice:
    case Opcode::kGather:
    case Opcode::kIota:
    case Opcode::kPad:
    case Opcode::kReduce:
    case Opcode::kReduceWindow:
    case Opcode::kReshape:
    case Opcode::kReverse:
    case Opcode::kSlice:
    case Opcode::kTranspose:
      return true;
    default:
      return false;
  }
}

class Eliminator {
 public:
  Eliminator(Graph& graph, bool shares_elements, ChangeCounter& changes)
      : graph_(graph), shares_elements_(shares_elements), changes_(changes) {}

  void Run() {
    for (size_t v = 0; v < graph_.values.size(); ++v) first_.push_back(static_cast<ValueId>(v));
    ShareConstants();
    ShareIn(*graph_.entry);
    ResolveAll(graph_);
  }

 private:
  void ShareIn(const Block& block) {
    for (const Node* node : block.nodes) {
      for (const Block* inner : node->blocks) ShareIn(*inner);
      if (MayBeShared(graph_, *node)) Share(*node);
    }
  }

  // Makes equal small constants one value.
  void ShareConstants() {
    constexpr int64_t kMaxBytes = 64;
    absl::flat_hash_map<std::string, std::vector<ValueId>> found;
    for (ValueId v = 0; v < static_cast<ValueId>(graph_.values.size()); ++v) {
      Value& value = graph_.values[v];
      if (value.constant == nullptr || value.replaced_by != kNoValue || value.is_dynamic) continue;
      const int64_t bytes = *DenseByteCount(value.shape);
      if (bytes == 0 || bytes > kMaxBytes) continue;
      std::vector<ValueId>& equal =
          found[std::string(reinterpret_cast<const char*>(value.constant->data()), bytes)];
      const auto same = std::find_if(equal.begin(), equal.end(), [&](ValueId other) {
        return graph_.values[other].shape == value.shape;
      });
      if (same == equal.end()) {
        equal.push_back(v);
      } else {
        first_[v] = *same;
        if (changes_.Allow("common_subexpressions")) value.replaced_by = *same;
      }
    }
  }

  void Share(const Node& node) {
    std::vector<ValueId> operands;
    for (const ValueId v : node.operands) operands.push_back(first_[graph_.Resolve(v)]);
    std::vector<const Node*>& candidates =
        found_[{node.block, node.instruction->opcode(), std::move(operands)}];
    const auto same = std::find_if(candidates.begin(), candidates.end(),
                                   [&](const Node* other) { return ComputeTheSame(*other, node); });
    if (same == candidates.end()) {
      candidates.push_back(&node);
      return;
    }
    const ValueId result = node.results[0], first = (*same)->results[0];
    first_[result] = first;
    if (IsCheaperShared(node) && changes_.Allow("common_subexpressions", node.instruction->name()))
      graph_.values[result].replaced_by = first;
  }

  // True if storing the result for all users costs less than computing it for each of them. Users of a shared
  // result do not fuse it, and a large one would live longer: text that rematerialises values would need the
  // memory that it saves.
  bool IsCheaperShared(const Node& node) const {
    constexpr int64_t kMaxBytes = 4 << 20;
    const Shape& shape = ResultShape(graph_, node);
    if (shape.IsScalar()) return true;
    if (*DenseByteCount(shape) > kMaxBytes) return false;
    const bool would_fuse = IsElementwise(graph_, node) || IsConcatenate(node) || IsPad(node) ||
                            node.instruction->opcode() == Opcode::kGather;
    // Loops convert elements when they load them.
    return !would_fuse || (shares_elements_ && node.instruction->opcode() != Opcode::kConvert);
  }

  // Compares nodes with equal opcodes and operands. Bitcasts depend on the layouts, which shapes include.
  bool ComputeTheSame(const Node& a, const Node& b) const {
    const Instruction &x = *a.instruction, &y = *b.instruction;
    if (ResultShape(graph_, a) != ResultShape(graph_, b) || !HaveSameAttributes(x, y)) return false;
    if (x.opcode() != Opcode::kBitcast) return true;
    return x.shape() == y.shape() && x.operand(0)->shape() == y.operand(0)->shape();
  }

  using Key = std::tuple<const Block*, Opcode, std::vector<ValueId>>;

  Graph& graph_;
  bool shares_elements_;
  ChangeCounter& changes_;
  std::vector<ValueId> first_;  // Indexed by value: the first one that is equal.
  absl::flat_hash_map<Key, std::vector<const Node*>> found_;
};

}  // namespace

void EliminateCommonSubexpressions(Graph& graph, bool shares_elements, ChangeCounter& changes) {
  Eliminator(graph, shares_elements, changes).Run();
}

}  // namespace hlo::plan
