#pragma once
// Modules as HloModuleProto: the bytes of the message, protobuf text, or its JSON.

#include <string>

#include "absl/status/statusor.h"
#include "hlo_run/module.h"

namespace hlo::io {

enum class MessageForm { kBinary, kText, kJson };

// ResourceExhausted for messages of more than 2 GiB; InvalidArgument for JSON of names that are no UTF-8.
absl::StatusOr<std::string> Serialize(const Module& module, MessageForm form);

}  // namespace hlo::io
