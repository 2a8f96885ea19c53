// Converts errors to JSON objects.

#include "absl/strings/numbers.h"
#include "cli/common.h"
#include "text/instruction_name.h"

namespace hlo::cli {
namespace {

Json OrNull(std::string_view text) { return text.empty() ? Json(nullptr) : Json(std::string(text)); }

Json Error(std::string_view message, std::optional<SourcePlace> place, std::string_view rule,
           std::string_view instruction) {
  return {{"message", std::string(message)},
          {"line", place ? Json(place->line) : Json(nullptr)},
          {"column", place ? Json(place->column) : Json(nullptr)},
          {"rule", OrNull(rule)},
          {"instruction", OrNull(instruction)}};
}

// Removes `:NUMBER` from the end.
std::optional<int64_t> CutNumber(std::string_view& text) {
  const size_t colon = text.rfind(':');
  int64_t number;
  if (colon == std::string_view::npos ||
      !absl::SimpleAtoi(absl::string_view(text.data() + colon + 1, text.size() - colon - 1), &number))
    return std::nullopt;
  text = text.substr(0, colon);
  return number;
}

uint32_t OffsetOf(std::string_view text, SourcePlace place) {
  size_t at = 0;
  for (int64_t line = 1; line < place.line && at < text.size(); ++line) {
    const size_t line_end = text.find('\n', at);
    at = line_end == std::string_view::npos ? text.size() : line_end + 1;
  }
  return static_cast<uint32_t>(at + static_cast<size_t>(place.column) - 1);
}

// Removes `file:line:column: ` from the beginning.
std::optional<SourcePlace> CutPlace(std::string_view& message, const SourceText* source) {
  if (source == nullptr || !message.starts_with(source->name() + ":")) return std::nullopt;
  const size_t end = message.find(": ", source->name().size());
  if (end == std::string_view::npos) return std::nullopt;
  std::string_view front = message.substr(0, end);
  const std::optional<int64_t> column = CutNumber(front), line = column ? CutNumber(front) : std::nullopt;
  if (!line || front != source->name()) return std::nullopt;
  message.remove_prefix(end + 2);
  return SourcePlace{*line, *column};
}

}  // namespace

Json ErrorOf(const Diagnostic& diagnostic, const SourceText& source) {
  if (!diagnostic.range.known()) return Error(diagnostic.message, std::nullopt, diagnostic.rule, "");
  return Error(diagnostic.message, source.Locate(diagnostic.range.begin), diagnostic.rule,
               text::InstructionNameAt(source, diagnostic.range.begin));
}

Json ErrorOf(std::string_view message, const SourceText* source) {
  const std::optional<SourcePlace> place = CutPlace(message, source);
  constexpr std::string_view kError = "error: ";
  const size_t error = place ? 0 : message.find(": " + std::string(kError));
  if (!place && error != std::string_view::npos) message.remove_prefix(error + 2);
  if (message.starts_with(kError)) message.remove_prefix(kError.size());
  std::string_view rule;
  const size_t bracket = message.rfind("  [");
  if (bracket != std::string_view::npos && message.ends_with(']')) {
    rule = message.substr(bracket + 3, message.size() - bracket - 4);
    message = message.substr(0, bracket);
  }
  if (!place) return Error(message, place, rule, "");
  return Error(message, place, rule, text::InstructionNameAt(*source, OffsetOf(source->content(), *place)));
}

}  // namespace hlo::cli
