#include "io/text_value.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "base/status.h"
#include "fmt/format.h"
#include "hlo_run/parse.h"
#include "io/convert.h"

namespace hlo::io {

bool StartsWithShape(std::string_view text) {
  const size_t begin = text.find_first_not_of("( \t\r\n");
  if (begin == std::string_view::npos) return false;
  text.remove_prefix(begin);
  const size_t bracket = text.find('[');
  return bracket != std::string_view::npos && ParseElementType(text.substr(0, bracket)).has_value();
}

bool StartsWithElements(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return false;
  if (text[begin] == '{' || text[begin] == '(') return true;
  const std::string word = absl::AsciiStrToLower(absl::StripAsciiWhitespace({text.data(), text.size()}));
  double number = 0;
  return word == "true" || word == "false" || absl::SimpleAtod(word, &number);
}

absl::StatusOr<Literal> ReadTextValue(const SourceText& text, const Shape& expected,
                                      const ReadOptions& options) {
  if (!StartsWithShape(text.content())) return ParseLiteral(text, expected);
  HLO_ASSIGN_OR_RETURN(Literal value, ParseLiteral(text, Shape()));
  absl::StatusOr<Literal> fitting = FitTo(value, expected, options);
  if (fitting.ok()) return fitting;
  return absl::Status(fitting.status().code(), fmt::format("{}: {}", text.name(), Message(fitting.status())));
}

}  // namespace hlo::io
