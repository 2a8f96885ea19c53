// Tests that printed text is a fixed point: print(parse(x)) == print(parse(print(parse(x)))).

#include "gtest/gtest.h"
#include "hlo_run/print.h"
#include "vectors.h"

namespace hlo::fixed_point_test {
namespace {

// Returns "" if the text of a module is a fixed point, otherwise a description of the problem.
std::string Problem(const Module& module, const PrintOptions& options) {
  const std::string first = Print(module, options);
  std::string error;
  const std::unique_ptr<Module> again = Read(first, &error);
  if (again == nullptr) return "does not read back:\n" + first + "\n" + error;
  const std::string second = Print(*again, options);
  return first == second ? "" : "changes from\n" + first + "\nto\n" + second;
}

TEST(FixedPoint, LongAndShortFormsOfTheVectors) {
  for (const PrintVector& vector : PrintVectors()) {
    std::string error;
    const std::unique_ptr<Module> module = Read(vector.text, &error);
    if (module == nullptr) continue;  // XlaBytes reports these.
    EXPECT_EQ(Problem(*module, {}), "") << vector.id << "\n" << vector.text;
    EXPECT_EQ(Problem(*module, {.form = PrintForm::kShort}), "") << vector.id << "\n" << vector.text;
  }
}

TEST(FixedPoint, LongFormWithoutMetadataAndLargeConstants) {
  const PrintOptions options{.metadata = false, .large_constants = false, .backend_config = false};
  for (const PrintVector& vector : PrintVectors()) {
    std::string error;
    const std::unique_ptr<Module> module = Read(vector.text, &error);
    if (module == nullptr) continue;
    EXPECT_EQ(Problem(*module, options), "") << vector.id << "\n" << vector.text;
  }
}

bool BindsLate(const Instruction& start) {
  return start.operand_count() < static_cast<int64_t>(start.Get<attr::calls>()->parameters().size());
}

// The canonical text of an instruction is a module; its entry's root prints the same text.
TEST(FixedPoint, CanonicalFormOfSingleInstructions) {
  const PrintOptions options{.form = PrintForm::kCanonical};
  int64_t count = 0;
  for (const PrintVector& vector : PrintVectors()) {
    std::string error;
    const std::unique_ptr<Module> module = Read(vector.text, &error);
    // XLA does not verify the operation that async-start wraps: these would be a tuple without a tuple shape
    // and an add of one operand.
    if (module == nullptr || vector.id == "text-5.4p-07" || vector.id == "text-5.4p-08") continue;
    for (const Instruction* i : module->entry()->instructions()) {
      // A single link of an async chain does not contain the whole chain, and a start lacks the operands that
      // updates bind.
      if (Info(i->opcode()).has(kAsync) && (i->opcode() != Opcode::kAsyncStart || BindsLate(*i))) continue;
      // A parameter's number is that of its computation.
      if (i->opcode() == Opcode::kParameter && i->Get<attr::number>() != 0) continue;
      const std::string first = Print(*i, options);
      const std::unique_ptr<Module> again = Read(first, &error);
      EXPECT_NE(again, nullptr) << vector.id << "\n" << first << "\n" << error;
      if (again == nullptr) continue;
      EXPECT_EQ(Print(*again->entry()->root(), options), first) << vector.id;
      ++count;
    }
  }
  EXPECT_GT(count, 3000);
}

}  // namespace
}  // namespace hlo::fixed_point_test
