// Tests reductions of rows on the 32-bit VM in the emulator: of small integers, whose sums are exact in
// every order, and against plain loops.

#include <algorithm>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cuda/emulator/emulator.h"
#include "kernels/cuda/reduce/lower_vm32_reduce.h"
#include "loops/reduction.h"
#include "types/small_float.h"

namespace hlo::cuda::vm32_reduce_test {
namespace {

using loops::ComputeType;
using loops::LoopProgram;
using loops::Value;

constexpr device::DeviceProperties kDevice = {.compute_capability = 80, .shared_bytes_per_block = 160 << 10};

loops::ScalarFunction Combiner(Opcode opcode, ElementType type) {
  const ComputeType compute_type = loops::ComputeTypeOf(type);
  loops::ScalarFunction code({compute_type, compute_type});
  code.Yield(code.Apply(*loops::FindScalarOperation(opcode, type), compute_type, {0, 1}));
  return code;
}

struct Shape2 {
  int64_t kept, reduced;
};
// Rows that fill vectors partly, warps, blocks and chunks.
const Shape2 kShapes[] = {{1, 4}, {5, 8}, {9, 132}, {33, 768}, {3, 1028}, {2, 8192}, {2, 70000}};

std::vector<int> SmallNumbers(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int> numbers(static_cast<size_t>(count));
  for (int& x : numbers) x = static_cast<int>(random() % 33) - 16;
  return numbers;
}

template <class T>
std::vector<T> As(const std::vector<int>& numbers) {
  return {numbers.begin(), numbers.end()};
}
std::vector<uint16_t> AsBF16(const std::vector<int>& numbers) {
  std::vector<uint16_t> bits;
  for (const int x : numbers) bits.push_back(FloatToBF16(static_cast<float>(x)));
  return bits;
}

// Runs the program on arrays, the last of which receives the result.
void RunOn(const loops::ReduceProgram& program, std::vector<void*> pointers, int32_t schedule) {
  const std::optional<LoweredProgram> lowered = LowerVm32Reduce(program, kDevice);
  ASSERT_TRUE(lowered.has_value());
  std::vector<uint64_t> workspace(static_cast<size_t>(lowered->workspace_bytes / 8 + 1));
  const absl::Status status =
      lowered->run(pointers.data(), workspace.data(), {.emulated = true, .schedule = schedule});
  ASSERT_TRUE(status.ok()) << status;
}

// The sum of (x - m)^2 over rows of bf16, as in a layer normalisation: x is dense, and m has one element per
// row.
TEST(Vm32Reduce, SumsOfSquares) {
  for (const auto& [kept, reduced] : kShapes) {
    const int64_t outer[] = {kept}, inner[] = {reduced};
    LoopProgram body(outer, inner);
    const Value x = body.Load({.argument = 0, .type = ElementType::kBF16, .outer = {reduced}, .inner = {1}});
    const Value m = body.Load({.argument = 1, .type = ElementType::kF32, .outer = {1}, .inner = {0}});
    const Value d = body.Apply(*loops::FindScalarOperation(Opcode::kSubtract, ElementType::kF32),
                               ComputeType::kF32, {x, m});
    body.Yield(body.Apply(*loops::FindScalarOperation(Opcode::kMultiply, ElementType::kF32),
                          ComputeType::kF32, {d, d}));
    body.Finish();
    const loops::ReduceProgram program{{.combiner = Combiner(Opcode::kAdd, ElementType::kF32),
                                        .results = {{2, 3, ElementType::kF32, ElementType::kF32}}},
                                       std::move(body)};
    const std::vector<int> numbers = SmallNumbers(kept * reduced, 1), means = SmallNumbers(kept, 2);
    std::vector<uint16_t> array = AsBF16(numbers);
    std::vector<float> mean = As<float>(means), got(means.size());
    std::vector<double> sums(means.size(), 5);
    for (int64_t i = 0; i < kept * reduced; ++i) {
      const int difference = numbers[i] - means[i / reduced];
      sums[i / reduced] += difference * difference;
    }
    const std::vector<float> want(sums.begin(), sums.end());  // Rounded once.
    float init = 5;
    for (const int32_t schedule : {0, 2}) {
      RunOn(program, {array.data(), mean.data(), &init, got.data()}, schedule);
      EXPECT_EQ(got, want) << kept << " x " << reduced;
    }
  }
}

// Every single operation, over values that come from a comparison or a sum.
TEST(Vm32Reduce, EveryFold) {
  for (const auto& [kept, reduced] : kShapes) {
    for (const ElementType type :
         {ElementType::kF32, ElementType::kS32, ElementType::kU32, ElementType::kPred}) {
      for (const Opcode opcode :
           {Opcode::kAdd, Opcode::kMaximum, Opcode::kMinimum, Opcode::kAnd, Opcode::kOr}) {
        const bool is_float = type == ElementType::kF32, is_pred = type == ElementType::kPred;
        const auto call = loops::FindScalarOperation(opcode, type);
        if (!call.has_value() || (is_pred && opcode == Opcode::kMaximum)) continue;
        const int64_t outer[] = {kept}, inner[] = {reduced};
        LoopProgram body(outer, inner);
        const ElementType from = is_pred ? ElementType::kS32 : type;
        const Value x = body.Load({.argument = 0, .type = from, .outer = {reduced}, .inner = {1}});
        const Value y = body.Load({.argument = 1, .type = from, .outer = {0}, .inner = {1}});
        body.Yield(is_pred ? body.Apply(*loops::FindCompare(ComparisonDirection::kGt, false, from),
                                        ComputeType::kPred, {x, y})
                           : body.Apply(*loops::FindScalarOperation(Opcode::kAdd, type),
                                        loops::ComputeTypeOf(type), {x, y}));
        body.Finish();
        const loops::ReduceProgram program{
            {.combiner = Combiner(opcode, type), .results = {{2, 3, type, type}}}, std::move(body)};
        const std::vector<int> left = SmallNumbers(kept * reduced, 3), right = SmallNumbers(reduced, 4);
        const auto fold = [&](auto a, auto b) {
          using T = decltype(a);
          switch (opcode) {
            case Opcode::kAdd:
              return static_cast<T>(is_pred ? (a != 0 || b != 0 ? 1 : 0) : a + b);
            case Opcode::kMaximum:
              return std::max(a, b);
            case Opcode::kMinimum:
              return std::min(a, b);
            default:
              if constexpr (std::is_integral_v<T>)
                return static_cast<T>(opcode == Opcode::kAnd ? a & b : a | b);
              else
                return a;
          }
        };
        const auto check = [&]<class T, class Result>(T, Result first) {
          std::vector<T> a = As<T>(left), b = As<T>(right);
          Result init = first;
          std::vector<Result> want(static_cast<size_t>(kept), init), got(want.size());
          for (int64_t i = 0; i < kept * reduced; ++i) {
            Result& result = want[i / reduced];
            const T p = a[i], q = b[i % reduced];
            result = fold(result, static_cast<Result>(is_pred ? p > q : p + q));
          }
          RunOn(program, {a.data(), b.data(), &init, got.data()}, 2);
          EXPECT_EQ(got, want) << Name(opcode) << " " << Name(type) << " " << kept << " x " << reduced;
        };
        if (is_float)
          check(float{}, 3.0f);
        else if (is_pred)
          check(int32_t{}, static_cast<uint8_t>(opcode == Opcode::kAnd || opcode == Opcode::kMinimum));
        else if (type == ElementType::kS32)
          check(int32_t{}, -3);
        else
          check(uint32_t{}, 3u);
      }
    }
  }
}

TEST(Vm32Reduce, RejectsUnsupportedPrograms) {
  const auto program = [](int64_t reduced, bool rows, loops::Reassociation reassociation) {
    const int64_t outer[] = {rows ? 3 : reduced}, inner[] = {rows ? reduced : 3};
    LoopProgram body(outer, inner);
    const Value x = body.Load({.argument = 0, .type = ElementType::kF32, .outer = {inner[0]}, .inner = {1}});
    body.Yield(
        body.Apply(*loops::FindScalarOperation(Opcode::kNegate, ElementType::kF32), ComputeType::kF32, {x}));
    body.Finish();
    return loops::ReduceProgram{{.rows = rows,
                                 .combiner = Combiner(Opcode::kAdd, ElementType::kF32),
                                 .reassociation = reassociation,
                                 .results = {{1, 2, ElementType::kF32, ElementType::kF32}}},
                                std::move(body)};
  };
  EXPECT_TRUE(LowerVm32Reduce(program(8, true, loops::Reassociation::kAny), kDevice).has_value());
  EXPECT_FALSE(LowerVm32Reduce(program(7, true, loops::Reassociation::kAny), kDevice).has_value());
  EXPECT_FALSE(LowerVm32Reduce(program(8, false, loops::Reassociation::kAny), kDevice).has_value());
  EXPECT_FALSE(LowerVm32Reduce(program(8, true, loops::Reassociation::kAdjacent), kDevice).has_value());
}

}  // namespace
}  // namespace hlo::cuda::vm32_reduce_test
