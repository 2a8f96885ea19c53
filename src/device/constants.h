#pragma once
// Tables that a kernel reads in every run.

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "device/stream.h"

namespace hlo::device {

class Constants {
 public:
  explicit Constants(std::vector<std::byte> bytes);
  // Where kernels of the stream read them. The first call for a device takes memory there and waits until
  // they have arrived; not while a graph is recorded.
  absl::StatusOr<const void*> On(Stream stream) const;

 private:
  struct State;
  std::shared_ptr<State> state_;  // Copies share it.
};

}  // namespace hlo::device
