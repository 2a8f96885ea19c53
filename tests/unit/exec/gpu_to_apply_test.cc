// Tests combiners with calls, conditionals and loops on the GPU against the reference.

#include <string>
#include <vector>

#include "as_reference.h"

namespace hlo::gpu_to_apply_test {
namespace {

// combine(a, x): the low bits of x give a trip count; then one of two branches.
const char* const kCombine = R"(
goes_on {
  s = (s32[], (s32[], s32[])) parameter(0)
  k = s32[] get-tuple-element(s), index=0
  zero = s32[] constant(0)
  ROOT r = pred[] compare(k, zero), direction=GT
}
turn {
  s = (s32[], (s32[], s32[])) parameter(0)
  k = s32[] get-tuple-element(s), index=0
  t = (s32[], s32[]) get-tuple-element(s), index=1
  a = s32[] get-tuple-element(t), index=0
  b = s32[] get-tuple-element(t), index=1
  one = s32[] constant(1)
  less = s32[] subtract(k, one)
  sum = s32[] add(a, b)
  u = (s32[], s32[]) tuple(b, sum)
  ROOT r = (s32[], (s32[], s32[])) tuple(less, u)
}
loop {
  a = s32[] parameter(0)
  x = s32[] parameter(1)
  seven = s32[] constant(7)
  k = s32[] and(x, seven)
  t = (s32[], s32[]) tuple(a, x)
  s = (s32[], (s32[], s32[])) tuple(k, t)
  w = (s32[], (s32[], s32[])) while(s), condition=goes_on, body=turn
  u = (s32[], s32[]) get-tuple-element(w), index=1
  ROOT r = s32[] get-tuple-element(u), index=0
}
looped {
  t = (s32[], s32[]) parameter(0)
  a = s32[] get-tuple-element(t), index=0
  x = s32[] get-tuple-element(t), index=1
  ROOT r = s32[] call(a, x), to_apply=loop
}
swapped {
  t = (s32[], s32[]) parameter(0)
  a = s32[] get-tuple-element(t), index=0
  x = s32[] get-tuple-element(t), index=1
  ROOT r = s32[] subtract(x, a)
}
combine {
  a = s32[] parameter(0)
  x = s32[] parameter(1)
  three = s32[] constant(3)
  which = s32[] and(x, three)
  t = (s32[], s32[]) tuple(a, x)
  ROOT r = s32[] conditional(which, t, t, t), branch_computations={looped, swapped, looped}
}
before {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  x = s32[] call(a, a), to_apply=loop
  y = s32[] call(b, b), to_apply=loop
  ROOT r = pred[] compare(x, y), direction=LT
}
step {
  x = s32[] parameter(0)
  c = s32[] parameter(1)
  d = s32[] call(c, x), to_apply=combine
  ROOT r = (s32[], s32[]) tuple(d, c)
}
)";

Literal Integers(std::vector<int64_t> dims, uint32_t seed) {
  return Values(ElementType::kS32, std::move(dims), seed, false);
}
void ExpectEntryAsReference(const std::string& entry, const std::vector<Literal>& arguments) {
  ExpectAsReference(std::string(kCombine) + "ENTRY e {\n" + entry + "}\n", arguments);
}

TEST(GpuToApply, ReductionsAgreeWithTheReference) {
  for (const char* what : {"s32[] reduce(a, b), dimensions={0,1,2}", "s32[3,70] reduce(a, b), dimensions={1}",
                           "s32[5] reduce(a, b), dimensions={0,2}", "s32[3] reduce(a, b), dimensions={1,2}",
                           "s32[3,5,70] reduce(a, b), dimensions={}"}) {
    ExpectEntryAsReference("  a = s32[3,5,70] parameter(0)\n  b = s32[] parameter(1)\n  ROOT r = " +
                               std::string(what) + ", to_apply=combine\n",
                           {Integers({3, 5, 70}, 1), Integers({}, 2)});
  }
}

TEST(GpuToApply, ReducesEmptyArrays) {
  ExpectEntryAsReference(
      "  a = s32[3,0] parameter(0)\n  b = s32[] parameter(1)\n"
      "  ROOT r = s32[3] reduce(a, b), dimensions={1}, to_apply=combine\n",
      {Integers({3, 0}, 1), Integers({}, 2)});
}

TEST(GpuToApply, ReducesWindows) {
  ExpectEntryAsReference(
      "  a = s32[9,17] parameter(0)\n  b = s32[] parameter(1)\n"
      "  ROOT r = s32[5,17] reduce-window(a, b), window={size=3x2 stride=2x1 pad=1_1x0_1}, "
      "to_apply=combine\n",
      {Integers({9, 17}, 3), Integers({}, 4)});
}

TEST(GpuToApply, ScattersAgreeWithTheReference) {
  ExpectEntryAsReference(
      "  a = s32[50,3] parameter(0)\n  i = s32[40,1] parameter(1)\n  u = s32[40,3] parameter(2)\n"
      "  ROOT r = s32[50,3] scatter(a, i, u), update_window_dims={1}, inserted_window_dims={0}, "
      "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=combine\n",
      {Integers({50, 3}, 5), Integers({40, 1}, 6), Integers({40, 3}, 7)});
}

TEST(GpuToApply, SelectsAndScatters) {
  ExpectEntryAsReference(
      "  a = s32[8,20] parameter(0)\n  s = s32[4,9] parameter(1)\n  b = s32[] parameter(2)\n"
      "  ROOT r = s32[8,20] select-and-scatter(a, s, b), window={size=2x4 stride=2x2}, select=before, "
      "scatter=combine\n",
      {Integers({8, 20}, 8), Integers({4, 9}, 9), Integers({}, 10)});
}

TEST(GpuToApply, SortsAgreeWithTheReference) {
  for (const int64_t n : {1, 17, 100}) {
    const std::string shape = "s32[3," + std::to_string(n) + "]";
    ExpectEntryAsReference("  a = " + shape + " parameter(0)\n  ROOT r = " + shape +
                               " sort(a), dimensions={1}, to_apply=before\n",
                           {Integers({3, n}, 11)});
  }
}

TEST(GpuToApply, ScansAgreeWithTheReference) {
  ExpectEntryAsReference(
      "  a = s32[40] parameter(0)\n  c = s32[] parameter(1)\n"
      "  ROOT r = (s32[40], s32[]) scan(a, c), dimensions={0}, num_carries=1, to_apply=step\n",
      {Integers({40}, 12), Integers({}, 13)});
}

TEST(GpuToApply, MapsAgreeWithTheReference) {
  ExpectEntryAsReference(
      "  a = s32[7,40] parameter(0)\n  b = s32[7,40] parameter(1)\n"
      "  ROOT r = s32[7,40] map(a, b), dimensions={0,1}, to_apply=combine\n",
      {Integers({7, 40}, 14), Integers({7, 40}, 15)});
}

// A kernel cannot enforce step limits.
TEST(GpuToApply, EndlessLoopsRunUnderALimit) {
  const CheckedModule module = Load(R"(
forever {
  s = s32[] parameter(0)
  ROOT r = pred[] constant(true)
}
same { ROOT s = s32[] parameter(0) }
f {
  x = s32[] parameter(0)
  ROOT w = s32[] while(x), condition=forever, body=same
}
ENTRY e {
  a = s32[4] parameter(0)
  ROOT r = s32[4] map(a), dimensions={0}, to_apply=f
}
)");
  for (const EvaluateOptions& limits : {EvaluateOptions{.max_steps = 1000}, {.max_seconds = 0.1}}) {
    absl::StatusOr<Executable> executable = Executable::Make(module, Engine::kFast, {}, TestDevices()[0]);
    ASSERT_TRUE(executable.ok()) << executable.status();
    const absl::StatusCode expected =
        limits.max_steps > 0 ? absl::StatusCode::kResourceExhausted : absl::StatusCode::kDeadlineExceeded;
    EXPECT_EQ(executable->Run({Integers({4}, 16)}, limits).status().code(), expected);
  }
}

}  // namespace
}  // namespace hlo::gpu_to_apply_test
