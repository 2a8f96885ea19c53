// Tests replacement values for elided constants of dumps.

#include "helpers.h"

namespace hlo::elided_test {
namespace {

constexpr char kProgram[] = R"(
HloModule m
ENTRY e {
  a = s32[3] constant({...})
  b = s8[6] constant({...})
  c = u16[3] constant({...})
  d = pred[7] constant({...})
  f = s32[2,2]{0,1} constant({...})
  g = s4[6] constant({...})
  h = u8[2] constant({...})
  i = s64[1] constant({...})
  ROOT t = (s32[3], s8[6], u16[3], pred[7], s32[2,2]{0,1}, s4[6], u8[2], s64[1]) tuple(a,b,c,d,f,g,h,i)
}
)";

struct Filled {
  std::shared_ptr<Module> module = ModuleOf(kProgram);
  absl::Status status;

  explicit Filled(const std::vector<std::string>& texts) {
    ElidedValues values;
    for (const std::string& text : texts) EXPECT_TRUE(AddElidedValues(text, &values).ok()) << text;
    status = FillElided(values, *module);
  }
  std::string operator[](int i) const {
    const Instruction* constant = module->entry()->instructions()[static_cast<size_t>(i)];
    return constant->is_elided() ? "..." : ToString(*constant->Get<attr::literal>());
  }
};

TEST(Elided, CounterGivesTheValuesOfXlasReader) {
  const Filled filled({"counter"});
  const char* want[] = {"{0, 1, 2}",
                        "{3, 0, 0, 0, 0, 1}",
                        "{4, 0, 770}",
                        "{1, 0, 0, 0, 0, 1, 0}",
                        "{ { 6, 7 }, { 8, 9 } }",
                        "{-6, 0, 0, 0, 7, -8}",
                        "{9, 10}",
                        "{51539607563}"};
  for (int i = 0; i < 8; ++i) EXPECT_EQ(filled[i], want[i]) << i;
}

TEST(Elided, RandomConstantsAreGeneratedLikeArguments) {
  const absl::StatusOr<std::vector<Literal>> arguments =
      MakeInputs(*ModuleOf("HloModule m\nENTRY e { a = s32[3] parameter(0)\n ROOT b = s8[6] parameter(1) }"),
                 InputFill::kUniform, 5);
  ASSERT_TRUE(arguments.ok());
  const Filled filled({"random:5"});
  EXPECT_EQ(filled[0], ToString((*arguments)[0]));
  EXPECT_EQ(filled[1], ToString((*arguments)[1]));
  EXPECT_NE(Filled({"random"})[0], filled[0]);
}

TEST(Elided, AFileSetsOneConstantAndTheOthersAreFilled) {
  const TemporaryFolder folder;
  const std::string file = folder.Write("h.txt", "{7, 9}");
  const Filled filled({"%h=" + file, "zeros"});
  EXPECT_EQ(filled[6], "{7, 9}");
  EXPECT_EQ(filled[0], "{0, 0, 0}");
  const Filled alone({"h=" + file});
  EXPECT_EQ(alone[6], "{7, 9}");
  EXPECT_EQ(alone[0], "...");
}

TEST(Elided, MistakesAreNamed) {
  EXPECT_EQ(Message(Filled({"hh=x.npy"}).status),
            "--elided: there is no constant 'hh' without elements (did you mean 'h'?)");
  EXPECT_EQ(Message(Filled({"h=no.npy"}).status),
            "constant 'h': no.npy: cannot be read: No such file or directory");
  ElidedValues values;
  EXPECT_EQ(Message(AddElidedValues("nothing", &values)),
            "'nothing' should be zeros, random, random:SEED, counter, or NAME=FILE for one constant");
}

}  // namespace
}  // namespace hlo::elided_test
