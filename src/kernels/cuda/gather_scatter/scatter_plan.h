#pragma once
// Plans how a scatter maps updates to operand elements.

#include <optional>

#include "absl/status/status.h"
#include "device/stream.h"
#include "hlo_run/module.h"
#include "kernels/cuda/gather_scatter/scatter_body.h"

namespace hlo::cuda {

struct ScatterPositions {
  ScatterArgs args;                 // Pointers and combiner are unset.
  bool has_unique_targets = false;  // No element has two updates.
  bool sortable = false;            // Offsets fit into 32-bit keys.
};
// Returns the positions, which all operands share; nullopt if there are too many or the shapes are
// inconsistent.
std::optional<ScatterPositions> PlanPositions(const Instruction& scatter);

LaunchShape EachPosition(int64_t count);

// Sets keys and order: positions sorted stably by target.
absl::Status SortPositions(ScatterArgs& args, void* workspace, device::Stream stream);
int64_t SortedPositionsBytes(const ScatterArgs& args);

}  // namespace hlo::cuda
