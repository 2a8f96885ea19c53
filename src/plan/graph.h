#pragma once
// A module as a graph of array values: calls and fusions are inlined, tuples are split into their leaves,
// while loops and conditionals are nodes that own blocks.

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "hlo_run/check.h"
#include "hlo_run/literal.h"
#include "types/index.h"

namespace hlo::plan {

using ValueId = int32_t;
inline constexpr ValueId kNoValue = -1;  // Stands for a token, which has no elements.
using Leaves = std::vector<ValueId>;     // The values of a shape's leaves, in order.

struct Block;

// An instruction, a loop or a conditional, which computes values.
struct Node {
  enum class Kind : uint8_t { kOp, kWhile, kConditional };
  Kind kind = Kind::kOp;
  const Instruction* instruction = nullptr;
  // The instruction after which a step that computes the node is named: that of the node, or an inlined map;
  // nullptr if another node has that name.
  const Instruction* named_after = nullptr;
  // The instruction of the module that nodes replace, of which this is one, such as a custom call; nullptr if
  // the node's own instruction is in the module.
  const Instruction* replacement_of = nullptr;
  Block* block = nullptr;
  std::vector<ValueId> operands;  // The leaves of all operands in order. While: the initial state.
                                  // Conditional: the branch index.
  std::vector<ValueId> results;   // While: the state, as condition, body and the users of the loop see it.
  // While: condition and body; predicate and next state. Conditional: the branches and their results.
  std::vector<Block*> blocks;
  ValueId predicate = kNoValue;
  std::vector<ValueId> next;
  std::vector<std::vector<ValueId>> branch_results;
  bool has_effect = false;
  // The sizes of operands or results are known only at run time, or the user supplies the custom call.
  bool needs_reference = false;
};

// The nodes of the entry, of a loop's condition or body, or of a branch, in program order.
struct Block {
  Block* parent = nullptr;
  Node* owner = nullptr;  // The loop or conditional; nullptr for the entry block.
  std::vector<Node*> nodes;
};

// An array that a node, a parameter or a constant provides.
struct Value {
  Shape shape;  // An array shape without layout.
  Node* node = nullptr;
  int32_t parameter = -1;  // The number of the leaf among those of the entry's parameters.
  const Literal* constant = nullptr;
  // The instruction of which this is a leaf, perhaps in another shape, and the number of the leaf; nullptr:
  // the instruction of the node. They are set for the results of replacements.
  const Instruction* instruction = nullptr;
  int32_t leaf = 0;
  ValueId replaced_by = kNoValue;
  bool is_dynamic = false;  // The sizes may be known only at run time; the value is then a literal.
  // The number of last dimensions that are the major ones in memory, in their order; 0: row-major order.
  int32_t rotation = 0;
};

// Returns the dimensions in the order of memory, major ones first.
Index StoredOrder(int64_t rank, int32_t rotation);
// Returns the distances in memory, in elements, of neighbours along each dimension.
Index StoredStrides(const Value& value);

// The run-time size of a dimension: a result after those of the module, which only the executor reads.
struct RunTimeSize {
  int64_t dimension = 0;
  int32_t leaf = -1;  // The result that has the size; -1: the size is only checked.
  // The instruction that states the size; null: another one does.
  const Instruction* instruction = nullptr;
};

// The values, nodes and blocks of a module. Pointers and value numbers stay valid when it grows or moves.
struct Graph {
  std::deque<Value> values;
  std::deque<Node> nodes;
  std::deque<Block> blocks;
  std::deque<Literal> literals;            // Constants that the module does not contain.
  std::deque<CheckedModule> replacements;  // Modules that replace single instructions.
  std::shared_ptr<Module> rewritten;       // Owns instructions that replace those of the module.
  Block* entry = nullptr;
  std::vector<ValueId> parameters, results;
  std::vector<RunTimeSize> sizes;  // Describe the last results.

  // Adds a value that `node` computes, or an input if it is nullptr.
  ValueId NewValue(const Shape& shape, Node* node);
  // Adds a value with the elements of a literal that the module does not contain.
  ValueId NewConstant(Literal literal);
  // Follows the replacements of a value.
  ValueId Resolve(ValueId v) const {
    while (v != kNoValue && values[v].replaced_by != kNoValue) v = values[v].replaced_by;
    return v;
  }
};

// Returns the module that owns the graph's rewritten instructions; creates it on first use.
Module& RewrittenModule(Graph& graph, const Module& original);

// Returns true if the block belongs to a loop or conditional, or to one within it.
bool IsWithin(const Block* block, const Node& owner);

// Returns the nodes in program order, each loop and conditional before the nodes of its blocks.
std::vector<Node*> NodesInOrder(const Graph& graph);

// Replaces every value in nodes and results by the one that replaces it.
void ResolveAll(Graph& graph);

}  // namespace hlo::plan
