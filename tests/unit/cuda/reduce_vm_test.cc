// Tests VM reductions on the emulator: sums and products of integers, which are independent of the order, and
// a combiner that is not.

#include <numeric>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cuda/emulator/emulator.h"
#include "kernels/cuda/reduce/lower_reduce.h"
#include "loops/reduction.h"

namespace hlo::cuda::reduce_vm_test {
namespace {

using loops::ComputeType;

loops::ScalarFunction Combiner(Opcode opcode, ElementType type) {
  const ComputeType compute_type = loops::ComputeTypeOf(type);
  loops::ScalarFunction code({compute_type, compute_type});
  code.Yield(code.Apply(*loops::FindScalarOperation(opcode, type), compute_type, {0, 1}));
  return code;
}

// Reduces the rows of a kept x reduced array, or the columns of a reduced x kept array.
loops::ReduceProgram Program(int64_t kept, int64_t reduced, bool rows, ElementType type,
                             loops::ScalarFunction combiner, loops::Reassociation reassociation) {
  const int64_t outer[] = {rows ? kept : reduced}, inner[] = {rows ? reduced : kept};
  loops::LoopProgram body(outer, inner);
  // A body that is a single load would not run on the VM.
  const loops::Value value = body.Load({.argument = 0, .type = type, .outer = {inner[0]}, .inner = {1}});
  const loops::ComputeType compute_type = loops::ComputeTypeOf(type);
  const auto negate = loops::FindScalarOperation(Opcode::kNegate, type);
  body.Yield(body.Apply(*negate, compute_type, {body.Apply(*negate, compute_type, {value})}));
  body.Finish();
  return {{.rows = rows,
           .combiner = std::move(combiner),
           .reassociation = reassociation,
           .results = {{1, 2, type, type}}},
          std::move(body)};
}

template <class T>
std::vector<T> Reduced(const loops::ReduceProgram& program, std::vector<T> array, T init, int schedule = 0) {
  const absl::StatusOr<LoweredProgram> lowered = LowerReduce(program, {.compute_capability = 80});
  EXPECT_TRUE(lowered.ok()) << lowered.status().ToString();
  std::vector<T> results(program.kept_count());
  std::vector<uint64_t> workspace(lowered->workspace_bytes / 8 + 1);
  void* pointers[] = {array.data(), &init, results.data()};
  const absl::Status status =
      lowered->run(pointers, workspace.data(), {.emulated = true, .schedule = schedule});
  EXPECT_TRUE(status.ok()) << status.ToString();
  return results;
}

TEST(ReduceVm, AddsRowsAndColumnsOfEveryLength) {
  for (const int64_t kept : {1, 3, 130}) {
    for (const int64_t reduced : {1, 15, 16, 31, 33, 257, 1024, 1300}) {
      for (const bool rows : {true, false}) {
        std::vector<int32_t> array(kept * reduced), wanted(kept, 7);
        for (size_t i = 0; i < array.size(); ++i) {
          array[i] = static_cast<int32_t>(i * 2654435761u);
          int32_t& sum = wanted[rows ? i / reduced : i % kept];
          sum = static_cast<int32_t>(static_cast<uint32_t>(sum) + static_cast<uint32_t>(array[i]));
        }
        const loops::ReduceProgram program =
            Program(kept, reduced, rows, ElementType::kS32, Combiner(Opcode::kAdd, ElementType::kS32),
                    loops::Reassociation::kAny);
        EXPECT_EQ(Reduced<int32_t>(program, array, 7), wanted) << kept << " " << reduced << " " << rows;
      }
    }
  }
}

TEST(ReduceVm, SplitsLongRows) {
  std::vector<float> array(2 * 70000);
  std::iota(array.begin(), array.end(), 0.0f);
  const loops::ReduceProgram program =
      Program(2, 70000, true, ElementType::kF32, Combiner(Opcode::kAdd, ElementType::kF32),
              loops::Reassociation::kAny);
  // The sums are exact in f64 and rounded once.
  const std::vector<float> wanted = {static_cast<float>(69999.0 * 35000),
                                     static_cast<float>(209999.0 * 35000)};
  EXPECT_EQ(Reduced<float>(program, array, 0), wanted);
}

TEST(ReduceVm, SplitsLongColumns) {
  for (const int64_t kept : {1, 3, 40}) {
    std::vector<int32_t> array(kept * 20000), wanted;
    std::iota(array.begin(), array.end(), 0);
    std::vector<uint32_t> sums(kept, 1);  // They wrap.
    for (size_t i = 0; i < array.size(); ++i) sums[i % kept] += static_cast<uint32_t>(array[i]);
    for (const uint32_t sum : sums) wanted.push_back(static_cast<int32_t>(sum));
    const loops::ReduceProgram program =
        Program(kept, 20000, false, ElementType::kS32, Combiner(Opcode::kAdd, ElementType::kS32),
                loops::Reassociation::kAny);
    const absl::StatusOr<LoweredProgram> lowered = LowerReduce(program, {.compute_capability = 80});
    ASSERT_TRUE(lowered.ok()) << lowered.status();
    EXPECT_NE(lowered->name.find("chunks"), std::string::npos) << lowered->name;
    EXPECT_EQ(Reduced<int32_t>(program, array, 1, 1), wanted) << kept;
  }
}

// The first and the last operand depend on the order of elements, for every schedule.
TEST(ReduceVm, CombinesNeighboursInOrder) {
  loops::ScalarFunction first({ComputeType::kS32, ComputeType::kS32});
  first.Yield(0);
  loops::ScalarFunction last({ComputeType::kS32, ComputeType::kS32});
  last.Yield(1);
  std::vector<int32_t> array(5 * 1100);
  std::iota(array.begin(), array.end(), 100);
  std::vector<int32_t> columns(5 * 5000);
  std::iota(columns.begin(), columns.end(), 0);
  for (int schedule = 0; schedule < static_cast<int>(std::size(kSchedules)); ++schedule) {
    for (const loops::Reassociation reassociation :
         {loops::Reassociation::kAdjacent, loops::Reassociation::kNone}) {
      EXPECT_EQ(Reduced<int32_t>(Program(5, 1100, true, ElementType::kS32, first, reassociation), array, -1,
                                 schedule),
                std::vector<int32_t>(5, -1));
      EXPECT_EQ(Reduced<int32_t>(Program(5, 1100, true, ElementType::kS32, last, reassociation), array, -1,
                                 schedule),
                (std::vector<int32_t>{1199, 2299, 3399, 4499, 5599}));
      // Five columns, in chunks.
      EXPECT_EQ(Reduced<int32_t>(Program(5, 5000, false, ElementType::kS32, last, reassociation), columns, -1,
                                 schedule),
                (std::vector<int32_t>{24995, 24996, 24997, 24998, 24999}));
    }
  }
}

}  // namespace
}  // namespace hlo::cuda::reduce_vm_test
