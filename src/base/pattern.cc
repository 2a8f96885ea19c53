#include "base/pattern.h"

#include "fmt/format.h"

namespace hlo {

absl::StatusOr<std::regex> ParsePattern(std::string_view flag, const std::string& text) {
  try {
    return std::regex(text, std::regex::ECMAScript | std::regex::optimize);
  } catch (const std::regex_error&) {
    return absl::InvalidArgumentError(fmt::format("--{}: '{}' is not a regular expression", flag, text));
  }
}

}  // namespace hlo
