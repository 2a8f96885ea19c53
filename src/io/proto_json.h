#pragma once
// JSON of serialised modules with the names of XLA's messages. Texts are strings, and frontend attributes are
// an object.

#include <string>

#include "absl/status/statusor.h"
#include "io/proto/hlo.pb.h"

namespace hlo::io {

// Return InvalidArgument if a name or other text is not UTF-8.
absl::StatusOr<std::string> MessageToJson(const proto::HloModuleProto& message);
absl::StatusOr<proto::HloModuleProto> MessageFromJson(const std::string& json);

}  // namespace hlo::io
