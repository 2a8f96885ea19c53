// Tests buffer donation: which results alias donated arguments, and that nothing is overwritten before its
// last use. Runs on the CPU and on the emulated GPU, whose results reuse the host memory of the arguments.
#include <string>
#include <vector>

#include "engines.h"
#include "gtest/gtest.h"

namespace hlo::donation_test {
namespace {

struct Donation {
  const char* text;
  // The argument that each leaf of the result aliases; -1: none.
  std::vector<int> taken;
  bool on_gpu = true;  // Runs the case on the emulated GPU too.
};

constexpr Device kDevices[] = {{}, {Device::Kind::kEmulatedGpu}};

void ExpectOn(const Device& device, const Donation& donation) {
  test::ExpectEnginesAgree(
      donation.text,
      {.rule = CompareRule::Close(1e-5, 1e-5), .has_kernel = false, .index_range = 8, .device = device});
  const absl::StatusOr<CheckedModule> module = test::ReadModule(std::string("HloModule t\n") + donation.text);
  ASSERT_TRUE(module.ok()) << module.status();
  std::vector<Literal> arguments = test::Copies(test::ArgumentsOf(*module, {.index_range = 8}));
  std::vector<const std::byte*> places;
  for (const Literal& argument : arguments) places.push_back(argument.data());
  const std::vector<Literal> kept = test::Copies(arguments);
  const absl::StatusOr<Literal> want = Execute(*module, kept, Engine::kFast, {}, device);
  const absl::StatusOr<Literal> got = Execute(*module, std::move(arguments), Engine::kFast, {}, device);
  ASSERT_TRUE(want.ok() && got.ok()) << want.status() << got.status();
  test::ExpectClose(*got, *want, {});
  const std::vector<LiteralLeaf> leaves = ArrayLeaves(*got);
  ASSERT_EQ(leaves.size(), donation.taken.size());
  for (size_t leaf = 0; leaf < leaves.size(); ++leaf) {
    for (size_t argument = 0; argument < places.size(); ++argument) {
      EXPECT_EQ(leaves[leaf].value->data() == places[argument],
                donation.taken[leaf] == static_cast<int>(argument))
          << donation.text << "\nleaf " << leaf << ", argument " << argument;
    }
  }
}
void Expect(const Donation& donation) {
  for (const Device& device : kDevices) {
    if (device.kind == Device::Kind::kCpu || donation.on_gpu) ExpectOn(device, donation);
  }
}

TEST(DonationTest, ElementwiseResultsReuseArgumentsOfTheirSize) {
  Expect({"ENTRY e { x = f32[100] parameter(0) ROOT y = f32[100] negate(x) }", {0}});
  // Another type of the same width.
  Expect({"ENTRY e { x = f32[100] parameter(0) ROOT y = s32[100] convert(x) }", {0}});
  // Elements are read at other positions than they are written, or have another size.
  Expect({"ENTRY e { x = f32[100] parameter(0) ROOT y = f32[100] reverse(x), dimensions={0} }", {-1}});
  Expect({"ENTRY e { x = f32[100] parameter(0) ROOT y = f64[100] convert(x) }", {-1}});
}

TEST(DonationTest, ReadAgainLater) {
  Expect({R"(ENTRY e {
  x = f32[16,16] parameter(0)
  y = f32[16,16] negate(x)
  ROOT t = (f32[16,16], f32[16,16]) tuple(y, x)
})",
          {-1, 0}});
  // The negation is live until the dot has run.
  Expect({R"(ENTRY e {
  x = f32[16,16] parameter(0)
  y = f32[16,16] negate(x)
  p = f32[16,16] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT t = (f32[16,16], f32[16,16]) tuple(y, p)
})",
          {-1, -1}});
}

TEST(DonationTest, UpdatesReuseTheUpdatedArgument) {
  Expect({R"(ENTRY e {
  x = f32[50,8] parameter(0)
  row = f32[1,8] parameter(1)
  i = s32[] parameter(2)
  zero = s32[] constant(0)
  ROOT y = f32[50,8] dynamic-update-slice(x, row, i, zero)
})",
          {0}});
  // The updated window is also an operand at another position, so it needs a temporary.
  Expect({R"(ENTRY e {
  x = f32[50,8] parameter(0)
  i = s32[] parameter(1)
  zero = s32[] constant(0)
  row = f32[1,8] slice(x), slice={[3:4], [0:8]}
  ROOT y = f32[50,8] dynamic-update-slice(x, row, i, zero)
})",
          {0}});
}

