// Tests that the parser returns in reasonable time for arbitrary bytes.

#include <random>

#include "gtest/gtest.h"
#include "hlo_run/check.h"
#include "hlo_run/parse.h"

namespace hlo::robustness_test {
namespace {

bool Parses(const std::string& text) {
  Diagnostics diagnostics;
  return Parse(std::make_shared<SourceText>("t", text), diagnostics, {.infer_shape = InferMissingShape}) !=
         nullptr;
}

std::string Repeat(const std::string& part, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += part;
  return text;
}

TEST(Robustness, NestingIsBounded) {
  for (const char* open : {"(", "negate(", "f32[2] tuple((", "{", "[", "{ a = f32[] call(), to_apply={"}) {
    EXPECT_FALSE(Parses("ENTRY e { a = f32[] tuple(" + Repeat(open, 200000)));
    EXPECT_FALSE(Parses("ENTRY e { a = " + Repeat(open, 200000)));
  }
  EXPECT_FALSE(Parses("ENTRY e { a = " + Repeat("(", 100000) + Repeat(")", 100000) + " parameter(0) }"));
  EXPECT_TRUE(Parses("ENTRY e { a = " + Repeat("(", 500) + Repeat(")", 500) + " parameter(0) }"));
}

TEST(Robustness, NestedBodies) {
  const int depth = 200;
  EXPECT_TRUE(Parses("ENTRY e { r = f32[] " + Repeat("call(), to_apply={ r = f32[] ", depth) +
                     "constant(1) " + Repeat("} ", depth) + "}"));
  EXPECT_FALSE(Parses("ENTRY e { r = f32[] " + Repeat("call(), to_apply={ r = f32[] ", 5000) +
                      "constant(1) " + Repeat("} ", 5000) + "}"));
}

TEST(Robustness, ExponentiallyLargeTuplesAreRejected) {
  std::string text = "ENTRY e { t0 = f32[] parameter(0)\n";
  for (int i = 1; i < 80; ++i) {
    const std::string before = "t" + std::to_string(i - 1);
    text += "t" + std::to_string(i) + " = tuple(" + before + ", " + before + ")\n";
  }
  EXPECT_FALSE(Parses(text + "}"));
}

TEST(Robustness, SizesBeyondTheTextAllocateNothing) {
  EXPECT_FALSE(Parses("ENTRY e { c = f32[1000000000000] constant({1}) }"));
  EXPECT_TRUE(Parses("ENTRY e { c = f32[1000000000000] constant({...}) }"));
  EXPECT_FALSE(Parses("ENTRY e { c = f32[9223372036854775807,9223372036854775807] constant({1}) }"));
  EXPECT_FALSE(Parses("ENTRY e { p = f32[] parameter(9223372036854775807) }"));
  EXPECT_FALSE(Parses("ENTRY e { p = f32[9223372036854775808999] parameter(0) }"));
  EXPECT_TRUE(Parses("ENTRY e { p = f32[] parameter(0), sharding={devices=[100000000,2]<=[200000000]} }"));
}

TEST(Robustness, LongRunsOfOneCharacterTakeLinearTime) {
  for (const char* part :
       {"?", "\"", "'", "/*", "{", "%", "-", "1", "1x", "1_", "b", ".", "\\", "a=", "\"\\"}) {
    EXPECT_FALSE(Parses("ENTRY e { a = f32[" + Repeat(part, 300000)));
    EXPECT_FALSE(Parses("ENTRY e {\n" + Repeat(std::string(part) + "\n", 100000)));
  }
}

// Changes, drops or duplicates bytes of a small module.
TEST(Robustness, ChangedBytesDoNotCrash) {
  const std::string module =
      "HloModule m, input_output_alias={ {0}: (0, {}) }, "
      "entry_computation_layout={(f32[2,3]{1,0})->(f32[2,3]{1,0})}\n"
      "f { x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = f32[] add(x, y) }\n"
      "ENTRY e { a = f32[2,3]{1,0:T(8,128)S(1)} parameter(0), sharding={devices=[2,1,2]<=[4] "
      "last_tile_dims={manual}}\n"
      "  c = f32[2,3] constant({ {1, 2.5, -inf}, {nan, 3e4, 0} }), metadata={op_name=\"a\\n\" "
      "source_line=3}\n"
      "  s = ((f32[2,3]), f32[2,3], u32[]) negate-start(a)\n  d = f32[2,3] negate-done(s)\n"
      "  r = f32[2] reduce(a, f32[] constant(0)), dimensions={1}, to_apply=f, backend_config={\"k\": {1}}\n"
      "  v = f32[2,3] custom-call(a), custom_call_target=\"t\", literal=s32[2]{0} {1, 2}, window={size=2x2 "
      "pad=0_0x1_1}\n"
      "  g = f32[2,3] all-reduce(d), replica_groups=mesh['x'=2] {'x'}, to_apply={ p = f32[] parameter(0) q = "
      "f32[] parameter(1) s = f32[] add(p, q) }\n"
      "  ROOT t = (f32[2,3]) tuple(add(g, c)) }\n";
  ASSERT_TRUE(Parses(module));
  std::mt19937 random(1);
  const std::string alphabet = "{}[]()<=,:*?#+~\"'%/\\ \n0123456789-._abfxTESROOT\0\x80";
  for (int round = 0; round < 20000; ++round) {
    std::string text = module;
    for (int k = random() % 4 + 1; k > 0 && !text.empty(); --k) {
      const size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = alphabet[random() % alphabet.size()];
          break;
        case 1:
          text.erase(at, random() % 10 + 1);
          break;
        case 2:
          text.insert(at, text.substr(random() % text.size(), random() % 30));
          break;
        default:
          text.resize(std::max<size_t>(at, 1));
          break;
      }
    }
    Parses(text);
  }
}

}  // namespace
}  // namespace hlo::robustness_test
