#pragma once
// Custom calls that begin and end manual regions: they split an array into the values of the devices, and
// join the values of the devices (spmd 5.5).

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/arena.h"
#include "hlo_run/literal.h"
#include "hlo_run/module.h"
#include "spmd/sharding.h"

namespace hlo::spmd {

// True for custom calls of SPMDFullToShardShape, SPMDShardToFullShape, xla.sdy.GlobalToLocalShape and
// xla.sdy.LocalToGlobalShape.
bool IsShapeConversion(const Instruction& instruction);

// True for those of them that join the values of the devices.
bool EndsManualRegion(const Instruction& instruction);

// Returns the shardings of the joined values at the end of a manual region, by leaf of its result.
absl::StatusOr<std::vector<const Sharding*>> ResultShardings(const Instruction& call, Arena& arena);

// Returns the number of partitions that the shardings at a conversion cover; 1 if it is unknown.
int64_t PartitionsOf(const Instruction& call);

// The conversion of an operand. A device keeps its tile of the operand under `from`; the result consists of
// such tiles under `to`.
struct ShapeConversion {
  TileMap from, to;
  Shape result;

  // True if the result of a device consists of its own tile.
  bool IsLocal() const { return to.IsWhole(); }
};

// Returns the conversions of a call's operands. Returns FailedPrecondition if its shardings or axes are
// missing or do not fit the shapes and the number of partitions.
absl::StatusOr<std::vector<ShapeConversion>> ConversionsOf(const Instruction& call, int64_t partitions);

}  // namespace hlo::spmd
