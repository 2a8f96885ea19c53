#pragma once
// Prints differences of modules as text and JSON.

#include <string>
#include <string_view>

#include "debug/diff/diff.h"
#include "nlohmann/json.hpp"

namespace hlo::debug {

// The names of the two sides in texts.
struct SideNames {
  std::string a, b;
};
std::string ToText(const DiffResult& result, const SideNames& names);
std::string ToText(const RecordedDiffResult& result, const SideNames& names);
std::string ToText(const StructuralDiff& diff, const SideNames& names, int64_t max_lines);
nlohmann::ordered_json ToJson(const DiffResult& result);
nlohmann::ordered_json ToJson(const RecordedDiffResult& result);
nlohmann::ordered_json ToJson(const StructuralDiff& diff);

}  // namespace hlo::debug
