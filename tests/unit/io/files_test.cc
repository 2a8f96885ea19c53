// Tests reading and writing of NumPy, ml_dtypes and safetensors files (make_fixtures.py), including corrupt
// ones.

#include <sys/stat.h>
#include <unistd.h>

#include "helpers.h"
#include "hlo_run/io.h"

namespace hlo::files_test {
namespace {

struct Stored {
  const char* file;
  const char* shape;
  const char* value;  // The value that make_fixtures.py has written.
};

class ReadsWhatNumpyWrites : public testing::TestWithParam<Stored> {};

TEST_P(ReadsWhatNumpyWrites, HasTheValueThatWasWritten) {
  const Stored& stored = GetParam();
  const absl::StatusOr<Literal> value = ReadValue(Data(stored.file), ShapeOf(stored.shape));
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ(ToString(*value), ToString(LiteralOf(stored.shape, stored.value)));
}

INSTANTIATE_TEST_SUITE_P(
    Files, ReadsWhatNumpyWrites,
    testing::Values(
        Stored{"f32.npy", "f32[2,3]", "{{1,2,3},{4,5,6}}"},
        Stored{"f32_fortran.npy", "f32[2,3]", "{{1,2,3},{4,5,6}}"},
        Stored{"f64_big_endian.npy", "f64[2]", "{1.5,-2.5}"},
        Stored{"c64_big_endian.npy", "c64[2]", "{(1,2),(-0.0,-3.5)}"},
        Stored{"c128.npy", "c128[2]", "{(1,2),(-0.0,-3.5)}"},
        Stored{"s16_big_endian.npy", "s16[3]", "{1,-2,300}"}, Stored{"f16.npy", "f16[3]", "{1,65504,-0.0}"},
        Stored{"u64.npy", "u64[2]", "{0,18446744073709551615}"}, Stored{"pred.npy", "pred[2]", "{1,0}"},
        Stored{"scalar.npy", "s32[]", "7"}, Stored{"empty.npy", "f32[0,3]", "{}"},
        Stored{"version_2.npy", "s8[2]", "{1,2}"}, Stored{"version_3.npy", "s8[2]", "{1,2}"},
        Stored{"bf16.npy", "bf16[3]", "{1,-2.5,3e38}"}, Stored{"bf16_as_u16.npy", "bf16[2]", "{1,-2.5}"},
        Stored{"bf16_as_u16.npy", "u16[2]", "{16256,49184}"},
        Stored{"f8e4m3fn.npy", "f8e4m3fn[2]", "{1,-448}"}, Stored{"f8e5m2.npy", "f8e5m2[2]", "{1,-57344}"},
        Stored{"s4.npy", "s4[3]", "{-8,-1,7}"}, Stored{"u2.npy", "u2[2]", "{0,3}"},
        Stored{"f4e2m1fn.npy", "f4e2m1fn[2]", "{0.5,-6}"},
        Stored{"args.npz", "(f32[2], (s32[2,1], f32[]))", "({1,2},({{3},{4}},5))"},
        Stored{"zip64.npz", "f32[2]", "{1,2}"}, Stored{"args.safetensors", "(f32[2], s64[])", "({1,2},-7)"}));

TEST(Safetensors, NamesTheTypesThatNumpyLacks) {
  const absl::StatusOr<std::unique_ptr<Archive>> archive = Archive::Open(Data("weights.safetensors"));
  ASSERT_TRUE(archive.ok()) << archive.status();
  const auto text = [&](const std::string& key, const std::string& shape) {
    const absl::StatusOr<Literal> value = (*archive)->Read(key, ShapeOf(shape));
    return value.ok() ? ToString(*value) : ErrorOf(value);
  };
  EXPECT_EQ(text("layer.w", "bf16[1,2]"), "{ { 1, -2.5 } }");
  EXPECT_EQ(text("layer.f8", "f8e4m3fn[2]"), "{1, -448}");
  EXPECT_EQ(text("layer.mask", "pred[2]"), "{1, 0}");
  EXPECT_EQ(text("layer.s4", "s4[2]"), "{-8, 7}");
  EXPECT_EQ(text("layer.w", "f32[1,2]"),
            "tests/unit/io/data/weights.safetensors: tensor 'layer.w': found bf16[1,2], expected f32[1,2] "
            "(--convert "
            "allows other types)");
  EXPECT_EQ(text("layer.q", "f32[1,2]"), "tests/unit/io/data/weights.safetensors: has no tensor 'layer.q'");
}

struct Refused {
  const char* file;
  const char* shape;
  const char* message;
};
class InvalidFiles : public testing::TestWithParam<Refused> {};

TEST_P(InvalidFiles, AreRefusedWithThisMessage) {
  const Refused& refused = GetParam();
  const absl::StatusOr<Literal> value = ReadValue(Data(refused.file), ShapeOf(refused.shape));
  EXPECT_EQ(ErrorOf(value), Data(refused.file) + ": " + refused.message);
}

INSTANTIATE_TEST_SUITE_P(
    Files, InvalidFiles,
    testing::Values(
        Refused{"f32.npy", "f64[2,3]", "found f32[2,3], expected f64[2,3] (--convert allows other types)"},
        Refused{"f32.npy", "f32[3,2]", "found f32[2,3], expected f32[3,2]"},
        Refused{"bf16.npy", "f16[3]", "found '<V2' [3], expected f16[3]"},
        Refused{"bf16_as_u16.npy", "s16[2]", "found u16[2], expected s16[2] (--convert allows other types)"},
        Refused{"pred.npy", "u8[2]", "found pred[2], expected u8[2] (--convert allows other types)"},
        Refused{"no_s4.npy", "s4[2]", "element 1 is the byte 0x37, which is not a value of s4"},
        Refused{"record.npy", "f32[2]",
                "is not a well-formed .npy array: its elements are records; expected a plain type"},
        Refused{"text.npy", "f32[2]",
                "has elements of the NumPy type '<U1', which no HLO type corresponds to"},
        Refused{
            "f32.npy", "(f32[2], f32[3])",
            "holds one array, expected (f32[2], f32[3]); give an .npz file with the keys of its elements"},
        Refused{"bomb.npz", "f32[2]", "key '0': f32[2] has 8 bytes of elements, but the file holds 10000008"},
        Refused{"not_npy.npz", "f32[2]", "key '0': is not a well-formed .npy array: it is too short"},
        Refused{"args.npz", "(f32[2], f32[])", "has no key '1'; it has 0, 1.0, 1.1"},
        Refused{"none.npy", "f32[2]", "cannot be read: No such file or directory"},
        Refused{"", "f32[2]",
                "the ending of the name must be .npy, .npz, .safetensors, .json, .txt, .pb, .pbtxt, .bin or "
                ".raw"}));

TEST(Files, TruncatedFilesAreErrors) {
  const TemporaryFolder folder;
  struct Whole {
    const char* file;
    const char* shape;
  };
  for (const Whole& whole : {Whole{"f32.npy", "f32[2,3]"}, Whole{"args.npz", "(f32[2], (s32[2,1], f32[]))"},
                             Whole{"args.safetensors", "(f32[2], s64[])"}}) {
    const std::string bytes = BytesOf(Data(whole.file));
    for (size_t size = 0; size < bytes.size(); size += size < 130 ? 1 : 7) {
      const std::string path = folder.Write(std::string("cut_") + whole.file, bytes.substr(0, size));
      EXPECT_FALSE(ReadValue(path, ShapeOf(whole.shape)).ok()) << whole.file << " cut to " << size;
    }
  }
}

TEST(Files, DamagedEntriesOfArchivesAreErrors) {
  const TemporaryFolder folder;
  // Changes bytes of an archive and returns the error for one of its entries, without the path.
  const auto error = [&](const char* file, const std::string& key, auto change) {
    std::string bytes = BytesOf(Data(file));
    change(bytes, bytes.find("PK\3\4"), bytes.find("PK\1\2"));
    const std::string path = folder.Write(file, bytes);
    const absl::StatusOr<std::unique_ptr<Archive>> archive = Archive::Open(path);
    EXPECT_TRUE(archive.ok()) << archive.status();
    const std::string message(Message((*archive)->Read(key, ShapeOf("f32[2]")).status()));
    return message.substr(std::min(message.size(), path.size() + 2));
  };
  EXPECT_EQ(error("args.npz", "0",
                  [](std::string& bytes, size_t local, size_t) {
                    bytes[bytes.find("PK\3\4", local + 1) - 1] ^= 1;
                  }),
            "key '0': its checksum is wrong");
  EXPECT_EQ(error("deflated.npz", "arr_0",
                  [](std::string& bytes, size_t local, size_t directory) {
                    bytes[local + 14] ^= 1;
                    bytes[directory + 16] ^= 1;
                  }),
            "key 'arr_0': its checksum is wrong");
  EXPECT_EQ(error("deflated.npz", "arr_0",
                  [](std::string& bytes, size_t local, size_t) { bytes[local + 60] ^= 0x55; }),
            "key 'arr_0': Zlib error: data error");
}

TEST(Files, MutatedFilesNeverCrash) {
  const TemporaryFolder folder;
  for (const char* file : {"f32.npy", "zip64.npz", "deflated.npz", "args.safetensors"}) {
    const std::string bytes = BytesOf(Data(file));
    for (size_t i = 0; i < bytes.size(); ++i) {
      for (const char byte : {'\xff', '9'}) {
        std::string changed = bytes;
        changed[i] = byte;
        ReadValue(folder.Write(std::string("changed_") + file, changed), ShapeOf("f32[2,3]")).IgnoreError();
      }
    }
  }
}

std::string Npy(const std::string& dictionary, const std::string& elements = "") {
  std::string header("\x93NUMPY\x01\x00", 8);
  header += {static_cast<char>(dictionary.size() & 0xff), static_cast<char>(dictionary.size() >> 8)};
  return header + dictionary + elements;
}

TEST(Npy, InconsistentHeadersAreRejected) {
  const TemporaryFolder folder;
  const auto error = [&](const std::string& bytes, const std::string& shape) {
    std::string message = ErrorOf(ReadValue(folder.Write("x.npy", bytes), ShapeOf(shape)));
    return message.substr(message.find(": ") + 2);
  };
  EXPECT_EQ(
      error(Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807,9)}"), "f32[2]"),
      "found f32[9223372036854775807,9], expected f32[2]");
  EXPECT_EQ(
      error(Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}"), "f32[2]"),
      "is not a well-formed .npy array: 'shape' is not a tuple of sizes");
  EXPECT_EQ(error(Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "1234"), "f32[2]"),
            "f32[2] has 8 bytes of elements, but the file holds 4");
  EXPECT_EQ(error(Npy("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,)}"), "f32[2]"),
            "is not a well-formed .npy array: 'fortran_order' is neither True nor False");
  EXPECT_EQ(error(Npy("{'descr': '<f4', 'shape': (2,)}"), "f32[2]"),
            "is not a well-formed .npy array: its header lacks one of 'descr', 'fortran_order', 'shape'");
}

