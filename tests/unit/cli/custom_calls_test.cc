// Tests custom calls defined on the command line: keywords, libraries, typed foreign functions; and host
// callbacks.

#include <string>

#include "cli_fixture.h"

namespace {

using namespace hlo::cli_test;

TEST_F(Cli, CustomCallsGiveZerosOrTheirOperands) {
  const std::string file = Write("m.hlo", R"(ENTRY e {
  a = f32[2] parameter(0)
  b = f32[2] custom-call(a), custom_call_target="mystery"
  c = (f32[2], f32[2]) custom-call(a, b), custom_call_target="riddle"
  ROOT r = (f32[2], (f32[2], f32[2])) tuple(b, c)
}
)");
  const std::string flags = " -i '{1,2}' --custom-call mystery=identity --custom-call riddle=";
  EXPECT_EQ(Run(file + flags + "zeros").out, "( f32[2] {1, 2}, ( f32[2] {0, 0}, f32[2] {0, 0} ) )\n");
  EXPECT_EQ(Run(file + flags + "identity").out, "( f32[2] {1, 2}, ( f32[2] {1, 2}, f32[2] {1, 2} ) )\n");
  const std::string other = Write("o.hlo", R"(ENTRY e {
  a = f32[2] parameter(0)
  ROOT b = f32[3] custom-call(a), custom_call_target="mystery"
}
)");
  const Outcome wrong = Run(other + " --random 1 --custom-call mystery=identity");
  EXPECT_EQ(wrong.status, 2);
  EXPECT_HAS(wrong.err, "o.hlo:3:");
  EXPECT_HAS(wrong.err, "--custom-call mystery=identity: the operands (f32[2]) are not f32[3]");
}

std::string FfiModule(const std::string& target, const std::string& config) {
  return "ENTRY e {\n  x = f32[2,3]{0,1} parameter(0)\n  n = s32[] parameter(1)\n"
         "  ROOT r = (f32[2,3], s64[2]) custom-call(x, n), custom_call_target=\"" +
         target +
         "\", operand_layout_constraints={f32[2,3]{1,0}, s32[]}, api_version=API_VERSION_TYPED_FFI, "
         "backend_config={" +
         config + "}\n}\n";
}

TEST_F(Cli, ALibraryHasHandlersOfTypedForeignFunctions) {
  const std::string flags = " -i '{{1,2,3},{4,5,6}}' -i 10 --custom-call-library " HLO_RUN_TEST_LIBRARY;
  const std::string file = Write("m.hlo", FfiModule("ffi_scale",
                                                    "shift = 5 : i64, factor = 2.5 : f32, name = \"a\\22b\", "
                                                    "offsets = array<i32: 1, 2, 3>, more = {on = true}"));
  for (const std::string engine : {"", " --engine=reference"}) {
    const Outcome run = Run(file + flags + engine);
    EXPECT_EQ(run.status, 0) << run.err;
    // factor * x + offset of the column; n + shift and the length of the name.
    EXPECT_EQ(run.out, "( f32[2,3] { { 3.5, 7, 10.5 }, { 11, 14.5, 18 } }, s64[2] {15, 3} )\n");
  }
  const auto error = [&](const std::string& config) {
    const Outcome run = Run(Write("w.hlo", FfiModule("ffi_scale", config)) + flags);
    EXPECT_EQ(run.status, 2) << config;
    EXPECT_HAS(run.err, "w.hlo:4:");
    return run.err;
  };
  EXPECT_HAS(error("shift = 5 : i64"), "ffi_scale takes 5 attributes, and there are 1");
  EXPECT_HAS(error("shift = 5 : q64"), "expected an element type such as i32 or f32");
  EXPECT_HAS(error("shift = five : i64"), "expected a s64, but there is 'five' before it");
  EXPECT_HAS(error("shift 5"), "expected = behind the attribute 'shift'");
}

