#pragma once
// Constant tables of kernels in device memory.

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "device/stream.h"

namespace hlo::device {

class Constants {
 public:
  explicit Constants(std::vector<std::byte> bytes);
  // Returns the device address of the constants. The first call for a device allocates memory and
  // synchronises, so it must not happen during graph capture.
  absl::StatusOr<const void*> On(Stream stream) const;

 private:
  struct State;
  std::shared_ptr<State> state_;  // Shared by copies.
};

}  // namespace hlo::device
