// Tests shadow runs on several devices against exact arithmetic.

#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include "debug/shadow/shadow.h"
#include "hlo_run/check.h"
#include "hlo_run/parse.h"
#include "shadow_helpers.h"

namespace hlo::debug::shadow_devices_test {
namespace {

using test::ErrorOf;
using test::F32;

class ShadowOnDevices : public testing::Test {
 protected:
  // Runs a module whose only argument has these elements on each device, which are replicas unless the header
  // names partitions.
  std::vector<ShadowReport> RunOn(const std::string& text, const std::vector<std::vector<float>>& arguments) {
    Diagnostics diagnostics;
    module_ = Parse(std::make_shared<const SourceText>("m.hlo", text), diagnostics,
                    {.infer_shape = InferMissingShape});
    EXPECT_NE(module_, nullptr);
    if (module_->header().num_partitions == 1)
      module_->mutable_header().replica_count = static_cast<int64_t>(arguments.size());
    std::vector<std::vector<Literal>> by_device;
    for (const std::vector<float>& values : arguments) by_device.push_back({F32(values)});
    absl::StatusOr<std::vector<ShadowReport>> reports =
        RunShadowOnDevices(*Check(module_, diagnostics), by_device, {}, {});
    EXPECT_TRUE(reports.ok()) << reports.status();
    return reports.ok() ? *std::move(reports) : std::vector<ShadowReport>(arguments.size());
  }

 private:
  std::shared_ptr<Module> module_;  // Reports refer to its instructions.
};

double WideAt(const ShadowValue& value, int64_t i) { return value.wide.span<double>()[i]; }
double BoundAt(const ShadowValue& value, int64_t i) {
  return value.is_exact() ? 0 : value.bound.span<double>()[i];
}

// In the order of the devices, 1 + 2^-24 rounds to 1 three times. The exact sum is 3 * 2^-24 larger, 1.5 ULP.
TEST_F(ShadowOnDevices, SumsInTheWiderTypeOverDevices) {
  const std::vector<ShadowReport> reports = RunOn(R"(HloModule m
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}
ENTRY e {
  x = f32[1] parameter(0)
  ROOT r = f32[1] all-reduce(x), to_apply=sum
}
)",
                                                  {{1}, {0x1p-24f}, {0x1p-24f}, {0x1p-24f}});
  for (const ShadowReport& report : reports) {
    EXPECT_EQ(report.result.declared.span<float>()[0], 1);
    EXPECT_EQ(WideAt(report.result, 0), 1 + 0x3p-24);
    EXPECT_EQ(ErrorOf(report, "r").added, 1.5);
    EXPECT_EQ(ErrorOf(report, "r").inherited, 0);
    EXPECT_GE(BoundAt(report.result, 0), 0x3p-24);
    EXPECT_LE(BoundAt(report.result, 0), 8 * 0x1p-23);
  }
}

// x is 1 + 2^-60, which an f64 rounds to 1. The low part of each result is a multiple of 2^-60.
TEST_F(ShadowOnDevices, ReducesDoubleDoubles) {
  const std::vector<ShadowReport> reports = RunOn(R"(HloModule m
sum { a = f64[] parameter(0) b = f64[] parameter(1) ROOT s = f64[] add(a, b) }
product { a = f64[] parameter(0) b = f64[] parameter(1) ROOT s = f64[] multiply(a, b) }
largest { a = f64[] parameter(0) b = f64[] parameter(1) ROOT s = f64[] maximum(a, b) }
ENTRY e {
  n = f32[2] parameter(0)
  one = f64[2] convert(n)
  e = f64[] constant(8.6736173798840355e-19)
  small = f64[2] broadcast(e), dimensions={}
  x = f64[2] add(one, small)
  s = f64[2] all-reduce(x), to_apply=sum
  p = f64[2] all-reduce(x), to_apply=product
  m = f64[2] all-reduce(x), to_apply=largest
  r = f64[1] reduce-scatter(x), to_apply=sum, dimensions={0}
  ROOT t = (f64[2], f64[2], f64[2], f64[1]) tuple(s, p, m, r)
}
)",
                                                  {{1, 1}, {1, 1}});
  for (const ShadowReport& report : reports) {
    const double highs[] = {2, 1, 1, 2}, lows[] = {2, 2, 1, 2};
    for (size_t k = 0; k < 4; ++k) {
      const ShadowValue& value = report.result.elements[k];
      EXPECT_EQ(WideAt(value, 0), highs[k]) << k;
      ASSERT_TRUE(value.low.shape().IsValid()) << k;
      EXPECT_NEAR(value.low.span<double>()[0], lows[k] * 0x1p-60, 0x1p-110) << k;
      EXPECT_EQ(value.declared.span<double>()[0], highs[k]) << k;
    }
    EXPECT_EQ(ErrorOf(report, "s").added, 0);
    EXPECT_DOUBLE_EQ(ErrorOf(report, "s").inherited, 0x2p-60 / 0x1p-51);
  }
}

