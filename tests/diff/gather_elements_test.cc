// Tests gathers of elements by vectors against loops, with memory that cannot be read outside the arrays.

#include "kernels/cpu/simd/gather_elements.h"

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "guarded_memory.h"
#include "kernels/cpu/elementwise/gather_clamped.h"

namespace hlo::gather_elements_test {
namespace {

constexpr int32_t kNone = INT32_MIN;

template <class T>
class GatherElements : public testing::Test {};
using Types = testing::Types<uint8_t, uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(GatherElements, Types);

// Calls f with the number of elements, indices, some of which are kNone, and elements that end or begin a
// page. Index 0 is somewhere among the elements.
template <class T, class F>
void ForEachArray(F&& f) {
  std::mt19937 random(sizeof(T));
  for (int64_t n = 0; n < 70; ++n) {
    for (const auto place : {GuardedMemory::Place::kBegin, GuardedMemory::Place::kEnd}) {
      const auto count = static_cast<int32_t>(1 + random() % 100);
      const auto zero = static_cast<int32_t>(random() % count);
      std::vector<std::byte> bytes(count * sizeof(T));
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
      GuardedMemory memory(bytes, place);
      std::vector<int32_t> indices(n);
      for (int32_t& index : indices)
        index = random() % 5 == 0 ? kNone : static_cast<int32_t>(random() % count) - zero;
      f(n, indices, reinterpret_cast<const T*>(memory.data()) + zero);
    }
  }
}

TYPED_TEST(GatherElements, ReadsEachIndex) {
  using T = TypeParam;
  ForEachArray<T>([](int64_t n, std::vector<int32_t> indices, const T* from) {
    std::vector<T> got(n + 1, T{77});
    for (int32_t& index : indices) index = index == kNone ? 0 : index;
    cpu::GatherElements(from, indices.data(), n, got.data());
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(got[i], from[indices[i]]) << i << " of " << n;
    EXPECT_EQ(got[n], T{77});
  });
}

TYPED_TEST(GatherElements, KeepsElementsWithoutIndex) {
  using T = TypeParam;
  ForEachArray<T>([](int64_t n, const std::vector<int32_t>& indices, const T* from) {
    std::vector<T> got(n + 1, T{77});
    cpu::GatherExisting(from, indices.data(), kNone, n, got.data());
    for (int64_t i = 0; i < n; ++i)
      ASSERT_EQ(got[i], indices[i] == kNone ? T{77} : from[indices[i]]) << i << " of " << n;
    EXPECT_EQ(got[n], T{77});
  });
}

// Gathers from arrays of up to 140 elements by positions of a type, of which some are outside the array.
template <class T, class Position>
void ExpectClampedPositions() {
  std::mt19937_64 random(sizeof(T) * 16 + sizeof(Position));
  for (int64_t count = 1; count < 140; ++count) {
    const auto n = static_cast<int64_t>(random() % 70);
    std::vector<std::byte> bytes(count * sizeof(T));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    GuardedMemory memory(bytes, count % 2 == 0 ? GuardedMemory::Place::kBegin : GuardedMemory::Place::kEnd);
    const T* from = reinterpret_cast<const T*>(memory.data());
    std::vector<Position> positions(n);
    for (Position& position : positions)
      position =
          static_cast<Position>(random() % 4 == 0 ? random() : random() % static_cast<uint64_t>(count + 2));
    std::vector<T> got(n + 1, T{77});
    cpu::GatherClamped(from, positions.data(), n, count - 1, got.data());
    for (int64_t i = 0; i < n; ++i) {
      const bool is_negative = std::is_signed_v<Position> && positions[i] < Position{0};
      const uint64_t at =
          is_negative ? 0 : std::min(static_cast<uint64_t>(positions[i]), static_cast<uint64_t>(count - 1));
      ASSERT_EQ(got[i], from[at]) << i << " of " << n << ", array of " << count;
    }
    EXPECT_EQ(got[n], T{77});
  }
}

TYPED_TEST(GatherElements, ClampsPositionsOfAnyType) {
  ExpectClampedPositions<TypeParam, int8_t>();
  ExpectClampedPositions<TypeParam, uint8_t>();
  ExpectClampedPositions<TypeParam, int16_t>();
  ExpectClampedPositions<TypeParam, uint16_t>();
  ExpectClampedPositions<TypeParam, int32_t>();
  ExpectClampedPositions<TypeParam, uint32_t>();
  ExpectClampedPositions<TypeParam, int64_t>();
  ExpectClampedPositions<TypeParam, uint64_t>();
}

}  // namespace
}  // namespace hlo::gather_elements_test
