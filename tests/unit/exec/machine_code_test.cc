// Tests that machine code can be made, loaded and run.

#include "kernels/cpu/native/machine_code.h"

#include "gtest/gtest.h"

#ifdef HLO_RUN_HAS_NATIVE_CODE
#include "kernels/cpu/native/assembler.h"
#endif

namespace hlo::cpu::machine_code_test {
namespace {

TEST(MachineCode, EmptyCodeIsNotLoaded) { EXPECT_EQ(MachineCode::Load({}), nullptr); }

#ifdef HLO_RUN_HAS_NATIVE_CODE
int64_t Twice(int64_t x) { return 2 * x; }

TEST(MachineCode, CallsFunctionsAndJumpsFar) {
  if (FindNativeIsa() == NativeIsa::kNone) GTEST_SKIP() << "the system allows no machine code";
  Assembler as;
  Xbyak::Label end;
  as.sub(as.rsp, 8);
  as.CallFunction(&Twice);
  as.cmp(as.rax, 10);
  as.je(end, Assembler::T_NEAR);
  // The code in between exceeds the initial buffer.
  for (int k = 0; k < 5000; ++k) as.add(as.rax, 1);
  as.L(end);
  as.add(as.rsp, 8);
  as.ret();
  const auto code = as.Finish();
  ASSERT_NE(code, nullptr);
  EXPECT_GT(code->byte_count(), 5000);
  auto* function = code->At<int64_t(int64_t)>();
  EXPECT_EQ(function(5), 10);
  EXPECT_EQ(function(6), 5012);
}

TEST(MachineCode, AnErrorOfTheAssemblerGivesNoCode) {
  Assembler as;
  Xbyak::Label nowhere;
  as.jmp(nowhere);
  EXPECT_EQ(as.Finish(), nullptr);
  Assembler next;
  next.ret();
  EXPECT_EQ(next.Finish() == nullptr, FindNativeIsa() == NativeIsa::kNone);
}

#if !defined(HLO_ISA_LEVELED)
// Otherwise machine code and kernels could round differently on newer processors.
TEST(MachineCode, UsesOnlyInstructionsThatTheKernelsMayUse) {
#if !defined(__AVX512F__)
  EXPECT_LT(FindNativeIsa(), NativeIsa::kAvx512);
#endif
#if !defined(__AVX2__)
  EXPECT_EQ(FindNativeIsa(), NativeIsa::kNone);
#endif
}
#endif
#endif

}  // namespace
}  // namespace hlo::cpu::machine_code_test
