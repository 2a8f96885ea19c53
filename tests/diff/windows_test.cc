// Tests reduce-window and select-and-scatter on the CPU and on the emulated GPU.

#include "fixtures.h"
#include "fmt/format.h"
#include "window_programs.h"

namespace hlo::windows_test {
namespace {

using test::ReduceWindow;

template <class Fixture>
struct ReduceWindowTest : Fixture {};
TYPED_TEST_SUITE(ReduceWindowTest, test::Fixtures, test::FixtureNames);

TYPED_TEST(ReduceWindowTest, FoldsInTheReferencesOrder) {
  for (const test::WindowCase& c : test::kFew) {
    for (const char* type : {"u8", "s32", "bf16", "f32", "f64", "c64"})
      this->ExpectAgrees(ReduceWindow(type, "add", c), "reduce-window");
    for (const char* type : {"s16", "f16", "f32"})
      this->ExpectAgrees(ReduceWindow(type, "maximum", c), "reduce-window", {.specials = true});
  }
}

TYPED_TEST(ReduceWindowTest, IsExactIfTheOrderDoesNotMatter) {
  for (const test::WindowCase& c : test::kMany) {
    for (const char* type : {"u8", "s16", "s32", "u64"}) this->ExpectAgrees(ReduceWindow(type, "add", c), "");
    for (const char* type : {"s16", "bf16", "f32", "f64"})
      this->ExpectAgrees(ReduceWindow(type, "minimum", c), "", {.specials = true});
    this->ExpectAgrees(ReduceWindow("u32", "multiply", c), "");
    this->ExpectAgrees(ReduceWindow("u8", "and", c), "");
  }
}

// The bound is that of sums of at most 150 elements of magnitude 2.
TYPED_TEST(ReduceWindowTest, SumsInAnotherOrderAreWithinTheirBound) {
  for (const test::WindowCase& c : test::kMany) {
    this->ExpectAgrees(ReduceWindow("f32", "add", c), "",
                       {.rule = CompareRule::Close(150.0 * 150 * 2 * 0x1p-24, 0)});
    for (const char* type : {"f64", "c128"})
      this->ExpectAgrees(ReduceWindow(type, "add", c), "",
                         {.rule = CompareRule::Close(150.0 * 150 * 2 * 0x1p-53, 0)});
  }
}

template <class Fixture>
struct SelectAndScatterTest : Fixture {};
TYPED_TEST_SUITE(SelectAndScatterTest, test::Fixtures, test::FixtureNames);

TYPED_TEST(SelectAndScatterTest, EveryDirection) {
  for (const char* direction : {"GE", "GT", "LE", "LT"}) {
    for (const char* type : {"f32", "f64", "bf16", "s32", "u8", "pred"}) {
      const auto text = [&](const char* operand, const char* source, const char* window) {
        return fmt::format(
            "s {{ x = {0}[] parameter(0)\n y = {0}[] parameter(1)\n"
            " ROOT r = pred[] compare(x, y), direction={1} }}\n"
            "c {{ x = {0}[] parameter(0)\n y = {0}[] parameter(1)\n ROOT r = {0}[] {5}(x, y) }}\n"
            "ENTRY e {{ a = {0}[{2}] parameter(0)\n u = {0}[{3}] parameter(1)\n i = {0}[] parameter(2)\n"
            " ROOT r = {0}[{2}] select-and-scatter(a, u, i), window={{{4}}}, select=s, scatter=c }}",
            type, direction, operand, source, window, type == std::string("pred") ? "or" : "add");
      };
      for (const auto& [operand, source, window] :
           {std::tuple("2,9,11,5", "2,4,5,5", "size=1x3x3x1 stride=1x2x2x1"),
            std::tuple("3,2,8,8", "3,2,4,4", "size=1x1x2x2 stride=1x1x2x2"),
            std::tuple("8,9", "4,9", "size=3x3 stride=2x1 pad=1_0x1_1"),
            std::tuple("11", "4", "size=3 stride=2 rhs_dilate=2"), std::tuple("257", "257", "size=5 pad=2_2"),
            std::tuple("6,9", "6,9", "size=2x2 pad=0_1x0_1"),
            std::tuple("3,6,9", "3,6,5", "size=1x3x2 stride=1x1x2 pad=0_0x1_1x0_1")})
        this->ExpectAgrees(text(operand, source, window), "select-and-scatter", {.specials = true});
    }
  }
}

TEST(ReduceWindowOnCpu, OtherTypesAndOperations) {
  for (const test::WindowCase& c : test::kFew) {
    test::ExpectEnginesAgree(ReduceWindow("s4", "add", c));
    test::ExpectEnginesAgree(ReduceWindow("f32", "subtract", c));
  }
  for (const test::WindowCase& c : test::kMany) test::ExpectEnginesAgree(ReduceWindow("s4", "add", c));
}

TEST(ReduceWindowOnCpu, LongLinesAreSplit) {
  for (const test::WindowCase& c : test::kSplit) {
    for (const char* type : {"pred", "s8", "u16", "u32", "s64"})
      test::ExpectEnginesAgree(ReduceWindow(type, "add", c));
    for (const char* type : {"pred", "s8", "s16", "s32", "f32", "f64", "u8"})
      test::ExpectEnginesAgree(ReduceWindow(type, "maximum", c), {.specials = true});
  }
}

TEST(ReduceWindowOnCpu, PrefixesAreScans) {
  for (const test::WindowCase& c : test::kPrefixes) {
    for (const char* type : {"u8", "s4", "s32", "bf16", "f32", "f64", "c64"})
      test::ExpectEnginesAgree(ReduceWindow(type, "subtract", c));
  }
}

TEST(ReduceWindowOnCpu, SeveralArraysAtOnce) {
  for (const auto& [result, window] :
       {std::pair("4,18", "size=3x3 stride=2x1"), std::pair("9,20", "size=1x20 pad=0_0x19_0")}) {
    test::ExpectEnginesAgree(fmt::format(
        "c {{ x = f32[] parameter(0)\n i = s32[] parameter(1)\n y = f32[] parameter(2)\n j = s32[] "
        "parameter(3)\n"
        " b = pred[] compare(x, y), direction=GE\n v = f32[] select(b, x, y)\n"
        " k = s32[] select(b, i, j)\n ROOT r = (f32[], s32[]) tuple(v, k) }}\n"
        "ENTRY e {{ a = f32[9,20] parameter(0)\n n = s32[9,20] iota(), iota_dimension=1\n"
        " m = f32[] constant(-inf)\n z = s32[] constant(0)\n"
        " ROOT r = (f32[{0}], s32[{0}]) reduce-window(a, n, m, z), window={{{1}}}, to_apply=c }}",
        result, window));
  }
}

}  // namespace
}  // namespace hlo::windows_test
