// Tests messages: location, what was found, what was expected.

#include "gtest/gtest.h"
#include "hlo_run/parse.h"

namespace hlo::messages_test {
namespace {

std::string Messages(const std::string& text, ParseOptions options = {}) {
  const auto source = std::make_shared<SourceText>("m.hlo", text);
  Diagnostics diagnostics;
  Parse(source, diagnostics, options);
  return Render(diagnostics, *source);
}

TEST(Messages, UnknownOpcodeSuggestsTheClosest) {
  EXPECT_EQ(Messages("ENTRY e {\n  a = f32[2] parameter(0)\n  ROOT b = f32[2] negat(a)\n}\n"),
            "m.hlo:3:19: error: unknown opcode 'negat'; did you mean 'negate'?\n"
            "    ROOT b = f32[2] negat(a)\n"
            "                    ^~~~~\n");
}

TEST(Messages, RemovedOpcodesOfOldDumpsAreNamed) {
  EXPECT_NE(Messages("ENTRY e { a = f32[] parameter(0) ROOT t = () trace(a) }")
                .find("error: the opcode 'trace' of old dumps no longer exists"),
            std::string::npos);
}

TEST(Messages, UnknownOperandSuggestsTheClosestAndIsReportedOnce) {
  EXPECT_EQ(
      Messages("ENTRY e {\n  alpha = f32[2] parameter(0)\n  b = f32[2] add(alpha, alpa)\n  ROOT c = f32[2] "
               "add(b, b)\n}\n"),
      "m.hlo:3:25: error: no instruction 'alpa' before this one in this computation; did you mean 'alpha'?\n"
      "    b = f32[2] add(alpha, alpa)\n"
      "                          ^~~~\n");
}

TEST(Messages, ASecondDefinitionShowsTheFirst) {
  EXPECT_EQ(Messages("ENTRY e {\n  a = f32[] parameter(0)\n  a = f32[] negate(a)\n}\n"),
            "m.hlo:3:3: error: a second instruction with the name 'a' in this computation\n"
            "    a = f32[] negate(a)\n"
            "    ^\n"
            "m.hlo:2:3: note: the first one is here\n");
}

TEST(Messages, TheEndOfTheTextNamesTheUnclosedBracket) {
  EXPECT_EQ(Messages("ENTRY e {\n  a = f32[] parameter(0)\n"),
            "m.hlo:3:1: error: the text ends inside a computation\n"
            "m.hlo:1:9: note: this '{' is never closed\n");
}

TEST(Messages, AMissingBraceIsOneError) {
  constexpr char kRest[] =
      "ENTRY e {\n  x = f32[] parameter(0)\n  ROOT r = f32[] call(x, x), to_apply=add\n}\n";
  const std::string body =
      "add {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT s = f32[] add(x, y)\n";
  EXPECT_EQ(Messages("HloModule m\n" + body + kRest),
            "m.hlo:6:1: error: expected '}' before the next computation\n"
            "  ENTRY e {\n"
            "  ^~~~~\n"
            "m.hlo:2:5: note: this '{' is never closed\n");
  EXPECT_EQ(
      Messages("HloModule m\n" + body + "%other (x: f32[]) -> f32[] {\n" + body.substr(6) + "}\n" + kRest),
      "m.hlo:6:1: error: expected '}' before the next computation\n"
      "  %other (x: f32[]) -> f32[] {\n"
      "  ^~~~~~\n"
      "m.hlo:2:5: note: this '{' is never closed\n");
  EXPECT_EQ(Messages("HloModule m\nadd\n" + body.substr(6) + "}\n" + kRest),
            "m.hlo:3:3: error: expected '{' before the body of the computation, found 'x'\n"
            "    x = f32[] parameter(0)\n"
            "    ^\n");
}

TEST(Messages, AMissingRootIsAWarning) {
  EXPECT_EQ(Messages("ENTRY e {\n  a = f32[] parameter(0)\n  b = f32[] negate(a)\n}\n"),
            "m.hlo:3:3: warning: no instruction of 'e' is marked ROOT: the last one is taken\n"
            "    b = f32[] negate(a)\n"
            "    ^\n");
  EXPECT_EQ(Messages("ENTRY e {\n  a = f32[] parameter(0)\n}\n"), "") << "there is no other one";
  EXPECT_EQ(Messages("f32[] add(f32[] x, f32[] y)"), "");
}

TEST(Messages, CommentsOfOtherLanguagesAreReportedOnce) {
  EXPECT_EQ(Messages("# one\n# two\nHloModule m\n# three\nENTRY e {\n  a = f32[] parameter(0)  # four\n"
                     "  # five\n  ROOT b = f32[] negat(a)\n}\n# six"),
            "m.hlo:1:1: error: '#' begins no comment in HLO: comments are // or /* */\n"
            "  # one\n"
            "  ^\n"
            "m.hlo:8:18: error: unknown opcode 'negat'; did you mean 'negate'?\n"
            "    ROOT b = f32[] negat(a)\n"
            "                   ^~~~~\n");
  EXPECT_EQ(Messages("ENTRY e {\n  a = f32[] parameter(0) # four\n  ROOT b = f32[] negate(a)\n}\n"),
            "m.hlo:2:26: error: '#' begins no comment in HLO: comments are // or /* */\n"
            "    a = f32[] parameter(0) # four\n"
            "                           ^\n");
}

TEST(Messages, TypesOfOtherLanguagesAreTranslated) {
  const std::string text = Messages(
      "ENTRY e {\n  a = float32[16] parameter(0)\n  i = i32[] constant(1)\n  c = Bool[] constant(true)\n"
      "  h = f31[2] parameter(1)\n  t = (bfloat16[2]) parameter(2)\n  n = s32[] negate(int64[] i)\n"
      "  q = quaternion[] parameter(3)\n  ROOT r = f32[16] negate(a)\n}\n");
  EXPECT_NE(text.find("m.hlo:2:7: error: unknown element type 'float32'; did you mean f32?"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("m.hlo:3:7: error: unknown element type 'i32'; did you mean s32?"), std::string::npos)
      << text;
  EXPECT_NE(text.find("m.hlo:4:7: error: unknown element type 'Bool'; did you mean pred?"), std::string::npos)
      << text;
  EXPECT_NE(text.find("m.hlo:5:7: error: unknown element type 'f31'; did you mean f32?"), std::string::npos)
      << text;
  EXPECT_NE(text.find("m.hlo:6:8: error: unknown element type 'bfloat16'; did you mean bf16?"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("m.hlo:7:20: error: unknown element type 'int64'; did you mean s64?"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("m.hlo:8:7: error: unknown element type 'quaternion'\n"), std::string::npos) << text;
}

TEST(Messages, ABlankAfterTheNameOfAnAttributeIsOneError) {
  EXPECT_EQ(
      Messages("ENTRY e {\n  a = f32[2] parameter(0)\n  ROOT b = f32[2] reverse(a), dimensions = {0}\n}\n"),
      "m.hlo:3:31: error: no blank may follow the name of an attribute: write dimensions=\n"
      "    ROOT b = f32[2] reverse(a), dimensions = {0}\n"
      "                                ^~~~~~~~~~\n");
  EXPECT_NE(
      Messages("ENTRY e {\n  a = f32[2] parameter(0)\n  ROOT b = f32[2] reverse(a), dimensions {0}\n}\n")
          .find("m.hlo:3:31: error: expected an attribute such as dimensions={0} after ',', found "
                "'dimensions'"),
      std::string::npos);
}

TEST(Messages, AnAttributeOfAnotherOpcodeListsThoseAllowed) {
  const std::string text =
      Messages("ENTRY e {\n  a = f32[2] parameter(0)\n  ROOT b = f32[2] reverse(a), dimension={0}\n}\n");
  EXPECT_NE(
      text.find("m.hlo:3:31: error: 'reverse' has no attribute 'dimension'; did you mean 'dimensions'?"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("note: allowed here: dimensions, "), std::string::npos) << text;
}

TEST(Messages, AMissingAttributeIsNamed) {
  EXPECT_NE(Messages("ENTRY e { a = f32[2] parameter(0) ROOT b = f32[2] reverse(a) }")
                .find("'reverse' needs the attribute 'dimensions'"),
            std::string::npos);
}

TEST(Messages, ParsingResumesAtTheNextInstruction) {
  const std::string text = Messages(
      "ENTRY e {\n  a = f32[2] parameter(0)\n  b = f32[2] foo(a)\n  c = f32[2] negate((a)\n  d = f32[2] "
      "negate(a), x=1\n"
      "  ROOT r = f32[2] add(b, d)\n}\n");
  EXPECT_NE(text.find("m.hlo:3:14: error"), std::string::npos) << text;
  EXPECT_NE(text.find("m.hlo:4:"), std::string::npos) << text;
  EXPECT_NE(text.find("m.hlo:5:25: error"), std::string::npos) << text;
  EXPECT_EQ(text.find("m.hlo:6:"), std::string::npos) << text;
}

TEST(Messages, ADeclaredOperandShapeThatDoesNotFitShowsTheDefinition) {
  const std::string text =
      Messages("ENTRY e {\n  a = f32[2] parameter(0)\n  ROOT b = f32[2] negate(f32[3] a)\n}\n");
  EXPECT_NE(text.find("m.hlo:3:26: error: operand 'a' is declared as f32[3], but it is f32[2]"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("m.hlo:2:3: note: 'a' is defined here"), std::string::npos) << text;
}

TEST(Messages, AtMostTwentyErrors) {
  std::string text = "ENTRY e {\n";
  for (int i = 0; i < 100; ++i) text += "  a" + std::to_string(i) + " = f32[] foo()\n";
  const auto source = std::make_shared<SourceText>("m.hlo", text + "}\n");
  Diagnostics diagnostics;
  EXPECT_EQ(Parse(source, diagnostics), nullptr);
  EXPECT_EQ(diagnostics.error_count(), 20);
}

TEST(Messages, ALiteralWithTooFewElementsNamesTheCounts) {
  EXPECT_EQ(Messages("ENTRY e {\n  ROOT c = f32[2,2] constant({ {1, 2}, {3} })\n}\n"),
            "m.hlo:2:40: error: 1 item, but dimension 1 of f32[2,2] has 2\n"
            "    ROOT c = f32[2,2] constant({ {1, 2}, {3} })\n"
            "                                         ^~~\n");
}

TEST(Messages, OlderSpellingsWarnAndAreErrorsIfStrict) {
  const std::string text = "ENTRY e {\n  a = f32[2] parameter(0)\n  ROOT b = pred[2] equal-to(a, a)\n}\n";
  EXPECT_NE(Messages(text).find("m.hlo:3:20: warning: 'equal-to' is the old spelling of 'compare'"),
            std::string::npos);
  EXPECT_NE(Messages(text, {.strict = true}).find("m.hlo:3:20: error:"), std::string::npos);
}

}  // namespace
}  // namespace hlo::messages_test
