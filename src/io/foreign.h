#pragma once
// Which kind of file is given in place of a module?

#include <optional>
#include <string>
#include <string_view>

namespace hlo::io {

// "an ELF file ...: advice" for contents that are certainly no HLO module; nullopt for all others.
std::optional<std::string> ForeignContent(std::string_view bytes);

}  // namespace hlo::io
