#pragma once
// The devices that exchange values in a collective: its groups, or its pairs of source and target (spmd
// 2, 3.5).

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hlo_run/module.h"
#include "spmd/conversions.h"
#include "spmd/device_grid.h"

namespace hlo::spmd {

// The groups of a collective as ids of devices. The order within a group matters, that of the groups does
// not.
struct Groups {
  struct Place {
    int32_t group = -1, position = -1;
  };
  std::vector<std::vector<int64_t>> members;
  std::vector<Place> places;  // By device; -1 for a device in no group.
};

// Expands the groups of a collective by its mode. Errors: FailedPrecondition if they name a device twice,
// leave one out where that is not allowed, or name other devices than the grid has.
absl::StatusOr<Groups> ExpandGroups(const Instruction& collective, const DeviceGrid& grid);

// The transfers of a collective-permute, send or recv, by device.
struct Routes {
  std::vector<int64_t> sources;               // -1 for a device that receives nothing.
  std::vector<std::vector<int64_t>> targets;  // In the order of the pairs.
};

absl::StatusOr<Routes> ExpandPairs(const Instruction& instruction, const DeviceGrid& grid);

// Returns the pairs in the frontend attributes of a send, recv or their dones; FailedPrecondition if they are
// missing or no list of pairs.
absl::StatusOr<std::vector<std::pair<int64_t, int64_t>>> TransferPairs(const Instruction& transfer);
// Returns their text; "" without any.
std::string_view TransferPairsText(const Instruction& transfer);

// The groups and routes of the instructions of a run, which all devices share.
class ExchangeTable {
 public:
  explicit ExchangeTable(DeviceGrid grid) : grid_(grid) {}

  // Adds an instruction that depends on devices; errors are those of ExpandGroups and ExpandPairs.
  absl::Status Add(const Instruction& instruction);

  const DeviceGrid& grid() const { return grid_; }
  // Return nullptr if the instruction was not added.
  const Groups* groups(const Instruction& instruction) const;
  const Routes* routes(const Instruction& instruction) const;
  // Returns the conversions of the operands of a custom call at the boundary of a manual region.
  absl::Span<const ShapeConversion> conversions(const Instruction& instruction) const;
  // Numbers the receives from 1; 0 for other instructions.
  uint32_t NumberOf(const Instruction& receive) const;
  const Instruction* Receive(uint32_t number) const;

 private:
  DeviceGrid grid_;
  absl::flat_hash_map<const Instruction*, std::unique_ptr<Groups>> groups_;
  absl::flat_hash_map<const Instruction*, std::unique_ptr<Routes>> routes_;
  absl::flat_hash_map<const Instruction*, std::vector<ShapeConversion>> conversions_;
  absl::flat_hash_map<const Instruction*, uint32_t> numbers_;
  std::vector<const Instruction*> receives_;
};

}  // namespace hlo::spmd