TEST(Writing, ReadsBackWrittenValues) {
  const TemporaryFolder folder;
  const std::string shape = "(f32[2,2], (bf16[3], s4[2], pred[2], c64[1], f8e4m3fn[2], u64[]), f32[0,2])";
  const Literal value = LiteralOf(
      shape, "({{1,-0.0},{inf,nan}}, ({1,2.5,-3},{-8,7},{1,0},{(1,-2)},{448,-1},18446744073709551615), {})");
  for (const char* name : {"x.npz", "x.safetensors", "x.txt"}) {
    const absl::Status written = WriteValue(folder / name, value);
    ASSERT_TRUE(written.ok()) << written;
    const absl::StatusOr<Literal> read = ReadValue(folder / name, ShapeOf(shape));
    ASSERT_TRUE(read.ok()) << name << ": " << read.status();
    EXPECT_EQ(ToString(*read), ToString(value)) << name;
  }
}

TEST(Writing, IsDeterministicAndLeavesNoOtherFiles) {
  const TemporaryFolder folder;
  const Literal value = LiteralOf("(f32[2], s32[])", "({1,2},3)");
  ASSERT_TRUE(WriteValue(folder / "a.npz", value).ok());
  ASSERT_TRUE(WriteValue(folder / "b.npz", value).ok());
  EXPECT_EQ(BytesOf(folder / "a.npz"), BytesOf(folder / "b.npz"));
  EXPECT_EQ(folder.FileCount(), 2);
}

