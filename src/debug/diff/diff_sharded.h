#pragma once
// Compares a module with the module of its partitions, which a compiler made from it.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "debug/diff/diff.h"
#include "hlo_run/execute.h"
#include "nlohmann/json_fwd.hpp"
#include "spmd/entry_shards.h"

namespace hlo::debug {

struct ShardedDiff {
  struct Result {
    int64_t leaf = 0;
    CompareReport report;
  };
  std::vector<Result> results;             // The arrays of the joined result that differ.
  std::vector<std::string> disagreements;  // Copies of the result that differ between partitions.
  // The first aligned value that differs on a partition.
  struct Value {
    const Instruction *a = nullptr, *b = nullptr;
    std::string aligned_by;
    bool is_tile = false;  // It is compared with its tile; otherwise all partitions hold copies.
    int64_t partition = 0;
    CompareReport report;
  };
  std::optional<Value> first;
  // The aligned values that were compared, those that differ, and those of which it is not known how they are
  // split.
  int64_t compared = 0, differing = 0, unknown = 0;
};

// `a` runs with the whole arguments, on several devices if it has manual regions; `b` runs with those of each
// partition, whose results `shards` joins. Values are aligned by name or by op_name. Their tiles are known
// from the sharding of an instruction; values of the same shape are compared if all partitions hold the same
// one, or if they are in a manual region.
absl::StatusOr<ShardedDiff> DiffSharded(const CheckedModule& a, const CheckedModule& b,
                                        const std::vector<std::vector<Literal>>& arguments_a,
                                        const std::vector<std::vector<Literal>>& arguments_b,
                                        const spmd::EntryShards& shards, const DevicesOptions& devices,
                                        const DiffOptions& options);

std::string ToText(const ShardedDiff& diff, const Module& module);
nlohmann::ordered_json ToJson(const ShardedDiff& diff);

}  // namespace hlo::debug
