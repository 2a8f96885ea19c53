// Tests print options, and text that differs from XLA's because it must read back.

#include "gtest/gtest.h"
#include "hlo_run/print.h"
#include "vectors.h"

namespace hlo::forms_test {
namespace {

std::string PrintText(std::string_view text, const PrintOptions& options) {
  std::string error;
  const std::unique_ptr<Module> module = Read(text, &error);
  if (module == nullptr) return error;
  return Print(*module, options);
}

bool Contains(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

constexpr std::string_view kModule = R"(HloModule m
ENTRY e {
  c = f32[11] constant({0,1,2,3,4,5,6,7,8,9,10})
  n = f32[11]{0:S(1)} negate(c), metadata={op_name="q"}, backend_config="b", sharding={replicated metadata={op_name="s"}}
  ROOT t = (f32[11], f32[]) custom-call(n), custom_call_target="t", metadata={source_line=3}
})";

TEST(Forms, OptionsOmitParts) {
  EXPECT_TRUE(Contains(PrintText(kModule, {}), "{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}"));
  EXPECT_TRUE(Contains(PrintText(kModule, {.large_constants = false}), "constant({...})"));
  EXPECT_TRUE(Contains(PrintText(kModule, {}), "{0:S(1)}"));
  EXPECT_FALSE(Contains(PrintText(kModule, {.layouts = false}),
                        "{0"
                        "}"));
  EXPECT_FALSE(Contains(PrintText(kModule, {.layouts = false}), "S(1)"));
  EXPECT_TRUE(Contains(PrintText(kModule, {}), "backend_config=\"b\""));
  EXPECT_FALSE(Contains(PrintText(kModule, {.backend_config = false}), "backend_config"));
  EXPECT_FALSE(Contains(PrintText(kModule, {.metadata = false}), "metadata"));
  EXPECT_FALSE(Contains(PrintText(kModule, {.form = PrintForm::kShort}), "metadata"));
}

TEST(Forms, KeepsMetadataThatXlaDrops) {
  EXPECT_TRUE(Contains(PrintText(kModule, {}), "metadata={source_line=3}"));
  EXPECT_FALSE(Contains(PrintText(kModule, PrintOptions::Xla(PrintForm::kLong)), "source_line"));
}

TEST(Forms, KeepsNegativeZero) {
  constexpr std::string_view kZero = "ENTRY e { ROOT c = f32[] constant(-0.0) }";
  EXPECT_TRUE(Contains(PrintText(kZero, {}), "constant(-0.0)"));
  EXPECT_TRUE(Contains(PrintText(kZero, PrintOptions::Xla(PrintForm::kLong)), "constant(-0)"));
}

TEST(Forms, ElidedConstantsStayElided) {
  EXPECT_TRUE(Contains(PrintText("ENTRY e { ROOT c = f32[3] constant({...}) }", {}), "constant({...})"));
}

TEST(Forms, PrintsAsyncAroundNativeOpcodesInFull) {
  constexpr std::string_view kCopy = R"(ENTRY e {
  a = f32[2] parameter(0)
  s = ((f32[2]), f32[2], u32[]) async-start(a), calls={ x = f32[2] parameter(0) ROOT y = f32[2] copy(x) }
  ROOT d = f32[2] async-done(s)
})";
  EXPECT_TRUE(Contains(PrintText(kCopy, {}), "async-start(%a), calls=%_"));
  EXPECT_TRUE(Contains(PrintText(kCopy, PrintOptions::Xla(PrintForm::kLong)), "copy-start(%a)"));
}

TEST(Forms, PrintsCalleesBeforeCallersEverywhere) {
  constexpr std::string_view kCalls = R"(HloModule m
f1 { x = f32[] parameter(0) ROOT n = f32[] negate(x) }
f2 { x = f32[] parameter(0) ROOT c = f32[] call(x), to_apply=f1 }
ENTRY e {
  x = f32[] parameter(0)
  s = s32[] parameter(1)
  ROOT c = f32[] conditional(s, x, x), branch_computations={f2, f1}
})";
  const std::string ours = PrintText(kCalls, {}),
                    xla = PrintText(kCalls, PrintOptions::Xla(PrintForm::kLong));
  EXPECT_LT(ours.find("%f1 ("), ours.find("%f2 ("));
  EXPECT_GT(xla.find("%f1 ("), xla.find("%f2 ("));
}

TEST(Forms, UnnamedBodiesGetNames) {
  const std::string text = PrintText(R"(ENTRY e {
  a = f32[] parameter(0)
  b = f32[] call(a), to_apply={ x = f32[] parameter(0) ROOT n = f32[] negate(x) }
  ROOT c = f32[] call(b), to_apply={ x = f32[] parameter(0) ROOT n = f32[] abs(x) }
})",
                                     {});
  EXPECT_TRUE(Contains(text, "to_apply=%_\n")) << text;
  EXPECT_TRUE(Contains(text, "to_apply=%_.1\n")) << text;
}

// Inlined bodies double with each level: canonical text of 60 levels must terminate.
TEST(Forms, CanonicalTextOfDeepCallsEnds) {
  std::string text = "HloModule m\nf0 { x = f32[] parameter(0) ROOT n = f32[] negate(x) }\n";
  for (int i = 1; i < 60; ++i) {
    const std::string callee = "f" + std::to_string(i - 1);
    text += "f" + std::to_string(i) + " { x = f32[] parameter(0) a = f32[] call(x), to_apply=" + callee +
            " ROOT b = f32[] call(a), to_apply=" + callee + " }\n";
  }
  EXPECT_LT(PrintText(text, {.form = PrintForm::kCanonical}).size(), size_t{1} << 30);
}

}  // namespace
}  // namespace hlo::forms_test
