#pragma once

#include <string_view>

namespace hlo {

// The rule of diagnostics that report an exceeded memory limit instead of an error in the text.
inline constexpr std::string_view kMemoryLimitRule = "memory limit";

}  // namespace hlo
