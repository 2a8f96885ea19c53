#pragma once

#include <string_view>

namespace hlo {

// The rule of diagnostics which say that a limit of memory was hit, not that the text is wrong.
inline constexpr std::string_view kMemoryLimitRule = "memory limit";

}  // namespace hlo
