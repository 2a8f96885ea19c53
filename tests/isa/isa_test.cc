// The instruction set that the program is compiled for, as users of the command see it.

#include "base/isa.h"

#include <string>

#include "cli_fixture.h"
#include "nlohmann/json.hpp"

namespace hlo::cli_test {
namespace {

class Isa : public Cli {
 protected:
  void TearDown() override {
    unsetenv("HLO_RUN_ISA");
    Cli::TearDown();
  }
  static void Choose(const std::string& name) { setenv("HLO_RUN_ISA", name.c_str(), 1); }
};

TEST_F(Isa, TheProgramNamesItsInstructionSet) {
  for (const std::string& name : {std::string(), std::string(IsaName())}) {
    Choose(name);
    const Outcome devices = Run("devices --format=json");
    ASSERT_EQ(devices.status, 0) << devices.err;
    EXPECT_EQ(nlohmann::json::parse(devices.out)["cpu"]["instruction_set"], IsaName());
    EXPECT_HAS(Run("devices").out, IsaName());
  }
}

TEST_F(Isa, EachLevelCanBeChosen) {
  for (const std::string& name : IsaNames()) {
    Choose(name);
    EXPECT_EQ(nlohmann::json::parse(Run("devices --format=json").out)["cpu"]["instruction_set"], name);
  }
}

TEST_F(Isa, AnUnknownNameIsAnError) {
  for (const std::string name : {"x86-64-v5", "avx2", "none"}) {
    Choose(name);
    for (const std::string command : {"devices", "--version", "ops"}) {
      const Outcome outcome = Run(command);
      EXPECT_EQ(outcome.status, 2) << command;
      EXPECT_EQ(outcome.out, "");
      EXPECT_HAS(outcome.err, "hlo-run: error: HLO_RUN_ISA=" + name);
      EXPECT_HAS(outcome.err, IsaName());
    }
  }
}

#if defined(HLO_TEST_QEMU)
class EmulatedIsa : public Isa {
 protected:
  Outcome RunOn(const std::string& processor, const std::string& arguments) {
    return RunShell(std::string(HLO_TEST_QEMU) + " -cpu " + processor + " " + HLO_RUN_BINARY + " " +
                    arguments + " >" + Path("stdout"));
  }
};

TEST_F(EmulatedIsa, NativeProgramsSayThatTheProcessorIsAnother) {
  if (IsaName() != "native") GTEST_SKIP() << "this build is portable";
  const Outcome outcome = RunOn("qemu64", "--version");
  EXPECT_EQ(outcome.status, 2) << outcome.err;
  EXPECT_HAS(outcome.err, "hlo-run: error: this program was compiled for another processor; this one lacks ");
  EXPECT_HAS(outcome.err, "avx");
  EXPECT_EQ(outcome.out, "");
}

// Integers, so that all levels and engines have the same bits.
constexpr char kIntegers[] = R"(HloModule m
less { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = pred[] compare(a, b), direction=LT }
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }
ENTRY e {
  i = f32[24,24] iota(), iota_dimension=0
  j = f32[24,24] iota(), iota_dimension=1
  difference = f32[24,24] subtract(i, j)
  product = f32[24,24] dot(difference, i), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  sorted = f32[24,24] sort(product), dimensions={1}, to_apply=less
  zero = f32[] constant(0)
  sums = f32[24] reduce(sorted, zero), dimensions={1}, to_apply=add
  ROOT r = (f32[24], f32[24,24]) tuple(sums, product)
}
)";

// A loop of scalars and a short vector, which is compiled to native code if the processor allows it.
constexpr char kLoop[] = R"(HloModule m
condition {
  s = (s32[], s64[], f64[], f32[8], f32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(2000)
  ROOT r = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], s64[], f64[], f32[8], f32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = s64[] get-tuple-element(s), index=1
  y = f64[] get-tuple-element(s), index=2
  v = f32[8] get-tuple-element(s), index=3
  z = f32[] get-tuple-element(s), index=4
  one = s32[] constant(1)
  j = s32[] add(i, one)
  k = s64[] convert(j)
  seven = s64[] constant(7)
  xk = s64[] multiply(x, seven)
  xs = s64[] xor(xk, k)
  f = f64[] convert(i)
  m = f64[] maximum(y, f)
  half = f32[] constant(0.5)
  halves = f32[8] broadcast(half), dimensions={}
  w = f32[8] multiply(v, halves)
  c = f32[] convert(i)
  cs = f32[8] broadcast(c), dimensions={}
  u = f32[8] add(w, cs)
  e = f32[] floor(z)
  five = s32[] constant(5)
  rest = s32[] remainder(i, five)
  q = f32[] convert(rest)
  g = f32[] add(e, q)
  ROOT t = (s32[], s64[], f64[], f32[8], f32[]) tuple(j, xs, m, u, g)
}
ENTRY e {
  i = s32[] constant(0)
  x = s64[] constant(3)
  y = f64[] constant(-1)
  z = f32[] constant(0)
  v = f32[8] iota(), iota_dimension=0
  s = (s32[], s64[], f64[], f32[8], f32[]) tuple(i, x, y, v, z)
  ROOT r = (s32[], s64[], f64[], f32[8], f32[]) while(s), condition=condition, body=body
}
)";

TEST_F(EmulatedIsa, PortableProgramsChooseTheProcessorsLevel) {
  if (IsaName() == "native") GTEST_SKIP() << "this build is native";
  const std::string module = Write("m.hlo", kIntegers), loop = Write("loop.hlo", kLoop);
  const std::string want = Run("run --full --engine=reference " + module).out;
  EXPECT_HAS(want, "f32[24,24]");
  const std::string want_of_loop = Run("run --full --engine=reference " + loop).out;
  EXPECT_HAS(want_of_loop, "s32[] 2000");
  for (const auto& [processor, level] :
       {std::pair("Nehalem", "x86-64-v2"), std::pair("Haswell", "x86-64-v3")}) {
    const Outcome devices = RunOn(processor, "devices --format=json");
    ASSERT_EQ(devices.status, 0) << processor << devices.err;
    EXPECT_EQ(nlohmann::json::parse(devices.out)["cpu"]["instruction_set"], level);
    const Outcome outcome = RunOn(processor, "run --full " + module);
    EXPECT_EQ(outcome.status, 0) << processor << outcome.err;
    EXPECT_EQ(outcome.out, want) << processor;
    const Outcome looped = RunOn(processor, "run --full " + loop);
    EXPECT_EQ(looped.status, 0) << processor << looped.err;
    EXPECT_EQ(looped.out, want_of_loop) << processor;
  }
  Choose("x86-64-v4");
  const Outcome newer = RunOn("Haswell", "devices");
  EXPECT_EQ(newer.status, 2);
  EXPECT_HAS(newer.err, "HLO_RUN_ISA=x86-64-v4: this processor lacks it and has x86-64-v3, x86-64-v2");
  Choose("");
  const Outcome old = RunOn("qemu64", "--version");
  EXPECT_EQ(old.status, 2);
  EXPECT_HAS(old.err, "hlo-run: error: this program needs a processor of x86-64-v2; this one lacks ");
}
#endif

}  // namespace
}  // namespace hlo::cli_test
