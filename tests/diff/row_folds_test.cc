// Tests reductions along rows that are fused with their operands, through both engines.

#include "engines.h"
#include "fmt/format.h"
#include "plan/make_plan.h"

namespace hlo::row_folds_test {
namespace {

std::string Combiner(const char* type, const char* opcode) {
  return fmt::format("op {{ x = {0}[] parameter(0)\n y = {0}[] parameter(1)\n ROOT r = {0}[] {1}(x, y) }}\n",
                     type, opcode);
}

// Multiples of strips, tiles and rows, and partial ones.
constexpr int kLengths[] = {64,  65,   127,  128,  129,  192,  200,  255,
                            512, 1000, 1024, 1025, 1153, 2048, 5000, 70001};

TEST(RowFoldsTest, ExtremesAreExact) {
  for (const char* type : {"f32", "bf16"}) {
    for (const auto& [opcode, init] : {std::pair("maximum", "-inf"), std::pair("minimum", "inf")}) {
      for (const int n : kLengths) {
        const std::string text = fmt::format(
            "ENTRY e {{ x = {0}[9,{1}] parameter(0)\n y = {0}[9,{1}] parameter(1)\n p = {0}[9,{1}] "
            "subtract(x, "
            "y)\n q = {0}[9,{1}] multiply(p, x)\n i = {0}[] constant({2})\n"
            " ROOT r = {0}[9] reduce(q, i), dimensions={{1}}, to_apply=op }}",
            type, n, init);
        test::ExpectEnginesAgree(Combiner(type, opcode) + text);
        test::ExpectEnginesAgree(Combiner(type, opcode) + text, {.specials = true});
      }
    }
  }
}

TEST(RowFoldsTest, SumsAreCloseToTheReference) {
  for (const char* type : {"f32", "bf16"}) {
    for (const int n : kLengths) {
      const double relative = (n + 2) * 0x1p-24;
      for (const bool specials : {false, true}) {
        test::ExpectEnginesAgree(
            Combiner("f32", "add") +
                fmt::format("ENTRY e {{ x = {0}[9,{1}] parameter(0)\n q = {0}[9,{1}] multiply(x, x)\n"
                            " w = f32[9,{1}] convert(q)\n i = f32[] constant(0)\n"
                            " ROOT r = f32[9] reduce(w, i), dimensions={{1}}, to_apply=op }}",
                            type, n),
            {.rule = CompareRule::Close(0, relative), .specials = specials});
      }
    }
  }
}

// The second difference is a common subexpression of the first; other arrays, scalars or operations are not.
TEST(RowFoldsTest, CommonSubexpressionsAreStored) {
  for (const auto& [second, kept] : {std::pair("subtract(x, pb)", true), std::pair("subtract(x, gb)", false),
                                     std::pair("add(x, pb)", false), std::pair("subtract(pb, x)", false)}) {
    for (const auto& [rows, columns] : {std::pair(64, 512), std::pair(40, 1000), std::pair(33, 1025)}) {
      const std::string text =
          Combiner("bf16", "maximum") +
          fmt::format(
              "ENTRY e {{ x = bf16[{0},{1}] parameter(0)\n p = bf16[{0}] parameter(1)\n g = bf16[{0}] "
              "parameter(2)\n"
              " pb = bf16[{0},{1}] broadcast(p), dimensions={{0}}\n gb = bf16[{0},{1}] broadcast(g), "
              "dimensions={{0}}\n d = bf16[{0},{1}] subtract(x, pb)\n q = bf16[{0},{1}] multiply(d, d)\n"
              " i = bf16[] constant(-inf)\n m = bf16[{0}] reduce(q, i), dimensions={{1}}, to_apply=op\n"
              " mb = bf16[{0},{1}] broadcast(m), dimensions={{0}}\n d2 = bf16[{0},{1}] {2}\n"
              " ROOT o = bf16[{0},{1}] divide(d2, mb) }}",
              rows, columns, second);
      test::ExpectEnginesAgree(text, {.specials = true});
      const absl::StatusOr<CheckedModule> module = test::ReadModule("HloModule t\n" + text);
      // The graph's own elimination would leave nothing to eliminate.
      const absl::StatusOr<plan::Plan> plan = plan::MakePlan(*module, nullptr, plan::Target::kCpu,
                                                             {.disabled_passes = {"common_subexpressions"}});
      ASSERT_TRUE(plan.ok()) << plan.status();
      EXPECT_EQ(plan::ToString(*plan).find("-> r1, init") != std::string::npos, kept)
          << plan::ToString(*plan);
    }
  }
}

}  // namespace
}  // namespace hlo::row_folds_test