// The real part of x is 1 + 2^-60 and the imaginary part 1 - 2^-61, whose low part is -2^-61.
TEST_F(ShadowOnDevices, SumsComplexDoubleDoubles) {
  const std::vector<ShadowReport> reports = RunOn(R"(HloModule m
sum { a = c128[] parameter(0) b = c128[] parameter(1) ROOT s = c128[] add(a, b) }
ENTRY e {
  n = f32[2] parameter(0)
  one = f64[2] convert(n)
  e = f64[] constant(8.6736173798840355e-19)
  small = f64[2] broadcast(e), dimensions={}
  h = f64[] constant(4.3368086899420177e-19)
  smaller = f64[2] broadcast(h), dimensions={}
  re = f64[2] add(one, small)
  im = f64[2] subtract(one, smaller)
  x = c128[2] complex(re, im)
  s = c128[2] all-reduce(x), to_apply=sum
  r = c128[1] reduce-scatter(x), to_apply=sum, dimensions={0}
  g = c128[4] all-gather(x), dimensions={0}
  ROOT t = (c128[2], c128[1], c128[4]) tuple(s, r, g)
}
)",
                                                  {{1, 1}, {1, 1}});
  for (const ShadowReport& report : reports) {
    const double factors[] = {2, 2, 1};
    for (size_t k = 0; k < 3; ++k) {
      const ShadowValue& value = report.result.elements[k];
      ASSERT_TRUE(value.low.shape().IsValid()) << k;
      for (int64_t i = 0; i < value.wide.element_count(); ++i) {
        const auto wide = value.wide.span<std::complex<double>>()[static_cast<size_t>(i)];
        const auto low = value.low.span<std::complex<double>>()[static_cast<size_t>(i)];
        EXPECT_EQ(wide, std::complex<double>(factors[k], factors[k])) << k;
        EXPECT_EQ(low, std::complex<double>(factors[k] * 0x1p-60, factors[k] * -0x1p-61)) << k;
      }
    }
    EXPECT_EQ(ErrorOf(report, "s").added, 0);
    EXPECT_EQ(ErrorOf(report, "r").added, 0);
  }
}

constexpr char kHalfAnUlp[] = R"(  x = f32[2] parameter(0)
  tiny = f32[2] constant({5.9604644775390625e-8, 0})
  y = f32[2] add(x, tiny)
)";

// y is half an ULP smaller than 1 + 2^-24 where x is 1, and exact elsewhere.
TEST_F(ShadowOnDevices, GathersValuesAndBounds) {
  const std::vector<ShadowReport> reports = RunOn("HloModule m\nENTRY e {\n" + std::string(kHalfAnUlp) +
                                                      "  ROOT r = f32[4] all-gather(y), dimensions={0}\n}\n",
                                                  {{1, 5}, {0, 7}});
  const double expected[] = {1 + 0x1p-24, 5, 0x1p-24, 7};
  for (const ShadowReport& report : reports) {
    for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(WideAt(report.result, i), expected[i]) << i;
    EXPECT_GE(BoundAt(report.result, 0), 0x1p-24);
    EXPECT_EQ(report.result.declared.span<float>()[0], 1);
    ASSERT_EQ(report.result.trials.size(), kTrialCount);
    EXPECT_NE(report.result.trials[0].span<double>()[0], expected[0]);
    EXPECT_EQ(ErrorOf(report, "r").added, 0);
  }
}

