// Tests that with as_xla the text equals XLA's byte for byte, after the changes that XLA's parser makes.

#include "gtest/gtest.h"
#include "hlo_run/print.h"
#include "vectors.h"

namespace hlo::xla_bytes_test {
namespace {

PrintOptions OptionsOf(const std::string& style) {
  if (style == "short") return PrintOptions::Xla(PrintForm::kShort);
  if (style == "canonical") return PrintOptions::Xla(PrintForm::kCanonical);
  if (style == "fingerprint") return PrintOptions::Xla(PrintForm::kFingerprint);
  PrintOptions options = PrintOptions::Xla(PrintForm::kLong);
  options.large_constants = style == "exact";
  return options;
}

TEST(XlaBytes, EqualThoseOfTheVectors) {
  const std::vector<PrintVector> vectors = PrintVectors();
  ASSERT_GT(vectors.size(), 1900u);
  for (const PrintVector& vector : vectors) {
    std::string error;
    const std::unique_ptr<Module> module = Read(vector.text, &error);
    if (module == nullptr) {
      EXPECT_NE(ReasonToRefuse(vector.id), "") << vector.id << "\n" << vector.text << "\n" << error;
      continue;
    }
    EXPECT_EQ(ReasonToRefuse(vector.id), "") << vector.id << " is read";
    NormalizeAsXla(*module);
    const std::string printed = Print(*module, OptionsOf(vector.style));
    if (ReasonToDiffer(vector.id).empty()) {
      EXPECT_EQ(printed, vector.printed) << vector.id << "\n" << vector.text;
    } else {
      EXPECT_NE(printed, vector.printed) << vector.id << " no longer differs";
    }
  }
}

}  // namespace
}  // namespace hlo::xla_bytes_test