TEST(DonationTest, WholeArrays) {
  Expect(
      {R"(less { a = s32[] parameter(0) b = s32[] parameter(1) ROOT c = pred[] compare(a, b), direction=LT }
ENTRY e { x = s32[40,30] parameter(0) ROOT y = s32[40,30] sort(x), dimensions={1}, to_apply=less })",
       {0},
       false});
  Expect({R"(sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
ENTRY e {
  x = f32[9,4] parameter(0)
  i = s32[6,1] parameter(1)
  u = f32[6,4] parameter(2)
  ROOT y = f32[9,4] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0},
      scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum
})",
          {0}});
}

TEST(DonationTest, LoopsReuseTheArgumentsOfTheirStates) {
  const std::string condition = R"(more {
  t = (s32[], f32[20,40]) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  n = s32[] constant(20)
  ROOT c = pred[] compare(i, n), direction=LT
})";
  // A cache that grows by one row per iteration.
  const std::string text = condition + R"(
step {
  t = (s32[], f32[20,40]) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  x = f32[20,40] get-tuple-element(t), index=1
  one = s32[] constant(1)
  zero = s32[] constant(0)
  next = s32[] add(i, one)
  row = f32[1,40] dynamic-slice(x, i, zero), dynamic_slice_sizes={1,40}
  twice = f32[1,40] add(row, row)
  y = f32[20,40] dynamic-update-slice(x, twice, i, zero)
  ROOT u = (s32[], f32[20,40]) tuple(next, y)
}
ENTRY e {
  x = f32[20,40] parameter(0)
  zero = s32[] constant(0)
  t = (s32[], f32[20,40]) tuple(zero, x)
  w = (s32[], f32[20,40]) while(t), condition=more, body=step
  ROOT r = f32[20,40] get-tuple-element(w), index=1
})";
  Expect({text.c_str(), {0}});
  // The initial value of the loop is also used after it.
  const std::string kept =
      text.substr(0, text.rfind("  ROOT")) + R"(  g = f32[20,40] get-tuple-element(w), index=1
  ROOT r = (f32[20,40], f32[20,40]) tuple(g, x)
})";
  Expect({kept.c_str(), {-1, 0}});
}

TEST(DonationTest, TwoResultsOfOneArgument) {
  // Only one of them can alias the argument.
  Expect({R"(ENTRY e {
  x = f32[30,20] parameter(0)
  i = s32[] parameter(1)
  zero = s32[] constant(0)
  a = f32[1,20] parameter(2)
  y = f32[30,20] dynamic-update-slice(x, a, i, zero)
  z = f32[30,20] dynamic-update-slice(x, a, zero, zero)
  ROOT t = (f32[30,20], f32[30,20]) tuple(y, z)
})",
          {-1, 0}});
}

TEST(DonationTest, KeptAndRepeated) {
  // An argument that the caller still holds, or passes twice, must not change.
  const absl::StatusOr<CheckedModule> module = test::ReadModule(R"(HloModule t
ENTRY e {
  x = f32[100] parameter(0)
  z = f32[100] parameter(1)
  a = f32[100] negate(x)
  b = f32[100] abs(z)
  ROOT t = (f32[100], f32[100]) tuple(a, b)
})");
  ASSERT_TRUE(module.ok()) << module.status();
  const std::vector<Literal> kept = test::ArgumentsOf(*module, {});
  const std::vector<Literal> before = test::Copies(kept);
  const std::vector<Literal> same = {before[0], before[0]};
  const absl::StatusOr<Literal> want = Execute(*module, same, Engine::kReference);
  const absl::StatusOr<Literal> want_of_both = Execute(*module, before, Engine::kReference);
  ASSERT_TRUE(want.ok() && want_of_both.ok());
  for (const Device& device : kDevices) {
    absl::StatusOr<Executable> executable = Executable::Make(*module, Engine::kFast, {}, device);
    ASSERT_TRUE(executable.ok());
    ASSERT_TRUE(executable->Run(kept).ok());
    test::ExpectClose(kept[0], before[0], {});
    for (int run = 0; run < 2; ++run) {
      std::vector<Literal> one = test::Copies({before[0]});
      one.push_back(one[0]);
      const absl::StatusOr<Literal> got = executable->Run(std::move(one));
      ASSERT_TRUE(got.ok());
      test::ExpectClose(*got, *want, {});
    }
    // Kept in one run and donated in the next: the device copy must be that of the current run's argument.
    std::vector<Literal> arguments = test::Copies(before);
    const auto run = [&](std::vector<Literal> given) {
      const absl::StatusOr<Literal> got = executable->Run(std::move(given));
      ASSERT_TRUE(got.ok());
      test::ExpectClose(*got, *want_of_both, {});
    };
    run(arguments);
    run(std::move(arguments));
    run(test::Copies(before));
    run(kept);
  }
}

}  // namespace
}  // namespace hlo::donation_test
