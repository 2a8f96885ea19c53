#pragma once
// Dynamic padding of the values of a graph: an array with dynamic dimensions is represented by a static
// array, which is padded to the bounds, and by its sizes. GPUs compute on these
// (plan/rewrite/dynamic_padding.h).

#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "hlo_run/check.h"
#include "plan/graph.h"

namespace hlo::plan {

// A padded value has no node of its own. It stands for an array and sizes that nodes compute. SliceToDynamic
// makes an array with dynamic dimensions of them, for instructions that only the CPU runs.
class PaddedValues {
 public:
  using InlineModule =
      absl::FunctionRef<absl::StatusOr<Leaves>(CheckedModule, const std::vector<Leaves>&, Block*)>;

  explicit PaddedValues(Graph& graph) : graph_(graph) {}

  // Adds the instruction on the padded operands. Returns nullopt if no operand is padded, or if there is no
  // rule for the instruction.
  absl::StatusOr<std::optional<Leaves>> Compute(const Instruction& instruction,
                                                const std::vector<Leaves>& operands, Block* block,
                                                InlineModule inline_module);
  // Returns the padded array of a value, which may be dynamic or static, then the sizes of the dynamic
  // dimensions of `shape`.
  absl::StatusOr<Leaves> Split(ValueId v, const Shape& shape, Block* block, InlineModule inline_module);
  // Returns new values of these kinds, which the node computes.
  Leaves NewParts(const Shape& shape, Node* node);
  // Declares that a value of the block is padded, and that its array and sizes are the first of these parts.
  // Returns the number of these.
  size_t Join(ValueId v, absl::Span<const ValueId> parts, Block* block);
  // Replaces padded leaves by arrays with dynamic dimensions.
  absl::Status SliceToDynamic(Leaves& leaves, InlineModule inline_module);
  // Sets the results of the graph, and the sizes that the executor reads and checks.
  void SetResults(Leaves leaves);

 private:
  struct PaddedArray {
    ValueId array = kNoValue;
    Leaves sizes;  // One for each dimension; kNoValue for static ones.
    Block* block = nullptr;
    ValueId dynamic = kNoValue;  // The array with dynamic dimensions, once an instruction needs it.
  };
  // The operands of an expansion: the arrays and their distinct sizes.
  struct Operands {
    std::vector<std::vector<int64_t>> numbers;
    std::vector<Leaves> arguments;
    Leaves sizes;
    bool has_padded = false, must_pad = false;
  };

  // Returns nullptr if the value is not padded.
  PaddedArray* Find(ValueId v);
  std::optional<Operands> Collect(const std::vector<Leaves>& operands, Block* block);
  // True if an array with dynamic dimensions may be padded once for the whole block.
  bool CanPad(ValueId v, const Block* block) const;
  // Pads an array with dynamic dimensions. Returns the padded array and the sizes of all dimensions.
  absl::StatusOr<Leaves> Pad(ValueId v, Block* block, InlineModule inline_module);
  // Pads the dynamic operands.
  absl::Status PadAll(const std::vector<Leaves>& operands, InlineModule inline_module);
  // Inlines a module that pads or slices, and whose instructions therefore are not computed on padded arrays.
  absl::StatusOr<Leaves> InlineConversion(std::optional<CheckedModule> module,
                                          const std::vector<Leaves>& arguments, Block* block,
                                          InlineModule inline_module);
  void AddChecks(const Instruction& instruction, const std::vector<Leaves>& operands);

  Graph& graph_;
  absl::flat_hash_map<ValueId, PaddedArray> padded_;
  bool inlines_conversion_ = false;
  Leaves checked_sizes_;
  std::vector<RunTimeSize> checks_;
};

}  // namespace hlo::plan
