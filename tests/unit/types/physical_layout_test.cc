// Tests memory layouts: the examples of XLA's pages on layouts and tiles, and of shape-rules 1.5 to 1.7.
#include "types/physical_layout.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace hlo::physical_layout_test {
namespace {

constexpr int64_t kJoin = Tile::kCombine;

Shape Array(ElementType type, absl::Span<const int64_t> dims, Layout layout) {
  Shape shape = Shape::Array(type, dims);
  shape.set_layout(std::move(layout));
  return shape;
}

PhysicalLayout Of(const Shape& shape, NarrowElements narrow = NarrowElements::kWholeBytes) {
  absl::StatusOr<PhysicalLayout> layout = PhysicalLayout::Of(shape, narrow);
  EXPECT_TRUE(layout.ok()) << layout.status();
  return *layout;
}

// Returns the elements a, b, c, ... of a row-major array in memory order; padding is a dot.
std::string InMemory(const Shape& shape) {
  const PhysicalLayout layout = Of(shape);
  std::string text(static_cast<size_t>(layout.slot_count()), '.');
  char letter = 'a';
  for (int64_t slot : layout.Slots()) text[static_cast<size_t>(slot)] = letter++;
  return text;
}

TEST(PhysicalLayout, ArraysHaveTheirDimensionOrder) {
  EXPECT_EQ(InMemory(Array(ElementType::kS8, {2, 3}, {.minor_to_major = {0, 1}})), "adbecf");
  EXPECT_EQ(InMemory(Array(ElementType::kS8, {2, 3}, {.minor_to_major = {1, 0}})), "abcdef");
  EXPECT_EQ(InMemory(Shape::Array(ElementType::kS8, {2, 3})), "abcdef");
  EXPECT_EQ(InMemory(Shape::Scalar(ElementType::kF32)), "a");
  EXPECT_EQ(InMemory(Shape::Array(ElementType::kF32, {3, 0, 2})), "");
}

TEST(PhysicalLayout, OldPaddedDimensionsAreOneTile) {
  const Tile column_major = TileOfPaddedDimensions({0, 1}, {3, 5});
  EXPECT_EQ(InMemory(Array(ElementType::kS8, {2, 3}, {.minor_to_major = {0, 1}, .tiles = {column_major}})),
            "ad.be.cf.......");
  const Tile row_major = TileOfPaddedDimensions({1, 0}, {3, 5});
  EXPECT_EQ(InMemory(Array(ElementType::kS8, {2, 3}, {.minor_to_major = {1, 0}, .tiles = {row_major}})),
            "abc..def.......");
}

TEST(PhysicalLayout, TilesAreContiguous) {
  EXPECT_EQ(InMemory(Array(ElementType::kF32, {3, 5}, {.minor_to_major = {1, 0}, .tiles = {{{2, 2}}}})),
            "abfgcdhie.j.kl..mn..o...");
  // A tile longer than the array, and a shorter one.
  EXPECT_EQ(InMemory(Array(ElementType::kF32, {3}, {.minor_to_major = {0}, .tiles = {{{2, 2}}}})),
            "ab..c...");
  EXPECT_EQ(InMemory(Array(ElementType::kF32, {2, 3}, {.minor_to_major = {1, 0}, .tiles = {{{2}}}})),
            "abc.def.");
}

struct Place {
  Shape shape;
  Index element;
  int64_t slot;
};

TEST(PhysicalLayout, ElementsOfSeveralLevelsOfTiles) {
  const Layout two_levels{.minor_to_major = {1, 0}, .tiles = {{{8, 128}}, {{2, 1}}}};
  const Place places[] = {
      {Array(ElementType::kF32, {3, 5}, {.minor_to_major = {1, 0}, .tiles = {{{2, 2}}}}), {2, 3}, 17},
      {Array(ElementType::kBF16, {4, 8}, {.minor_to_major = {1, 0}, .tiles = {{{2, 4}}, {{2, 1}}}}),
       {3, 6},
       29},
      {Array(ElementType::kBF16, {16, 256}, two_levels), {3, 5}, 267},
      {Array(ElementType::kBF16, {10, 200}, two_levels), {9, 130}, 3077},
      {Array(ElementType::kF32, {10, 200}, {.minor_to_major = {0, 1}, .tiles = {{{8, 128}}}}),
       {9, 130},
       16649},
  };
  for (const Place& place : places) {
    EXPECT_EQ(Of(place.shape).Slot(place.element), place.slot) << ToString(place.shape, {.layouts = true});
  }
}

TEST(PhysicalLayout, JoinedDimensionsAreTiledAsOne) {
  // [2,3,4] with T(*,5) is [2,12] with T(5) on the combined dimension.
  const PhysicalLayout joined =
      Of(Array(ElementType::kF32, {2, 3, 4}, {.minor_to_major = {2, 1, 0}, .tiles = {{{kJoin, 5}}}}));
  const PhysicalLayout plain =
      Of(Array(ElementType::kF32, {2, 12}, {.minor_to_major = {1, 0}, .tiles = {{{5}}}}));
  EXPECT_EQ(joined.slot_count(), 2 * 15);
  EXPECT_EQ(joined.Slots(), plain.Slots());
}

TEST(PhysicalLayout, EverySlotHasOneElementAndSlotsAgreeWithSlot) {
  const Layout layouts[] = {
      {.minor_to_major = {0, 2, 1}, .tiles = {{{3, 2}}, {{2, 1}}}},
      {.minor_to_major = {1, 2, 0}, .tiles = {{{2, 4}}, {{3}}}, .tail_padding_alignment_in_elements = 7},
      {.minor_to_major = {2, 1, 0}, .tiles = {{{kJoin, kJoin, 4}}}},
  };
  for (const Layout& layout : layouts) {
    const PhysicalLayout physical = Of(Array(ElementType::kF32, {5, 3, 7}, layout));
    const std::vector<int64_t> slots = physical.Slots();
    EXPECT_EQ(std::set<int64_t>(slots.begin(), slots.end()).size(), 105u);
    size_t k = 0;
    for (const Index& i : EachIndex({5, 3, 7})) EXPECT_EQ(slots[k++], physical.Slot(i));
    for (int64_t slot : slots) EXPECT_LT(slot, physical.slot_count());
  }
}

TEST(PhysicalLayout, CountsBytesWithPaddingAndPacking) {
  const auto bytes = [](ElementType type, absl::Span<const int64_t> dims, Layout layout) {
    return Of(Array(type, dims, std::move(layout))).byte_count();
  };
  EXPECT_EQ(bytes(ElementType::kBF16, {10, 200}, {.minor_to_major = {1, 0}, .tiles = {{{8, 128}}}}), 8192);
  EXPECT_EQ(bytes(ElementType::kS4, {7},
                  {.minor_to_major = {0},
                   .tiles = {{{4}}},
                   .tail_padding_alignment_in_elements = 16,
                   .element_size_in_bits = 4}),
            8);
  EXPECT_EQ(bytes(ElementType::kS4, {5}, {.minor_to_major = {0}, .element_size_in_bits = 4}), 3);
  EXPECT_EQ(bytes(ElementType::kS4, {5}, {.minor_to_major = {0}}), 5);
  EXPECT_EQ(bytes(ElementType::kU2, {9}, {.minor_to_major = {0}, .element_size_in_bits = 2}), 3);
  // Without tiles there is no tail padding.
  EXPECT_EQ(bytes(ElementType::kS8, {5}, {.minor_to_major = {0}, .tail_padding_alignment_in_elements = 16}),
            5);
  EXPECT_EQ(bytes(ElementType::kF32, {2}, {.minor_to_major = {0}, .dynamic_shape_metadata_prefix_bytes = 32}),
            40);
  EXPECT_EQ(Of(Shape::Array(ElementType::kS4, {5}), NarrowElements::kPacked).byte_count(), 3);
}

TEST(PhysicalLayout, StoredElementsAreLoadedBack) {
  const Shape shape = Array(ElementType::kS4, {2, 3},
                            {.minor_to_major = {0, 1}, .tiles = {{{2, 4}}}, .element_size_in_bits = 4});
  const PhysicalLayout layout = Of(shape);
  const int8_t values[] = {-8, -1, 0, 1, 5, 7};
  std::vector<std::byte> memory(static_cast<size_t>(layout.byte_count()));
  layout.Store(reinterpret_cast<const std::byte*>(values), memory.data());
  // Slots by tile: -8 1 . . | -1 5 . . and 0 7 . . | padding.
  const uint8_t want[] = {0x18, 0, 0x5f, 0, 0x70, 0, 0, 0};
  ASSERT_EQ(memory.size(), std::size(want));
  for (size_t i = 0; i < memory.size(); ++i) EXPECT_EQ(static_cast<uint8_t>(memory[i]), want[i]) << i;
  int8_t back[6] = {};
  layout.Load(memory.data(), reinterpret_cast<std::byte*>(back));
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(back[i], values[i]);
}

TEST(PhysicalLayout, RejectsInvalidLayouts) {
  const auto refused = [](ElementType type, absl::Span<const int64_t> dims, Layout layout) {
    return PhysicalLayout::Of(Array(type, dims, std::move(layout))).status().code();
  };
  constexpr int64_t kHuge = int64_t{1} << 40;
  EXPECT_EQ(refused(ElementType::kF32, {4}, {.minor_to_major = {0}, .tiles = {{{kJoin}}}}),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(refused(ElementType::kF32, {4}, {.minor_to_major = {0}, .tiles = {{{0}}}}),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(refused(ElementType::kF32, {4}, {.minor_to_major = {0}, .element_size_in_bits = 16}),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(refused(ElementType::kF32, {4}, {.minor_to_major = {0}, .split_configs = {{0, {2}}}}),
            absl::StatusCode::kUnimplemented);
  EXPECT_EQ(refused(ElementType::kF32, {2, 2}, {.minor_to_major = {1, 0}, .tiles = {{{kHuge, kHuge}}}}),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(refused(ElementType::kF32, {kHuge, kHuge, 0},
                    {.minor_to_major = {2, 1, 0}, .tiles = {{{kJoin, kJoin, 2}}}}),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(refused(ElementType::kF32, {4}, {.minor_to_major = {0}, .tiles = std::vector<Tile>(300, {{1}})}),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace hlo::physical_layout_test
