#pragma once
// Compiles the regular expressions of flags.

#include <regex>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace hlo {

// Returns the compiled ECMAScript expression; "" matches every text. Returns InvalidArgument, with the name
// of the flag, if the expression is invalid.
absl::StatusOr<std::regex> ParsePattern(std::string_view flag, const std::string& text);

}  // namespace hlo
