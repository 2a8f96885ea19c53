#include "text/instruction_name.h"

#include <algorithm>

#include "text/lexer.h"

namespace hlo::text {
namespace {

// XLA prints spaces around the `=` of an instruction, but not of an attribute.
constexpr std::string_view kEquals = " = ";

// Returns the name before the last ` = ` of a line whose instruction begins at or before a column.
std::string_view LastName(std::string_view line, size_t column) {
  std::string_view found;
  for (size_t at = line.find(kEquals); at != std::string_view::npos; at = line.find(kEquals, at + 1)) {
    size_t begin = at;
    while (begin > 0 && IsWordByte(line[begin - 1])) --begin;
    const std::string_view name = line.substr(begin, at - begin);
    if (begin > 0 && line[begin - 1] == '%') --begin;
    constexpr std::string_view kRoot = "ROOT ";
    if (line.substr(0, begin).ends_with(kRoot)) begin -= kRoot.size();
    if (begin > column) break;
    if (!name.empty()) found = name;
  }
  return found;
}

}  // namespace

std::string_view InstructionNameAt(const SourceText& source, uint32_t offset) {
  const std::string_view text = source.content();
  size_t at = std::min<size_t>(offset, text.size());
  constexpr int kMaxLines = 1000;
  for (int i = 0; i < kMaxLines; ++i) {
    const std::string_view line = source.LineAt(static_cast<uint32_t>(at));
    const auto begin = static_cast<size_t>(line.data() - text.data());
    const std::string_view name = LastName(line, i == 0 ? at - begin : line.size());
    if (!name.empty()) return name;
    // Lines that begin or end a computation or the module.
    const bool is_edge = line.starts_with('}') || line.starts_with("HloModule") || line.starts_with("ENTRY");
    if (is_edge || begin == 0 || line.ends_with(" {")) return "";
    at = begin - 1;
  }
  return "";
}

}  // namespace hlo::text