TEST(Writing, NumbersThatJsonLacksAreStrings) {
  const Literal value = LiteralOf("(f32[3], c64[1], pred[], s32[0,2])", "({1.5,nan,-inf},{(1,inf)},true,{})");
  EXPECT_EQ(ToJson(value),
            "{\n"
            "  \"0\": {\"type\": \"f32\", \"shape\": [3], \"values\": [1.5, \"nan\", \"-inf\"]},\n"
            "  \"1\": {\"type\": \"c64\", \"shape\": [1], \"values\": [[1, \"inf\"]]},\n"
            "  \"2\": {\"type\": \"pred\", \"shape\": [], \"values\": true},\n"
            "  \"3\": {\"type\": \"s32\", \"shape\": [0, 2], \"values\": []}\n"
            "}\n");
}

TEST(Writing, StoresOnlyTheRunTimeSizes) {
  const TemporaryFolder folder;
  Literal value = LiteralOf("f32[3]", "{1,2,3}").WithShape(ShapeOf("f32[<=3]"));
  value.set_dynamic_size(0, 2);
  ASSERT_TRUE(WriteValue(folder / "x.npy", value).ok());
  const absl::StatusOr<Literal> dense = ReadValue(folder / "x.npy", ShapeOf("f32[2]"));
  ASSERT_TRUE(dense.ok()) << dense.status();
  EXPECT_EQ(ToString(*dense), "{1, 2}");
  const absl::StatusOr<Literal> bounded = ReadValue(folder / "x.npy", ShapeOf("f32[<=3]"));
  ASSERT_TRUE(bounded.ok()) << bounded.status();
  EXPECT_EQ(bounded->dynamic_size(0), 2);
}

TEST(Writing, ReportsTheReasonOfAFailure) {
  const TemporaryFolder folder;
  const auto error = [&](const std::string& path, const Literal& value) {
    return std::string(Message(WriteValue(path, value)));
  };
  const Literal pair = LiteralOf("(f32[], f32[])", "(1,2)");
  EXPECT_EQ(error("/nowhere/x.npz", pair), "/nowhere/x.npz: cannot be written: No such file or directory");
  EXPECT_EQ(error("/nowhere/x.txt", pair), "/nowhere/x.txt: cannot be written: No such file or directory");
  EXPECT_EQ(error("x.npy", pair),
            "x.npy: cannot be written: .npy holds one array, and there are 2; write an .npz file");
  EXPECT_EQ(
      error("x.safetensors", LiteralOf("c128[]", "(1,2)")),
      "x.safetensors: cannot be written: .safetensors has no c128, the type of output 0; write an .npz file");
  std::filesystem::create_directory(folder / "d.txt");
  EXPECT_EQ(error(folder / "d.txt", pair), (folder / "d.txt") + ": cannot be written: it is a folder");
}

}  // namespace
}  // namespace hlo::files_test