// A device without a source gets exact zeros.
TEST_F(ShadowOnDevices, PermutesInLoops) {
  const std::vector<ShadowReport> reports = RunOn(R"(HloModule m
body {
  s = (s32[], f32[1]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[1] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  tiny = f32[1] constant({5.9604644775390625e-8})
  y = f32[1] add(x, tiny)
  z = f32[1] collective-permute(y), source_target_pairs={{0,1},{1,2}}
  ROOT t = (s32[], f32[1]) tuple(j, z)
}
cond {
  s = (s32[], f32[1]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(2)
  ROOT l = pred[] compare(i, n), direction=LT
}
ENTRY e {
  x = f32[1] parameter(0)
  zero = s32[] constant(0)
  t = (s32[], f32[1]) tuple(zero, x)
  w = (s32[], f32[1]) while(t), condition=cond, body=body
  ROOT r = f32[1] get-tuple-element(w), index=1
}
)",
                                                  {{1}, {2}, {4}});
  EXPECT_EQ(WideAt(reports[0].result, 0), 0);
  EXPECT_TRUE(reports[0].result.is_exact());
  EXPECT_EQ(WideAt(reports[1].result, 0), 0x1p-24);      // From the zero of device 0.
  EXPECT_EQ(WideAt(reports[2].result, 0), 1 + 0x1p-23);  // From device 0, through device 1.
  EXPECT_EQ(reports[2].result.declared.span<float>()[0], 1);
  EXPECT_EQ(ErrorOf(reports[2], "z").executions, 2);
}

TEST_F(ShadowOnDevices, MaximumHasTheLargestBound) {
  const std::vector<ShadowReport> reports = RunOn(
      "HloModule m\n"
      R"(
larger {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] maximum(a, b)
}
ENTRY e {
)" + std::string(kHalfAnUlp) +
          "  ROOT r = f32[2] all-reduce(y), to_apply=larger\n}\n",
      {{1, 3}, {0, 4}});
  for (const ShadowReport& report : reports) {
    EXPECT_EQ(WideAt(report.result, 0), 1 + 0x1p-24);
    EXPECT_EQ(WideAt(report.result, 1), 4);
    EXPECT_GE(BoundAt(report.result, 0), 0x1p-24);
    EXPECT_LE(BoundAt(report.result, 0), 8 * 0x1p-23);
  }
}

// The product 3 * 3 * 3 of nearest floats of 3 + 2^-23; its bound is an estimate.
TEST_F(ShadowOnDevices, EstimatesOtherReducers) {
  const std::vector<ShadowReport> reports = RunOn(R"(HloModule m
product {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] multiply(a, b)
}
ENTRY e {
  x = f32[1] parameter(0)
  third = f32[1] constant({0.333333343})
  y = f32[1] multiply(x, third)
  ROOT r = f32[1] all-reduce(y), to_apply=product
}
)",
                                                  {{1}, {5}, {7}});
  const double third = 0.333333343f;
  for (const ShadowReport& report : reports) {
    EXPECT_DOUBLE_EQ(WideAt(report.result, 0), 35 * third * third * third);
    EXPECT_TRUE(ErrorOf(report, "r").is_estimated);
    const double error = report.result.declared.span<float>()[0] - WideAt(report.result, 0);
    EXPECT_GE(BoundAt(report.result, 0), std::fabs(error));
    EXPECT_GT(BoundAt(report.result, 0), 0);
  }
}

// Whether 1 + 2^-24 is above 1 depends on rounding on device 0, so the gathered outcome may differ.
TEST_F(ShadowOnDevices, PropagatesUncertainOutcomes) {
  const std::vector<ShadowReport> reports =
      RunOn("HloModule m\nENTRY e {\n" + std::string(kHalfAnUlp) +
                "  one = f32[2] constant({1, 1})\n  g = pred[2] compare(y, one), direction=GT\n"
                "  ROOT r = pred[4] all-gather(g), dimensions={0}\n}\n",
            {{1, 5}, {3, 7}});
  for (const ShadowReport& report : reports) {
    EXPECT_TRUE(report.is_uncertain);
    EXPECT_FALSE(report.result.is_exact());
  }
}

TEST_F(ShadowOnDevices, FollowsAsyncCollectivesAndTransfers) {
  const std::vector<ShadowReport> reports =
      RunOn("HloModule m, num_partitions=2\nENTRY e {\n" + std::string(kHalfAnUlp) + R"(
  s = (f32[2], f32[4]) all-gather-start(y), channel_id=2, replica_groups={{0,1}}, use_global_device_ids=true, dimensions={0}
  g = f32[4] all-gather-done(s)
  k = token[] after-all()
  v = (f32[2], u32[], token[]) send(y, k), channel_id=1, frontend_attributes={_xla_send_recv_source_target_pairs={{0,1}}}
  c = (f32[2], u32[], token[]) recv(k), channel_id=1, frontend_attributes={_xla_send_recv_source_target_pairs={{0,1}}}
  vd = token[] send-done(v), channel_id=1
  cd = (f32[2], token[]) recv-done(c), channel_id=1
  d = f32[2] get-tuple-element(cd), index=0
  ROOT r = (f32[4], f32[2]) tuple(g, d)
}
)",
            {{1, 5}, {0, 7}});
  for (size_t device = 0; device < 2; ++device) {
    const ShadowValue &gathered = reports[device].result.elements[0],
                      &sent = reports[device].result.elements[1];
    EXPECT_EQ(WideAt(gathered, 0), 1 + 0x1p-24);
    EXPECT_GE(BoundAt(gathered, 0), 0x1p-24);
    EXPECT_EQ(WideAt(sent, 0), device == 0 ? 0 : 1 + 0x1p-24);
    EXPECT_EQ(sent.is_exact(), device == 0);
  }
}

}  // namespace
}  // namespace hlo::debug::shadow_devices_test
