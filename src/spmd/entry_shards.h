#pragma once
// Splits the arguments of a program into those of its partitions, and joins the results of the partitions
// (spmd 5.1, 5.4).

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo_run/literal.h"
#include "hlo_run/module.h"
#include "spmd/sharding.h"

namespace hlo::spmd {

// True if the module's shapes are those of one partition: XLA has partitioned it. A module without shardings
// and collectives counts as not partitioned.
bool IsPartitioned(const Module& module);

struct JoinedResult {
  Literal value;
  std::vector<std::string> disagreements;  // Sentences that name the copies and elements that differ.
};

// The shardings of the arguments and the result of a module's entry. Every partition of a module that is not
// partitioned takes and gives whole arrays, unless the result is manual.
class EntryShards {
 public:
  // Takes the shardings from the parameters and the root. With `whole`, the module before it was partitioned,
  // takes its shapes and shardings instead. The result of a manual region has the sharding with which the
  // region ends. Returns FailedPrecondition if the shardings do not fit the shapes or the number of
  // partitions, or if `whole` is not the same program.
  static absl::StatusOr<EntryShards> Make(const Module& module, int64_t partitions,
                                          const Module* whole = nullptr);

  // Return the shapes of the whole arguments and of the whole result. Without `whole`, sizes that the
  // partitions do not divide are rounded up.
  const std::vector<Shape>& parameters() const { return parameters_; }
  const Shape& result() const { return result_; }

  // True if the results of partitions are parts of one value. Manual results are unrelated, and a partitioned
  // module without a sharding of its root does not say how they belong together.
  bool CanJoin() const;
  // Returns a sentence about the sharding that the root has not; "" if it has one.
  const std::string& unknown_result() const { return unknown_result_; }

  // Returns the groups of partitions that hold copies of a leaf of the result.
  std::vector<std::vector<int64_t>> CopiesOf(int64_t leaf) const;

  // Returns the arguments of a partition. They share memory with the whole ones where they are equal.
  absl::StatusOr<std::vector<Literal>> Split(absl::Span<const Literal> arguments, int64_t partition) const;
  // Returns the part of a whole result that a partition holds.
  absl::StatusOr<Literal> SplitResult(const Literal& result, int64_t partition) const;
  // Joins the results of all partitions of a replica to the whole value.
  absl::StatusOr<JoinedResult> Join(absl::Span<const Literal> results) const;

 private:
  std::vector<Shape> parameters_;
  Shape result_;
  std::vector<std::vector<TileMap>> parameter_maps_;  // By parameter and leaf.
  std::vector<TileMap> result_maps_;                  // By leaf.
  std::string unknown_result_;
};

}  // namespace hlo::spmd
