// Tests `hlo-run extract`.

#include "cli_fixture.h"

namespace hlo::cli_test {
namespace {

constexpr char kLoop[] = R"(HloModule m
double {
  x = s32[] parameter(0)
  ROOT d = s32[] add(x, x)
}
body {
  s = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  v = s32[] get-tuple-element(s), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  twice = s32[] call(v), to_apply=double
  sum = s32[] add(twice, next)
  ROOT t = (s32[], s32[]) tuple(next, sum)
}
condition {
  s = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(4)
  ROOT l = pred[] compare(i, n), direction=LT
}
ENTRY e {
  a = s32[] parameter(0)
  unused = f32[3] parameter(1)
  b = s32[] negate(a)
  zero = s32[] constant(0)
  init = (s32[], s32[]) tuple(zero, b)
  w = (s32[], s32[]) while(init), condition=condition, body=body
  r = s32[] get-tuple-element(w), index=1
  q = s32[] multiply(r, b)
  ROOT z = s32[] subtract(q, a)
}
)";
constexpr char kArguments[] = " --input 's32[] 3' --input 'f32[3]{0,0,0}'";

TEST_F(Cli, AnInstructionIsExtractedWithItsOperands) {
  const std::string file = Write("m.hlo", kLoop), part = Path("part.hlo");
  // The whole entry with only the parameters that it needs.
  ASSERT_EQ(Run("extract " + file + " --instruction %q -o " + part).status, 0);
  const Outcome whole = Run(part + " --input 's32[] 3'");
  EXPECT_EQ(whole.out, "s32[] 66\n") << whole.err;
  // Operands beyond the height become parameters; constants remain.
  ASSERT_EQ(Run("extract " + file + " --instruction q --height 0 -o " + part).status, 0);
  EXPECT_EQ(Run(part + " --input r='s32[] 5' --input b='s32[] 7'").out, "s32[] 35\n");
  ASSERT_EQ(Run("extract " + file + " --instruction w --height 1 -o " + part).status, 0);
  EXPECT_EQ(Run(part + " --input 'b=s32[] -3'").out, "( s32[] 4, s32[] -22 )\n");
  // Instructions of other computations.
  ASSERT_EQ(Run("extract " + file + " --instruction sum --height 1 -o " + part).status, 0);
  EXPECT_EQ(Run(part + " --input v='s32[] 5' --input i='s32[] 1'").out, "s32[] 12\n");
}

TEST_F(Cli, AComputationIsExtractedWithWhatItCalls) {
  const std::string file = Write("m.hlo", kLoop), part = Path("part.hlo");
  ASSERT_EQ(Run("extract " + file + " --computation body -o " + part).status, 0);
  EXPECT_EQ(Run(part + " --input 's32[] 1' --input 's32[] 5'").out, "( s32[] 2, s32[] 12 )\n");
  const Outcome print = Run("print --form=short " + file + " --computation body");
  EXPECT_EQ(print.status, 0) << print.err;
  EXPECT_HAS(print.out, "double {");
  EXPECT_EQ(Run("verify " + Write("printed.hlo", print.out)).status, 0);
  EXPECT_EQ(print.out.find("condition"), std::string::npos);
}

TEST_F(Cli, TheValuesAtTheEdgeAreRecorded) {
  const std::string file = Write("m.hlo", kLoop), part = Path("part.hlo"), values = Path("values.npz");
  ASSERT_EQ(
      Run("extract " + file + " --instruction q --height 0 -o " + part + " --record " + values + kArguments)
          .status,
      0);
  EXPECT_EQ(Run(part + " --input " + values).out, "s32[] 66\n");
  const Outcome constants = Run("extract " + file + " --instruction q --height 0 --constants" + kArguments);
  EXPECT_HAS(constants.out, "constant(-22)");
  EXPECT_EQ(Run(Write("constants.hlo", constants.out)).out, "s32[] 66\n");
  // The third iteration of the loop starts with 2 and -8.
  ASSERT_EQ(
      Run("extract " + file + " --computation body --execution 3 --constants -o " + part + kArguments).status,
      0);
  EXPECT_EQ(Run(part).out, "( s32[] 3, s32[] -13 )\n");
  ASSERT_EQ(Run("extract " + file + " --instruction sum --height 0 --execution 2 --record " + values +
                " -o " + part + kArguments)
                .status,
            0);
  EXPECT_EQ(Run(part + " --input " + values).out, "s32[] -8\n");
  const Outcome never =
      Run("extract " + file + " --instruction sum --height 0 --execution 9 --constants" + kArguments);
  EXPECT_EQ(never.status, 2);
  EXPECT_HAS(never.err, "is executed less than 9 times");
}

TEST_F(Cli, NamesThatDoNotExistGetASuggestion) {
  const std::string file = Write("m.hlo", kLoop);
  const Outcome instruction = Run("extract " + file + " --instruction twise");
  EXPECT_EQ(instruction.status, 2);
  EXPECT_HAS(instruction.err, "there is no instruction 'twise'; did you mean 'twice'?");
  const Outcome computation = Run("extract " + file + " --computation bodi");
  EXPECT_EQ(computation.status, 2);
  EXPECT_HAS(computation.err, "there is no computation 'bodi'; did you mean 'body'?");
  EXPECT_EQ(Run("extract " + file).status, 2);
  EXPECT_EQ(Run("extract " + file + " --instruction q --computation body").status, 2);
}

// Two devices, each with half of the rows of w; a loop over 32 layers.
constexpr char kLayers[] =
    R"(HloModule step, num_partitions=2, entry_computation_layout={(f32[32,8,16]{2,1,0}, f32[4,16]{1,0})->f32[4,16]{1,0}}
body {
  s = (s32[], f32[32,8,16], f32[4,16]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  ws = f32[32,8,16] get-tuple-element(s), index=1
  x = f32[4,16] get-tuple-element(s), index=2
  zero = s32[] constant(0)
  w = f32[1,8,16] dynamic-slice(ws, i, zero, zero), dynamic_slice_sizes={1,8,16}
  part = f32[8,16] reshape(w)
  whole = f32[16,16] all-gather(part), channel_id=1, replica_groups={{0,1}}, dimensions={0}, use_global_device_ids=true
  y = f32[4,16] dot(x, whole), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  left = f32[4,8] slice(y), slice={[0:4], [0:8]}
  right = f32[4,8] slice(y), slice={[0:4], [8:16]}
  turned = f32[4,16] concatenate(right, left), dimensions={1}
  one = s32[] constant(1)
  next = s32[] add(i, one)
  ROOT t = (s32[], f32[32,8,16], f32[4,16]) tuple(next, ws, turned)
}
condition {
  s = (s32[], f32[32,8,16], f32[4,16]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(32)
  ROOT l = pred[] compare(i, n), direction=LT
}
sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
ENTRY e {
  ws = f32[32,8,16] parameter(0)
  x = f32[4,16] parameter(1)
  zero = s32[] constant(0)
  init = (s32[], f32[32,8,16], f32[4,16]) tuple(zero, ws, x)
  w = (s32[], f32[32,8,16], f32[4,16]) while(init), condition=condition, body=body, backend_config={"known_trip_count":{"n":"32"}}
  y = f32[4,16] get-tuple-element(w), index=2
  offsets = s32[2] constant({0, 8})
  p = u32[] partition-id()
  offset = s32[1] dynamic-slice(offsets, p), dynamic_slice_sizes={1}
  at = s32[] reshape(offset)
  mine = f32[4,8] dynamic-slice(y, zero, at), dynamic_slice_sizes={4,8}
  none = f32[] constant(0)
  sums = f32[4,8] reduce-window(mine, none), window={size=1x8 pad=0_0x7_0}, to_apply=sum
  ROOT r = f32[4,16] pad(sums, none), padding=0_0x0_8
}
)";

TEST_F(Cli, DimensionsOfAModuleShrinkTogether) {
  const std::string file = Write("m.hlo", kLayers), small = Path("small.hlo");
  // Multiples of 8 and of 32 shrink as well: 16 to 4, and the two devices keep their offsets.
  const Outcome resize = Run("extract " + file + " --resize 8=2,32=3 -o " + small);
  EXPECT_EQ(resize.status, 0) << resize.err;
  EXPECT_HAS(resize.err, "note: 2 constants changed with the dimensions");
  const std::string text = ReadFile(small);
  EXPECT_HAS(text, "entry_computation_layout={(f32[3,2,4]{2,1,0}, f32[4,4]{1,0})->f32[4,4]{1,0}}");
  EXPECT_HAS(text, "constant({0, 2})");
  EXPECT_HAS(text, "slice={[0:4], [2:4]}");
  EXPECT_HAS(text, "window={size=1x2 pad=0_0x1_0}");
  EXPECT_HAS(text, "padding=0_0x0_2");
  EXPECT_HAS(text, R"("known_trip_count":{"n":"3"})");
  // Each of three layers multiplies by twice the identity, and exchanges the halves of a row.
  const std::string identity =
      " -i p0/ws='{{{2,0,0,0},{0,2,0,0}},{{2,0,0,0},{0,2,0,0}},{{2,0,0,0},{0,2,0,0}}}'"
      " -i p1/ws='{{{0,0,2,0},{0,0,0,2}},{{0,0,2,0},{0,0,0,2}},{{0,0,2,0},{0,0,0,2}}}'";
  const Outcome run = Run(small + identity + " -i x='{{1,2,3,4},{0,0,0,0},{0,0,0,0},{0,0,0,0}}'");
  EXPECT_HAS(run.out, "p0:\nf32[4,4] { { 24, 56, 0, 0 },") << run.err;
  EXPECT_HAS(run.out, "p1:\nf32[4,4] { { 8, 24, 0, 0 },");
  // A part of the module.
  EXPECT_EQ(Run("extract " + file + " --instruction turned --height 3 --resize 8=1 -o " + small).status, 0);
  EXPECT_HAS(ReadFile(small), "f32[4,2]");
}

TEST_F(Cli, SizesThatDoNotFitEachOtherAreErrorsWithPlaces) {
  const std::string file = Write("m.hlo", kLayers);
  // The gather of 2 rows of two devices gives 4, not 16.
  const Outcome wrong = Run("extract " + file + " --resize 8=2,16=16");
  EXPECT_EQ(wrong.status, 2);
  EXPECT_HAS(wrong.err, "m.hlo:10:11: error: all-gather makes 8 shards of size 2 from size 16");
  EXPECT_HAS(wrong.err, "note: messages have the new sizes");
  EXPECT_HAS(Run("extract " + file + " --resize 7=2").err,
             "no dimension has size 7; the sizes are 1 2 4 8 16 32");
  EXPECT_HAS(Run("extract " + file + " --resize 8=9").err, "the new size in '8=9' must be 1 to 8");
  EXPECT_HAS(Run("extract " + file + " --resize 8=2,8=4").err, "two new sizes for 8");
  EXPECT_HAS(Run("extract " + file + " --resize 8").err, "sizes are written as 1024=16,128=8");
  EXPECT_HAS(Run("extract " + file + " --resize 8=2 --record a.npz").err,
             "excludes --record and --constants");
}

}  // namespace
}  // namespace hlo::cli_test
