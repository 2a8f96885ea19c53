#include "base/append.h"

#include <iterator>

#include "fmt/format.h"

namespace hlo {

void AppendFormatted(std::string* out, fmt::string_view format, fmt::format_args arguments) {
  fmt::vformat_to(std::back_inserter(*out), format, arguments);
}

}  // namespace hlo
