// Tests copies on the emulated GPU against naive loops.

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "kernels/cuda/copy/lower_copy.h"
#include "kernels/cuda/copy/moves.h"
#include "kernels/cuda/emulator/emulator.h"
#include "types/index.h"

namespace hlo::cuda::copy_test {
namespace {

struct Move {
  std::vector<int64_t> dims;
  std::vector<int64_t> from, to;  // Strides.
  int64_t from_offset = 0, to_offset = 0;
};

// Both arrays are as long as the copy needs; neighbouring bytes are all different.
void CheckMove(ElementType type, const Move& move, std::string_view name, int32_t schedule = 0) {
  const int64_t width = ByteCount(type);
  int64_t from_last = move.from_offset, to_last = move.to_offset;
  for (size_t d = 0; d < move.dims.size(); ++d) {
    from_last += std::max<int64_t>(0, (move.dims[d] - 1) * move.from[d]);
    to_last += std::max<int64_t>(0, (move.dims[d] - 1) * move.to[d]);
  }
  std::vector<uint8_t> from((from_last + 1) * width), to((to_last + 1) * width, 0xee), want = to;
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint8_t>(i * 7 + i / 251);
  for (const Index& i : EachIndex(move.dims)) {
    std::memcpy(&want[(move.to_offset + Offset(i, move.to)) * width],
                &from[(move.from_offset + Offset(i, move.from)) * width], static_cast<size_t>(width));
  }
  loops::LoopProgram program({}, move.dims);
  loops::Access load, store;
  load.argument = 0;
  store.argument = 1;
  load.type = store.type = type;
  load.offset = move.from_offset;
  store.offset = move.to_offset;
  load.inner.assign(move.from.begin(), move.from.end());
  store.inner.assign(move.to.begin(), move.to.end());
  program.Store(program.Load(load), store);
  program.Finish();
  const std::optional<LoweredProgram> lowered = LowerCopy(program);
  ASSERT_TRUE(lowered.has_value());
  EXPECT_EQ(lowered->name, name);
  void* pointers[] = {from.data(), to.data()};
  const absl::Status status = lowered->run(pointers, nullptr, {nullptr, true, schedule});
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(to, want);
}

constexpr ElementType kTypes[] = {ElementType::kU8, ElementType::kBF16, ElementType::kF32, ElementType::kF64,
                                  ElementType::kC128};

TEST(CudaCopy, TransposesByTiles) {
  for (ElementType type : kTypes) {
    const std::string name = "copy of " + std::to_string(ByteCount(type)) + " bytes in tiles";
    for (const auto& [rows, columns] :
         {std::pair(8, 8), std::pair(31, 33), std::pair(32, 64), std::pair(65, 127)}) {
      CheckMove(type, {{rows, columns}, {columns, 1}, {1, rows}}, name, 3);
      CheckMove(type, {{3, rows, columns}, {rows * columns, columns, 1}, {rows * columns, 1, rows}}, name);
    }
    // [a, b, c, d] to [a, d, c, b].
    CheckMove(type, {{2, 9, 3, 11}, {297, 33, 11, 1}, {297, 1, 9, 27}}, name);
  }
}

TEST(CudaCopy, MovesRowsByWideWords) {
  CheckMove(ElementType::kF32, {{100}, {1}, {1}}, "copy of 16 bytes");
  CheckMove(ElementType::kF32, {{1030}, {1}, {1}, 2}, "copy of 8 bytes");
  CheckMove(ElementType::kU8, {{37, 5}, {8, 1}, {5, 1}}, "copy of 1 bytes");
  CheckMove(ElementType::kBF16, {{7, 20, 16}, {640, 32, 1}, {320, 16, 1}, 16, 48}, "copy of 16 bytes");
  CheckMove(ElementType::kC128, {{5, 4}, {9, 1}, {4, 1}}, "copy of 16 bytes");
}

TEST(CudaCopy, ReversesStepsAndRepeats) {
  CheckMove(ElementType::kF32, {{50}, {-1}, {1}, 49}, "copy of 4 bytes");
  CheckMove(ElementType::kF64, {{20, 6}, {18, 3}, {6, 1}}, "copy of 8 bytes");
  CheckMove(ElementType::kU8, {{30, 40}, {0, 1}, {40, 1}}, "copy of 8 bytes");
  CheckMove(ElementType::kF32, {{3, 0}, {0, 1}, {0, 1}}, "copy of 16 bytes");
}

TEST(CudaCopy, ClampsRunTimeStarts) {
  for (const auto& [start, clamped] : {std::pair(-3, 0), std::pair(2, 2), std::pair(9, 4)}) {
    loops::LoopProgram program({}, {4, 3});
    loops::Access load, store;
    load.argument = 0;
    store.argument = 1;
    load.type = store.type = ElementType::kF32;
    load.inner = {3, 1};
    store.inner = {3, 1};
    load.starts.push_back({2, ElementType::kS32, 4, 3});
    program.Store(program.Load(load), store);
    program.Finish();
    const std::optional<LoweredProgram> lowered = LowerCopy(program);
    ASSERT_TRUE(lowered.has_value());
    std::vector<float> from(24), to(12);
    for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i);
    int32_t index = start;
    void* pointers[] = {from.data(), to.data(), &index};
    ASSERT_TRUE(lowered->run(pointers, nullptr, {nullptr, true, 0}).ok());
    EXPECT_EQ(to, std::vector<float>(from.begin() + 3 * clamped, from.begin() + 3 * clamped + 12));
  }
}

TEST(CudaCopy, RejectsArithmetic) {
  loops::LoopProgram program({}, {16});
  loops::Access load, store;
  load.argument = 0;
  store.argument = 1;
  load.type = ElementType::kF32;
  store.type = ElementType::kS32;
  load.inner = store.inner = {1};
  program.Store(program.Load(load), store);
  program.Finish();
  EXPECT_FALSE(LowerCopy(program).has_value());
}

// Buffers are rotated; sizes and addresses of every alignment.
TEST(Moves, AreSimultaneous) {
  for (const int64_t size : {1, 3, 4, 16, 20, 100, 4096}) {
    for (const int64_t shift : {0, 1, 4}) {
      for (const int32_t schedule : {0, 1, 2}) {
        constexpr int kBuffers = 5;
        alignas(16) static uint8_t memory[kBuffers][4096 + 32];
        std::vector<std::vector<uint8_t>> want;
        for (int b = 0; b < kBuffers; ++b) {
          for (size_t i = 0; i < sizeof memory[b]; ++i)
            memory[b][i] = static_cast<uint8_t>(b * 50 + i * 7 + i / 251);
          want.emplace_back(memory[b], memory[b] + sizeof memory[b]);
        }
        std::vector<BufferMove> moves;
        for (int b = 0; b < kBuffers; ++b) {
          moves.push_back({memory[b] + shift, memory[(b + 1) % kBuffers], size});
          std::memcpy(want[b].data() + shift, memory[(b + 1) % kBuffers], static_cast<size_t>(size));
        }
        ASSERT_TRUE(FitsOneLaunch(kBuffers, kBuffers * (size + 15)));
        ASSERT_TRUE(MoveInOneLaunch(moves, {.emulated = true, .schedule = schedule}).ok());
        for (int b = 0; b < kBuffers; ++b)
          EXPECT_TRUE(std::equal(want[b].begin(), want[b].end(), memory[b]))
              << size << " " << shift << " " << b;
      }
    }
  }
  EXPECT_FALSE(FitsOneLaunch(1, 33 << 10));
  EXPECT_FALSE(FitsOneLaunch(65, 65 * 16));
}

}  // namespace
}  // namespace hlo::cuda::copy_test
