// Checks whole programs of frameworks, if a collection of them exists next to the project.

#include <filesystem>

#include "check_text.h"
#include "gtest/gtest.h"

namespace hlo::programs_test {
namespace {

TEST(Programs, VerifyWithoutErrors) {
  const std::filesystem::path folder = "../shared/corpus/programs";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no programs in " << folder;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".hlo") continue;
    absl::StatusOr<std::shared_ptr<const SourceText>> source = SourceText::Read(entry.path().string());
    ASSERT_TRUE(source.ok()) << source.status();
    Diagnostics diagnostics;
    std::shared_ptr<Module> module = Parse(*source, diagnostics, {.infer_shape = InferMissingShape});
    ASSERT_NE(module, nullptr) << Render(diagnostics, **source);
    EXPECT_TRUE(Check(module, diagnostics).ok()) << Render(diagnostics, **source, {}, /*warnings=*/false);
  }
}

}  // namespace
}  // namespace hlo::programs_test
