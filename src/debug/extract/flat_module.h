#pragma once
// Flattens a computation for comparisons: calls and fusions are inlined, so that every value is the result of
// one instruction of one computation, whatever a compiler has fused.

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo_run/check.h"
#include "hlo_run/module.h"
#include "ir/leaf_flow.h"

namespace hlo::debug {

// Selects the calls that are inlined into the flat computation.
enum class Inlining : uint8_t { kNone, kAll };

// The values say how a parameter that is a tuple is flattened: to one parameter, or to one for each leaf.
enum class Parameters : uint8_t { kWhole, kLeaves };

bool IsCallOrFusion(const Instruction& instruction);

// Loops and conditionals of the source that are inlined: loops with their trip counts, conditionals with the
// branch that runs.
using Expansions = absl::flat_hash_map<const Instruction*, int64_t>;

class FlatModule {
 public:
  // Flattens a computation of the module, which stays alive with the result. Calls beyond ten million
  // instructions stay calls.
  FlatModule(std::shared_ptr<const Module> source, const Computation& computation,
             Inlining inlining = Inlining::kAll, Parameters parameters = Parameters::kWhole,
             Expansions expansions = {});
  // Returns the same computation with other loops and conditionals inlined.
  FlatModule Expanded(const Expansions& expansions) const;

  // Returns the instructions in dependency order. Tuples are forwarded to the users of their elements.
  absl::Span<Instruction* const> instructions() const { return entry_->instructions(); }
  const Computation& computation() const { return *entry_; }
  // Returns the leaves of the result: the elements of a root tuple, recursively. With Inlining::kAll the root
  // of a tuple is always a `tuple`, as is the initial state of a loop.
  absl::Span<const Instruction* const> results() const { return results_; }
  const std::shared_ptr<const Module>& source() const { return source_; }

  // Returns the instruction of the source that an instruction here computes.
  const Instruction& OriginalOf(const Instruction& instruction) const {
    return *origins_[static_cast<size_t>(instruction.index())].instruction;
  }
  // Returns the names of the callers and of the original instruction: `fusion.3/add.1`. The number after the
  // name of an inlined loop or conditional is that of the iteration, from 1 on, or of the branch:
  // `while.5[3]/add.1`.
  std::string PathOf(const Instruction& instruction) const;
  // Returns the op_name of an instruction; empty if it has none. Names in a called computation may be
  // relative to that of the call, as compilers that inline it write them: `jit(f)/jit(g)/add` for `add` in
  // `jit(f)/jit(g)`.
  std::string OpNameOf(const Instruction& instruction) const;
  // Declares that a parameter has the value of an instruction of another computation of the source.
  void SetOriginal(const Instruction& parameter, const Instruction& original) {
    origins_[static_cast<size_t>(parameter.index())] = {&original, -1};
  }

 private:
  struct Frame {
    const Instruction* caller;
    int64_t parent;
    int64_t number = -1;  // Of the iteration or branch.
  };
  struct Origin {
    const Instruction* instruction;
    int64_t frame;
  };
  using Values = absl::flat_hash_map<const Instruction*, Instruction*>;

  using Readers = absl::flat_hash_map<LeafId, const Instruction*>;
  Instruction* AddParameter(const Instruction& parameter, const Shape& shape, int64_t first_leaf,
                            const Readers& readers);
  Instruction* Inline(const Computation& computation, Values values, int64_t frame);
  Instruction* Copy(const Instruction& instruction, const Values& values, int64_t frame);
  bool IsInExpansion(int64_t frame) const;
  Instruction* Expand(const Instruction& instruction, const std::vector<Instruction*>& operands,
                      int64_t number, int64_t frame);
  Instruction* Enter(const Instruction& caller, const Computation& callee,
                     const std::vector<Instruction*>& operands, int64_t frame, int64_t number = -1);
  int64_t FlatSize(const Computation& computation);
  bool IsInlined(const Instruction& instruction);
  Instruction* Add(const Instruction& instruction, const std::vector<Instruction*>& operands, int64_t frame);
  std::string_view UniqueName(std::string_view wanted);
  Instruction* WithElements(Instruction* value);
  Instruction* ElementOf(Instruction* tuple, int64_t i);
  Instruction* AddFor(const Instruction& origin, Opcode opcode, const Shape& shape,
                      const std::vector<Instruction*>& operands, const std::vector<AttrEntry>& attributes);
  void AddResults(const Instruction* root);
  void DropUnused(const Instruction* root);

  std::shared_ptr<const Module> source_;
  const Computation* computation_;  // The flattened computation of the source.
  std::unique_ptr<Module> module_;
  Computation* entry_;
  Inlining inlining_;
  Parameters parameters_;
  Expansions expansions_;
  std::vector<Frame> frames_;
  std::vector<Origin> origins_;  // Indexed by instruction.
  std::vector<const Instruction*> results_;
  absl::flat_hash_set<std::string_view> names_;
  absl::flat_hash_map<const Computation*, int64_t> sizes_;
};

// A module that computes some values of a flat module.
struct Cone {
  CheckedModule module;
  std::vector<const Instruction*> parameters;  // Parameter i is the value of this instruction.
};
// The result of a cone: a tuple of the roots, or the only root itself.
enum class ConeResult : uint8_t { kTuple, kRoot };
// Makes the module that computes `roots`. Instructions in `edges` and the entry's parameters become
// parameters. A root that is also an edge is computed, but its users read the parameter.
absl::StatusOr<Cone> MakeCone(const FlatModule& flat, absl::Span<const Instruction* const> roots,
                              const absl::flat_hash_set<const Instruction*>& edges = {},
                              ConeResult result = ConeResult::kTuple);

}  // namespace hlo::debug
