// Tests conversion of --input options to module arguments.

#include "helpers.h"

namespace hlo::inputs_test {
namespace {

constexpr char kProgram[] = R"(
HloModule m
ENTRY e {
  x = f32[2] parameter(0)
  pair.1 = (s32[2,1], f32[]) parameter(1)
  ROOT t = (f32[2], (s32[2,1], f32[])) tuple(x, pair.1)
}
)";

std::string Read(const std::vector<std::string>& inputs, const std::string& program = kProgram) {
  const std::shared_ptr<Module> module = ModuleOf(program);
  if (!module) return "";
  const absl::StatusOr<std::vector<Literal>> arguments = ReadInputs(*module, inputs);
  return arguments.ok() ? ToString(Literal::Tuple(*arguments)) : ErrorOf(arguments);
}

constexpr char kAll[] = "( {1, 2}, ( { {3}, {4} }, 5 ) )";

TEST(Inputs, LiteralsByPositionFillOneArrayAfterTheOther) {
  EXPECT_EQ(Read({"f32[2]{1,2}", "s32[2,1]{{3},{4}}", "f32[] 5"}), kAll);
}
TEST(Inputs, ATupleLiteralFillsATuple) {
  EXPECT_EQ(Read({"f32[2]{1,2}", "(s32[2,1]{{3},{4}}, f32[] 5)"}), kAll);
}
TEST(Inputs, NamesAndPathsNeedNoOrder) {
  EXPECT_EQ(Read({"1.1=f32[] 5", "pair.1.0=s32[2,1]{{3},{4}}", "x=f32[2]{1,2}"}), kAll);
  EXPECT_EQ(Read({"%pair.1=(s32[2,1]{{3},{4}}, f32[] 5)", "f32[2]{1,2}"}), kAll);
}
TEST(Inputs, KeysOfArchivesArePathsOrNames) {
  EXPECT_EQ(Read({Data("args.npz")}), kAll);
  EXPECT_EQ(Read({Data("deflated.npz")},
                 "HloModule m\nENTRY e { a = f32[2] parameter(0)\n ROOT b = s32[2,1] parameter(1) }"),
            "( {1, 2}, { {3}, {4} } )");
}
TEST(Inputs, FilesAndLiteralsMix) {
  EXPECT_EQ(Read({"x=f32[2]{1,2}", "1.0=s32[2,1]{{3},{4}}", "1.1=f32[] 5"}), kAll);
  EXPECT_EQ(Read({Data("scalar.npy")}, "HloModule m\nENTRY e { ROOT a = s32[] parameter(0) }"), "( 7 )");
}

TEST(Inputs, MessagesNameTheParameter) {
  EXPECT_EQ(
      Read({"f32[2]{1,2}"}),
      "no value for element 1.0 of parameter 'pair.1' (s32[2,1]), element 1.1 of parameter 'pair.1' (f32[]); "
      "give --input for each, or --random SEED");
  EXPECT_EQ(Read({Data("f32.npy")}),
            "parameter 0 'x': tests/unit/io/data/f32.npy: found f32[2,3], expected f32[2]");
  EXPECT_EQ(Read({"f64[2]{1,2}"}),
            "parameter 0 'x': --input: found f64[2], expected f32[2] (--convert allows other types)");
  EXPECT_EQ(Read({"x=f32[2]{1,2}", "0=f32[2]{1,2}"}), "parameter 0 'x' is given twice");
  EXPECT_EQ(Read({"y=f32[2]{1,2}"}),
            "the entry computation has no parameter 'y' (did you mean 'x'?); it has 2 parameters, which go "
            "by name, by "
            "position "
            "(0, 1, ...) or by path (1.0)");
  EXPECT_EQ(Read({Data("args.npz"), "f32[] 5"}),
            "--input f32[] 5: the entry computation has 2 parameters, and each has a value already");
  EXPECT_EQ(
      Read({Data("named.npz")}),
      "tests/unit/io/data/named.npz: key 'extra': the entry computation has no parameter 'extra'; it has 2 "
      "parameters, which go by name, by position (0, 1, ...) or by path (1.0)");
}

TEST(Inputs, TokensNeedNone) {
  EXPECT_EQ(Read({}, "HloModule m\nENTRY e { ROOT t = token[] parameter(0) }"), "( token[] )");
}

}  // namespace
}  // namespace hlo::inputs_test
