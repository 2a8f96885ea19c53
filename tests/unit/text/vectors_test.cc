// Tests snippets with the verdict of XLA's parser in both modes. text-format-deviations.json lists deliberate
// differences with reasons.

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "gtest/gtest.h"
#include "hlo_run/check.h"
#include "hlo_run/parse.h"

namespace hlo::vectors_test {
namespace {

// Returns accept, warn (accepted with a warning) or refuse.
std::string Verdict(const std::string& name, const std::string& text, bool strict, std::string* messages) {
  const auto source = std::make_shared<SourceText>(name, text);
  Diagnostics diagnostics;
  const std::unique_ptr<Module> module =
      Parse(source, diagnostics, {.strict = strict, .infer_shape = InferMissingShape});
  *messages = Render(diagnostics, *source);
  EXPECT_EQ(module == nullptr, !diagnostics.ok()) << name << "\n" << *messages;
  if (module == nullptr) return "refuse";
  return diagnostics.warning_count() > 0 ? "warn" : "accept";
}

struct Deviation {
  std::string strict, standard;
  bool used = false;
};

std::map<std::string, Deviation> ReadDeviations() {
  std::ifstream file("tests/vectors/text-format-deviations.json");
  std::map<std::string, Deviation> result;
  const nlohmann::json groups = nlohmann::json::parse(file);
  for (const auto& group : groups) {
    EXPECT_FALSE(group["reason"].get<std::string>().empty());
    for (const auto& id : group["ids"]) {
      const bool is_new = result.emplace(id, Deviation{group["strict"], group["default"]}).second;
      EXPECT_TRUE(is_new) << id << " is listed twice";
    }
  }
  return result;
}

TEST(TextFormatVectors, AgreeWithXlaOrAreListedAsDeviations) {
  std::map<std::string, Deviation> deviations = ReadDeviations();
  std::ifstream file("tests/vectors/text-format.jsonl");
  std::string line;
  int64_t count = 0;
  std::set<std::string> seen;
  while (std::getline(file, line)) {
    const nlohmann::json vector = nlohmann::json::parse(line);
    const std::string id = vector["id"];
    const std::string text = vector["text"];
    std::string strict_messages, messages;
    const std::string strict = Verdict(id, text, true, &strict_messages);
    const std::string standard = Verdict(id, text, false, &messages);
    ++count;
    seen.insert(id);
    if (const auto it = deviations.find(id); it != deviations.end()) {
      it->second.used = true;
      EXPECT_EQ(strict, it->second.strict) << id << " strict\n" << text << "\n" << strict_messages;
      EXPECT_EQ(standard, it->second.standard) << id << "\n" << text << "\n" << messages;
    } else if (vector["xla"] == "accept") {
      EXPECT_NE(strict, "refuse") << id << " strict\n" << text << "\n" << strict_messages;
      EXPECT_NE(standard, "refuse") << id << "\n" << text << "\n" << messages;
    } else {
      EXPECT_EQ(strict, "refuse") << id << " strict\n" << text;
      // Deprecated spellings are accepted with a warning.
      EXPECT_NE(standard, "accept") << id << "\n" << text;
    }
  }
  EXPECT_GT(count, 3000);
  for (const auto& [id, deviation] : deviations) EXPECT_TRUE(deviation.used) << id << " is not a vector";
}

}  // namespace
}  // namespace hlo::vectors_test
