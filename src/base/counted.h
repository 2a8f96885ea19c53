#pragma once
// Numbers of things in messages.

#include <cstdint>
#include <string>
#include <string_view>

#include "fmt/format.h"

namespace hlo {

// Returns "1 case" or "2 cases".
inline std::string Counted(int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace hlo
