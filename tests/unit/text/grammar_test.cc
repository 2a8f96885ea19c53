// Tests that grammar/hlo.ebnf matches the parser: each production has a function of its name and vice versa,
// and every mentioned production exists.

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "gtest/gtest.h"

namespace hlo::grammar_test {
namespace {

std::string Contents(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Converts a production's name, such as `entry-layout`, to the parser's ParseEntryLayout.
std::string FunctionName(const std::string& production) {
  std::string name = "Parse";
  bool upper = true;
  for (char c : production) {
    if (c == '-') {
      upper = true;
    } else {
      name += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
      upper = false;
    }
  }
  return name;
}

std::set<std::string> Matches(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  std::set<std::string> result;
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it)
    result.insert((*it)[1]);
  return result;
}

// Removes comments and quoted text from the grammar.
std::string Bare(const std::string& grammar) {
  std::string text = std::regex_replace(grammar, std::regex(R"(\(\*[^*]*\*\))"), " ");
  text = std::regex_replace(text, std::regex(R"re("[^"]*"|ATTR\([a-z_-]+\))re"), " ");
  return text;
}

TEST(Grammar, EachProductionHasAParserFunctionAndEachFunctionAProduction) {
  std::string sources;
  for (const auto& entry : std::filesystem::directory_iterator("src/text")) {
    if (entry.path().extension() == ".cc") sources += Contents(entry.path());
  }
  const std::set<std::string> functions = Matches(sources, R"(\nbool Parser::(Parse[A-Za-z0-9]+)\()");
  std::set<std::string> productions;
  for (const std::string& name :
       Matches("\n" + Bare(Contents("grammar/hlo.ebnf")), R"(\n([a-z][a-z0-9-]*)\s+=)")) {
    productions.insert(FunctionName(name));
  }
  ASSERT_GT(productions.size(), 50u);
  for (const std::string& name : productions)
    EXPECT_TRUE(functions.contains(name)) << "no function Parser::" << name;
  for (const std::string& name : functions)
    EXPECT_TRUE(productions.contains(name)) << "no production for Parser::" << name;
}

TEST(Grammar, MentionsOnlyProductionsThatExist) {
  const std::string grammar = "\n" + Bare(Contents("grammar/hlo.ebnf"));
  const std::set<std::string> defined = Matches(grammar, R"(\n([a-z][a-z0-9-]*)\s+=)");
  for (const std::string& name : Matches(grammar, R"([^A-Za-z0-9-]([a-z][a-z0-9-]*))")) {
    EXPECT_TRUE(defined.contains(name)) << name;
  }
}

}  // namespace
}  // namespace hlo::grammar_test
