#pragma once
// Recognises the form of a module by the first bytes of its text.

#include <string_view>

namespace hlo::io {

// True if a module follows white space and comments: HloModule, ENTRY or the first line of a computation.
bool LooksLikeHloText(std::string_view head);
// True if the text starts as the protobuf text of a dump: `hlo_module { name: ...`. A computation of that
// name would continue with `x = ...`.
bool IsProtoText(std::string_view head);
// True if the text contains more than white space and comments.
bool HasCode(std::string_view text);

}  // namespace hlo::io
