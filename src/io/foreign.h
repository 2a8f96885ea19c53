#pragma once
// Recognises files of other formats.

#include <optional>
#include <string>
#include <string_view>

namespace hlo::io {

// Returns "an ELF file ...: advice" for contents that are certainly not an HLO module; nullopt for all
// others.
std::optional<std::string> ForeignContent(std::string_view bytes);

}  // namespace hlo::io
