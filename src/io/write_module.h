#pragma once
// Serialises modules as HloModuleProto: bytes, protobuf text or JSON.

#include <string>

#include "absl/status/statusor.h"
#include "hlo_run/module.h"

namespace hlo::io {

enum class MessageForm { kBinary, kText, kJson };

// Returns ResourceExhausted for messages larger than 2 GiB, and InvalidArgument for JSON if a name is not
// UTF-8.
absl::StatusOr<std::string> Serialize(const Module& module, MessageForm form);

}  // namespace hlo::io
