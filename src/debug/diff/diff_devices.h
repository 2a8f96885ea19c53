#pragma once
// Compares two modules that run on several devices: the results of each device, and the first value in which
// one of them differs.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "debug/diff/diff.h"
#include "hlo_run/execute.h"
#include "nlohmann/json_fwd.hpp"

namespace hlo::debug {

struct DevicesDiff {
  // An array of a device's result.
  struct Result {
    int64_t device = 0, leaf = 0;
    CompareReport report;
  };
  std::vector<Result> results;  // Those that differ.
  // The first value of the device of results[0] in which the modules differ: instructions of both, which are
  // aligned. Values that a run computes several times are not compared.
  struct Value {
    const Instruction *a = nullptr, *b = nullptr;
    std::string aligned_by;
    CompareReport report;
  };
  std::optional<Value> first;
  int64_t compared = 0, differing = 0;  // The aligned values of that device.
  bool is_complete = true;              // False if the search for the first value was cancelled.
};

// Runs both modules on the same arguments of all devices. `a` holds the expected values. If `options` cancels
// the search for the first value, the results are returned.
absl::StatusOr<DevicesDiff> DiffDevices(const CheckedModule& a, const CheckedModule& b,
                                        const std::vector<std::vector<Literal>>& arguments,
                                        const DevicesOptions& devices, const DiffOptions& options);

// `names` are those of the devices.
std::string ToText(const DevicesDiff& diff, const std::vector<std::string>& names, const Module& module);
nlohmann::ordered_json ToJson(const DevicesDiff& diff, const std::vector<std::string>& names);

}  // namespace hlo::debug
