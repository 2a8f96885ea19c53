#pragma once
// Arrays of dynamic sizes as arrays of their bounds and sizes, on which GPUs compute.

#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "hlo_run/check.h"
#include "plan/graph.h"

namespace hlo::plan {

// A value that nothing computes represents an array of the bounds and the sizes; Store makes an array of
// dynamic sizes of them, for instructions on the CPU.
class SizedValues {
 public:
  using InlineModule =
      absl::FunctionRef<absl::StatusOr<Leaves>(CheckedModule, const std::vector<Leaves>&, Block*)>;

  explicit SizedValues(Graph& graph) : graph_(graph) {}

  // Computes an instruction on the arrays of the bounds. Returns nullopt if it has no such operands, or if
  // there is no rule for it.
  absl::StatusOr<std::optional<Leaves>> Compute(const Instruction& instruction,
                                                const std::vector<Leaves>& operands, Block* block,
                                                InlineModule inline_module);
  // Returns an array, which may have dynamic sizes, as an array of the bounds and the sizes of the dynamic
  // dimensions of `shape`.
  absl::StatusOr<Leaves> Split(ValueId v, const Shape& shape, Block* block, InlineModule inline_module);
  // Returns such values, which the node computes.
  Leaves NewParts(const Shape& shape, Node* node);
  // Lets a value represent the first of these parts in the block; returns their number.
  size_t Join(ValueId v, absl::Span<const ValueId> parts, Block* block);
  // Replaces leaves by arrays of dynamic sizes.
  absl::Status Store(Leaves& leaves, InlineModule inline_module);
  // Sets the results of the graph, and the sizes that the executor reads and checks.
  void SetResults(Leaves leaves);

 private:
  struct Sized {
    ValueId array = kNoValue;
    Leaves sizes;  // One for each dimension; kNoValue for static ones.
    Block* block = nullptr;
    ValueId stored = kNoValue;  // The array of dynamic sizes, once an instruction needs it.
  };
  // The operands of an expansion: the arrays and their distinct sizes.
  struct Operands {
    std::vector<std::vector<int64_t>> numbers;
    std::vector<Leaves> arguments;
    Leaves sizes;
    bool has_sized = false, must_load = false;
  };

  // Returns nullptr if the value does not represent an array and sizes.
  Sized* Find(ValueId v);
  std::optional<Operands> Collect(const std::vector<Leaves>& operands, Block* block);
  // True if a value that is an array of dynamic sizes may be read as an array and sizes for the whole block.
  bool CanLoad(ValueId v, const Block* block) const;
  // Returns the array, and the sizes of all dimensions, of an array of dynamic sizes.
  absl::StatusOr<Leaves> Load(ValueId v, Block* block, InlineModule inline_module);
  // Loads the operands.
  absl::Status LoadAll(const std::vector<Leaves>& operands, InlineModule inline_module);
  absl::StatusOr<Leaves> InlineItself(std::optional<CheckedModule> module,
                                      const std::vector<Leaves>& arguments, Block* block,
                                      InlineModule inline_module);
  void AddChecks(const Instruction& instruction, const std::vector<Leaves>& operands);

  Graph& graph_;
  absl::flat_hash_map<ValueId, Sized> sized_;
  bool inlines_itself_ = false;
  Leaves checked_sizes_;
  std::vector<RunTimeSize> checks_;
};

}  // namespace hlo::plan
