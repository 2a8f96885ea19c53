// Batch normalisation through both engines. The reference computes in f64 and rounds once. The fast engine
// sums in f64 and computes elements of narrower types in f32. So elements, and the terms of a gradient's sum,
// differ by a few roundings of f32.

#include "engines.h"
#include "fmt/format.h"

namespace hlo::batch_norm_test {
namespace {

struct Case {
  const char *dims, *features;
  int feature;
};
constexpr Case kCases[] = {
    {"6,5", "5", 1},    {"3,7,4,5", "7", 1},  {"2,9,9,13", "13", 3}, {"1,1", "1", 0},     {"0,3", "3", 1},
    {"5000,3", "3", 1}, {"2,3,1031", "3", 1}, {"40,700", "700", 1},  {"11,600", "11", 0}, {"4,0,5", "0", 1},
};
constexpr const char* kTypes[] = {"bf16", "f16", "f32", "f64", "f8e5m2"};

// Allows adjacent values of the type, and the errors of the f32 or f64 intermediates.
CompareRule RuleFor(std::string_view type) {
  if (type == "f64") return CompareRule::Close(1e-11, 1e-11);
  if (type == "f32") return CompareRule::Close(1e-5, 1e-6);
  return CompareRule::Close(1e-5, type == "bf16" ? 0x1p-7 : type == "f16" ? 0x1p-10 : 0x1p-2);
}

void ExpectAgreement(std::string_view body, bool specials = false) {
  for (const Case& c : kCases) {
    for (const char* type : kTypes) {
      const std::string x = fmt::format("{}[{}]", type, c.dims), v = fmt::format("{}[{}]", type, c.features);
      test::ExpectEnginesAgree(
          fmt::format("ENTRY e {{ {} }}", fmt::format(fmt::runtime(body), x, v, c.feature)),
          {.rule = RuleFor(type), .specials = specials});
    }
  }
}

TEST(BatchNormTest, TrainingAgreesWithTheReference) {
  ExpectAgreement(
      "x = {0} parameter(0) s = {1} parameter(1) b = {1} parameter(2)\n"
      " ROOT r = ({0}, {1}, {1}) batch-norm-training(x, s, b), epsilon=0.125, feature_index={2}");
}

TEST(BatchNormTest, InferenceAgreesWithTheReference) {
  for (const bool specials : {false, true}) {
    ExpectAgreement(
        "x = {0} parameter(0) s = {1} parameter(1) b = {1} parameter(2) m = {1} parameter(3) w = {1} "
        "parameter(4) v = {1} multiply(w, w)\n"
        " ROOT r = {0} batch-norm-inference(x, s, b, m, v), epsilon=0.125, feature_index={2}",
        specials);
  }
}

TEST(BatchNormTest, GradientsAgreeWithTheReference) {
  ExpectAgreement(
      "x = {0} parameter(0) s = {1} parameter(1) m = {1} parameter(2) w = {1} parameter(3) d = {0} "
      "parameter(4) v = {1} multiply(w, w)\n"
      " ROOT r = ({0}, {1}, {1}) batch-norm-grad(x, s, m, v, d), epsilon=0.5, feature_index={2}");
}

}  // namespace
}  // namespace hlo::batch_norm_test
