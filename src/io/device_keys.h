#pragma once
// Keys of values that belong to some devices of a run: `r1/x` is x of replica 1, `p2/x` that of partition 2
// of each replica, and `r1p2/x` that of one device.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "hlo_run/io.h"

namespace hlo::io {

struct DeviceKey {
  std::optional<int64_t> replica, partition;
  std::string_view name;  // The rest of the key; may be empty.

  bool Includes(const DevicePlace& device) const {
    return replica.value_or(device.replica) == device.replica &&
           partition.value_or(device.partition) == device.partition;
  }
  // A value for fewer devices replaces one for more.
  int rank() const { return (replica.has_value() ? 1 : 0) + (partition.has_value() ? 1 : 0); }
};

// Splits a key; one without a prefix belongs to all devices.
DeviceKey ParseDeviceKey(std::string_view key);

// Returns FailedPrecondition if the run has no such device.
absl::Status CheckDeviceKey(const DeviceKey& key, const DevicePlace& device);

}  // namespace hlo::io
