#pragma once
// Estimates the bytes that the collectives of a module move between devices, and the time that this takes.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo_run/module.h"
#include "spmd/device_grid.h"

namespace hlo::spmd {

// The algorithm by which groups exchange values.
enum class CollectiveAlgorithm : uint8_t {
  // The algorithms of libraries for large arrays: rings for reductions and gathers, direct exchange for
  // all-to-all, binomial trees for collectives with a root.
  kRing,
  // The algorithm of hlo-run between processes: all members send to one member, which sends each of them its
  // result.
  kCentral,
};

// A message of b bytes takes latency + b / bandwidth seconds; a device sends one at a time.
struct NetworkModel {
  double latency = 1e-6;    // Seconds.
  double bandwidth = 1e11;  // Bytes per second.
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kRing;
};

// A collective, send or conversion of a manual region.
struct CollectiveCost {
  const Instruction* instruction = nullptr;
  std::string groups;      // `2 x 4: {0,1,2,3},{4,5,6,7}`, or pairs of source and target.
  int64_t executions = 1;  // Per device, with the loops around it if their trip counts are known.
  // Sums over all devices for one execution, and the time of the slowest group.
  int64_t messages = 0, bytes = 0;
  double seconds = 0;
};

// Returns the costs of all collectives that the entry reaches. Returns FailedPrecondition if their groups do
// not fit the devices.
absl::StatusOr<std::vector<CollectiveCost>> CollectiveCosts(const Module& module, const DeviceGrid& grid,
                                                            const NetworkModel& network);

}  // namespace hlo::spmd
