#pragma once
// Locates errors in serialised messages.

#include <optional>
#include <string>
#include <string_view>

#include "google/protobuf/descriptor.h"

namespace hlo::io {

struct WireError {
  size_t offset = 0;
  // The path of the enclosing fields, such as `hlo_module.computations`; empty at the top level.
  std::string field;
};
// Returns the first position at which the bytes are not a message of this type; nullopt if there is none.
std::optional<WireError> FindWireError(const google::protobuf::Descriptor& type, std::string_view bytes);

}  // namespace hlo::io
