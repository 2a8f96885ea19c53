// Tests copies between strided arrays against naive loops, without access beyond the arrays.

#include <cstring>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "guarded_memory.h"
#include "kernels/cpu/elementwise/copy_array.h"
#include "kernels/cpu/elementwise/tile_ops.h"

namespace hlo::copies_test {
namespace {

using Bytes = std::vector<std::byte>;
using Place = GuardedMemory::Place;

Bytes RandomBytes(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  Bytes bytes(static_cast<size_t>(count));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

// Returns the number of elements up to the last one that the dimensions reach.
int64_t Extent(const std::vector<cpu::CopyDim>& dims, int64_t cpu::CopyDim::*stride) {
  int64_t extent = 1;
  for (const cpu::CopyDim& d : dims) extent += (d.size - 1) * (d.*stride);
  return extent;
}

void CopyNaively(const std::vector<cpu::CopyDim>& dims, size_t d, int64_t width, const std::byte* from,
                 std::byte* to) {
  if (d == dims.size()) {
    std::memcpy(to, from, static_cast<size_t>(width));
    return;
  }
  for (int64_t i = 0; i < dims[d].size; ++i)
    CopyNaively(dims, d + 1, width, from + i * dims[d].from_stride * width,
                to + i * dims[d].to_stride * width);
}

template <class Copy>
void ExpectCopied(const std::vector<cpu::CopyDim>& dims, int64_t width, const Copy& copy) {
  const Bytes source = RandomBytes(Extent(dims, &cpu::CopyDim::from_stride) * width, 1);
  const Bytes before = RandomBytes(Extent(dims, &cpu::CopyDim::to_stride) * width, 2);
  for (const Place place : {Place::kBegin, Place::kEnd}) {
    GuardedMemory from(source, place), to(before, place);
    copy(from.data(), to.data());
    Bytes expected = before;
    CopyNaively(dims, 0, width, source.data(), expected.data());
    EXPECT_TRUE(to.Bytes() == expected);
  }
}

TEST(CopiesTest, StridedElements) {
  for (const int64_t width : {1, 2, 4, 8, 16}) {
    for (int64_t from_stride = 0; from_stride <= 10; ++from_stride) {
      for (int64_t to_stride = 1; to_stride <= 9; ++to_stride) {
        for (const int64_t n : {1, 2, 7, 8, 9, 15, 16, 17, 32, 33, 100}) {
          SCOPED_TRACE(testing::Message() << width << " " << from_stride << " " << to_stride << " " << n);
          ExpectCopied({{n, from_stride, to_stride}}, width, [&](const std::byte* from, std::byte* to) {
            cpu::CopyStrided(n, width, to, to_stride, from, from_stride);
          });
        }
      }
    }
  }
}

// Rows of a few elements, columns, transposed and repeated rows, in arrays with longer rows.
TEST(CopiesTest, StridedArraysAreCopied) {
  std::mt19937 random(1);
  constexpr int64_t kSizes[] = {1, 2, 3, 4, 7, 8, 16, 17, 40, 70, 130};
  for (int round = 0; round < 3000; ++round) {
    const int64_t width = int64_t{1} << random() % 5;
    std::vector<cpu::CopyDim> dims(1 + random() % 3);
    int64_t from = 1, to = 1;
    for (size_t d = dims.size(); d-- > 0;) {
      const int64_t size = kSizes[random() % std::size(kSizes)];
      dims[d] = {size, random() % 6 == 0 ? 0 : from, to};
      from *= size + static_cast<int64_t>(random() % 3);
      to *= size + static_cast<int64_t>(random() % 3);
    }
    if (dims.size() > 1 && random() % 3 == 0) std::swap(dims[0].from_stride, dims.back().from_stride);
    if (from * to > 4'000'000'000 || Extent(dims, &cpu::CopyDim::to_stride) > 100'000) continue;
    SCOPED_TRACE(testing::Message() << "round " << round);
    ExpectCopied(dims, width,
                 [&](const std::byte* in, std::byte* out) { cpu::CopyArray(dims, width, in, out); });
  }
}

TEST(CopiesTest, ReversedElements) {
  for (const int64_t width : {1, 2, 4, 8, 16}) {
    for (const int64_t n : {1, 2, 15, 16, 17, 31, 33, 63, 64, 65, 130, 257}) {
      SCOPED_TRACE(testing::Message() << width << " " << n);
      const Bytes source = RandomBytes(n * width, 1);
      const int64_t last = (n - 1) * width;
      Bytes expected(source.size());
      CopyNaively({{n, -1, 1}}, 0, width, source.data() + last, expected.data());
      for (const Place place : {Place::kBegin, Place::kEnd}) {
        GuardedMemory from(source, place), to(RandomBytes(n * width, 2), place);
        cpu::CopyStrided(n, width, to.data(), 1, from.data() + last, -1);
        EXPECT_TRUE(to.Bytes() == expected);
      }
    }
  }
}

// Panels with whole and partial squares, in arrays with longer rows.
TEST(CopiesTest, TransposedPanels) {
  constexpr int64_t kSizes[] = {1, 3, 5, 6, 8, 9, 15, 16, 17, 31, 33, 63, 65, 100};
  for (const int64_t width : {1, 2, 4, 8, 16}) {
    for (const int64_t rows : kSizes) {
      for (const int64_t columns : kSizes) {
        const int64_t gap = (rows + columns) % 3;
        SCOPED_TRACE(testing::Message() << width << " " << rows << " " << columns);
        const std::vector<cpu::CopyDim> dims = {{rows, 1, columns + gap}, {columns, rows + gap, 1}};
        ExpectCopied(dims, width,
                     [&](const std::byte* in, std::byte* out) { cpu::CopyArray(dims, width, in, out); });
      }
    }
  }
}

// Few long rows, and many short ones.
TEST(CopiesTest, TransposedLines) {
  for (const int64_t width : {1, 2, 4, 8, 16}) {
    for (int64_t few = 1; few <= 7; ++few) {
      SCOPED_TRACE(testing::Message() << width << " " << few);
      constexpr int64_t kMany = 5003;
      const std::vector<cpu::CopyDim> rows = {{few, 1, kMany}, {kMany, few, 1}};
      ExpectCopied(rows, width,
                   [&](const std::byte* in, std::byte* out) { cpu::CopyArray(rows, width, in, out); });
      const std::vector<cpu::CopyDim> columns = {{kMany, 1, few}, {few, kMany, 1}};
      ExpectCopied(columns, width,
                   [&](const std::byte* in, std::byte* out) { cpu::CopyArray(columns, width, in, out); });
    }
  }
}

}  // namespace
}  // namespace hlo::copies_test
