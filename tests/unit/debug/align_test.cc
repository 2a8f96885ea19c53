// Tests the alignment of the instructions of two modules.

#include "debug/diff/align.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "shadow_helpers.h"

namespace hlo::debug::align_test {
namespace {

constexpr int kUsers = 16;

// Users of one value, or of a copy each.
std::string Users(bool has_copies) {
  std::string text = "HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n";
  std::vector<std::string> results;
  if (!has_copies) text += "  shared = f32[4] exponential(x)\n";
  for (int k = 0; k < kUsers; ++k) {
    if (has_copies) text += fmt::format("  copy{} = f32[4] exponential(x)\n", k);
    const std::string operand = has_copies ? fmt::format("copy{}", k) : "shared";
    text += fmt::format("  user{} = f32[4] negate({})\n  result{} = f32[4] abs(user{})\n", k, operand, k, k);
    results.push_back(fmt::format("result{}", k));
  }
  return text + fmt::format("  ROOT t = ({}) tuple({})\n}}\n",
                            fmt::join(std::vector<std::string>(kUsers, "f32[4]"), ", "),
                            fmt::join(results, ", "));
}

// The first of several pairs decides about their operands.
TEST(Alignment, GoesByTheOrderOfTheFirstModule) {
  const CheckedModule &a = test::Checked(Users(false)), &b = test::Checked(Users(true));
  const FlatModule flat_a(a.shared(), *a.module().entry()), flat_b(b.shared(), *b.module().entry());
  const Alignment alignment(flat_a, flat_b);
  const Instruction* partner = nullptr;
  for (const Instruction* i : flat_a.instructions()) {
    if (flat_a.OriginalOf(*i).name() == "shared") partner = alignment.PartnerOfA(i);
  }
  ASSERT_NE(partner, nullptr);
  EXPECT_EQ(flat_b.OriginalOf(*partner).name(), "copy0");
}

}  // namespace
}  // namespace hlo::debug::align_test
