#pragma once
// A module as one graph of array values: calls and fusions dissolved, tuples taken apart into their leaves,
// while loops and conditionals as nodes that own blocks.

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

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
  // What profiles and printed plans name: the map whose code an instruction is; nullptr: another node's.
  const Instruction* shown = nullptr;
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
  // Sizes of operands or results are known at run time alone, or the caller computes the custom call.
  bool only_reference = false;
};

struct Block {
  Block* parent = nullptr;
  Node* owner = nullptr;  // nullptr: the entry.
  std::vector<Node*> nodes;
};

struct Value {
  Shape shape;  // An array; layouts are dropped.
  Node* node = nullptr;
  int32_t parameter = -1;  // Leaf number among all leaves of the entry's parameters.
  const Literal* constant = nullptr;
  ValueId same_as = kNoValue;
  bool is_dynamic = false;  // Sizes may be known at run time alone: a literal stands for the value.
};

struct Graph {
  std::deque<Value> values;
  std::deque<Node> nodes;
  std::deque<Block> blocks;
  std::deque<Literal> literals;       // Constants that the module does not have.
  std::deque<CheckedModule> calls;    // Instructions in others' words.
  std::shared_ptr<Module> rewritten;  // Instructions that take the place of the module's.
  Block* entry = nullptr;
  std::vector<ValueId> parameters, results;

  // A value that the node computes, or that is there from the beginning.
  ValueId NewValue(const Shape& shape, Node* node);
  // The value that stands for another one.
  ValueId Resolve(ValueId v) const {
    while (v != kNoValue && values[v].same_as != kNoValue) v = values[v].same_as;
    return v;
  }
};

// The module of the graph's rewritten instructions, made when it is first needed.
Module& Rewritten(Graph& graph, const Module& original);

// Nodes and results name the values that stand for others.
void ResolveAll(Graph& graph);

}  // namespace hlo::plan