TEST_F(Cli, HandlersMayFinishLaterAndAllocateMemory) {
  const std::string module = R"(ENTRY e {
  x = f32[4] parameter(0)
  ROOT r = f32[4] custom-call(x), custom_call_target="ffi_later", api_version=API_VERSION_TYPED_FFI
}
)";
  const Outcome run =
      Run(Write("m.hlo", module) + " -i '{1,2,3,4}' --custom-call-library " HLO_RUN_TEST_LIBRARY);
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out, "f32[4] {4, 3, 2, 1}\n");
  const Outcome failed = Run(Path("m.hlo") + " -i '{-1,2,3,4}' --custom-call-library " HLO_RUN_TEST_LIBRARY);
  EXPECT_EQ(failed.status, 4);
  EXPECT_HAS(failed.err, "ffi_later refuses negative numbers");
}

TEST_F(Cli, HandlersOfAnotherMajorVersionAreRejected) {
  const std::string module = R"(ENTRY e {
  x = f32[4] parameter(0)
  ROOT r = f32[4] custom-call(x), custom_call_target="ffi_future", api_version=API_VERSION_TYPED_FFI
}
)";
  const Outcome run = Run(Write("m.hlo", module) + " --random 1 --custom-call-library " HLO_RUN_TEST_LIBRARY);
  EXPECT_EQ(run.status, 3);
  EXPECT_HAS(run.err, "the handler 'ffi_future' has version 7.1 of XLA's interface, expected 0.x");
}

TEST_F(Cli, InfeedAndOutfeedCanBeRemoved) {
  const std::string file = Write("m.hlo", R"(ENTRY e {
  t = token[] after-all()
  a = (s32[2], token[]) infeed(t)
  x = s32[2] get-tuple-element(a), index=0
  u = token[] get-tuple-element(a), index=1
  one = s32[2] constant({1,2})
  y = s32[2] add(x, one)
  o = token[] outfeed(y, u), outfeed_shape=s32[2]
  ROOT r = s32[2] copy(y)
}
)");
  EXPECT_EQ(Run(file).status, 2);
  const Outcome run = Run(file + " --remove-infeed-outfeed");
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out, "s32[2] {1, 2}\n");
  EXPECT_EQ(Run(file + " --remove-infeed-outfeed --infeed 's32[2]{10,20}'").out, "s32[2] {11, 22}\n");
}

TEST_F(Cli, LoopsEndAtALimit) {
  const std::string file = Write("m.hlo", R"(HloModule m
more { p = (s32[], f32[2]) parameter(0)  ROOT t = pred[] constant(true) }
twice_more { n = s32[] parameter(0)  two = s32[] constant(2)  ROOT c = pred[] compare(n, two), direction=LT }
inner { n = s32[] parameter(0)  one = s32[] constant(1)  ROOT r = s32[] add(n, one) }
step {
  p = (s32[], f32[2]) parameter(0)
  n = s32[] get-tuple-element(p), index=0
  x = f32[2] get-tuple-element(p), index=1
  zero = s32[] constant(0)
  two = s32[] while(zero), condition=twice_more, body=inner
  m = s32[] add(n, two)
  y = f32[2] add(x, x)
  ROOT r = (s32[], f32[2]) tuple(m, y)
}
ENTRY e {
  p = (s32[], f32[2]) parameter(0)
  ROOT w = (s32[], f32[2]) while(p), condition=more, body=step, backend_config={"known_trip_count":{"n":"9"}}
}
)");
  const std::string input = " -i '(0, {1,3})'";
  for (const std::string engine : {"", " --engine=reference"}) {
    const Outcome ten = Run(file + input + engine + " --while-limit 10");
    EXPECT_EQ(ten.status, 0) << ten.err;
    EXPECT_EQ(ten.out, "( s32[] 20, f32[2] {1024, 3072} )\n") << "the inner loop ends by itself";
    EXPECT_EQ(Run(file + input + engine + " --while-limit 1").out, "( s32[] 1, f32[2] {2, 6} )\n");
    EXPECT_EQ(Run(file + input + engine + " --while-limit 0").out, "( s32[] 0, f32[2] {1, 3} )\n");
  }
  EXPECT_EQ(Run(file + input + " --while-limit -1").status, 2);
}

}  // namespace
