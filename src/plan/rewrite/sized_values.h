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
    bool has_sized = false;
  };

  // Returns nullptr if the value does not represent an array and sizes.
  Sized* Find(ValueId v);
  std::optional<Operands> Collect(const std::vector<Leaves>& operands);
  void AddChecks(const Instruction& instruction, const std::vector<Leaves>& operands);

  Graph& graph_;
  absl::flat_hash_map<ValueId, Sized> sized_;
  bool is_storing_ = false;
  Leaves checked_sizes_;
  std::vector<RunTimeSize> checks_;
};

}  // namespace hlo::plan
