// Tests the checker on valid modules with one or two random mutations, against the verdict of XLA's parser
// and verifier.

#include <fstream>

#include "check_text.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace hlo::mutants_test {
namespace {

TEST(Mutants, HaveTheVerdictOfXla) {
  std::ifstream file("tests/vectors/mutants.jsonl");
  int64_t count = 0;
  for (std::string line; std::getline(file, line); ++count) {
    const auto json = nlohmann::json::parse(line);
    const std::string text = json["text"];
    CheckedText checked;
    CheckText(text, {.check = {.strict = true}}, &checked);
    EXPECT_EQ(checked.ok, json["xla"] == "ok")
        << json["id"] << " " << json["mutation"] << " " << json.value("message", "") << "\n"
        << text << checked.Rendered();
  }
  EXPECT_GT(count, 800);
}

}  // namespace
}  // namespace hlo::mutants_test
