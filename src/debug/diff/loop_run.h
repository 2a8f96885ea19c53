#pragma once
// Runs a loop of a flat module one iteration at a time.

#include <vector>

#include "absl/status/statusor.h"
#include "debug/diff/diff.h"
#include "debug/extract/function.h"

namespace hlo::debug {

// Returns the arrays in a value, in the order of its leaves.
std::vector<Literal> LeavesIn(const Literal& value);

// A computation with one parameter, which a loop or conditional calls.
struct Callee {
  const FlatModule& caller;
  const Computation& computation;
  std::vector<LeafId> arguments;  // The values that the caller passes at first, by leaf.
};
// Returns the instructions that compute the leaves of a value.
std::vector<LeafId> SourcesOf(const Instruction& value);

class LoopRun {
 public:
  static absl::StatusOr<LoopRun> Make(const FlatModule& flat, const Instruction& loop, const Literal& state,
                                      const DiffOptions& options);

  absl::StatusOr<bool> Runs();
  // Computes the next state without advancing to it.
  absl::StatusOr<std::vector<Literal>> Next();
  std::vector<Literal> state;

  Callee ConditionOf() const;
  Callee BodyOf() const;

 private:
  LoopRun(const FlatModule& flat, const Instruction& loop, Function condition, Function body,
          std::vector<Literal> state, const DiffOptions& options);

  Literal State() const;
  const FlatModule& flat_;
  const Instruction& loop_;
  Function condition_, body_;
  const DiffOptions& options_;
};

}  // namespace hlo::debug
