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
  DiffRun(std::shared_ptr<const Module> a, const Computation& a_computation, std::shared_ptr<const Module> b,
          const Computation& b_computation, const DiffOptions& options)
      : flat_a_(std::move(a), a_computation),
        flat_b_(std::move(b), b_computation),
        alignment_(flat_a_, flat_b_),
        options_(options) {}

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
  absl::Status FindWrongOperand(const AlignedPair& pair, const Cut& cut, Divergence& divergence);
  bool Differs(const Instruction* a) const { return differing_.contains(a); }
  Cut CutAbove(const AlignedPair& pair) const;
  std::vector<const Instruction*> EdgesAbove(const Instruction* root, bool is_a) const;
  absl::StatusOr<Divergence> Report(const AlignedPair& pair, const Cut& cut);
  absl::StatusOr<bool> IsRounding(const AlignedPair& pair, const Cut& cut, const NodeValues& known_a);
  absl::Status FindLocalDifferences();
  absl::Status CompareLocally(absl::Span<const AlignedPair> pairs);
  absl::Status Descend(const AlignedPair& pair, const NodeValues& known_a, Divergence& divergence);

  FlatModule flat_a_, flat_b_;
  Alignment alignment_;
  const DiffOptions& options_;
  NodeValues arguments_a_, arguments_b_;
  absl::flat_hash_set<const Instruction*> differing_;  // Instructions of `a` whose values differ.
  absl::flat_hash_set<const Instruction*> local_;      // Those that differ if their operands are equal, too.
  std::vector<AlignedPair> differing_results_;
  std::vector<AlignedPair> removed_;  // Pairs that the search removed from the alignment.
};

// Descends into a loop or conditional that computes different results from `operand`. Replaces `divergence`
// by the first difference within it, if one is found.
absl::Status DescendInto(const FlatModule& flat_a, const FlatModule& flat_b, const AlignedPair& pair,
                         absl::Span<const Literal> operands, const DiffOptions& options,
                         Divergence& divergence);

}  // namespace hlo::debug
