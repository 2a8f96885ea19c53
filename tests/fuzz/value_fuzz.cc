// Fuzzes the readers of array files. The first byte of an input selects the format, the second one the
// expected shape; the rest is the file. A reader must return an error with a message, or a value that is
// unchanged after it was written and read again.

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "hlo_run/io.h"
#include "hlo_run/parse.h"

namespace {

using hlo::Literal;
using hlo::Shape;

constexpr std::array kEndings = {".npy", ".npz", ".safetensors", ".json", ".txt", ".bin", ".pb", ".pbtxt"};
constexpr std::array kShapes = {"f32[2,3]",        "f32[]",    "bf16[4]",
                                "f64[2,2]{0,1}",   "s4[3]",    "pred[2]",
                                "c64[2]",          "u64[1]",   "f8e4m3fn[5]",
                                "f32[0]",          "s2[9]",    "f16[3,1,2]{0,2,1}",
                                "(f32[2], s32[])", "f32[<=4]", "((c128[1]), u8[3])",
                                "f4e2m1fn[4]"};

[[noreturn]] void Fail(const char* what, const std::string& detail) {
  std::fprintf(stderr, "%s: %s\n", what, detail.c_str());
  std::abort();
}

class Folder {
 public:
  Folder() : path_((std::filesystem::temp_directory_path() / "value_fuzz.XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) Fail("no temporary folder", path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string File(const char* name, const char* ending) const { return path_ + "/" + name + ending; }

 private:
  std::string path_;
};

void Store(const std::string& path, const uint8_t* data, size_t size) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  file.close();
  if (!file) Fail("cannot write", path);
}

void CheckMessage(const absl::Status& status) {
  if (!status.ok() && status.message().empty()) Fail("an error without a message", status.ToString());
}

void CheckRewritten(const Literal& value, const std::string& path) {
  const absl::Status written = hlo::WriteValue(path, value);
  CheckMessage(written);
  if (!written.ok()) return;  // Such as a tuple in an .npy file.
  const absl::StatusOr<Literal> again = hlo::ReadValue(path, value.shape());
  if (!again.ok()) Fail("a written value cannot be read", again.status().ToString());
  if (hlo::ToJson(*again) != hlo::ToJson(value)) Fail("a written value reads as another", hlo::ToJson(value));
}

void ReadKeys(const std::string& path, const Shape& shape) {
  const absl::StatusOr<std::unique_ptr<hlo::Archive>> archive = hlo::Archive::Open(path);
  CheckMessage(archive.status());
  if (!archive.ok()) return;
  for (const std::string& key : (*archive)->keys()) CheckMessage((*archive)->Read(key, shape).status());
}

const std::vector<Shape>& Shapes() {
  static const auto* const shapes = [] {
    auto* all = new std::vector<Shape>;
    for (const char* text : kShapes) {
      hlo::Diagnostics diagnostics;
      all->push_back(hlo::ParseShape(hlo::SourceText("shape", text), diagnostics));
      if (!diagnostics.ok()) Fail("a wrong shape", text);
    }
    return all;
  }();
  return *shapes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Folder folder;
  if (size < 2) return 0;
  const char* const ending = kEndings[data[0] % kEndings.size()];
  const Shape& shape = Shapes()[data[1] % Shapes().size()];
  const std::string path = folder.File("read", ending);
  Store(path, data + 2, size - 2);
  for (const bool convert : {false, true}) {
    const absl::StatusOr<Literal> value = hlo::ReadValue(path, shape, {.convert = convert});
    CheckMessage(value.status());
    if (value.ok()) CheckRewritten(*value, folder.File("written", ending));
  }
  ReadKeys(path, shape);
  return 0;
}
