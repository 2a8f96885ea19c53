// Tests the comparison of the engines with a custom call that gives another value the first time.

#include "debug/diff/cross_check.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "hlo_run/custom_calls.h"
#include "shadow_helpers.h"

namespace hlo::debug::cross_check_test {
namespace {

using test::Checked;

constexpr char kModule[] = R"(HloModule m
ENTRY e {
  a = f32[3] parameter(0)
  b = f32[3] multiply(a, a)
  c = f32[3] custom-call(b), custom_call_target="once_wrong"
  ROOT d = f32[3] negate(c)
}
)";

Literal Argument() { return test::F32({1, 2, 3}); }

TEST(CrossCheck, NamesTheFirstStepThatDiffers) {
  int calls = 0;
  CustomCalls custom_calls;
  custom_calls.Add("once_wrong",
                   [&](const Instruction&, absl::Span<const Literal> operands) -> absl::StatusOr<Literal> {
                     Literal result = operands[0];
                     if (const absl::Status status = result.MakeUnique(); !status.ok()) return status;
                     if (calls++ == 0) result.mutable_span<float>()[1] += 1;
                     return result;
                   });
  const CheckedModule module = Checked(kModule);
  const CrossCheck check = *RunCrossCheck(module, {Argument()}, {.custom_calls = &custom_calls}, {});
  ASSERT_TRUE(check.first.has_value());
  EXPECT_EQ(check.first->instruction->name(), "c");
  EXPECT_EQ(check.first->index, std::vector<int64_t>({1}));
  EXPECT_EQ(check.first->fast, "5");
  EXPECT_EQ(check.first->reference, "4");
  EXPECT_EQ(check.first->operands,
            std::vector<std::string>({"%b: 3 elements, least magnitude 1, largest 9"}));
  const std::string folder = testing::TempDir() + "cross-check-case";
  ASSERT_TRUE(WriteCase(folder, module, {Argument()}, check).ok());
  for (const char* file : {"module.hlo", "inputs.npz", "outputs.npz", "case.json"})
    EXPECT_TRUE(std::filesystem::exists(folder + "/" + file)) << file;
  std::filesystem::remove_all(folder);
}

TEST(CrossCheck, EnginesAgree) {
  const CrossCheck check = *RunCrossCheck(Checked(R"(HloModule m
ENTRY e {
  a = f32[3] parameter(0)
  b = f32[3] exponential(a)
  ROOT d = f32[3] tanh(b)
}
)"),
                                          {Argument()}, {}, {});
  EXPECT_FALSE(check.first.has_value()) << ToString(check);
  EXPECT_GE(check.steps, 1);
}

// The fast engine replaces both reductions and the product by other instructions.
TEST(CrossCheck, ComparesInstructionsThatAreReplaced) {
  const CheckedModule module = Checked(R"(HloModule m
sum { x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = f32[] add(x, y) }
shrink { x = f32[] parameter(0) y = f32[] parameter(1) p = f32[] multiply(x, y) ROOT z = f32[] subtract(x, p) }
ENTRY e {
  a = f32[4000,3] parameter(0)
  zero = f32[] constant(0)
  narrow = f32[3] reduce(a, zero), dimensions={0}, to_apply=sum
  in_order = f32[3] reduce(a, zero), dimensions={0}, to_apply=shrink
  dots = f32[4000] dot(a, a), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_contracting_dims={1}
  ROOT t = (f32[3], f32[3], f32[4000]) tuple(narrow, in_order, dots)
}
)");
  Literal a = *Literal::Create(Shape::Array(ElementType::kF32, {4000, 3}));
  for (int64_t k = 0; k < a.element_count(); ++k) a.mutable_span<float>()[k] = static_cast<float>(k % 7) / 8;
  const CrossCheck check = *RunCrossCheck(module, {a}, {}, {});
  EXPECT_FALSE(check.first.has_value()) << ToString(check);
  EXPECT_EQ(check.steps, 3);
}

}  // namespace
}  // namespace hlo::debug::cross_check_test
