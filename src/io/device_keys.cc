#include "io/device_keys.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "base/counted.h"
#include "fmt/format.h"

namespace hlo::io {
namespace {

// Removes `r12` from the front of the text and returns its number.
std::optional<int64_t> TakeNumber(char letter, std::string_view& text) {
  if (text.empty() || text[0] != letter) return std::nullopt;
  size_t end = 1;
  while (end < text.size() && absl::ascii_isdigit(static_cast<unsigned char>(text[end]))) ++end;
  int64_t number = 0;
  if (!absl::SimpleAtoi(absl::string_view(text.data() + 1, end - 1), &number)) return std::nullopt;
  text.remove_prefix(end);
  return number;
}

}  // namespace

DeviceKey ParseDeviceKey(std::string_view key) {
  DeviceKey parsed;
  std::string_view rest = key;
  parsed.replica = TakeNumber('r', rest);
  parsed.partition = TakeNumber('p', rest);
  if (parsed.rank() == 0 || rest.empty() || rest[0] != '/') return {.name = key};
  parsed.name = rest.substr(1);
  return parsed;
}

absl::Status CheckDeviceKey(const DeviceKey& key, const DevicePlace& device) {
  if (key.replica.value_or(0) < device.replicas && key.partition.value_or(0) < device.partitions)
    return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("names {} {}, but the run has {} and {}",
                  key.replica.value_or(0) < device.replicas ? "partition" : "replica",
                  key.replica.value_or(0) < device.replicas ? *key.partition : *key.replica,
                  Counted(device.replicas, "replica"), Counted(device.partitions, "partition")));
}

}  // namespace hlo::io

namespace hlo {

std::string DevicePlace::prefix() const {
  if (replicas == 1 && partitions == 1) return "";
  std::string text = replicas > 1 ? fmt::format("r{}", replica) : "";
  if (partitions > 1) text += fmt::format("p{}", partition);
  return text + "/";
}

}  // namespace hlo
