#include "base/isa.h"

#include <cstdlib>

#include "base/isa_select.h"
#include "fmt/format.h"

namespace hlo {

absl::Status IsaStatus() {
  const char* wanted = std::getenv("HLO_RUN_ISA");
  if (wanted == nullptr || *wanted == '\0' || wanted == IsaName()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("HLO_RUN_ISA={}: this program has one instruction set, {}", wanted, IsaName()));
}

std::string_view IsaName() { return isa::Name(); }

}  // namespace hlo
