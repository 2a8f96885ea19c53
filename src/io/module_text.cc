#include "io/module_text.h"

#include "absl/strings/ascii.h"

namespace hlo::io {
namespace {

bool IsSpace(char c) { return absl::ascii_isspace(static_cast<unsigned char>(c)); }
bool IsWord(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Removes and returns the longest prefix of characters that the predicate accepts.
std::string_view Cut(std::string_view& text, bool (*is_part)(char)) {
  size_t n = 0;
  while (n < text.size() && is_part(text[n])) ++n;
  const std::string_view cut = text.substr(0, n);
  text.remove_prefix(n);
  return cut;
}

void CutBlanksAndComments(std::string_view& text) {
  for (;;) {
    Cut(text, IsSpace);
    size_t end;
    if (text.starts_with("//")) {
      end = text.find('\n');
    } else if (text.starts_with("/*")) {
      end = text.find("*/", 2);
      if (end != std::string_view::npos) end += 2;
    } else {
      return;
    }
    text.remove_prefix(end == std::string_view::npos ? text.size() : end);
  }
}

}  // namespace

bool LooksLikeHloText(std::string_view head) {
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  CutBlanksAndComments(head);
  std::string_view line = head.substr(0, head.find('\n'));
  while (!line.empty() && IsSpace(line.back())) line.remove_suffix(1);
  const bool is_percent = line.starts_with('%');
  if (is_percent) line.remove_prefix(1);
  const auto is_name = [](char c) { return IsWord(c) || c == '.' || c == '-'; };
  const std::string_view word = Cut(line, is_name);
  if (word == "HloModule" || word == "ENTRY") return !line.empty() && IsSpace(line.front());
  // Matches `name {` or `%name (x: f32[2]) -> f32[2] {`.
  return !word.empty() && (line == " {" || (is_percent && line.starts_with(" (") && line.ends_with('{')));
}

bool HasCode(std::string_view text) {
  CutBlanksAndComments(text);
  return !text.empty();
}

bool IsProtoText(std::string_view text) {
  Cut(text, IsSpace);
  const std::string_view field = Cut(text, IsWord);
  Cut(text, IsSpace);
  if ((field != "hlo" && field != "hlo_module") || !text.starts_with('{')) return false;
  text.remove_prefix(1);
  Cut(text, IsSpace);
  const bool has_field = !Cut(text, IsWord).empty();
  Cut(text, IsSpace);
  return has_field && (text.starts_with(':') || text.starts_with('{'));
}

}  // namespace hlo::io
