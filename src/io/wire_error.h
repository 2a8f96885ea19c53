#pragma once
// Where does a serialised message break?

#include <optional>
#include <string>
#include <string_view>

#include "google/protobuf/descriptor.h"

namespace hlo::io {

struct WireError {
  size_t offset = 0;
  std::string field;  // The path of the fields around it: `hlo_module.computations`; empty outside of all.
};
// The first place at which the bytes are no message of this type, or nullopt.
std::optional<WireError> FindWireError(const google::protobuf::Descriptor& type, std::string_view bytes);

}  // namespace hlo::io
