#pragma once
// Which instructions become one loop? Elementwise ones and those that only choose other positions (broadcast,
// transpose, slice, reverse, iota) join the one that uses them; kernels then read through strides.

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "kernels/cpu/tile_program.h"
#include "plan/graph.h"

namespace hlo::plan {

// More operations in one loop do not pay: their tiles no longer fit the cache.
inline constexpr int32_t kMostInLoop = 96;

// How often and where each value is used.
class Uses {
 public:
  explicit Uses(const Graph& graph);
  struct Use {
    const Node* node;  // nullptr: the root's value, a predicate, a next state, a branch's result.
    int32_t operand;
  };
  const std::vector<Use>& of(ValueId v) const { return uses_[v]; }

 private:
  std::vector<std::vector<Use>> uses_;
};

class Groups {
 public:
  Groups(const Graph& graph, const Uses& uses);

  // Whether the node's value is computed by the loops of its users alone.
  bool IsInlined(const Node& node) const { return inlined_.contains(&node); }
  // Of an inlined elementwise node: the one whose loop computes it. nullptr for others, which several may
  // compute.
  const Node* RootOf(const Node& node) const;
  // Whether anything needs the value.
  bool IsUsed(ValueId v) const;
  // Whether nothing needs the node.
  bool IsDead(const Node& node) const { return dead_.contains(&node); }

 private:
  struct Path {
    const Node* root = nullptr;
    int32_t operand = 0;   // Of roots that walk each operand in a loop of its own.
    bool identity = true;  // Position for position.
    bool expands = false;  // Through a broadcast.
    bool operator==(const Path&) const = default;
  };
  void Decide(const Node& node);
  // Whether the loop of a dynamic-update-slice reads what it changes, other than where it writes.
  bool ReadsElsewhere(const Node& update) const;

  const Graph& graph_;
  const Uses& uses_;
  absl::flat_hash_map<const Node*, std::vector<Path>> paths_;  // Empty list: a root.
  absl::flat_hash_map<const Node*, char> inlined_, dead_;
  absl::flat_hash_map<const Node*, int32_t> sizes_;
};

// What a node is to a loop.
bool IsStaticOp(const Node& node);  // An instruction on arrays of static sizes.
bool IsElementwise(const Graph& graph, const Node& node);
bool IsPositional(const Graph& graph,
                  const Node& node);  // broadcast, transpose, slice, reverse, iota, reshape by 1s
// A reshape, or a bitcast to the same bytes: the result lies where the operand does.
bool KeepsMemory(const Node& node);
bool IsDynamicSlice(const Node& node);
// Kernels that walk each operand, or the first ones, in a loop that others may join.
bool TakesLoops(const Graph& graph, const Node& node, int32_t operand);

// Element positions of a value as a function of a loop's position: index[d] = offset[d] + sum of
// coefficients[d][i] * position[i].
struct IndexMap {
  std::vector<int64_t> offset;
  std::vector<std::vector<int64_t>> coefficients;
  static IndexMap Identity(int64_t rank);
  static IndexMap Scalar() { return {}; }
};

// Builds the tile program of one root: loads of what is at hand, operations of what is inlined.
class LoopBuilder {
 public:
  // `order` lists the dimensions of the space that is walked: the first `outer` ones are outer.
  LoopBuilder(const Graph& graph, const Groups& groups, absl::Span<const int64_t> dims,
              absl::Span<const int64_t> order, int64_t outer);

  // The value at the loop's position itself, or at a mapped one.
  cpu::TileValue Value(ValueId v);
  cpu::TileValue Value(ValueId v, const IndexMap& map);
  // The result of a node that is not inlined, computed here; who asks for it later finds it.
  cpu::TileValue Compute(const Node& node);
  // Where a value lies: row-major under the map.
  cpu::Access AccessOf(ValueId v, const IndexMap& map) const;
  // Moves an access to the window that begins at run-time positions of the whole.
  void AddStarts(absl::Span<const ValueId> starts, const Shape& whole, const Shape& window,
                 cpu::Access* access) const;
  cpu::TileProgram& program() { return program_; }
  // The instructions that were asked for besides what Compute was called with.
  const std::vector<const Instruction*>& fused() const { return fused_; }

 private:
  // Strides by dimension of the space, into those of outer and inner loops.
  void SetStrides(absl::Span<const int64_t> strides, cpu::Access* access) const;
  cpu::TileValue Elementwise(const Node& node, const IndexMap& map, bool identity);
  cpu::TileValue Positional(const Node& node, const IndexMap& map);
  cpu::TileValue Build(ValueId v, const IndexMap& map, bool identity);

  const Graph& graph_;
  const Groups& groups_;
  std::vector<int64_t> dims_, order_;
  int64_t outer_;
  cpu::TileProgram program_;
  absl::flat_hash_map<ValueId, cpu::TileValue> built_;  // At the loop's position.
  std::vector<const Instruction*> fused_;
};

}  // namespace hlo::plan
