// Tests tokens (text-format 1.3 to 1.7).

#include "text/lexer.h"

#include "gtest/gtest.h"

namespace hlo::text::lexer_test {
namespace {

std::vector<Tok> Kinds(const std::string& text) {
  std::vector<Tok> kinds;
  for (Lexer lexer(text); !lexer.At(Tok::kEnd); lexer.Next()) {
    kinds.push_back(lexer.token().kind);
    if (lexer.At(Tok::kError)) break;
  }
  return kinds;
}

using Kind = std::vector<Tok>;

TEST(Lexer, AColonOrAnEqualsSignBelongsToTheWordBeforeIt) {
  EXPECT_EQ(Kinds("x = y"), (Kind{Tok::kIdent, Tok::kEqual, Tok::kIdent}));
  EXPECT_EQ(Kinds("x= y"), (Kind{Tok::kAttr, Tok::kIdent}));
  EXPECT_EQ(Kinds("%x= y"), (Kind{Tok::kName, Tok::kEqual, Tok::kIdent}));
  EXPECT_EQ(Kinds("x: true= f32:"), (Kind{Tok::kName, Tok::kAttr, Tok::kName}));
  EXPECT_EQ(Kinds("%a:"), (Kind{Tok::kName, Tok::kColon}));
}

TEST(Lexer, DashesAndDotsArePartOfWords) {
  EXPECT_EQ(Kinds("foo -> f32[]"),
            (Kind{Tok::kIdent, Tok::kArrow, Tok::kType, Tok::kLSquare, Tok::kRSquare}));
  EXPECT_EQ(Kinds("foo->f32[]"), (Kind{Tok::kIdent, Tok::kError}));
  EXPECT_EQ(Kinds(")->f32"), (Kind{Tok::kRParen, Tok::kArrow, Tok::kType}));
}

TEST(Lexer, NumbersHaveFiveForms) {
  EXPECT_EQ(Kinds("1 -2 1.5 5. -.5 1e3 1x2x3 1_2x3_-4_1"),
            (Kind{Tok::kInt, Tok::kInt, Tok::kDecimal, Tok::kDecimal, Tok::kDecimal, Tok::kDecimal, Tok::kDxd,
                  Tok::kPad}));
  EXPECT_EQ(Kinds(".5"), (Kind{Tok::kError}));
  EXPECT_EQ(Kinds("0x10"), (Kind{Tok::kDxd}));
  EXPECT_EQ(Kinds("+1"), (Kind{Tok::kPlus, Tok::kInt}));
}

TEST(Lexer, DimensionLabelsStartLikeWordsOrNumbers) {
  EXPECT_EQ(Kinds("bf_io->bf"), (Kind{Tok::kDimLabels}));
  EXPECT_EQ(Kinds("01bf_io01->bf01 ?b01f_0?1io->b01?f"), (Kind{Tok::kDimLabels, Tok::kDimLabels}));
}

TEST(Lexer, NanHasAnAdjacentPayload) {
  EXPECT_EQ(Kinds("nan -nan nan(0x1) -inf"),
            (Kind{Tok::kDecimal, Tok::kDecimal, Tok::kDecimal, Tok::kNegInf}));
  EXPECT_EQ(Kinds("nan(0x0)"), (Kind{Tok::kError}));
  EXPECT_EQ(Kinds("nan(0x10000000000000)"), (Kind{Tok::kError}));
}

TEST(Lexer, CommentsAreSkippedAndUnterminatedOnesAreErrors) {
  EXPECT_EQ(Kinds("a /* b */ c // d\re"), (Kind{Tok::kIdent, Tok::kIdent, Tok::kIdent}));
  EXPECT_EQ(Kinds("a /* b"), (Kind{Tok::kIdent, Tok::kError}));
}

TEST(Lexer, JsonIsTakenAsBytes) {
  const std::string text = R"( {"a": "}", 'x': {1}} rest)";
  Lexer lexer(text);
  EXPECT_EQ(lexer.TakeJson(), R"({"a": "}", 'x': {1}})");
  EXPECT_EQ(lexer.Bytes(lexer.token()), "rest");
}

}  // namespace
}  // namespace hlo::text::lexer_test
