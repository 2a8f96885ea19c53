#pragma once
// Runs cases of several devices: the arguments of each, the results of all, and the arrays of archives that
// hold their expected values.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "conform/inline_case.h"
#include "hlo_run/compare.h"
#include "hlo_run/conform.h"
#include "hlo_run/io.h"

namespace hlo::conform {

struct DeviceSetting {
  int64_t replicas = 1, partitions = 1;
  bool shard = false;             // Arguments and results are whole arrays.
  bool emulates_xla_cpu = false;  // See DevicesOptions.

  bool has_several() const { return replicas != 1 || partitions != 1; }
  DevicePlace PlaceOf(int64_t device) const;
};

// The results of all devices, or of all replicas if those of partitions were joined.
struct DeviceResults {
  std::vector<DevicePlace> places;
  std::vector<Literal> values;
  bool are_joined = false;
};

// Returns the arguments of a device, which must have these shapes.
using ArgumentsOfDevice = absl::FunctionRef<absl::StatusOr<std::vector<Literal>>(
    const DevicePlace& place, const std::vector<Shape>& shapes)>;

// Runs the module on all devices; its header has their counts. Copies of results that differ are failures in
// the outcome.
absl::StatusOr<DeviceResults> RunOnDevices(const CheckedModule& module, const DeviceSetting& setting,
                                           ArgumentsOfDevice arguments_of, const EvaluateDevicesFn& evaluate,
                                           Outcome* outcome);

// Calls `compare` for each result and adds the name of its device to the report.
absl::Status CompareDevices(const DeviceResults& results,
                            absl::FunctionRef<absl::Status(size_t index, Outcome* outcome)> compare,
                            Outcome* outcome);

// Returns the key of an array for a device in an archive, or "" if there is none. An array for fewer devices
// (r1p2/KEY, r1/KEY, p2/KEY) takes precedence over one for more (KEY). All keys start with `prefix`.
std::string KeyFor(const Archive& archive, const std::string& prefix, const DevicePlace& place,
                   const std::string& key);

// Compares results with the arrays of an archive. Each array under the prefix must be of a result.
absl::Status CompareStored(Archive& archive, const std::string& prefix, const DeviceResults& results,
                           absl::FunctionRef<CompareRule(const std::string& key)> rule_of, Outcome* outcome);

}  // namespace hlo::conform
