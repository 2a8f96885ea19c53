#include "cli/rules.h"

#include <algorithm>
#include <cctype>
#include <cstdint>

namespace hlo::cli {
namespace {

constexpr std::string_view kAnchor = "<a id=\"";

// Splits off the first line, without its end.
std::string_view TakeLine(std::string_view& text) {
  const size_t end = std::min(text.size(), text.find('\n'));
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(text.size(), end + 1));
  return line;
}

std::vector<Rule> ParseRules() {
  std::vector<Rule> rules;
  for (const EmbeddedFile* file = kGrammarFiles; file->name != nullptr; ++file) {
    const std::string_view document = file->text;
    for (size_t at = document.find(kAnchor); at != std::string_view::npos;) {
      const size_t next = document.find(kAnchor, at + 1);
      std::string_view text = document.substr(at, next - at);
      std::string_view anchor = TakeLine(text);
      anchor.remove_prefix(kAnchor.size());
      Rule rule{.id = std::string(anchor.substr(0, anchor.find('"'))), .text = text};
      std::string_view heading = TakeLine(text);
      rule.level = static_cast<int>(heading.find_first_not_of('#'));
      rule.title = heading.substr(std::min(heading.size(), heading.find_first_not_of("# ")));
      rules.push_back(std::move(rule));
      at = next;
    }
  }
  return rules;
}

bool IsNameCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
}

// Returns true if the word stands alone in the line.
bool Names(std::string_view line, std::string_view word) {
  for (size_t at = line.find(word); at != std::string_view::npos; at = line.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !IsNameCharacter(line[at - 1])) && (end == line.size() || !IsNameCharacter(line[end])))
      return true;
  }
  return false;
}

// Returns the parts of a line that hold names: those in backquotes, and the first cell of a table's row.
std::string NamesIn(std::string_view line) {
  std::string names;
  if (line.starts_with("| ")) names = line.substr(2, line.find(" |", 2) - 2);
  for (size_t open = line.find('`'); open != std::string_view::npos;) {
    const size_t close = line.find('`', open + 1);
    if (close == std::string_view::npos) break;
    names += ' ';
    names += line.substr(open + 1, close - open - 1);
    open = line.find('`', close + 1);
  }
  return names;
}

}  // namespace

const std::vector<Rule>& Rules() {
  static const std::vector<Rule> kRules = ParseRules();
  return kRules;
}

int64_t FindRule(std::string_view citation) {
  std::string id;
  for (const char c : citation) {
    if (c == ' ' && !id.empty() && id.back() != '.') id += '.';
    if (c != ' ' && c != '[' && c != ']') id += c;
  }
  const std::vector<Rule>& rules = Rules();
  const auto found =
      std::find_if(rules.begin(), rules.end(), [&](const Rule& rule) { return rule.id == id; });
  return found == rules.end() ? -1 : found - rules.begin();
}

std::string TextOf(size_t rule) {
  const std::vector<Rule>& rules = Rules();
  std::string text(rules[rule].text);
  for (size_t i = rule + 1; i < rules.size() && rules[i].level > rules[rule].level; ++i)
    text += rules[i].text;
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

std::vector<RuleLine> LinesThatName(std::string_view word) {
  std::vector<RuleLine> lines;
  for (const Rule& rule : Rules()) {
    std::string_view rest = rule.text;
    while (!rest.empty()) {
      const std::string_view line = TakeLine(rest);
      if (Names(NamesIn(line), word) || (line.starts_with('#') && Names(line, word)))
        lines.push_back({&rule, line});
    }
  }
  return lines;
}

}  // namespace hlo::cli
