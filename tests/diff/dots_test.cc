// Tests ragged-dot and scaled-dot against the reference.

#include <string>

#include "engines.h"
#include "fmt/format.h"

namespace hlo::dots_test {
namespace {

struct Form {
  const char *lhs, *rhs, *sizes, *result, *attributes;
};
constexpr Form kForms[] = {
    // Ragged rows: plain, batched, with additional free dimensions on both sides, transposed.
    {"70,20", "4,20,30", "4", "70,30",
     "lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}"},
    {"3,40,7", "3,5,7,9", "5", "3,40,9",
     "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}, "
     "lhs_ragged_dims={1}, rhs_group_dims={1}"},
    {"6,40,7", "9,7,2,3", "3", "6,40,9,2",
     "lhs_contracting_dims={2}, rhs_contracting_dims={1}, lhs_ragged_dims={1}, rhs_group_dims={3}"},
    {"7,5,40,4", "3,4,5,7,8", "3", "7,40,8",
     "lhs_batch_dims={0}, rhs_batch_dims={3}, lhs_contracting_dims={1,3}, rhs_contracting_dims={2,1}, "
     "lhs_ragged_dims={2}, rhs_group_dims={0}"},
    // Group sizes per batch member, and per preceding row.
    {"3,40,7", "3,5,7,9", "3,5", "3,40,9",
     "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}, "
     "lhs_ragged_dims={1}, rhs_group_dims={1}"},
    {"3,4,40,7", "3,5,7,9", "3,4,5", "3,4,40,9",
     "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={3}, rhs_contracting_dims={2}, "
     "lhs_ragged_dims={2}, rhs_group_dims={1}"},
    // Ragged contracting dimension.
    {"11,40", "40,9", "4", "4,11,9",
     "lhs_contracting_dims={1}, rhs_contracting_dims={0}, lhs_ragged_dims={1}, rhs_group_dims={}"},
    {"3,40,11,2", "3,2,40,9", "3,4", "4,3,11,9",
     "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1,3}, rhs_contracting_dims={2,1}, "
     "lhs_ragged_dims={1}, rhs_group_dims={}"},
    // Ragged batch dimension.
    {"40,6,7", "40,7,9", "4", "40,6,9",
     "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}, "
     "lhs_ragged_dims={0}, rhs_group_dims={}"},
    {"3,40,6,7", "3,40,7,9", "3,4", "3,40,6,9",
     "lhs_batch_dims={0,1}, rhs_batch_dims={0,1}, lhs_contracting_dims={3}, rhs_contracting_dims={2}, "
     "lhs_ragged_dims={1}, rhs_group_dims={}"},
    // Empty contraction, and one row per group.
    {"40,0", "4,0,9", "4", "40,9",
     "lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}"},
    {"40,64", "12,64,100", "12", "40,100",
     "lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}"},
};

// Repeats `values`: groups that end before, at and beyond the last row, and empty ones.
Literal Sizes(const std::string& type, absl::Span<const int64_t> dims, absl::Span<const int64_t> values) {
  Literal sizes = test::RandomArray(*ParseElementType(type), {dims.begin(), dims.end()}, 1);
  for (int64_t i = 0; i < sizes.element_count(); ++i) {
    const int64_t value = values[i % static_cast<int64_t>(values.size())];
    if (type == "s32")
      sizes.mutable_span<int32_t>()[i] = static_cast<int32_t>(value);
    else
      sizes.mutable_span<uint64_t>()[i] = static_cast<uint64_t>(value);
  }
  return sizes;
}

void Expect(const Form& form, const std::string& type, const std::string& size_type,
            absl::Span<const int64_t> sizes, double bound) {
  const std::string text = fmt::format(
      "ENTRY e {{ a = {0}[{1}] parameter(0) b = {0}[{2}] parameter(1) c = {3}[{4}] parameter(2) ROOT r = "
      "{0}[{5}] ragged-dot(a, b, c), {6} }}",
      type, form.lhs, form.rhs, size_type, form.sizes, form.result, form.attributes);
  absl::StatusOr<CheckedModule> module = test::ReadModule("HloModule t\n" + text);
  ASSERT_TRUE(module.ok()) << text << module.status();
  const CompareRule rule = bound == 0 ? CompareRule::Exact() : CompareRule::Close(bound, bound);
  std::vector<Literal> arguments = test::ArgumentsOf(*module, {});
  arguments[2] = Sizes(size_type, arguments[2].dims(), sizes);
  test::ExpectEnginesAgreeOn(text, arguments, {.rule = rule});
}

constexpr int64_t kSizes[][3] = {{7, 0, 12}, {25, 31, 2}, {0, 0, 0}, {100, 3, 1}};

TEST(RaggedDot, EveryFormAgreesWithTheReference) {
  for (const Form& form : kForms) {
    for (const auto& sizes : kSizes) {
      Expect(form, "f64", "s32", sizes, 1e-12);
      Expect(form, "s32", "u64", sizes, 0);
    }
  }
}

TEST(RaggedDot, EveryKindOfTypeAgreesWithTheReference) {
  Expect(kForms[0], "f32", "s32", kSizes[0], 1e-4);
  Expect(kForms[0], "bf16", "s32", kSizes[1], 0x1p-6);
  Expect(kForms[6], "c64", "s32", kSizes[1], 1e-4);
  Expect(kForms[8], "u8", "u64", kSizes[1], 0);
}

// The reference defines the result of negative sizes.
TEST(RaggedDot, NegativeSizes) {
  constexpr int64_t kNegative[] = {20, -7, 12};
  for (const Form& form : kForms) Expect(form, "s32", "s32", kNegative, 0);
}

struct ScaledForm {
  const char *lhs, *rhs, *lhs_scale, *rhs_scale, *result, *attributes;
};
void ExpectScaled(const char* type, const char* scale, const char* result, const ScaledForm& form,
                  double bound) {
  const std::string text = fmt::format(
      "ENTRY e {{ a = {0}[{3}] parameter(0) b = {0}[{4}] parameter(1) s = {1}[{5}] parameter(2) t = {1}[{6}] "
      "parameter(3) ROOT r = {2}{7} scaled-dot(a, b, s, t), {8} }}",
      type, scale, result, form.lhs, form.rhs, form.lhs_scale, form.rhs_scale, form.result, form.attributes);
  const CompareRule rule = bound == 0 ? CompareRule::Exact() : CompareRule::Close(bound, bound);
  for (const Device& device : {Device{}, Device{Device::Kind::kEmulatedGpu}})
    test::ExpectEnginesAgree(text, {.rule = rule, .device = device});
}

TEST(ScaledDot, BlocksAndTypes) {
  constexpr const char* kPlain = "lhs_contracting_dims={1}, rhs_contracting_dims={0}";
  const ScaledForm blocks = {"30,64", "64,20", "30,2", "2,20", "[30,20]", kPlain},
                   batch = {"3,30,64",
                            "3,64,20",
                            "1,15,8",
                            "3,64,1",
                            "[3,30,20]",
                            "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
                            "rhs_contracting_dims={1}"};
  for (const ScaledForm& form : {blocks, batch}) {
    ExpectScaled("f8e4m3fn", "f8e8m0fnu", "f32", form, 1e-5);
    ExpectScaled("f8e5m2", "f8e8m0fnu", "bf16", form, 0x1p-7);
    ExpectScaled("bf16", "bf16", "f32", form, 1e-4);
    ExpectScaled("f64", "f64", "f64", form, 1e-12);
    ExpectScaled("s8", "s8", "s32", form, 0);
    ExpectScaled("f32", "f32", "c64", form, 1e-4);
  }
  ExpectScaled("bf16", "bf16", "f32", {"30,64", "64,20", "", "1,20", "[30,20]", kPlain}, 1e-5);
}

TEST(ScaledDot, AFloatAndAnInteger) {
  test::ExpectEnginesAgree(
      "ENTRY e { a = f32[3,8] parameter(0) b = s32[8,5] parameter(1) s = f32[3,1] parameter(2) t = f32[1,5] "
      "parameter(3) ROOT r = s32[3,5] scaled-dot(a, b, s, t), lhs_contracting_dims={1}, "
      "rhs_contracting_dims={0} }",
      {.has_kernel = false});
}

}  // namespace
}  // namespace hlo::dots_test
