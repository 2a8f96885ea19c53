#pragma once
// Sorts of two arrays by a comparator.

#include <string>

#include "fmt/format.h"

namespace hlo::test {

// Sizes, and the dimension along which the arrays are sorted.
inline constexpr const char* kShortLines[][2] = {{"1", "0"},     {"37", "0"},     {"70,3", "0"},
                                                 {"5,2,6", "1"}, {"3,70,2", "1"}, {"5,0", "1"}};
inline constexpr const char* kLongLines[][2] = {{"3,700", "1"}, {"255", "0"},  {"256", "0"},
                                                {"257", "0"},   {"2048", "0"}, {"9001", "0"}};

// `before` is the end of the comparator, which compares (a, i) of types (`type`, `second`) with (b, j).
inline std::string Sort(const char* dims, const char* dimension, const char* type, const char* second,
                        const std::string& before) {
  return fmt::format(
      "c {{ a = {0}[] parameter(0)\n b = {0}[] parameter(1)\n i = {1}[] parameter(2)\n"
      " j = {1}[] parameter(3)\n {2} }}\n"
      "ENTRY e {{ x = {0}[{3}] parameter(0)\n y = {1}[{3}] parameter(1)\n"
      " ROOT r = ({0}[{3}], {1}[{3}]) sort(x, y), dimensions={{{4}}}, is_stable=true, to_apply=c }}",
      type, second, before, dims, dimension);
}

}  // namespace hlo::test
