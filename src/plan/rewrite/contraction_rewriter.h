#pragma once
// Rewrites reductions, reductions of windows, products and batch norms while a graph is built.

#include <optional>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "hlo_run/check.h"
#include "plan/change_counter.h"
#include "plan/graph.h"
#include "plan/rewrite/flatten.h"
#include "plan/rewrite/graph_builder.h"

namespace hlo::plan {

// Inlines modules and computations into a block of the graph.
class Inliner {
 public:
  virtual absl::StatusOr<Leaves> InlineModule(CheckedModule module, const std::vector<Leaves>& operands,
                                              Block* block) = 0;
  // Inlines the module that replaces an instruction. The results are leaves of the instruction for observers.
  virtual absl::StatusOr<Leaves> InlineReplacement(const Instruction& instruction, CheckedModule replacement,
                                                   const std::vector<Leaves>& operands, Block* block) = 0;
  // Inlines the to_apply of an instruction, with every instruction on whole arrays.
  virtual absl::StatusOr<Leaves> InlineMap(const Instruction& map, const std::vector<Leaves>& operands,
                                           Block* block) = 0;

 protected:
  ~Inliner() = default;
};

class ContractionRewriter {
 public:
  ContractionRewriter(const FlattenOptions& options, ChangeCounter& changes, Graph& graph,
                      GraphBuilder& build, Inliner& inliner)
      : options_(options), changes_(changes), graph_(graph), build_(build), inliner_(inliner) {}

  // Returns the results of a rewritten instruction; nullopt if it needs a node of its own.
  absl::StatusOr<std::optional<Leaves>> Rewrite(const Instruction& instruction,
                                                const std::vector<Leaves>& operands, Block* block);

 private:
  // A reduction of windows that do not overlap: its instruction and operands.
  struct TiledWindows {
    const Instruction* instruction;
    ValueId operand, init;
  };
  // Inlines the replacement of an instruction, if there is one and the pass may change it.
  absl::StatusOr<std::optional<Leaves>> Replace(std::string_view pass, const Instruction& instruction,
                                                std::optional<CheckedModule> replacement,
                                                const std::vector<Leaves>& operands, Block* block);
  // True if an operand of a reduction is in memory anyway, or is small.
  bool MayBeStored(ValueId v) const;
  // True if a value is known to have no infinities and NaNs.
  bool IsFinite(ValueId v) const;
  absl::StatusOr<std::optional<Leaves>> RewriteReduceWindow(const Instruction& reduce_window,
                                                            const std::vector<Leaves>& operands,
                                                            Block* block);
  // Returns the reduction of windows that computes an operand, or of which it is a reshape.
  std::optional<TiledWindows> WindowsOf(ValueId v) const;
  // Reduces the elements of all windows at once, if the operand has their results.
  absl::StatusOr<std::optional<Leaves>> RewriteReduceOfWindows(const Instruction& reduce,
                                                               const std::vector<Leaves>& operands,
                                                               Block* block);
  absl::StatusOr<std::optional<Leaves>> RewriteReduce(const Instruction& reduce,
                                                      const std::vector<Leaves>& operands, Block* block);
  absl::StatusOr<std::optional<Leaves>> RewriteDot(const Instruction& dot,
                                                   const std::vector<Leaves>& operands, Block* block);
  // A dot or convolution that rounds to another type than the result's becomes one of that type and a
  // convert.
  Leaves Product(const Instruction& instruction, Leaves operands, Block* block);

  const FlattenOptions& options_;
  ChangeCounter& changes_;
  Graph& graph_;
  GraphBuilder& build_;
  Inliner& inliner_;
  Computation* products_ = nullptr;                           // Owns the rewritten instructions.
  absl::flat_hash_map<ValueId, TiledWindows> tiled_windows_;  // Keyed by their results.
};

}  // namespace hlo::plan
