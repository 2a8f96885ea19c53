#pragma once
// The rules of grammar/*.md, which diagnostics cite: `shape-rules 3.1` is section 3.1 of
// grammar/shape-rules.md.

#include <string>
#include <string_view>
#include <vector>

namespace hlo::cli {

// A file whose text is compiled into the program; the array ends with nulls.
struct EmbeddedFile {
  const char* name;  // Without folder and extension.
  const char* text;
};
extern const EmbeddedFile kGrammarFiles[];

struct Rule {
  std::string id;          // Such as "shape-rules.3.1".
  std::string_view title;  // The heading, such as "3.1 Declared and inferred shape".
  std::string_view text;   // From the heading up to the next anchor.
  int level = 0;           // The number of '#' of the heading.
};
// Returns all rules, in the order of the documents.
const std::vector<Rule>& Rules();

// Returns the position in Rules() of the rule that a citation names, in one of the forms `shape-rules.3.1`,
// `shape-rules 3.1` and `[shape-rules 3.1]`; -1 if there is none.
int64_t FindRule(std::string_view citation);

// Returns the text of a rule with the rules below it.
std::string TextOf(size_t rule);

// A line of a rule that names an opcode or attribute.
struct RuleLine {
  const Rule* rule;
  std::string_view line;
};
std::vector<RuleLine> LinesThatName(std::string_view word);

}  // namespace hlo::cli
