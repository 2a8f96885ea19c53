// Tests module-level rules: errors, warnings, and linear running time.

#include "check_text.h"
#include "gtest/gtest.h"

namespace hlo::module_test {
namespace {

constexpr char kAdd[] = "add { p = f32[] parameter(0) q = f32[] parameter(1) ROOT r = f32[] add(p, q) }\n";

std::string Module1(const std::string& body, const std::string& others = "") {
  return "HloModule t\n" + others + "ENTRY e {\n" + body + "}\n";
}

CheckedText Checked(const std::string& text, const CheckOptions& options = {}) {
  CheckedText checked;
  CheckText(text, {.check = options}, &checked);
  return checked;
}

// Expects a warning that cites the rule, and with `strict` an error; evaluation is not affected.
void ExpectLenient(const std::string& text, const std::string& rule) {
  const CheckedText lenient = Checked(text);
  EXPECT_TRUE(lenient.ok) << text << lenient.Rendered();
  ASSERT_FALSE(lenient.diagnostics.all().empty()) << text;
  EXPECT_NE(lenient.Rendered().find("[shape-rules " + rule + "]"), std::string::npos) << lenient.Rendered();
  EXPECT_FALSE(Checked(text, {.strict = true}).ok) << text;
}

TEST(ModuleRules, AsynchronyIsNotNeededToEvaluate) {
  // Two users of a start, a start without a done, a body of several instructions.
  ExpectLenient(Module1(R"( a = f32[4] parameter(0)
 s = f32[4] all-reduce-start(a), replica_groups={}, to_apply=add
 d = f32[4] all-reduce-done(s)
 b = f32[4] all-reduce-done(s)
 ROOT r = f32[4] add(d, b)
)",
                        kAdd),
                "4.7");
  ExpectLenient(Module1(R"( x = f32[4] parameter(0)
 s = ((f32[4]), f32[4], u32[]) negate-start(x)
 ROOT r = f32[4] negate(x)
)"),
                "4.7");
  ExpectLenient(Module1(R"( x = f32[4] parameter(0)
 s = ((f32[4]), f32[4], u32[]) async-start(x), calls=f
 ROOT r = f32[4] async-done(s)
)",
                        "f { p = f32[4] parameter(0) n = f32[4] abs(p) ROOT r = f32[4] negate(n) }\n"),
                "4.7");
}

TEST(ModuleRules, ADoneRequiresAStart) {
  for (const char* done : {"all-reduce-done", "negate-done"}) {
    const CheckedText checked = Checked(
        Module1(std::string(" a = ((f32[4]), f32[4]) parameter(0)\n ROOT d = f32[4] ") + done + "(a)\n"));
    EXPECT_FALSE(checked.ok) << done;
    EXPECT_NE(checked.Rendered().find("'a' is a parameter"), std::string::npos) << checked.Rendered();
  }
}

TEST(ModuleRules, DeviceRulesNeedSeveralDevices) {
  ExpectLenient(Module1(" x = f32[8] parameter(0)\n ROOT y = f32[8] copy(x), sharding={devices=[2,1]0,1}\n"),
                "4.6");
  ExpectLenient(Module1(" a = f32[] parameter(0)\n ROOT k = f32[] fusion(a), kind=kLoop, calls=f\n",
                        "f { p = f32[] parameter(0) ROOT n = f32[] negate(p) }, execution_thread=\"z\"\n"),
                "4.6");
  ExpectLenient("HloModule t, replica_count=2\n" + std::string(kAdd) + R"(ENTRY e {
  x = f32[4] parameter(0)
  ROOT y = f32[4] all-reduce(x), replica_groups={{0,1,2,3}}, to_apply=add
})",
                "3.26");
}

