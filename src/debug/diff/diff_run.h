#pragma once
// The search for the first difference in one pair of computations; diff_loops.cc descends into their loops.

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "debug/diff/diff.h"

namespace hlo::debug {

using NodeValues = absl::flat_hash_map<const Instruction*, Literal>;

// Computes the roots from the values of the parameters and of `edges`, including roots that are edges.
absl::StatusOr<std::vector<Literal>> RunCone(const FlatModule& flat,
                                             absl::Span<const Instruction* const> roots,
                                             const absl::flat_hash_set<const Instruction*>& edges,
                                             const NodeValues& known, const DiffOptions& options);
// Returns the roots' values, computed from the known ones.
absl::StatusOr<std::vector<Literal>> ComputeValues(const FlatModule& flat,
                                                   absl::Span<const Instruction* const> roots,
                                                   const NodeValues& known, const DiffOptions& options);
// Returns the values of the parameters.
NodeValues ParameterValues(const FlatModule& flat, const std::vector<Literal>& arguments);

// Describes a value of both modules.
ComparedValue Describe(const FlatModule& flat_a, const FlatModule& flat_b, const AlignedPair& pair,
                       const Literal& a, const Literal& b, const DiffOptions& options);

class DiffRun {
 public:
  // Compares computations whose parameters and results correspond by position.
  DiffRun(FlatModule a, FlatModule b, const DiffOptions& options)
      : flat_a_(std::move(a)), flat_b_(std::move(b)), options_(options) {}
  // Compares the results of an interface.
  DiffRun(FlatModule a, FlatModule b, Interface interface, const DiffOptions& options)
      : flat_a_(std::move(a)), flat_b_(std::move(b)), options_(options), interface_(std::move(interface)) {}

  // `result` has what is known so far, also after a failure.
  absl::Status Run(const std::vector<Literal>& a_arguments, const std::vector<Literal>& b_arguments,
                   DiffResult& result);

 private:
  struct Cut {
    std::vector<AlignedPair> edges;
    bool is_comparable = true;  // False if both sides are computed from different values.
  };

  struct PairValues {
    std::vector<Literal> a, b;
  };

  absl::Status CheckInterfaces() const;
  void Align();
  absl::Status ExpandControlFlow(const std::vector<Literal>& a_arguments,
                                 const std::vector<Literal>& b_arguments);
  absl::StatusOr<PairValues> ComputePairs(absl::Span<const AlignedPair> pairs) const;
  std::vector<AlignedPair> ResultPairs() const;
  absl::Status CompareAll(DiffResult& result);
  absl::Status CompareChunk(absl::Span<const AlignedPair> pairs);
  absl::Status CompareResults(DiffResult& result);
  absl::Status Search(DiffResult& result);
  // The values through which a differing result depends on a candidate.
  enum class Path : uint8_t { kDiffering, kAny };
  absl::Status SearchAlong(Path path, DiffResult& result, std::optional<AlignedPair>& drift);
  std::optional<AlignedPair> FirstCandidate(Path path) const;
  std::vector<AlignedPair> RemovedBelow(const Cut& cut, const AlignedPair& pair) const;
  absl::StatusOr<bool> IsMisaligned(const AlignedPair& pair) const;
  absl::Status FindWrongOperand(const AlignedPair& pair, const Cut& cut, Divergence& divergence);
  bool Differs(const AlignedPair& pair) const { return differing_.contains(pair.b); }
  Cut CutAbove(const AlignedPair& pair) const;
  std::vector<AlignedPair> DifferingEdges(const Cut& cut) const;
  std::vector<const Instruction*> EdgesAbove(const Instruction* root, bool is_a) const;
  std::string UnsearchedLoop(const AlignedPair& pair) const;
  absl::StatusOr<Divergence> Report(const AlignedPair& pair, const Cut& cut);
  absl::StatusOr<bool> IsRounding(const AlignedPair& pair, const Cut& cut, const NodeValues& known_a);
  bool CanRunShadow(const Computation& cone);
  absl::Status FindLocalDifferences();
  absl::Status CompareLocally(absl::Span<const AlignedPair> pairs);
  LoopStates FirstStatesOf(const Instruction& loop, bool is_a) const;
  absl::Status Descend(const AlignedPair& pair, const NodeValues& known_a, Divergence& divergence);

  FlatModule flat_a_, flat_b_;
  const DiffOptions& options_;
  std::optional<Interface> interface_;  // nullopt if it is positional.
  std::optional<Alignment> alignment_;  // Exists while the modules are compared.
  NodeValues arguments_a_, arguments_b_;
  absl::flat_hash_set<const Instruction*> differing_;  // Instructions of `b` whose values differ.
  absl::flat_hash_set<const Instruction*> local_;      // Those that differ if their operands are equal, too.
  std::vector<size_t> differing_numbers_;              // Of the results that differ.
  std::vector<AlignedPair> differing_results_;
  absl::flat_hash_set<LeafId> agreeing_;  // See DivergingCall.
  int64_t proof_work_ = 0;                // FLOPs and bytes of shadow runs, if a proof is needed.
  std::vector<AlignedPair> removed_;      // Pairs that the search removed from the alignment.
};

constexpr std::string_view kDiffersLocally = "with equal operands, both compute different values";

// A loop or conditional in both modules, with operands that both compute from the same values.
struct DivergingCall {
  const FlatModule& flat_a;
  const FlatModule& flat_b;
  const Alignment& alignment;
  const AlignedPair& pair;
  const Instruction &a, &b;  // The pair, or the loops or conditionals of which it is an element.
  std::vector<Literal> operands_a, operands_b;
  // The leaves of loops of `a` of which each iteration is known to agree.
  absl::flat_hash_set<LeafId>& agreeing;
};
// Descends into a loop or conditional that computes different results. Replaces `divergence` by the first
// difference within it, if one is found; otherwise a note says why not.
absl::Status DescendInto(const DivergingCall& call, const DiffOptions& options, Divergence& divergence);

// Returns the loops and conditionals of `a` or of `b` that the other module lacks, with what each does on
// these values, as long as inlining them adds few instructions.
absl::StatusOr<Expansions> FindExpansions(const Alignment& alignment, bool is_a, const NodeValues& known,
                                          const DiffOptions& options);

// Returns the states before the first iterations of a loop, by leaf.
absl::StatusOr<LoopStates> RunFirstIterations(const FlatModule& flat, const Instruction& loop,
                                              const Literal& state, const DiffOptions& options);

}  // namespace hlo::debug
