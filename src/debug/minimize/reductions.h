#pragma once
// The reductions of the minimiser. Each proposes smaller candidates, which the judge accepts or rejects.

#include <functional>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "debug/extract/test_case.h"

namespace hlo::debug {

// Makes a candidate, or returns an error if there is none. It is called at most once, on any thread.
using Proposal = std::function<absl::StatusOr<SharedCase>()>;

struct Reduction {
  std::string_view name;
  // Returns the proposals for a case, the largest steps first.
  std::vector<Proposal> (*proposals)(const SharedCase& test);
  // True if the remaining instructions keep their values.
  bool keeps_values;
  // True if an accepted candidate may be larger, because it makes others possible.
  bool may_grow = false;
};
absl::Span<const Reduction> Reductions();

// Returns the ranges of `count` items in which a search by halves tries to drop them: halves, quarters, and
// so on.
std::vector<std::pair<int64_t, int64_t>> Chunks(int64_t count);

// reduce_dead.cc
std::vector<Proposal> ProposeWithoutDeadCode(const SharedCase& test);
std::vector<Proposal> ProposeDeadResults(const SharedCase& test);
std::vector<Proposal> ProposeRootsBesideDeadCode(const SharedCase& test);
// reduce_graph.cc
std::vector<Proposal> ProposeOutputs(const SharedCase& test);
std::vector<Proposal> ProposeRoots(const SharedCase& test);
std::vector<Proposal> ProposeFrontiers(const SharedCase& test);
std::vector<Proposal> ProposeEdges(const SharedCase& test);
std::vector<Proposal> ProposeBypasses(const SharedCase& test);
// reduce_control.cc
std::vector<Proposal> ProposeInlining(const SharedCase& test);
std::vector<Proposal> ProposeIterations(const SharedCase& test);
std::vector<Proposal> ProposeBranches(const SharedCase& test);
// reduce_data.cc
std::vector<Proposal> ProposeWithoutAnnotations(const SharedCase& test);
std::vector<Proposal> ProposeInputs(const SharedCase& test);
std::vector<Proposal> ProposeOneDevice(const SharedCase& test);
// reduce_shapes.cc
std::vector<Proposal> ProposeSmallerShapes(const SharedCase& test);

// The graph of a case without inlining, and the values of its parameters.
struct CaseGraph {
  explicit CaseGraph(const TestCase& test);
  // Computes the values of instructions.
  absl::StatusOr<std::vector<Literal>> Compute(absl::Span<const Instruction* const> instructions) const;
  FlatModule flat;
  absl::flat_hash_map<const Instruction*, Literal> inputs;
};

}  // namespace hlo::debug
