// Compares one-pass cumulative reductions with plain loops. In the emulator, blocks wait for earlier
// ones.

#include <algorithm>
#include <string>
#include <vector>

#include "emulated.h"

namespace hlo::cuda::scan_test {
namespace {

struct Case {
  int64_t lines, length;
  bool reversed = false;
};

std::string ModuleText(const std::string& type, const std::string& opcode, const Case& rows) {
  const std::string scalar = type + "[]", lines = std::to_string(rows.lines),
                    length = std::to_string(rows.length), array = type + "[" + lines + "," + length + "]",
                    before = std::to_string(rows.length - 1);
  return "HloModule t\nf { a = " + scalar + " parameter(0)\n b = " + scalar +
         " parameter(1)\n ROOT r = " + scalar + " " + opcode + "(a, b) }\nENTRY e { x = " + array +
         " parameter(0)\n i = " + scalar + " parameter(1)\n ROOT r = " + array +
         " reduce-window(x, i), window={size=1x" + length + " pad=0_0x" +
         (rows.reversed ? "0_" + before : before + "_0") + "}, to_apply=f }\n";
}

template <class T>
void Check(ElementType type, bool adds, const Case& rows) {
  const std::string text = ModuleText(std::string(Name(type)), adds ? "add" : "maximum", rows);
  SCOPED_TRACE(text);
  const absl::StatusOr<CheckedModule> module = ReadModule(text);
  ASSERT_TRUE(module.ok()) << module.status();
  Literal array = *Literal::Create(Shape::Array(type, {rows.lines, rows.length}));
  std::mt19937 random(static_cast<uint32_t>(rows.length));
  for (T& x : array.mutable_span<T>()) x = static_cast<T>(static_cast<int>(random() % 7) - 2);
  Literal init = *Literal::Create(Shape::Array(type, {}));
  init.mutable_span<T>()[0] = static_cast<T>(3);
  std::vector<T> want(array.span<T>().begin(), array.span<T>().end());
  for (int64_t line = 0; line < rows.lines; ++line) {
    T value = static_cast<T>(3);
    for (int64_t t = 0; t < rows.length; ++t) {
      T& x = want[line * rows.length + (rows.reversed ? rows.length - 1 - t : t)];
      value = adds ? static_cast<T>(value + x) : std::max(value, x);
      x = value;
    }
  }
  for (int32_t schedule = 0; schedule < 4; ++schedule) {
    std::string name;
    const absl::StatusOr<Literal> got = RunEmulated(*module, {array, init}, schedule, &name);
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(name, "cumulative in one pass");
    EXPECT_TRUE(std::equal(want.begin(), want.end(), got->span<T>().begin())) << "schedule " << schedule;
  }
}

// Rows of one tile, several tiles, and several groups of them.
TEST(Scan, InOnePass) {
  for (const Case& rows : {Case{1, 4099}, {1, 45001}, {3, 12288}, {2, 24576, true}, {1, 110000}}) {
    for (const bool adds : {true, false}) {
      Check<int64_t>(ElementType::kS64, adds, rows);
      if (rows.length > 50000) continue;
      Check<int32_t>(ElementType::kS32, adds, rows);
      Check<float>(ElementType::kF32, adds, rows);
      Check<double>(ElementType::kF64, adds, rows);
    }
  }
}

// Sums in f32 are rounded, but their bits do not depend on the order in which blocks run.
TEST(Scan, HasTheSameBitsUnderEverySchedule) {
  const absl::StatusOr<CheckedModule> module = ReadModule(ModuleText("f32", "add", {1, 45000}));
  ASSERT_TRUE(module.ok());
  Literal array = *Literal::Create(Shape::Array(ElementType::kF32, {1, 45000}));
  std::mt19937 random(5);
  double sum = 0, magnitude = 0;
  for (float& x : array.mutable_span<float>()) {
    x = static_cast<float>(random()) * 0x1p-31f - 1;
    sum += x;
    magnitude += std::fabs(x);
  }
  Literal init = *Literal::Create(Shape::Array(ElementType::kF32, {}));
  init.mutable_span<float>()[0] = 0;
  std::vector<float> first;
  for (int32_t schedule = 0; schedule < 4; ++schedule) {
    const absl::StatusOr<Literal> got = RunEmulated(*module, {array, init}, schedule);
    ASSERT_TRUE(got.ok()) << got.status();
    const std::vector<float> values(got->span<float>().begin(), got->span<float>().end());
    if (schedule == 0) first = values;
    EXPECT_EQ(values, first);
  }
  EXPECT_NEAR(first.back(), sum, magnitude * 200 * 0x1p-24);  // The depth of the tree is far below 200.
}

}  // namespace
}  // namespace hlo::cuda::scan_test
