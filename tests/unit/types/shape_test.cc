#include "hlo_run/shape.h"

#include <gtest/gtest.h>

namespace hlo::shape_test {
namespace {

Shape WithLayout(Shape shape, Layout layout) {
  shape.set_layout(std::move(layout));
  return shape;
}

TEST(Shape, PrintsWithAndWithoutLayout) {
  Shape shape = Shape::Array(ElementType::kF32, {2, 5, 0});
  shape.set_dim(1, 5, /*dynamic=*/true);
  EXPECT_EQ(ToString(shape), "f32[2,<=5,0]");
  EXPECT_EQ(ToString(shape, {.layouts = true}), "f32[2,<=5,0]{2,1,0}");
  shape.set_dim(0, Shape::kUnbounded, true);
  EXPECT_EQ(ToString(shape), "f32[?,<=5,0]");
  EXPECT_EQ(ToString(Shape::Tuple({})), "()");
  const Shape scalar = Shape::Scalar(ElementType::kS4);
  EXPECT_EQ(ToString(Shape::Tuple({scalar, scalar, scalar, scalar, scalar, Shape::Buffer(scalar)})),
            "(s4[], s4[], s4[], s4[], s4[], /*index=5*/b(s4[]))");
  const Layout tiled{.minor_to_major = {1, 0},
                     .tiles = {{.dimensions = {8, Tile::kCombine}}, {.dimensions = {2, 1}}},
                     .element_size_in_bits = 4,
                     .memory_space = 5};
  EXPECT_EQ(ToString(WithLayout(Shape::Array(ElementType::kS4, {8, 8}), tiled), {.layouts = true}),
            "s4[8,8]{1,0:T(8,*)(2,1)E(4)S(5)}");
}

TEST(Shape, CompatibleIgnoresLayoutsAndDynamicFlags) {
  const Shape plain = Shape::Array(ElementType::kF32, {4});
  Shape bounded = plain, unbounded = plain;
  bounded.set_dim(0, 4, true);
  unbounded.set_dim(0, Shape::kUnbounded, true);
  EXPECT_TRUE(Compatible(plain, bounded));
  EXPECT_TRUE(Compatible(plain, unbounded));
  EXPECT_FALSE(Compatible(Shape::Array(ElementType::kF32, {5}), bounded));
  EXPECT_FALSE(plain == bounded);
  EXPECT_TRUE(CompatibleIgnoringFpPrecision(plain, Shape::Array(ElementType::kBF16, {4})));
  EXPECT_FALSE(CompatibleIgnoringFpPrecision(plain, Shape::Array(ElementType::kS32, {4})));
  EXPECT_TRUE(Equal(Shape::Buffer(plain), plain, {.ignore_buffer = true}));
}

TEST(Shape, DefaultLayoutsAreEqualInAnySpelling) {
  const Shape a = Shape::Array(ElementType::kF32, {2, 3});
  EXPECT_TRUE(a == WithLayout(a, Layout::Default(2)));
  EXPECT_FALSE(a == WithLayout(a, Layout{.minor_to_major = {0, 1}}));
}

TEST(Shape, CountsBytesWithoutOverflow) {
  EXPECT_EQ(DenseByteCount(Shape::Array(ElementType::kS4, {5})), 5);
  EXPECT_EQ(UnpaddedByteCount(WithLayout(Shape::Array(ElementType::kS4, {5}),
                                         Layout{.minor_to_major = {0}, .element_size_in_bits = 4})),
            3);
  EXPECT_EQ(UnpaddedByteCount(WithLayout(Shape::Array(ElementType::kU2, {9}),
                                         Layout{.minor_to_major = {0}, .element_size_in_bits = 2})),
            3);
  EXPECT_EQ(DenseByteCount(Shape::Array(ElementType::kF32, {int64_t{1} << 40, int64_t{1} << 40})),
            std::nullopt);
  EXPECT_EQ(DenseByteCount(Shape::Array(ElementType::kF32, {int64_t{1} << 40, int64_t{1} << 40, 0})), 0);
}

}  // namespace
}  // namespace hlo::shape_test
