#pragma once
// Appends formatted text to a string without a temporary and without including fmt's templates everywhere.

#include <string>

#include "fmt/core.h"

namespace hlo {

void AppendFormatted(std::string* out, fmt::string_view format, fmt::format_args arguments);

template <class... Args>
void Append(std::string* out, fmt::format_string<Args...> format, Args&&... arguments) {
  AppendFormatted(out, format, fmt::make_format_args(arguments...));
}

}  // namespace hlo
