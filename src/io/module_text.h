#pragma once
// What a module is written in, by the first bytes of its text.

#include <string_view>

namespace hlo::io {

// Whether blanks and comments are followed by a module: HloModule, ENTRY or the first line of a computation.
bool LooksLikeHloText(std::string_view head);
// Whether the text begins as the protobuf text of a dump does: `hlo_module { name: ...`. A computation of
// that name would go on with `x = ...`.
bool IsProtoText(std::string_view head);
// Whether there is anything but blanks and comments.
bool HasCode(std::string_view text);

}  // namespace hlo::io
