#include "conform/drawn.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "fmt/format.h"

namespace hlo::conform {
namespace {

constexpr std::string_view kColumn = "column ";

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}
bool IsMessage(std::string_view text) { return StartsWith(text, "error: ") || StartsWith(text, "warning: "); }

// Returns the text after `//` without leading spaces; "" if the line is not a comment.
std::string_view Body(std::string_view line) {
  if (!StartsWith(line, "//")) return {};
  const size_t begin = line.find_first_not_of(" \t", 2);
  return begin == std::string_view::npos ? std::string_view() : line.substr(begin);
}

std::string_view SkipCarets(std::string_view body) {
  if (body.empty() || body[0] != '^') return body;
  const size_t end = body.find_first_not_of('~', 1);
  if (end == std::string_view::npos || body[end] != ' ') return {};
  return body.substr(end + 1);
}

std::string_view SkipColumn(std::string_view body) {
  if (!StartsWith(body, kColumn)) return body;
  const size_t colon = body.find(": ");
  return colon == std::string_view::npos ? std::string_view() : body.substr(colon + 2);
}

}  // namespace

bool IsDrawnDiagnostic(std::string_view line) { return IsMessage(SkipColumn(SkipCarets(Body(line)))); }

DrawnDiagnostic ReadDrawnDiagnostic(std::string_view text, int64_t line) {
  const std::string_view body = Body(text);
  DrawnDiagnostic drawing{.text = std::string(SkipColumn(SkipCarets(body)))};
  if (body[0] == '^') {
    drawing.line = line;
    drawing.column = body.data() - text.data() + 1;
    drawing.length = static_cast<int64_t>(SkipCarets(body).data() - body.data()) - 1;
  } else if (StartsWith(body, kColumn)) {
    const std::string_view number = body.substr(kColumn.size(), body.find(':') - kColumn.size());
    drawing.line = line;
    if (!absl::SimpleAtoi({number.data(), number.size()}, &drawing.column)) drawing.column = 1;
  }
  return drawing;
}

std::string Draw(const DrawnDiagnostic& drawing) {
  if (drawing.line == 0) return "// " + drawing.text;
  if (drawing.length == 0) return fmt::format("// {}{}: {}", kColumn, drawing.column, drawing.text);
  return fmt::format("//{:{}}^{:~<{}} {}", "", drawing.column - 3, "", drawing.length - 1, drawing.text);
}

DrawnDiagnostic DrawnDiagnosticOf(const Diagnostic& diagnostic, const SourceText& source) {
  DrawnDiagnostic drawing;
  drawing.text = fmt::format("{}: {}", diagnostic.severity == Severity::kError ? "error" : "warning",
                             diagnostic.message);
  if (!diagnostic.rule.empty()) drawing.text += fmt::format("  [{}]", diagnostic.rule);
  std::replace(drawing.text.begin(), drawing.text.end(), '\n', ' ');
  if (!diagnostic.range.known()) return drawing;
  const SourcePlace place = source.Locate(diagnostic.range.begin);
  drawing.line = place.line;
  drawing.column = place.column;
  if (place.column < 3) return drawing;
  const auto left = static_cast<int64_t>(source.LineAt(diagnostic.range.begin).size()) - place.column + 1;
  const int64_t length = int64_t{diagnostic.range.end} - diagnostic.range.begin;
  drawing.length = std::clamp<int64_t>(length, 1, std::max<int64_t>(left, 1));
  return drawing;
}

bool Matches(const DrawnDiagnostic& drawn, const DrawnDiagnostic& found) {
  if (drawn.line != found.line || drawn.column != found.column || drawn.length != found.length) return false;
  if (drawn.text == found.text) return true;
  const size_t rule = found.text.rfind("  [");
  return rule != std::string::npos && found.text.back() == ']' && drawn.text == found.text.substr(0, rule);
}

}  // namespace hlo::conform
