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
// The same for nouns with another plural.
inline std::string Counted(int64_t count, std::string_view noun, std::string_view plural) {
  return fmt::format("{} {}", count, count == 1 ? noun : plural);
}

// Returns "2 of 3 elements differ" or "1 of 1 element differs".
inline std::string CountedDifferences(int64_t count, int64_t total) {
  return fmt::format("{} of {} {}", count, Counted(total, "element"), total == 1 ? "differs" : "differ");
}

}  // namespace hlo
