// Tests raw files in the memory layout of the shape.

#include "helpers.h"

namespace hlo::raw_test {
namespace {

std::string Bytes(std::initializer_list<int> bytes) { return std::string(bytes.begin(), bytes.end()); }

std::string Read(const TemporaryFolder& folder, const std::string& shape, const std::string& bytes) {
  const absl::StatusOr<Literal> value = ReadValue(folder.Write("x.bin", bytes), ShapeOf(shape));
  return value.ok() ? ToString(*value) : ErrorOf(value);
}

// Returns what WriteValue writes for the literal, and expects that it reads back.
std::string Written(const TemporaryFolder& folder, const std::string& shape, const std::string& text) {
  const Literal value = LiteralOf(shape, text);
  EXPECT_TRUE(WriteValue(folder / "y.raw", value).ok());
  const absl::StatusOr<Literal> back = ReadValue(folder / "y.raw", ShapeOf(shape));
  EXPECT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back.ok() ? ToString(*back) : "", ToString(value));
  return BytesOf(folder / "y.raw");
}

TEST(Raw, ElementsHaveTheOrderOfTheLayout) {
  const TemporaryFolder folder;
  EXPECT_EQ(Read(folder, "u8[2,3]{1,0}", Bytes({1, 2, 3, 4, 5, 6})), "{ { 1, 2, 3 }, { 4, 5, 6 } }");
  EXPECT_EQ(Read(folder, "u8[2,3]{0,1}", Bytes({1, 2, 3, 4, 5, 6})), "{ { 1, 3, 5 }, { 2, 4, 6 } }");
  EXPECT_EQ(Written(folder, "u16[2,2]{0,1}", "{{1,2},{3,513}}"), Bytes({1, 0, 3, 0, 2, 0, 1, 2}));
}

TEST(Raw, TilesArePaddedWithZeros) {
  const TemporaryFolder folder;
  EXPECT_EQ(Written(folder, "u8[3,5]{1,0:T(2,2)}", "{{1,2,3,4,5},{6,7,8,9,10},{11,12,13,14,15}}"),
            Bytes({1, 2, 6, 7, 3, 4, 8, 9, 5, 0, 10, 0, 11, 12, 0, 0, 13, 14, 0, 0, 15, 0, 0, 0}));
  EXPECT_EQ(Written(folder, "u8[3]{0:T(2)L(8)}", "{1,2,3}"), Bytes({1, 2, 3, 0, 0, 0, 0, 0}));
}

TEST(Raw, NarrowElementsOccupyAByteOrTheirBits) {
  const TemporaryFolder folder;
  EXPECT_EQ(Written(folder, "s4[3]{0}", "{-1,7,-8}"), Bytes({0x0f, 7, 8}));
  EXPECT_EQ(Written(folder, "s4[3]{0:E(4)}", "{-1,7,-8}"), Bytes({0x7f, 8}));
  EXPECT_EQ(Written(folder, "pred[3]{0}", "{1,0,1}"), Bytes({1, 0, 1}));
  EXPECT_EQ(Written(folder, "pred[2]{0:E(32)}", "{1,0}"), Bytes({1, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(Raw, TuplesAreTheirArraysOneAfterTheOther) {
  const TemporaryFolder folder;
  EXPECT_EQ(Written(folder, "(u8[2]{0}, (u16[]), u8[0]{0})", "({1,2}, (3), {})"), Bytes({1, 2, 3, 0}));
}

TEST(Raw, RunTimeSizesFollowTheArrayOrAreInItsMetadata) {
  const TemporaryFolder folder;
  const absl::StatusOr<Literal> behind = ReadValue(
      folder.Write("x.bin", Bytes({1, 2, 3, 4, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0})), ShapeOf("u8[<=3,2]{1,0}"));
  ASSERT_TRUE(behind.ok()) << behind.status();
  EXPECT_EQ(ToString(*behind), "{ { 1, 2 }, { 3, 4 } }");
  EXPECT_EQ(behind->dynamic_size(0), 2);
  const std::string bytes = Bytes({1, 0, 0, 0, 0, 0, 0, 0, 7, 8, 9});
  const absl::StatusOr<Literal> before = ReadValue(folder.Write("x.bin", bytes), ShapeOf("u8[<=3]{0:M(8)}"));
  ASSERT_TRUE(before.ok()) << before.status();
  EXPECT_EQ(before->dynamic_size(0), 1);
  ASSERT_TRUE(WriteValue(folder / "y.bin", *before).ok());
  EXPECT_EQ(BytesOf(folder / "y.bin"), bytes);
  EXPECT_EQ(Read(folder, "u8[<=3]{0:M(8)}", Bytes({4, 0, 0, 0, 0, 0, 0, 0, 7, 8, 9})),
            folder / "x.bin" + ": the run-time size of dimension 0 is 4, which does not fit u8[<=3]");
}

TEST(Raw, WrongByteCountsAreExplained) {
  const TemporaryFolder folder;
  EXPECT_EQ(Read(folder, "f32[3,5]{1,0:T(2,2)}", "1234"),
            folder / "x.bin" +
                ": has 4 bytes, expected 96\n  f32[3,5]{1,0:T(2,2)} takes 96: 15 elements and 9 of padding, "
                "32 bits "
                "each");
  EXPECT_EQ(Read(folder, "f32[2]{0:SC(0:1)}", ""),
            folder / "x.bin" +
                ": f32[2]{0:SC(0:1)} is cut over several memories, so it is not a single row of bytes");
}

TEST(Raw, ArgumentsHaveTheEntryLayout) {
  const TemporaryFolder folder;
  const std::shared_ptr<Module> module = ModuleOf(R"(
HloModule m, entry_computation_layout={(u8[2,3]{0,1}, (u8[], u8[2]))->u8[2,3]{0,1:T(2,4)}}
ENTRY e {
  a = u8[2,3] parameter(0)
  p = (u8[], u8[2]) parameter(1)
  ROOT r = u8[2,3] copy(a)
})");
  const absl::StatusOr<std::vector<Literal>> arguments = ReadInputs(
      *module,
      {folder.Write("a.bin", Bytes({1, 2, 3, 4, 5, 6})), "1=" + folder.Write("p.raw", Bytes({7, 8, 9}))});
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  EXPECT_EQ(ToString(Literal::Tuple(*arguments)), "( { { 1, 3, 5 }, { 2, 4, 6 } }, ( 7, {8, 9} ) )");
  ASSERT_TRUE(WriteValue(folder / "r.bin", InLayoutsOf(ResultShapeInMemory(*module), (*arguments)[0])).ok());
  // Columns of two are stored in rows of four, two rows per tile.
  EXPECT_EQ(BytesOf(folder / "r.bin"), Bytes({1, 2, 0, 0, 3, 4, 0, 0, 5, 6, 0, 0, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace hlo::raw_test
