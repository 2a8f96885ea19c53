// Compares loops over arrays with the scalar steps of the same operation.
#include "reference/fold_loop.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "hlo_run/module.h"
#include "reference/elementwise.h"

namespace hlo::reference {
namespace {

constexpr Opcode kOpcodes[] = {Opcode::kAdd,     Opcode::kMultiply, Opcode::kMaximum,
                               Opcode::kMinimum, Opcode::kAnd,      Opcode::kOr};
constexpr ElementType kTypes[] = {
#define HLO_ELEMENT_TYPE(name, ...) ElementType::k##name,
#include "hlo_run/element_types.def"
#undef HLO_ELEMENT_TYPE
};

std::optional<ScalarStep> StepOf(Opcode opcode, ElementType type) {
  Module module(nullptr);
  Computation* computation = module.NewComputation("c");
  const Shape shape = Shape::Scalar(type);
  Instruction* a = module.AddInstruction(computation, Opcode::kParameter, "a", shape, {}, {});
  Instruction* b = module.AddInstruction(computation, Opcode::kParameter, "b", shape, {}, {});
  Instruction* const operands[] = {a, b};
  return FindScalarStep(*module.AddInstruction(computation, opcode, "root", shape, operands, {}));
}

// Returns random elements: a third of the bytes are 0, and a third are 0x7f, 0x80 or 0xff, so that zeros of
// both signs, infinities, NaNs and the smallest and largest values occur.
std::vector<uint8_t> RandomElements(ElementType type, int64_t count, std::mt19937& random) {
  std::vector<uint8_t> bytes(count * ByteCount(type));
  constexpr uint8_t kFrequent[] = {0, 0, 0, 0x7f, 0x80, 0xff};
  for (uint8_t& byte : bytes) {
    const uint32_t number = random();
    byte = number % 9 < 6 ? kFrequent[number % 9] : static_cast<uint8_t>(number >> 16);
    if (type == ElementType::kPred) byte &= 1;
  }
  return bytes;
}

bool IsNan(const WideScalar& value) { return std::isnan(value.f) || std::isnan(value.imag); }

// Returns the number of the elements whose results were compared.
int64_t Compare(Opcode opcode, ElementType type) {
  const FoldLoop loop = FindFoldLoop(opcode, type);
  const std::optional<ScalarStep> step = StepOf(opcode, type);
  if (loop == nullptr) return 0;
  EXPECT_TRUE(step.has_value()) << Name(opcode) << " " << Name(type);
  constexpr int64_t kCount = 5003;
  std::mt19937 random(7);
  const std::vector<uint8_t> a = RandomElements(type, kCount, random),
                             b = RandomElements(type, kCount, random);
  std::vector<uint8_t> sums = a, expected = a;
  loop(sums.data(), b.data(), kCount);
  const ScalarLoad load = ScalarLoader(type);
  for (int64_t i = 0; i < kCount; ++i) {
    const WideScalar result = (*step)(load(a.data(), i), load(b.data(), i));
    ScalarStorer(type)(expected.data(), i, result);
    const bool is_nan = (IsFloat(type) || IsComplex(type)) && IsNan(result);
    if (is_nan) {
      EXPECT_TRUE(IsNan(load(sums.data(), i))) << Name(opcode) << " " << Name(type) << " " << i;
      continue;
    }
    const int64_t size = ByteCount(type);
    EXPECT_TRUE(std::equal(&sums[i * size], &sums[i * size] + size, &expected[i * size]))
        << Name(opcode) << " " << Name(type) << " " << i;
  }
  return kCount;
}

TEST(FoldLoop, HasTheBitsOfScalarSteps) {
  int64_t loops = 0;
  for (const ElementType type : kTypes)
    for (const Opcode opcode : kOpcodes) loops += Compare(opcode, type) > 0 ? 1 : 0;
  // 4 widths of signed and of unsigned integers and pred have all 6, floats of 16 to 64 bits 4, complex
  // numbers 1.
  EXPECT_EQ(loops, 9 * 6 + 4 * 4 + 2);
}

}  // namespace
}  // namespace hlo::reference
