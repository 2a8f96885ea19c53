// Tests the comparison with recorded values if it ends early.

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "debug/diff/diff.h"
#include "debug/diff/diff_text.h"
#include "hlo_run/check.h"
#include "hlo_run/parse.h"

namespace hlo::debug::diff_recorded_test {
namespace {

// The loop does not end.
constexpr char kText[] = R"(
body { p = f32[] parameter(0)  ROOT n = f32[] sine(p) }
test { p = f32[] parameter(0)  ten = f32[] constant(10)  ROOT c = pred[] compare(p, ten), direction=LT }
ENTRY e { a = f32[] parameter(0)  b = f32[] add(a, a)  c = f32[] multiply(b, b)
  ROOT w = f32[] while(c), condition=test, body=body }
)";

class Recorded : public Archive {
 public:
  explicit Recorded(const std::map<std::string, float>& values) : values_(values) {
    for (const auto& [key, value] : values_) keys_.push_back(key);
  }
  const std::vector<std::string>& keys() const override { return keys_; }

 private:
  absl::StatusOr<Literal> DoRead(const std::string& key, const Shape& expected,
                                 const ReadOptions& /*options*/) override {
    Literal value = *Literal::Create(expected);
    value.mutable_span<float>()[0] = values_.at(key);
    return value;
  }

  std::map<std::string, float> values_;
  std::vector<std::string> keys_;
};

TEST(DiffRecorded, KeepsWhatIsKnownIfItEndsEarly) {
  Diagnostics diagnostics;
  const auto source = std::make_shared<const SourceText>("m.hlo", kText);
  const CheckedModule module = *Check(Parse(source, diagnostics), diagnostics);
  Literal argument = *Literal::Create(Shape::Array(ElementType::kF32, {}));
  argument.mutable_span<float>()[0] = 1;
  Recorded recorded({{"b", 2}, {"c", 5}, {"w", 1}});
  RecordedDiffResult known;
  const absl::Status status =
      DiffRecorded(module, recorded, {argument}, {.evaluate = {.max_seconds = 0.2}, .max_bytes = 1}, &known)
          .status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_EQ(known.compared, 2);
  EXPECT_EQ(known.differing, 1);
  ASSERT_TRUE(known.first.has_value());
  EXPECT_EQ(known.first->value.a_path, "c");
  const std::string text = ToText(known, {"m.hlo", "values"});
  EXPECT_TRUE(
      text.starts_with("2 of 3 recorded values of values were compared with what m.hlo computes from those "
                       "above them: 1 differ"))
      << text;
}

}  // namespace
}  // namespace hlo::debug::diff_recorded_test
