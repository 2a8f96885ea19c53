#pragma once
// Values of the devices of a run in archives, under keys such as `r1p2/0`.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo_run/io.h"
#include "hlo_run/literal.h"
#include "hlo_run/module.h"

namespace hlo::debug {

// Returns the devices in the header of a module.
std::vector<DevicePlace> PlacesOf(const Module& module);
// Returns the prefixes of their keys, such as `r1/`; "" for the only device.
std::vector<std::string> PrefixesOf(const Module& module);

// Reads a value of a device. Arrays for fewer devices take precedence: r1p2/KEY, r1/KEY, p2/KEY, KEY.
absl::StatusOr<Literal> ReadOfDevice(Archive& archive, const DevicePlace& place, const Shape& shape,
                                     const ReadOptions& options = {});

}  // namespace hlo::debug
