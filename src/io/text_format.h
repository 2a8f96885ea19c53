#pragma once
// Reads protobuf text without logs on standard error.

#include <string>

#include "google/protobuf/message.h"

namespace hlo::io {

// Unknown fields are ignored. Returns false, and `error` as "LINE:COLUMN: reason", for the first error.
bool ParseTextFormat(const std::string& text, google::protobuf::Message* message, std::string* error);

}  // namespace hlo::io