TEST(ModuleRules, FusionBodiesMayContainDeadInstructions) {
  ExpectLenient(Module1(" a = f32[] parameter(0)\n ROOT f = f32[] fusion(a), kind=kLoop, calls=c\n",
                        "c { p = f32[] parameter(0) u = f32[] abs(p) ROOT r = f32[] negate(p) }\n"),
                "4.5");
  ExpectLenient(Module1(" a = f32[] parameter(0)\n f = f32[] fusion(a), kind=kLoop, calls=c\n"
                        " ROOT g = f32[] fusion(f), kind=kLoop, calls=c\n",
                        "c { p = f32[] parameter(0) ROOT r = f32[] negate(p) }\n"),
                "4.5");
}

TEST(ModuleRules, ANativeStartMayHaveTheGenericForm) {
  ExpectLenient(Module1(R"( x = f32[4] parameter(0)
 s = ((f32[4]), f32[8], u32[]) all-gather-start(x), replica_groups={{0,1}}, dimensions={0}
 ROOT d = f32[8] all-gather-done(s)
)"),
                "3.27");
  ExpectLenient(Module1(R"( x = f32[4] parameter(0)
 s = ((f32[4]), f32[4], u32[]) all-reduce-start(x), replica_groups={}, to_apply=add
 ROOT d = f32[4] all-reduce-done(s)
)",
                        kAdd),
                "3.27");
}

TEST(ModuleRules, OpcodesPreserveLayouts) {
  const std::string text = Module1(
      " a = f32[2,3]{0,1} parameter(0)\n b = f32[2,3]{1,0} parameter(1)\n ROOT c = f32[2,3]{1,0} add(a, "
      "b)\n");
  EXPECT_TRUE(Checked(text).diagnostics.all().empty());
  const CheckedText sensitive = Checked(text, {.layout_sensitive = true});
  EXPECT_TRUE(sensitive.ok);
  EXPECT_NE(sensitive.Rendered().find("[shape-rules 4.10]"), std::string::npos) << sensitive.Rendered();
  EXPECT_FALSE(Checked(text, {.layout_sensitive = true, .strict = true}).ok);
}

TEST(ModuleRules, OneWarningCoversAllDeadComputations) {
  const CheckedText checked = Checked(
      Module1(" ROOT a = f32[] parameter(0)\n", std::string(kAdd) + "c { ROOT p = f32[] parameter(0) }\n"));
  EXPECT_TRUE(checked.ok);
  EXPECT_EQ(checked.diagnostics.warning_count(), 1) << checked.Rendered();
}

TEST(ModuleRules, BuiltModulesMustBeInOrder) {
  Module module(nullptr);
  const Shape f32 = Shape::Scalar(ElementType::kF32);
  Computation* other = module.NewComputation("other");
  Instruction* foreign = module.AddInstruction(other, Opcode::kAfterAll, "t", Shape::Token(), {}, {});
  InstructionEditor::SetRoot(*other, foreign);
  Computation* entry = module.NewComputation("entry");
  Instruction* root = module.AddInstruction(entry, Opcode::kAfterAll, "u", Shape::Token(), {foreign}, {});
  InstructionEditor::SetRoot(*entry, root);
  module.AddComputation(other);
  module.AddComputation(entry);
  module.set_entry(entry);
  Diagnostics diagnostics;
  const auto shared = std::shared_ptr<const Module>(std::shared_ptr<void>(), &module);
  EXPECT_FALSE(Check(shared, diagnostics).ok());
  EXPECT_EQ(diagnostics.error_count(), 1);
}

// Each done walks the whole chain; a budget keeps the total time linear.
TEST(ModuleRules, LongChainsAreCheckedInLinearTime) {
  constexpr int kLength = 20000;
  const std::string shape = "((f32[4]), f32[4], s32[])";
  std::string body = " a = f32[4] parameter(0)\n v0 = " + shape + " negate-start(a)\n";
  for (int i = 1; i < kLength; ++i) {
    body += " v" + std::to_string(i) + " = " + shape + " copy(v" + std::to_string(i - 1) + ")\n";
  }
  for (int i = 0; i < kLength; ++i) {
    body += " d" + std::to_string(i) + " = f32[4] negate-done(v" + std::to_string(kLength - 1) + ")\n";
  }
  EXPECT_TRUE(Checked(Module1(body)).ok);
}

}  // namespace
}  // namespace hlo::module_test
