// Tests scan through both engines: bit-equal, because the steps are the reference's.

#include "engines.h"
#include "fmt/format.h"

namespace hlo::scan_test {
namespace {

// An array of sizes `dims`, scanned along `dimension`; the carry has sizes `carry`.
struct Case {
  const char *dims, *carry;
  int dimension;
};
constexpr Case kCases[] = {
    {"1", "", 0},
    {"0", "", 0},
    {"1031", "", 0},
    {"70001", "", 0},
    {"7,5", "5", 0},
    {"7,5", "7", 1},
    {"300,3", "300", 1},
    {"3,700", "700", 0},
    {"2,9,300", "2,300", 1},
    {"5,0,3", "5,3", 1},
    {"0,4", "0", 1},
    {"17,19,23", "17,19", 2},
    {"260,4,2", "260,2", 1},
};

std::string Text(const char* type, std::string_view step, const Case& c, bool reverse, const char* lanes) {
  return fmt::format(
      "step {{ x = {0}[{3}] parameter(0)\n c = {0}[{3}] parameter(1)\n {4} }}\n"
      "ENTRY e {{ a = {0}[{1}] parameter(0)\n b = {0}[{3}] parameter(1)\n"
      " ROOT r = ({0}[{1}], {0}[{3}]) scan(a, b), dimensions={{{2}}}, num_carries=1, is_reverse={5}, "
      "to_apply=step }}",
      type, c.dims, c.dimension, lanes, step, reverse);
}

void ExpectAgreement(const char* type, std::string_view step) {
  for (const Case& c : kCases) {
    for (const bool reverse : {false, true}) {
      const std::string body = fmt::format(fmt::runtime(step), fmt::format("{}[{}]", type, c.carry));
      test::ExpectEnginesAgree(Text(type, body, c, reverse, c.carry), {.specials = true});
    }
  }
}

constexpr std::string_view kOneOperation = "s = {{0}} {0}(x, c)\n ROOT t = ({{0}}, {{0}}) tuple(s, s)";

TEST(ScanTest, OneOperation) {
  for (const char* opcode : {"add", "maximum", "minimum", "multiply"}) {
    const std::string step = fmt::format(fmt::runtime(kOneOperation), opcode);
    for (const char* type : {"s4", "u8", "s32", "s64", "bf16", "f16", "f8e4m3fn", "f32", "f64"})
      ExpectAgreement(type, step);
  }
  ExpectAgreement("c64", "s = {0} add(c, x)\n ROOT t = ({0}, {0}) tuple(s, s)");
  ExpectAgreement("f32", "s = {0} subtract(x, c)\n ROOT t = ({0}, {0}) tuple(s, s)");
  ExpectAgreement("pred", "s = {0} xor(x, c)\n ROOT t = ({0}, {0}) tuple(s, s)");
}

TEST(ScanTest, TheOutputIsNotTheCarry) {
  ExpectAgreement("f32", "s = {0} add(x, c)\n d = {0} multiply(s, x)\n ROOT t = ({0}, {0}) tuple(d, s)");
  ExpectAgreement("bf16", "s = {0} add(x, c)\n ROOT t = ({0}, {0}) tuple(c, s)");
  ExpectAgreement("s32", "n = {0} negate(x)\n ROOT t = ({0}, {0}) tuple(n, c)");
}

TEST(ScanTest, SeveralInputsAndCarriesOfSeveralTypes) {
  test::ExpectEnginesAgree(
      "step { x = f32[9] parameter(0)\n i = s32[9] parameter(1)\n c = f32[9] parameter(2)\n n = s32[9] "
      "parameter(3)\n"
      " less = pred[9] compare(c, x), direction=LT\n best = f32[9] maximum(c, x)\n at = s32[9] select(less, "
      "i, n)\n"
      " half = f32[] constant(0.5)\n halves = f32[9] broadcast(half), dimensions={}\n"
      " y = f32[9] multiply(best, halves)\n ROOT t = (f32[9], f32[9], s32[9]) tuple(y, best, at) }\n"
      "ENTRY e { a = f32[9,57] parameter(0)\n i = s32[9,57] parameter(1)\n c = f32[9] parameter(2)\n"
      " n = s32[9] parameter(3)\n"
      " ROOT r = (f32[9,57], f32[9], s32[9]) scan(a, i, c, n), dimensions={1}, num_carries=2, to_apply=step "
      "}",
      {.specials = true});
}

TEST(ScanTest, StepsThatAreNotElementwiseAreTheReferences) {
  test::ExpectEnginesAgree(
      "step { x = f32[3] parameter(0)\n c = f32[3] parameter(1)\n r = f32[3] reverse(c), dimensions={0}\n"
      " s = f32[3] add(x, r)\n ROOT t = (f32[3], f32[3]) tuple(s, s) }\n"
      "ENTRY e { a = f32[8,3] parameter(0)\n b = f32[3] parameter(1)\n"
      " ROOT r = (f32[8,3], f32[3]) scan(a, b), dimensions={0}, num_carries=1, to_apply=step }",
      {.has_kernel = false});
}

}  // namespace
}  // namespace hlo::scan_test
