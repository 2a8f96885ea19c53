#pragma once
// A module as one graph of array values: calls and fusions dissolved, tuples taken apart into their leaves,
// while loops and conditionals as nodes that own blocks.

#include <cstdint>
#include <deque>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo_run/check.h"
#include "hlo_run/literal.h"

namespace hlo::plan {

using ValueId = int32_t;
inline constexpr ValueId kNoValue = -1;  // A token.

struct Block;

struct Node {
  enum class Kind : uint8_t { kOp, kWhile, kConditional };
  Kind kind = Kind::kOp;
  const Instruction* instruction = nullptr;
  Block* block = nullptr;
  std::vector<ValueId>
      operands;  // Leaves of all operands in order. While: initial state. Conditional: the choice.
  std::vector<ValueId> results;  // While: the state, seen by condition and body, and after the loop.
  // While: condition and body; predicate and next state. Conditional: the branches and their results.
  std::vector<Block*> blocks;
  ValueId predicate = kNoValue;
  std::vector<ValueId> next;
  std::vector<std::vector<ValueId>> branch_results;
  bool has_effect = false;
};

struct Block {
  Block* parent = nullptr;
  Node* owner = nullptr;  // nullptr: the entry.
  std::vector<Node*> nodes;
};

struct Value {
  Shape shape;  // An array of static sizes; layouts are dropped.
  Node* node = nullptr;
  int32_t parameter = -1;  // Leaf number among all leaves of the entry's parameters.
  const Literal* constant = nullptr;
  ValueId same_as = kNoValue;
};

struct Graph {
  std::deque<Value> values;
  std::deque<Node> nodes;
  std::deque<Block> blocks;
  Block* entry = nullptr;
  std::vector<ValueId> parameters, results;

  // The value that stands for another one.
  ValueId Resolve(ValueId v) const {
    while (v != kNoValue && values[v].same_as != kNoValue) v = values[v].same_as;
    return v;
  }
};

// Unimplemented where the graph has no form for the module (dynamic sizes, calls that would unfold beyond
// measure): the reference runs such modules.
absl::StatusOr<Graph> Flatten(const CheckedModule& module);

}  // namespace hlo::plan
