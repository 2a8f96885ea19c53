#include "base/isa.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_join.h"
#include "base/isa_select.h"
#include "fmt/format.h"

namespace hlo {

absl::Status IsaStatus() {
  const char* wanted = std::getenv("HLO_RUN_ISA");
  if (wanted == nullptr || *wanted == '\0' || wanted == IsaName()) return absl::OkStatus();
  const std::vector<std::string> names = IsaNames();
  if (std::find(names.begin(), names.end(), wanted) != names.end()) {
    return absl::InvalidArgumentError(fmt::format(
        "HLO_RUN_ISA={} was set after the program had chosen {}: set it before the program starts", wanted,
        IsaName()));
  }
  for (const isa::Level* level = isa::Levels(); level != nullptr && level->name != nullptr; ++level) {
    if (std::string_view(level->name) == wanted) {
      return absl::InvalidArgumentError(fmt::format("HLO_RUN_ISA={}: this processor lacks it and has {}",
                                                    wanted, absl::StrJoin(names, ", ")));
    }
  }
  return absl::InvalidArgumentError(
      names.size() == 1
          ? fmt::format("HLO_RUN_ISA={}: this program has one instruction set, {}", wanted, IsaName())
          : fmt::format("HLO_RUN_ISA={}: this program has {}", wanted, absl::StrJoin(names, ", ")));
}

std::string_view IsaName() { return isa::Name(); }

std::vector<std::string> IsaNames() {
  std::vector<std::string> names;
  for (const isa::Level* level = isa::Levels(); level != nullptr && level->name != nullptr; ++level) {
    if (isa::IsSupported(*level)) names.push_back(level->name);
  }
  if (names.empty()) names.emplace_back(IsaName());
  return names;
}

absl::Status ChooseIsa(std::string_view name) {
  if (name == IsaName()) return absl::OkStatus();
  for (const isa::Level* level = isa::Levels(); level != nullptr && level->name != nullptr; ++level) {
    if (level->name != name || !isa::IsSupported(*level)) continue;
    isa::Choose(*level);
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      fmt::format("{} is not one of the instruction sets {}", name, absl::StrJoin(IsaNames(), ", ")));
}

}  // namespace hlo
