// Tests that the modules of all cases and golden folders survive serialisation.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "hlo_run/check.h"
#include "hlo_run/conform.h"
#include "hlo_run/diagnostic.h"
#include "hlo_run/io.h"
#include "hlo_run/parse.h"
#include "hlo_run/print.h"
#include "io/write_module.h"

namespace hlo {
namespace {

std::shared_ptr<Module> Read(std::shared_ptr<const SourceText> text) {
  Diagnostics diagnostics(1);
  return Parse(std::move(text), diagnostics, {.infer_shape = InferMissingShape});
}

// Returns the module of a case or a golden folder, without the printed text that a case may expect.
std::shared_ptr<Module> ModuleOf(const Case& test) {
  std::string text = test.text;
  if (test.is_golden()) {
    const absl::StatusOr<std::shared_ptr<const SourceText>> file =
        SourceText::Read(test.path + "/module.hlo");
    if (!file.ok()) return nullptr;
    return Read(*file);
  }
  text.resize(std::min(text.size(), text.find("// prints")));
  return Read(std::make_shared<SourceText>(test.path, std::move(text)));
}

std::string ComputationsOf(const Module& module) {
  std::string text;
  for (const Computation* computation : module.computations()) text += Print(*computation, {}) + "\n";
  return text;
}

// Returns the printed text of the serialised and parsed module, or an error.
std::string ThroughMessage(const Module& module, io::MessageForm form, const std::string& name) {
  absl::StatusOr<std::string> bytes = io::Serialize(module, form);
  if (!bytes.ok()) return bytes.status().ToString();
  const absl::StatusOr<ModuleFile> file =
      ParseModuleFile(std::make_shared<SourceText>(name, *std::move(bytes)));
  if (!file.ok()) return file.status().ToString();
  const std::shared_ptr<Module> again = Read(file->text);
  return again == nullptr ? "does not parse:\n" + std::string(file->text->content()) : ComputationsOf(*again);
}

TEST(Messages, ModulesOfAllCasesAreReadBackUnchanged) {
  const absl::StatusOr<std::vector<Case>> cases = FindCases(
      std::vector<std::string>{"tests/cases/ops", "tests/cases/semantics", "tests/cases/plan", "golden"});
  ASSERT_TRUE(cases.ok()) << cases.status();
  int64_t count = 0, shown = 0;
  for (const Case& test : *cases) {
    const std::shared_ptr<Module> module = ModuleOf(test);
    if (module == nullptr) continue;  // The case expects an error.
    const std::string expected = ComputationsOf(*module);
    // The message stores epsilon as an f32, the text as written.
    if (expected.find("epsilon=") != std::string::npos) continue;
    ++count;
    const bool is_other = ThroughMessage(*module, io::MessageForm::kBinary, "m.pb") != expected;
    if (!is_other || ++shown > 10) continue;
    EXPECT_EQ(ThroughMessage(*module, io::MessageForm::kBinary, "m.pb"), expected)
        << test.path << ":" << test.line;
  }
  EXPECT_EQ(shown, 0);
  EXPECT_GT(count, 3000);
}

TEST(Messages, TextAndJsonAreEquivalent) {
  const absl::StatusOr<std::vector<Case>> cases = FindCases(
      std::vector<std::string>{"tests/cases/ops", "golden/control_flow.hlo", "golden/jax_lax_optimised.hlo"});
  ASSERT_TRUE(cases.ok()) << cases.status();
  int64_t count = 0;
  for (const Case& test : *cases) {
    const std::shared_ptr<Module> module = ModuleOf(test);
    if (module == nullptr || ++count % 5 != 0) continue;
    const std::string expected = ThroughMessage(*module, io::MessageForm::kBinary, "m.pb");
    ASSERT_EQ(ThroughMessage(*module, io::MessageForm::kText, "m.pbtxt"), expected)
        << test.path << ":" << test.line;
    // JSON has neither negative zero nor NaN payloads.
    if (expected.find("-0.0") != std::string::npos || expected.find("nan") != std::string::npos) continue;
    ASSERT_EQ(ThroughMessage(*module, io::MessageForm::kJson, "m.json"), expected)
        << test.path << ":" << test.line;
  }
  EXPECT_GT(count, 500);
}

}  // namespace
}  // namespace hlo
