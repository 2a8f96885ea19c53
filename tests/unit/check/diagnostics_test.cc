// Tests the messages of the checker and their locations.

#include "check_text.h"
#include "gtest/gtest.h"

namespace hlo::diagnostics_test {
namespace {

TEST(CheckDiagnostics, NameLocationBothShapesAndRule) {
  CheckedText checked;
  CheckText(
      "HloModule t\nENTRY e {\n  a = f32[2,3] parameter(0)\n  ROOT t = f32[2,3] transpose(a), "
      "dimensions={1,0}\n}\n",
      {}, &checked);
  ASSERT_FALSE(checked.ok);
  const std::string text = checked.Rendered();
  EXPECT_NE(text.find("t.hlo:4:12: error: transpose gives f32[3,2], but the instruction declares f32[2,3]"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("shape-rules 3.1"), std::string::npos) << text;
  EXPECT_NE(text.find("'a' is f32[2,3]"), std::string::npos) << text;
}

TEST(CheckDiagnostics, ReportAllErrorsNotOnlyTheFirst) {
  CheckedText checked;
  CheckText(R"(HloModule t
ENTRY e {
  a = f32[2] parameter(0)
  b = f32[3] negate(a)
  c = s32[3] add(b, b)
  ROOT d = f32[3] not(b)
})",
            {}, &checked);
  EXPECT_EQ(checked.diagnostics.error_count(), 3) << checked.Rendered();
}

TEST(CheckDiagnostics, MixedPrecisionIsAWarningUnlessItIsForbidden) {
  const std::string text =
      "HloModule t\nENTRY e {\n  a = f32[2] parameter(0)\n  b = bf16[2] parameter(1)\n  ROOT c = f32[2] "
      "add(a, b)\n}\n";
  CheckedText lenient, strict;
  CheckText(text, {}, &lenient);
  EXPECT_TRUE(lenient.ok);
  EXPECT_EQ(lenient.diagnostics.warning_count(), 1);
  CheckText(text, {.check = CheckOptions::Strict()}, &strict);
  EXPECT_FALSE(strict.ok);
}

TEST(CheckDiagnostics, LayoutSensitiveChecksCompareLayouts) {
  const std::string text =
      "HloModule t\nENTRY e {\n  a = f32[2,3]{0,1} parameter(0)\n  ROOT t = (f32[2,3]{1,0}) tuple(a)\n}\n";
  CheckedText blind, sensitive;
  CheckText(text, {}, &blind);
  EXPECT_TRUE(blind.ok) << blind.Rendered();
  CheckText(text, {.check = {.layout_sensitive = true}}, &sensitive);
  EXPECT_FALSE(sensitive.ok);
}

TEST(CheckDiagnostics, BuiltModulesAreCheckedToo) {
  auto module = std::make_shared<Module>(nullptr);
  Computation* entry = module->NewComputation("e");
  const AttrEntry number{AttrId::number, {}, AttrValue::Of(int64_t{0})};
  Instruction* a = module->AddInstruction(entry, Opcode::kParameter, "a",
                                          Shape::Array(ElementType::kF32, {2}), {}, {&number, 1});
  InstructionEditor::SetParameter(*entry, 0, a);
  Instruction* operands[] = {a};
  Instruction* b = module->AddInstruction(entry, Opcode::kAdd, "b", a->shape(), operands, {});
  InstructionEditor::SetRoot(*entry, b);
  module->AddComputation(entry);
  module->set_entry(entry);
  Diagnostics diagnostics;
  const auto checked = Check(module, diagnostics);
  ASSERT_FALSE(checked.ok());
  EXPECT_NE(std::string(checked.status().message()).find("add does not take 1 operand"), std::string::npos)
      << checked.status();
}

TEST(CheckDiagnostics, WarnsAboutTypesWithoutSemantics) {
  const char* const instructions[] = {
      "y = f32[3] shift-left(a, a)",
      "y = f32[3] mulhi(a, a)",
      "y = c64[3] maximum(c, c)",
      "y = c64[3] remainder(c, c)",
      "y = f32[3] broadcast(d), dimensions={0}",
      "y = f32[3] reshape(d)",
      "y = f32[3] sort(a), dimensions={-1}, to_apply=lt",
      "y = c64[3] fft(c), fft_type=FFT, fft_length={4}",
      "y = u32[7] rng-bit-generator(u), algorithm=rng_default",
  };
  for (const char* instruction : instructions) {
    CheckedText checked;
    CheckText(std::string(R"(HloModule t
lt { p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT r = pred[] compare(p, q), direction=LT }
ENTRY e {
  a = f32[3] parameter(0)
  c = c64[3] parameter(1)
  d = f32[<=3] parameter(2)
  u = u64[2] parameter(3)
  g = f32[3] sort(a), dimensions={0}, to_apply=lt
  ROOT )") + instruction +
                  "\n}\n",
              {.check = {.strict = true}}, &checked);
    EXPECT_TRUE(checked.ok) << instruction << "\n" << checked.Rendered();
    EXPECT_EQ(checked.diagnostics.warning_count(), 1) << instruction << "\n" << checked.Rendered();
  }
}

TEST(CheckDiagnostics, FindingsAreBounded) {
  std::string text = "HloModule t\nENTRY e {\n  a = f32[2] parameter(0)\n  b = bf16[2] parameter(1)\n";
  for (int i = 0; i < 20000; ++i) text += "  sum" + std::to_string(i) + " = f32[2] add(a, b)\n";
  CheckedText checked;
  CheckText(text + "}\n", {}, &checked);
  EXPECT_TRUE(checked.ok);
  EXPECT_LE(checked.diagnostics.all().size(), 10001u);
}

TEST(CheckDiagnostics, ErrorsOfOneFusionBodyStopAtTheLimit) {
  std::string body = "HloModule m\nf {\n", operands;
  for (int i = 0; i < 2000; ++i) {
    body += fmt::format("  a{} = f32[] parameter({})\n", i, i);
    operands += i == 0 ? "p" : ", p";
  }
  CheckedText checked;
  CheckText(
      body + "  ROOT r = f32[] negate(a0)\n}\nENTRY e {\n  p = f32[] parameter(0)\n  ROOT q = f32[] fusion(" +
          operands + "), kind=kLoop, calls=f\n}\n",
      {.check = {.strict = true}}, &checked);
  EXPECT_EQ(checked.diagnostics.error_count(), 1000);  // The limit of CheckedText.
}

TEST(CheckDiagnostics, LinesEndInAnyOfTheThreeWays) {
  const SourceText source("x", "\r\na\r\nb\rc\n\nd");
  const std::pair<uint32_t, std::pair<int64_t, int64_t>> places[] = {
      {0, {1, 1}}, {1, {1, 2}}, {2, {2, 1}}, {3, {2, 2}}, {4, {2, 3}},  {5, {3, 1}},
      {6, {3, 2}}, {7, {4, 1}}, {8, {4, 2}}, {9, {5, 1}}, {10, {6, 1}}, {11, {6, 2}}};
  for (const auto& [offset, place] : places) {
    const SourcePlace got = source.Locate(offset);
    EXPECT_EQ(std::pair(got.line, got.column), place) << offset;
  }
}

TEST(CheckDiagnostics, HugeSizesAreRejected) {
  const char* const instructions[] = {
      "y = f32[9223372036854775807] pad(a, z), padding=9223372036854775807_9223372036854775807",
      "y = f32[9] pad(a, z), padding=0_0_9223372036854775807",
      "y = f32[9] reduce-window(a, z), window={size=9223372036854775807 rhs_dilate=9223372036854775807}, "
      "to_apply=f",
      "y = f32[9] reduce-window(a, z), window={size=2 lhs_dilate=9223372036854775807}, to_apply=f",
      "y = f32[9] slice(a), slice={[-9223372036854775808:9223372036854775807]}",
      "y = f32[3] transpose(a), dimensions={9223372036854775807}",
      "y = f32[3] broadcast(a), dimensions={-9223372036854775808}",
      "y = f32[4294967296,4294967296] broadcast(z), dimensions={}",
      "y = f32[3] get-tuple-element(a), index=9223372036854775807",
  };
  for (const char* instruction : instructions) {
    CheckedText checked;
    CheckText(std::string("HloModule t\nf { p = f32[] parameter(0)\n  q = f32[] parameter(1)\n  ROOT r = "
                          "f32[] add(p, q) }\n"
                          "ENTRY e {\n  a = f32[3] parameter(0)\n  z = f32[] parameter(1)\n  ROOT ") +
                  instruction + "\n}\n",
              {}, &checked);
    EXPECT_FALSE(checked.ok) << instruction;
  }
}

}  // namespace
}  // namespace hlo::diagnostics_test
