// Prints whole programs, if a folder of them exists next to the repository.

#include <filesystem>

#include "gtest/gtest.h"
#include "hlo_run/print.h"
#include "hlo_run/source_text.h"
#include "vectors.h"

namespace hlo::corpus_test {
namespace {

const std::filesystem::path kPrograms = "../shared/corpus/programs";

TEST(Corpus, ProgramsAreFixedPoints) {
  if (!std::filesystem::exists(kPrograms)) GTEST_SKIP() << "no folder of programs here";
  for (const auto& file : std::filesystem::directory_iterator(kPrograms)) {
    const auto source = SourceText::Read(file.path().string());
    ASSERT_TRUE(source.ok());
    std::string error;
    const std::unique_ptr<Module> module = Read((*source)->content(), &error);
    ASSERT_NE(module, nullptr) << file.path() << "\n" << error;
    for (const PrintForm form : {PrintForm::kLong, PrintForm::kShort}) {
      const std::string first = Print(*module, {.form = form});
      const std::unique_ptr<Module> again = Read(first, &error);
      ASSERT_NE(again, nullptr) << file.path() << "\n" << error;
      EXPECT_TRUE(Print(*again, {.form = form}) == first) << file.path();
    }
  }
}

}  // namespace
}  // namespace hlo::corpus_test
