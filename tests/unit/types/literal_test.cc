#include "hlo_run/literal.h"

#include <gtest/gtest.h>

#include <cmath>

namespace hlo::literal_test {
namespace {

TEST(Literal, SharesElementsUntilMadeUnique) {
  Literal a = *Literal::CreateZeros(Shape::Array(ElementType::kS32, {3}));
  Literal b = a;
  EXPECT_EQ(a.data(), b.data());
  EXPECT_FALSE(b.IsUnique());
  ASSERT_TRUE(b.MakeUnique().ok());
  b.mutable_span<int32_t>()[1] = 7;
  EXPECT_EQ(ToString(a), "{0, 0, 0}");
  EXPECT_EQ(ToString(b), "{0, 7, 0}");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(b.data()) % 64, 0u);
}

TEST(Literal, WrappedMemoryIsReleasedWithTheLastReferenceAndNeverCounted) {
  const float elements[] = {1, 2};
  int released = 0;
  const int64_t before = BufferMemoryUse().current_bytes;
  {
    Literal literal =
        Literal::FromBuffer(Shape::Array(ElementType::kF32, {2}),
                            Buffer::Wrap(elements, sizeof(elements), [&released] { ++released; }));
    EXPECT_EQ(BufferMemoryUse().current_bytes, before);
    Literal copy = literal;
    literal = Literal();
    EXPECT_EQ(copy.span<float>()[1], 2);
    EXPECT_EQ(copy.span<float>().data(), elements);
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
}

TEST(Literal, RejectsLiteralsBeyondTheMemory) {
  const auto huge = Literal::Create(Shape::Array(ElementType::kF32, {1000000, 1000000, 1000}));
  EXPECT_EQ(huge.status().code(), absl::StatusCode::kResourceExhausted);
  const auto uncountable =
      Literal::Create(Shape::Array(ElementType::kF32, {int64_t{1} << 40, int64_t{1} << 40}));
  EXPECT_EQ(uncountable.status().code(), absl::StatusCode::kResourceExhausted);
  SetMemoryLimit(1000);
  const auto limited = Literal::Create(Shape::Array(ElementType::kF32, {1000}));
  SetMemoryLimit(0);
  EXPECT_EQ(limited.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(limited.status().ToString().find("limit is 1000"), std::string::npos) << limited.status();
  EXPECT_TRUE(Literal::Create(Shape::Array(ElementType::kF32, {0, int64_t{1} << 60, 16})).ok());
}

TEST(Literal, CountsMemoryAndItsPeak) {
  ResetPeakMemoryUse();
  const int64_t before = BufferMemoryUse().current_bytes;
  { Literal a = *Literal::Create(Shape::Array(ElementType::kU8, {5000})); }
  EXPECT_EQ(BufferMemoryUse().current_bytes, before);
  EXPECT_GE(BufferMemoryUse().peak_bytes, before + 5000);
}

#if defined(__linux__)
TEST(Literal, LargeBuffersAreAlignedToLargePages) {
  const Literal large = *Literal::Create(Shape::Array(ElementType::kU8, {32 << 20}));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(large.data()) % (2 << 20), 0U);
}
#endif

TEST(Literal, PrintsAsHloDoes) {
  Literal f = *Literal::CreateZeros(Shape::Array(ElementType::kF32, {2, 2}));
  auto values = f.mutable_span<float>();
  values[0] = 0.1f;
  values[1] = -0.0f;
  values[2] = 16777217.0f;
  values[3] = -INFINITY;
  EXPECT_EQ(ToString(f), "{ { 0.1, -0.0 }, { 16777216, -inf } }");
  EXPECT_EQ(ToString(f, {.as_xla = true}), "{ { 0.1, -0 }, { 16777216, -inf } }");
  EXPECT_EQ(ToString(f, {.max_elements = 3}), "{...}");
  EXPECT_EQ(ToString(*Literal::CreateZeros(Shape::Array(ElementType::kS8, {2, 2, 1}))),
            "{ { {0}, {0} }, { {0}, {0} } }");
  EXPECT_EQ(ToString(*Literal::CreateZeros(Shape::Array(ElementType::kS8, {1, 1, 1, 2}))),
            "{ { /*i0=0*/ { /*i1=0*/ { 0, 0 } } } }");
  EXPECT_EQ(ToString(*Literal::CreateZeros(Shape::Array(ElementType::kC64, {}))), "(0, 0)");
  EXPECT_EQ(ToString(Literal::Tuple({})), "(  )");
}

}  // namespace
}  // namespace hlo::literal_test
