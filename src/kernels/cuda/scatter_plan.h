#pragma once
// Where the updates of a scatter go.

#include <optional>

#include "absl/status/status.h"
#include "device/stream.h"
#include "hlo_run/module.h"
#include "kernels/cuda/scatter_body.h"

namespace hlo::cuda {

struct ScatterPositions {
  ScatterArgs args;       // Without pointers and the fold.
  bool once = false;      // No element has two updates.
  bool sortable = false;  // By numbers of 32 bits.
};
// Of any number of operands, which share them; nullopt: too many, or not sound.
std::optional<ScatterPositions> PlanPositions(const Instruction& scatter);

LaunchShape EachPosition(int64_t count);

// Fills in keys and order: positions by their targets, those of one target in their order.
absl::Status SortPositions(ScatterArgs& args, void* workspace, device::Stream stream);
int64_t SortedPositionsBytes(const ScatterArgs& args);

}  // namespace hlo::cuda
